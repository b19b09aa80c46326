"""Audit: how far apart models that train equally well can be on your validation data."""

from pessimal.auditing.abstention import AbstentionCurve, abstention_curve
from pessimal.auditing.audit import audit, audit_estimator
from pessimal.auditing.report import AuditReport, Curve
from pessimal.moved import renamed

__all__ = [
    "AbstentionCurve",
    "AuditReport",
    "Curve",
    "abstention_curve",
    "audit",
    "audit_estimator",
]

__getattr__ = renamed(__name__, {"ExtremeModel": "pessimal.near_optimal.Extreme"})
