"""Tune linear classifiers on few or shifting data; know how bad an equally good model can be.

The public names are imported when they are first asked for: the command line, which is part of the
package, answers ``--help`` without waiting for scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pessimal.attacks import evade
    from pessimal.auditing import AuditReport, abstention_curve
    from pessimal.auditing.audit import audit, audit_estimator
    from pessimal.certificate import Certificate
    from pessimal.datasets import load_cancer, load_diabetes
    from pessimal.errors import (
        InvalidInputError,
        MissingExtraError,
        PessimalError,
        SolverError,
        StorageError,
    )
    from pessimal.estimators import OptimisticSVC, PessimisticSVC, PessimisticSVCCV
    from pessimal.model_selection import PessimisticSearchCV, worst_case_of
    from pessimal.near_optimal import best_case, near_optimal_set, worst_case
    from pessimal.problem import Budget, TuningProblem
    from pessimal.solution import Status, TuningSolution
    from pessimal.solve import solve_optimistic, solve_pessimistic

    __version__: str

__all__ = [
    "AuditReport",
    "Budget",
    "Certificate",
    "InvalidInputError",
    "MissingExtraError",
    "OptimisticSVC",
    "PessimalError",
    "PessimisticSVC",
    "PessimisticSVCCV",
    "PessimisticSearchCV",
    "SolverError",
    "Status",
    "StorageError",
    "TuningProblem",
    "TuningSolution",
    "abstention_curve",
    "audit",
    "audit_estimator",
    "best_case",
    "evade",
    "load_cancer",
    "load_diabetes",
    "near_optimal_set",
    "solve_optimistic",
    "solve_pessimistic",
    "worst_case",
    "worst_case_of",
]

_NAMES_OF = {
    "attacks": ("evade",),
    "auditing": ("AuditReport", "abstention_curve", "audit", "audit_estimator"),
    "certificate": ("Certificate",),
    "datasets": ("load_cancer", "load_diabetes"),
    "errors": (
        "InvalidInputError",
        "MissingExtraError",
        "PessimalError",
        "SolverError",
        "StorageError",
    ),
    "estimators": ("OptimisticSVC", "PessimisticSVC", "PessimisticSVCCV"),
    "model_selection": ("PessimisticSearchCV", "worst_case_of"),
    "near_optimal": ("best_case", "near_optimal_set", "worst_case"),
    "problem": ("Budget", "TuningProblem"),
    "solution": ("Status", "TuningSolution"),
    "solve": ("solve_optimistic", "solve_pessimistic"),
}
_PACKAGE_OF = {name: package for package, names in _NAMES_OF.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = importlib.import_module("importlib.metadata").version("pessimal")
    elif name in _PACKAGE_OF:
        value = getattr(importlib.import_module(f"pessimal.{_PACKAGE_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'pessimal' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
