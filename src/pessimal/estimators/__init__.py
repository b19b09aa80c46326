"""Scikit-learn estimators: tune the box, keep the proof, predict with a model of the box."""

from pessimal.estimators.svc import OptimisticSVC, PessimisticSVC
from pessimal.estimators.svc_cv import PessimisticSVCCV, SharedBox

__all__ = ["OptimisticSVC", "PessimisticSVC", "PessimisticSVCCV", "SharedBox"]
