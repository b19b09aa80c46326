"""Choosing hyperparameters by the worst of the models that they allow."""

from pessimal.model_selection.continuous import BestPenalty, best_penalty
from pessimal.model_selection.search import PessimisticSearchCV
from pessimal.model_selection.worst import worst_case_of

__all__ = ["BestPenalty", "PessimisticSearchCV", "best_penalty", "worst_case_of"]
