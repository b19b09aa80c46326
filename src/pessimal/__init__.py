"""Tune linear classifiers on few or shifting data; know how bad an equally good model can be."""

from importlib.metadata import version

from pessimal.auditing import AuditReport, audit, audit_estimator
from pessimal.datasets import load_cancer, load_diabetes
from pessimal.estimators import OptimisticSVC, PessimisticSVC, PessimisticSVCCV
from pessimal.problem import Budget, TuningProblem
from pessimal.solution import TuningSolution
from pessimal.training import best_case, worst_case
from pessimal.views import solve_optimistic, solve_pessimistic

__version__ = version("pessimal")

__all__ = [
    "AuditReport",
    "Budget",
    "OptimisticSVC",
    "PessimisticSVC",
    "PessimisticSVCCV",
    "TuningProblem",
    "TuningSolution",
    "audit",
    "audit_estimator",
    "best_case",
    "load_cancer",
    "load_diabetes",
    "solve_optimistic",
    "solve_pessimistic",
    "worst_case",
]
