"""Scikit-learn estimators: tune the box, keep the proof, predict with a model of the box."""

from pessimal.estimators.shared_box import SharedBox
from pessimal.estimators.svc import OptimisticSVC, PessimisticSVC
from pessimal.estimators.svc_cv import PessimisticSVCCV

__all__ = ["OptimisticSVC", "PessimisticSVC", "PessimisticSVCCV", "SharedBox"]
