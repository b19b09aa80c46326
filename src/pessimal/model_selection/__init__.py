"""Choosing hyperparameters by the worst of the models that they allow."""

from pessimal.model_selection.ranges import Range
from pessimal.model_selection.search import PessimisticSearchCV
from pessimal.model_selection.worst import worst_case_of

__all__ = ["PessimisticSearchCV", "Range", "worst_case_of"]
