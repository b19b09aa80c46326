"""The audit report in words and columns."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from pessimal.labels import called, spoken
from pessimal.tolerances import OPTIMAL_GAP, SLACK_OF_BOUNDS

if TYPE_CHECKING:
    from pessimal.auditing.report import AuditReport
    from pessimal.near_optimal import Extreme

WIDTH = 80

NEGLIGIBLE = 1e-4
"""Smaller shares of the least objective are what any solver misses of it, and not worth a word."""

TWO = 2


def as_text(report: AuditReport) -> str:
    """Write the report in lines of at most 80 characters."""
    rows = table(report)
    first = max(len(name) for name, *_ in rows)
    other = (WIDTH - first) // (len(rows[0]) - 1)
    columns = [
        f"{name:<{first}}" + "".join(f"{cell:>{other}}" for cell in cells) for name, *cells in rows
    ]
    sentences = [*findings(report), report.guarantee, *(f"Note: {note}" for note in report.notes)]
    return "\n\n".join(
        [
            textwrap.fill(scope(report), WIDTH),
            "\n".join(columns),
            *(textwrap.fill(sentence, WIDTH) for sentence in sentences),
        ]
    )


def scope(report: AuditReport) -> str:
    """Say which models are audited, and on what."""
    budget, least = report.budget, report.least_train_loss
    if report.box is not None:
        models = (
            f"with coefficients in the box and a mean {report.loss} loss of at most "
            f"{report.train_limit:.4f} in training (least possible {least:.4f}, "
            f"epsilon {budget.epsilon:g}, delta {budget.delta:.4g})"
        )
    else:
        missed = f" and delta {budget.delta:.4g}" if budget.delta > NEGLIGIBLE * least else ""
        measure = f"training objective (mean {report.loss} loss plus penalty)"
        measure = measure if report.proves else f"mean {report.loss} loss on the training points"
        models = (
            f"with a {measure} of at most {report.train_limit:.4f}: "
            f"{100.0 * budget.epsilon:g} %{missed} above the least "
            f"{'possible' if report.proves else 'seen'}, {least:.4f}"
        )
    audited = "all linear models" if report.proves else "models that were found by refits,"
    return (
        f"Audit of {audited} {models}. {report.n_train} training points, {report.n_val} "
        f"validation points, {len(report.feature_names)} features."
    )


def table(report: AuditReport) -> list[tuple[str, ...]]:
    """Loss and error of the best, the chosen and the worst model found, between proved bounds."""
    reference = report.reference
    ends = [(f"mean {report.loss} loss", 4, report.best_loss, reference.loss, report.worst_loss)]
    if report.classes:
        ends.append(("error", 3, report.best_error, reference.error, report.worst_error))
    found, rows = [], []
    for name, digits, best, chosen, worst in ends:
        form = ".4f" if name != "error" else ".1%"
        found.append((name, *(format(x, form) for x in (best.value, chosen, worst.value))))
        low, high = rounded(best.bound, digits, -1.0), rounded(worst.bound, digits, 1.0)
        rows.append((name, format(low, form), *found[-1][1:], format(high, form)))
    if report.proves:
        return [("on validation data", "at least", "best", "chosen", "worst", "at most"), *rows]
    return [("on validation data", "best found", "chosen", "worst found"), *found]


def bounds_errors(report: AuditReport) -> bool:
    """Whether the bound on errors says more than that at most all points are wrong.

    Where a model was found that has all wrong, this is no lack of proof.
    """
    n, worst = report.n_val, report.worst_error
    most = n - report.at_zero  # the others never count as wrong
    return round(worst.bound * n) < most or round(worst.value * n) == most


def findings(report: AuditReport) -> list[str]:
    """Ambiguity and discrepancy, one sentence each: what was found, and what is not known."""
    if not report.classes:
        return [_constant(report)] if report.constant else []
    told = [_ambiguity(report), _discrepancy(report), *_in_classes(report)]
    if report.given:
        told.insert(0, _given(report))
    return [*told, _constant(report)] if report.constant else told


def _given(report: AuditReport) -> str:
    """Say how a model that was brought along trains and does, beside the audited ones."""
    given, least = report.given, report.least_train_loss
    assert given is not None
    above = f"{max(0.0, given.train_loss / least - 1.0):.1%} above" if least > 0.0 else "beside"
    member = "it is one of the models audited" if given.member else "it is not one of these models"
    return (
        f"The model you gave, {given.name}, has a training objective of {given.train_loss:.4f}, "
        f"{above} the least: {member}. On the validation points it has a mean {report.loss} loss "
        f"of {given.loss:.4f} and {given.error:.1%} wrong; of the models audited the worst found "
        f"has {report.worst_loss.value:.4f} and {report.worst_error.value:.1%}."
    )


def _in_classes(report: AuditReport) -> list[str]:
    """Sensitivity and specificity, one sentence each, of classes with points."""
    reference, told = report.reference, []
    for name, label, chosen, worst in (
        ("Sensitivity", report.classes[-1], reference.sensitivity, report.worst_sensitivity),
        ("Specificity", report.classes[0], reference.specificity, report.worst_specificity),
    ):
        if worst is None or math.isnan(worst.value) or len(report.classes) != TWO:
            continue
        n = int((report.labels == label).sum())
        told.append(
            f"{name}: of the {n} validation points of class {called(label, report.classes)}, the "
            f"chosen model has {n * chosen:.0f} right ({chosen:.1%}), and the worst of these "
            f"models that was found {n * worst.value:.0f} ({worst.value:.1%})"
            f"{_none_below(n, worst) if report.proves else ''}."
        )
    return told


def _none_below(n: int, worst: Extreme) -> str:
    """Say what is proved of the fewest points right; that none has fewer than 0 says nothing."""
    least = rounded(n * worst.lower_bound, 0, -1.0)
    if least > 0.0:
        return f"; none has fewer than {least:.0f}"
    return "; fewer are not ruled out" if round(n * worst.value) else ""


def _constant(report: AuditReport) -> str:
    """Say what a constant attains, and whether the chosen model is one."""
    constant = report.constant
    assert constant is not None
    loss = f"a mean {report.loss} loss of {constant.loss:.4f} on these points"
    if not report.classes:
        return f"For comparison: to predict the mean, {constant.label:.4g}, has {loss}."
    told = (
        f"For comparison: to say {called(constant.label, report.classes)} of every point, the "
        f"most frequent class in training, is wrong on {constant.error:.1%} of these points"
    )
    if not math.isnan(constant.loss):
        told += f"; the constant score that trains best has {loss}"
    if report.only_class is not None:
        only = called(report.only_class, report.classes)
        told += f". The chosen model says {only} of every point: it is a constant"
    return f"{told}."


def _ambiguity(report: AuditReport) -> str:
    n, classes = report.n_val, report.classes
    found, unknown = int(report.ambiguous.sum()), int(report.undecided.sum())
    if len(classes) == TWO:
        negative, positive = spoken(classes)
        disagree = f"some of these models say {negative} and others {positive}"
    else:
        disagree = "these models do not all say the same class"
    if not report.proves:
        most = round(report.ambiguity * n)
        others = "for the others none was found to disagree"
        which = f"{found} of them are known" if most > found else others
        return (
            f"Ambiguity at least {report.ambiguity:.1%}: for {most} of {n} validation points "
            f"{disagree}; {which}."
        )
    some = f"for {found} of {n} validation points {disagree}"
    if unknown:
        shares = f"at least {report.ambiguity:.1%}, at most {report.ambiguity_bound:.1%}"
        none = f"no models were found that disagree on one of the {n} validation points"
        return f"Ambiguity {shares}: {some if found else none}; for {unknown} it is not known."
    agree = f"these models agree on the class of each of the {n} validation points"
    return f"Ambiguity {report.ambiguity:.1%}: {some if found else agree}."


def _discrepancy(report: AuditReport) -> str:
    n, change, name = report.n_val, report.discrepancy, report.reference.name
    changed = round(change.value * n)
    proved = change.bound - change.value <= OPTIMAL_GAP
    between = f"at least {change.value:.1%}"
    if report.proves:
        between += f", at most {rounded(change.bound, 3, 1.0):.1%}"
    share = f"{change.value:.1%}" if proved else between
    if changed:
        told = f"one of these models labels {changed} of {n} validation points differently from"
    elif proved:
        told = f"none of these models labels one of the {n} validation points differently from"
    else:
        told = f"on the {n} validation points no model was found that labels one differently from"
    return f"Discrepancy {share}: {told} the chosen model, {name}."


def percent(share: float) -> str:
    """Round a share to whole percent, but never something to nothing, nor most to all.

    Examples
    --------
    >>> percent(0.163), percent(45 / 13032), percent(0.999), percent(1.0)
    ('16%', 'under 1%', 'over 99%', '100%')
    """
    if 0.0 < share < 0.005:
        return "under 1%"
    return "over 99%" if 0.995 <= share < 1.0 else f"{share:.0%}"


def rounded(bound: float, digits: int, side: float) -> float:
    """Round a bound away from what it bounds, upwards (side 1) or downwards: it must still hold.

    Bounds allow for the slack that solvers need, which is no model's.

    Examples
    --------
    >>> rounded(0.23824, 4, 1.0), rounded(0.23826, 4, -1.0), rounded(0.75 + 1e-9, 4, 1.0)
    (0.2383, 0.2382, 0.75)
    >>> rounded(0.0, 4, -1.0)
    0.0
    """
    if math.isinf(bound):
        return bound
    unit = 10.0**digits
    return side * math.ceil((side * bound - SLACK_OF_BOUNDS) * unit) / unit + 0.0  # no -0.0
