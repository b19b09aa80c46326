"""Audit: how far apart models that train equally well can be on your validation data."""

from pessimal.auditing.audit import audit, audit_estimator
from pessimal.auditing.report import AuditReport, Curve
from pessimal.near_optimal.base import Extreme as ExtremeModel

__all__ = ["AuditReport", "Curve", "ExtremeModel", "audit", "audit_estimator"]
