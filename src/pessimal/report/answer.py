"""The first screen of a page: rows right, side by side, and one sentence on what to do.

Everything is counted on the same rows, which no model was trained on. What was found and what is
proved are told apart: the worst model that was found is right on this many rows, and no model that
trains as well is right on fewer than that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest

from pessimal.auditing import AuditReport
from pessimal.auditing.text import percent, rounded
from pessimal.labels import both_names, called, spoken
from pessimal.report import balanced
from pessimal.report.bars import BY_CHANCE, Bar, Group, Kind
from pessimal.tolerances import SLACK_OF_BOUNDS

if TYPE_CHECKING:
    from pessimal.workflows import Comparison

TWO = 2

RARE = 0.2
"""Share of the rows up to which a class is called rare."""

FEW = 100
"""Below so many rows a page says how little they tell of others."""

WEAK = 0.5
"""A bound below this share of what was found says more about the proof than about the models."""


@dataclass(frozen=True)
class Answer:
    """What a reader must know first: one sentence on what to do, and the picture behind it."""

    do: str
    groups: tuple[Group, ...]
    meaning: str


def answer(
    report: AuditReport,
    model: str,
    rows: str = "validation",
    beside: Comparison | None = None,
    held_out: Comparison | None = None,
    target: str | None = None,
) -> Answer:
    """Return the first screen of an audit.

    Parameters
    ----------
    report : AuditReport
    model : str
        What to call the chosen model.
    rows : str, default="validation"
        What to call the rows of the audit.
    beside : Comparison, optional
        Counts on the same rows: logistic regression, and the class of most training rows.
    held_out : Comparison, optional
        Counts on other rows, which tuning has not seen: these say whether a baseline is as good.
    target : str, optional
        The column that is predicted.
    """
    if not report.classes:
        return Answer(_advice_on_numbers(report), (_errors(report, model, rows),), meaning(report))
    if balanced.by_class(report):
        drawn = balanced.shares_right(report, model, rows, beside)
        group = Group(drawn.title, (*drawn.bars, _disagreement(report)))
        use = _on_disagreement(report, rows) + balanced.average(report, rows)
        do = balanced.baseline(report, rows, beside) or use
    else:
        group = _rows_right(report, model, rows, beside)
        do = _advice(report, rows, beside, held_out) + _rare(report)
    told = (predicted(report, target), meaning(report), _few_rows(report, model, rows, held_out))
    return Answer(do, (group,), " ".join(filter(None, told)))


def predicted(report: AuditReport, target: str | None) -> str:
    """Say which column is predicted, and what its classes are called."""
    classes = report.classes
    if target is not None:
        *first, last = (both_names(label, classes) for label in classes)
        return f"What is predicted: whether “{target}” is {', '.join(first)} or {last}."
    if spoken(classes) == tuple(str(label) for label in classes):
        return ""
    negative, positive = classes
    return f"“No” stands for {negative!s} and “yes” for {positive!s}."


def _few_rows(report: AuditReport, model: str, rows: str, held_out: Comparison | None) -> str:
    """Say which share of other rows the model may have right, where few rows were counted."""
    n, ours = report.n_val, right(report)
    if held_out is not None:
        n, ours, rows, model = held_out.n_rows, held_out.n_right, "held-out", "the tuned model"
    if n >= FEW:
        return ""
    ends = binomtest(ours, n).proportion_ci()
    low, high = math.floor(100.0 * ends.low), math.ceil(100.0 * ends.high)  # the confidence holds
    return (
        f"{n} {rows} rows are few: of other rows like them {model} may have between {low}% and "
        f"{high}% right (95% confidence)."
    )


def meaning(report: AuditReport) -> str:
    """Say which models are equally good."""
    percent = f"{100.0 * report.budget.epsilon:g} %"
    if report.box is not None:
        limit = f"{report.train_limit:.4f}, the least being {report.least_train_loss:.4f}"
        return (
            "Equally good models: those whose weights keep to the limits and whose mean "
            f"{report.loss} loss on the {report.n_train} training rows is at most {limit}."
        )
    if report.proves:
        return (
            f"Equally good models: all linear ones that fit the {report.n_train} training rows "
            f"within {percent} of the best fit, measured by what training minimises."
        )
    return (
        f"Equally good models: refits that fit the {report.n_train} training rows within "
        f"{percent} of the best one seen. They were found; nothing is proved of others."
    )


def right(report: AuditReport) -> int:
    """Return how many rows the chosen model has right."""
    if len(report.classes) != TWO:
        return report.n_val - round(report.reference.error * report.n_val)
    positive = np.array([label == report.classes[1] for label in report.labels.tolist()])
    return int(np.sum((report.reference.scores > 0.0) == positive))


def majority(report: AuditReport, beside: Comparison | None) -> int:
    """Return how many rows a model has right that says the same of each."""
    if beside is not None:
        return beside.n_majority
    assert report.constant is not None
    return report.n_val - round(report.constant.error * report.n_val)


def worst_right(report: AuditReport) -> tuple[int, int]:
    """Return how many rows the worst model found has right, and how many each has at least."""
    n, wrong = report.n_val, report.worst_error
    return n - round(wrong.value * n), n - round(wrong.bound * n)


def disagreeing(report: AuditReport) -> tuple[int, int]:
    """Return on how many rows models were found to disagree, and on how many at most."""
    return round(report.ambiguity * report.n_val), round(report.ambiguity_bound * report.n_val)


def same_of_each(report: AuditReport) -> str:
    """Return what a model says that says the same of each row: what most training rows are."""
    assert report.constant is not None
    return called(report.constant.label, report.classes)


def _rows_right(report: AuditReport, model: str, rows: str, beside: Comparison | None) -> Group:
    n = report.n_val

    def bar(name: str, count: int, kind: Kind) -> Bar:
        return Bar(name, count / n, f"{count} of {n}", kind)

    found, least = worst_right(report)
    worst = bar("the worst equally good model found", found, "worst")
    if report.proves:
        told = "and none has fewer" if least == found else f"none has fewer than {least}"
        if least == 0 < found:
            told = "fewer are not ruled out"
        elif least < WEAK * found:
            told = f"fewer are not ruled out; at least {least} is proved"
        elif report.at_zero:
            told += f", if {report.at_zero} that all score 0 count as right"
        worst = Bar(worst.name, worst.value, worst.words, "worst", least / n, told)
    elif report.stopped and found == right(report):
        worst = Bar(worst.name, worst.value, worst.words, "worst", None, "the search was stopped")
    bars = [bar(model, right(report), "model"), worst]
    if beside is not None:
        bars.append(bar("plain logistic regression", beside.n_right_logistic, "other"))
    constant = f"always “{same_of_each(report)}”"
    bars.append(bar(constant, majority(report, beside), "other"))
    bars.append(_disagreement(report))
    return Group(f"Rows right, of the {n} {rows} rows", tuple(bars))


def _disagreement(report: AuditReport) -> Bar:
    n = report.n_val
    some, most = disagreeing(report)
    words = f"{some} of {n}"
    name = "rows on which equally good models disagree"
    if not report.proves:
        return Bar(name, some / n, words, "disagree", None, "found; there may be more")
    if some == n:
        return Bar(name, 1.0, words, "disagree", 1.0, "all of them")
    if most == n or most - some > n / TWO:  # a bound would say little, or nothing
        return Bar(name, some / n, words, "disagree", None, f"found; {most - some} not settled")
    told = "and no others" if most == some else f"at most {most}"
    return Bar(name, some / n, words, "disagree", most / n, told)


def _advice(
    report: AuditReport, rows: str, beside: Comparison | None, held_out: Comparison | None
) -> str:
    """Say what to do, by the first of these rules that applies."""
    n, constant = report.n_val, majority(report, beside)
    same = f"always saying “{same_of_each(report)}”"
    if held_out is None:
        told = _baseline(right(report), constant, n, rows, same, beside)
    else:
        ours, most, of = held_out.n_right, held_out.n_majority, held_out.n_rows
        frequent = "always giving the more frequent answer"
        told = _baseline(ours, most, of, "held-out", frequent, held_out)
    if told:
        return told
    found, _ = worst_right(report)
    if found <= constant:
        return (
            f"Do not rely on this model: one that trains as well is right on {found} of {n} {rows} "
            f"rows, and {f'so is {same}' if found == constant else f'{same} on {constant}'}."
        )
    return _on_disagreement(report, rows)


def _on_disagreement(report: AuditReport, rows: str) -> str:
    """Say what to do with a model that is worth using, by how far equally good ones agree."""
    n = report.n_val
    some, most = disagreeing(report)
    if most == 0:
        return (
            "It does not matter which of the equally good models you have: they agree on each of "
            f"the {n} {rows} rows."
        )
    if some == 0 and report.stopped:
        return (
            "Run it again with more time: this run was stopped before it found equally good "
            "models that say how far to trust this one."
        )
    if some == 0:
        nobody = "no two equally good models were found that disagree"
        return f"Use the model as far as these rows tell: {nobody} on one of the {n} {rows} rows."
    if some > n / TWO:
        return (
            "Do not rely on single predictions: on most rows, "
            f"{some} of {n} {rows} ones ({percent(some / n)}), equally good models were found to "
            "disagree. More rows or fewer columns would help."
        )
    return (
        "Use the model where equally good models agree, and have a person decide where they do "
        f"not: on {some} of {n} {rows} rows ({percent(some / n)}) they were found to disagree."
    )


def _rare(report: AuditReport) -> str:
    """Say how many of a class are found that is so rare that rows right say little of it."""
    if len(report.classes) != TWO:
        return ""
    positive = np.array([label == report.classes[1] for label in report.labels.tolist()])
    which = int(positive.mean() <= 0.5)
    rare = positive == bool(which)
    if not 0.0 < rare.mean() < RARE:
        return ""
    found = int(np.sum(rare & ((report.reference.scores > 0.0) == positive)))
    name, n = spoken(report.classes)[which], int(rare.sum())
    told = (
        f" Only {percent(n / len(rare))} of the rows are “{name}”: of these {n} the model finds "
        f"{found or 'none'}."
    )
    if TWO * found < n:
        told += " Training in which both classes weigh the same finds more of them, as a rule."
    return told


def _baseline(
    ours: int, constant: int, n: int, rows: str, same: str, beside: Comparison | None
) -> str:
    """Say which baseline to prefer, if one is as good as the model, or better."""
    if ours == constant:
        return f"Do not use this model: it is right on {ours} of {n} {rows} rows, and so is {same}."
    if ours < constant:
        return (
            f"Do not use this model: {same} is right on {constant} of {n} {rows} rows, the model "
            f"on {ours}."
        )
    if beside is not None and _is_better(beside.n_only_logistic, beside.n_only):
        return (
            "Take plain logistic regression instead: it is right on "
            f"{beside.n_right_logistic} of {n} {rows} rows, this model on {ours}."
        )
    return ""


def _is_better(only_one: int, only_other: int) -> bool:
    """Whether one model has more rows right than luck explains: an exact sign test."""
    if only_one <= only_other:
        return False
    return bool(binomtest(only_one, only_one + only_other).pvalue < BY_CHANCE)


# Numbers instead of classes.


def _errors(report: AuditReport, model: str, rows: str) -> Group:
    """Compare by the root of the mean squared error, which has the unit of what is predicted."""
    constant = _off_by_the_mean(report)
    ours, found = np.sqrt(report.reference.loss), np.sqrt(report.worst_loss.value)
    most = np.sqrt(max(0.0, report.worst_loss.bound)) if report.proves else found
    longest = max(constant, most) or 1.0

    def bar(name: str, size: float, kind: Kind) -> Bar:
        return Bar(name, size / longest, f"{size:.4g}", kind)

    worst = bar("the worst equally good model found", found, "worst")
    if report.proves:
        exact = most - found <= SLACK_OF_BOUNDS * max(1.0, most)
        told = "and none is worse" if exact else f"none is above {_up(most)}"
        worst = Bar(worst.name, worst.value, worst.words, "worst", most / longest, told)
    bars = (
        bar(model, ours, "model"),
        worst,
        bar("always the mean of the training rows", constant, "other"),
    )
    title = f"Off by, root mean square, on the {report.n_val} {rows} rows (shorter is better)"
    return Group(title, bars)


def _off_by_the_mean(report: AuditReport) -> float:
    assert report.constant is not None
    return float(np.sqrt(report.constant.loss))


def _up(value: float) -> str:
    digits = max(0, 4 - int(np.ceil(np.log10(max(value, 1e-12)))))
    return f"{rounded(value, digits, 1.0):.{digits}f}"


def _advice_on_numbers(report: AuditReport) -> str:
    constant = _off_by_the_mean(report)
    ours, found = float(np.sqrt(report.reference.loss)), float(np.sqrt(report.worst_loss.value))
    if ours >= constant:
        return "Do not use this model: to predict the mean of the training rows is as good."
    if found >= constant:
        return (
            "Do not rely on this model: one that trains as well is no better than to predict the "
            "mean of the training rows."
        )
    width = float(np.median(report.found_high - report.found_low))
    return (
        f"Read a prediction as a range: equally good models that were found differ by {width:.3g} "
        "on the median row."
    )
