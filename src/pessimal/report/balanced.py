"""The first screen where both classes were made to weigh the same, by the share right of each.

A model that is trained so gives up rows of the frequent class for rows of the rare one. Rows right
would call it worse than a model that never sees the rare class, so that each class counts by its
share here: who says the same of every row has all of one class and none of the other, 50%.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from pessimal.auditing import AuditReport
from pessimal.auditing.text import percent, rounded
from pessimal.labels import called, spoken
from pessimal.report.bars import BY_CHANCE, Bar, Group, Kind

if TYPE_CHECKING:
    from pessimal.near_optimal import Extreme
    from pessimal.workflows import Comparison

BY_ONE_ANSWER = 0.5
"""Share right of a class, averaged over both, of a model that says the same of every row."""


def by_class(report: AuditReport) -> bool:
    """Whether classes weighed the same in training, and there are rows of both to count."""
    chosen = report.reference
    shares = chosen.sensitivity, chosen.specificity
    return report.balanced and not any(map(math.isnan, shares))


def shares_right(report: AuditReport, model: str, rows: str, beside: Comparison | None) -> Group:
    """Draw the share right of each class, averaged, and the least of each that was found."""

    def bar(name: str, shares: tuple[float, float], kind: Kind) -> Bar:
        value = sum(shares) / 2.0
        return Bar(name, value, percent(value), kind, None, _counts(report, shares))

    bars = [bar(model, _chosen(report), "model")]
    if beside is not None:
        logistic = beside.shares_right_logistic
        bars.append(bar("plain logistic regression, balanced as well", logistic, "other"))
    assert report.constant is not None
    says = called(report.constant.label, report.classes)
    one = (1.0, 0.0) if says == spoken(report.classes)[0] else (0.0, 1.0)
    bars.append(bar(f"always “{says}”", one, "other"))
    bars += [
        _fewest(report, int(np.sum(report.labels == label)), label, worst)
        for label, worst in zip(
            reversed(report.classes),
            (report.worst_sensitivity, report.worst_specificity),
            strict=True,
        )
    ]
    return Group(f"Share right of each class, averaged, {_among(report, rows)}", tuple(bars))


def _fewest(report: AuditReport, n: int, label: Any, worst: Extreme | None) -> Bar:
    """Draw the fewest rows of a class that were found right, and what is proved of them."""
    assert worst is not None
    name = f"the fewest “{called(label, report.classes)}” right of an equally good model found"
    found, words = round(n * worst.value), f"{n * worst.value:.0f} of {n}"
    if not report.proves:
        return Bar(name, worst.value, words, "worst", None, "found; there may be fewer")
    least = rounded(n * worst.lower_bound, 0, -1.0)
    told = f"none has fewer than {least:.0f}" if least > 0.0 else "fewer are not ruled out"
    return Bar(name, worst.value, words, "worst", worst.lower_bound, told if found else "")


def baseline(report: AuditReport, rows: str, beside: Comparison | None) -> str:
    """Say which baseline to prefer, if one is as good as the model, or better."""
    ours = _chosen(report)
    among = _among(report, rows)
    if sum(ours) / 2.0 <= BY_ONE_ANSWER:
        return (
            f"Do not use this model: {among} it is right on {_pair(report, ours)}, "
            f"{percent(sum(ours) / 2.0)} of a class on average, and to say the same of every row "
            "is right on 50%."
        )
    if beside is not None and _logistic_is_better(beside):
        theirs = beside.shares_right_logistic
        return (
            f"Take plain logistic regression instead, balanced as well: {among} it is right on "
            f"{_pair(report, theirs)}, this model on {_pair(report, ours)}."
        )
    return ""


def average(report: AuditReport, rows: str) -> str:
    """Say how many rows of each class the model has right."""
    ours = _chosen(report)
    return (
        f" O{_among(report, rows)[1:]} the model is right on {_pair(report, ours)}: "
        f"{percent(sum(ours) / 2.0)} of a class on average."
    )


def _among(report: AuditReport, rows: str) -> str:
    n_negative, n_positive = _of_classes(report)
    negative, positive = spoken(report.classes)
    return f"of {n_positive} “{positive}” and {n_negative} “{negative}” {rows} rows"


def _chosen(report: AuditReport) -> tuple[float, float]:
    return report.reference.specificity, report.reference.sensitivity


def _of_classes(report: AuditReport) -> tuple[int, int]:
    """Return how many rows the negative and the positive class have."""
    negative, positive = (int(np.sum(report.labels == label)) for label in report.classes)
    return negative, positive


def _right(report: AuditReport, shares: tuple[float, float]) -> tuple[int, int]:
    negative, positive = (round(s * n) for s, n in zip(shares, _of_classes(report), strict=True))
    return negative, positive


def _pair(report: AuditReport, shares: tuple[float, float]) -> str:
    negative, positive = _right(report, shares)
    return f"{positive} and {negative}"


def _counts(report: AuditReport, shares: tuple[float, float]) -> str:
    right = zip(_right(report, shares), _of_classes(report), spoken(report.classes), strict=True)
    return ", ".join(f"{k} of {n} “{name}”" for k, n, name in reversed(list(right)))


def _logistic_is_better(beside: Comparison) -> bool:
    """Whether the average share differs by more than luck explains: rows that only one has right.

    Such rows are on either side with the same chance where both are equally good, as in McNemar's
    test; each weighs as its class does.
    """
    gained = sum((c.n_only_logistic - c.n_only) / c.n_rows for c in beside.classes)
    variance = sum((c.n_only_logistic + c.n_only) / c.n_rows**2 for c in beside.classes)
    return gained > 0.0 and bool(2.0 * norm.sf(gained / math.sqrt(variance)) < BY_CHANCE)
