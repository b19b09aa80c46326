"""Questions about the near-optimal models of one box, judged in fractions."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
from oracles.exact import Hinges, NearOptimalSet, exact, least_loss
from oracles.polytope import Point
from sklearn.linear_model import LogisticRegression
from stress_cases import Case
from stress_findings import Findings, Verdict, agree, at_most

from pessimal import AuditReport, audit, audit_estimator, best_case, worst_case
from pessimal import near_optimal as sets
from pessimal.problem import Vector
from pessimal.tolerances import STRICT

TRAINS = 5e-9
"""How far above the budget a model may train, relative to budgets above 1."""

TIE = 1.1 * STRICT
"""A margin this close to a threshold may be counted or not."""

NO_TIME = 1e-6
"""A time limit that stops a call at once."""

ONE = Fraction(1)

Counts = tuple[float | Fraction, float | Fraction]
"""A count without its ties, and with them."""


def near_optimal(
    case: Case, box: Point | None = None, relative: float | None = None
) -> NearOptimalSet:
    """Members in the box of the case, or another one, for its budget, or another ε."""
    epsilon = case.budget.epsilon if relative is None else relative
    return NearOptimalSet(case.train, box or exact(case.box), epsilon, case.budget.delta)


def judge_maximum(
    findings: Findings, name: str, value: float, bound: float, truth: Fraction
) -> None:
    """Judge a value that a member attains, and a bound that none passes."""
    text = f"{name} [{value:.9g}, {bound:.9g}], truth {float(truth):.9g}"
    findings.require(at_most(value, truth), f"{text}: value not attainable")
    findings.require(at_most(truth, bound), f"{text}: bound too low")
    findings.require(at_most(bound, value), f"{text}: open", Verdict.OPEN)
    findings.require(at_most(truth, value), f"{text}: value too low", Verdict.WEAK)


def judge_count(
    findings: Findings, name: str, found: tuple[float, float], attained: Counts, truth: Counts
) -> None:
    """Judge a largest count, that of its own model, and its bound."""
    value, bound = found
    least, most = truth
    text = f"{name} [{value:.9g}, {bound:.9g}], truth {float(least):.9g}..{float(most):.9g}"
    findings.require(at_most(least, bound), f"{text}: bound too low")
    findings.require(at_most(value, most), f"{text}: value not attainable")
    own = at_most(attained[0], value) and at_most(value, attained[1])
    findings.require(own, f"{text}: not that of its model")
    findings.require(at_most(bound, max(value, float(most))), f"{text}: open", Verdict.OPEN)
    findings.require(at_most(least, value), f"{text}: value too low", Verdict.WEAK)


def judge_member(findings: Findings, name: str, members: NearOptimalSet, u: Point) -> None:
    """Judge whether a model lies in the box, and trains within the budget."""
    inside = all(at_most(abs(w), limit, 1e-12) for w, limit in zip(u, members.box, strict=False))
    findings.require(inside, f"{name}: model outside the box")
    loss, limit = members.train.loss(u), members.limit
    text = f"{name}: model trains {float(loss - limit):.2g} too badly"
    findings.require(at_most(loss, limit, TRAINS), text)


def judge_ranges(
    findings: Findings, case: Case, members: NearOptimalSet, low: Vector, high: Vector
) -> None:
    """Judge the range of every validation score: attained, and not passed."""
    for k, x in enumerate(case.X_val):
        least, most = members.score_range(x)
        text = f"score {k} [{low[k]:.9g}, {high[k]:.9g}], truth [{least:.9g}, {most:.9g}]"
        findings.require(at_most(low[k], least) and at_most(most, high[k]), f"{text}: too narrow")
        # The ends are bounds: where weights are far apart, safe rounding moves them a little.
        narrow = at_most(least, low[k]) and at_most(high[k], most)
        findings.require(narrow, f"{text}: too wide", Verdict.OPEN)


def ask_hinge(case: Case, findings: Findings) -> None:
    members = near_optimal(case)
    truth = members.worst_hinge(case.val)
    found = worst_case(case.problem, case.limits, case.budget)
    judge_maximum(findings, "hinge", found.value, found.upper_bound, truth)
    u = case.model(found.coef, found.intercept)
    judge_member(findings, "hinge", members, u)
    findings.require(agree(found.value, case.val.loss(u)), "value not that of its model")
    flip = worst_case(case.problem, case.limits, case.budget, inner="flip", flip=case.flipped)
    few = worst_case(case.problem, case.limits, case.budget, node_limit=1)
    none = worst_case(case.problem, case.limits, case.budget, time_limit=NO_TIME)
    for name, other in {"flip": flip, "one node": few, "no time": none}.items():
        with findings.limited():
            judge_maximum(findings, name, other.value, other.upper_bound, truth)


def ask_counts(case: Case, findings: Findings) -> None:
    members = near_optimal(case)
    losses: dict[Literal["zero_one", "margin"], float] = {"zero_one": 0.0, "margin": 1.0}
    for loss, threshold in losses.items():
        truth = (
            members.most_below(case.val, threshold - TIE),
            members.most_below(case.val, threshold + TIE),
        )
        for limit in (None, NO_TIME):
            found = worst_case(case.problem, case.limits, case.budget, loss=loss, time_limit=limit)
            u = case.model(found.coef, found.intercept)
            own = case.val.below(u, threshold - TIE), case.val.below(u, threshold + TIE)
            with findings.limited(limit is not None):
                judge_member(findings, loss, members, u)
                judge_count(findings, loss, (found.value, found.upper_bound), own, truth)


def ask_linear_programs(case: Case, findings: Findings) -> None:
    """Ask for the least training loss, the best case and score ranges."""
    members = near_optimal(case)
    trained = sets.least_loss(case.problem, case.limits)
    text = f"least loss {trained.value:.9g}, truth {float(members.least):.9g}"
    findings.require(agree(trained.value, members.least), text)
    best, truth = best_case(case.problem, case.limits, case.budget), members.best_hinge(case.val)
    text = f"best case {best.value:.9g}, truth {float(truth):.9g}"
    findings.require(agree(best.value, truth), text)
    judge_member(findings, "best case", members, case.model(best.coef, best.intercept))
    low, high = sets.score_range(case.problem, case.limits, case.budget)
    judge_ranges(findings, case, members, low, high)


def ask_audit(case: Case, findings: Findings) -> None:
    """Ask for an audit with its curve, then for one without time."""
    case = replace(case, train_weight=None, val_weight=None)
    members = near_optimal(case)
    for limit in (None, NO_TIME):
        report = audit(
            case.X_train * case.scale,
            case.y_train,
            case.X_val * case.scale,
            case.y_val,
            box=case.limits,
            epsilon=case.budget.epsilon,
            delta=case.budget.delta,
            epsilons=(0.0, 0.3),
            time_limit=limit,
        )
        with findings.limited(limit is not None):
            _judge_audit(findings, case, members, report, complete=limit is None)
            _judge_curve(findings, case, report)


def ask_audit_estimator(case: Case, findings: Findings) -> None:
    """Ask in the box of a fitted model, with what it trains worse than the best as budget."""
    case = replace(case, train_weight=None, val_weight=None)
    X_train, X_val = case.X_train * case.scale, case.X_val * case.scale
    model = LogisticRegression().fit([[0.0] * len(case.box), [1.0] * len(case.box)], [-1.0, 1.0])
    model.coef_[0] = case.limits * case.rng.choice((-1.0, -0.5, 0.5, 1.0), len(case.box))
    model.intercept_[0] = case.rng.integers(-4, 5) / 2.0
    epsilon = case.budget.epsilon
    report = audit_estimator(
        model,
        X_train,
        case.y_train,
        X_val,
        case.y_val,
        epsilon=epsilon,
        epsilons=(),
        training="hinge box",
    )
    u = case.model(model.coef_[0], model.intercept_[0])
    box = tuple(abs(w) for w in u[:-1])
    excess = case.train.loss(u) - least_loss(case.train, box)
    members = NearOptimalSet(case.train, box, epsilon, excess)
    _judge_audit(findings, case, members, report)
    own = case.val.loss(u)
    inside = at_most(report.best_loss.bound, own) and at_most(own, report.worst_loss.bound)
    findings.require(inside, f"the model itself, of loss {float(own):.9g}, is outside")


def _judge_curve(findings: Findings, case: Case, report: AuditReport) -> None:
    curve = report.curve
    for i, epsilon in enumerate(curve.epsilons):
        name, members = f"curve at {epsilon}", near_optimal(case, relative=float(epsilon))
        worst, best = members.worst_hinge(case.val), members.best_hinge(case.val)
        judge_maximum(findings, name, curve.worst_loss[i], curve.worst_loss_bound[i], worst)
        text = f"{name}: best {curve.best_loss[i]}, truth {float(best)}"
        known = (
            at_most(best, curve.best_loss[i]) if report.stopped else agree(curve.best_loss[i], best)
        )
        findings.require(known, text)
        value, bound = float(curve.worst_error[i]), float(curve.worst_error_bound[i])
        truth = members.most_below(case.val, -TIE), members.most_below(case.val, TIE)
        judge_count(findings, f"{name}: error", (value, bound), (value, value), truth)


def _judge_audit(
    findings: Findings,
    case: Case,
    members: NearOptimalSet,
    report: AuditReport,
    complete: bool = True,
) -> None:
    names = ("best_loss", "worst_loss", "best_error", "worst_error", "discrepancy")
    ends = {name: getattr(report, name) for name in names}
    models = {name: case.model(end.coef, end.intercept) for name, end in ends.items()}
    for name, u in models.items():
        judge_member(findings, name, members, u)
    for name, truth in (("least_train_loss", members.least), ("train_limit", members.limit)):
        text = f"{name} {getattr(report, name):.9g}, truth {float(truth):.9g}"
        findings.require(agree(getattr(report, name), truth), text)

    worst, best = members.worst_hinge(case.val), members.best_hinge(case.val)
    end = ends["worst_loss"]
    judge_maximum(findings, "worst_loss", end.value, end.bound, worst)
    end = ends["best_loss"]
    judge_maximum(findings, "minus best_loss", -end.value, -end.bound, -best)

    wrong = members.most_below(case.val, -TIE), members.most_below(case.val, TIE)
    end, u = ends["worst_error"], models["worst_error"]
    own: Counts = (case.val.below(u, -TIE), case.val.below(u, TIE))
    judge_count(findings, "worst_error", (end.value, end.bound), own, wrong)
    right = members.most_above(case.val, TIE), members.most_above(case.val, -TIE)
    end, u = ends["best_error"], models["best_error"]
    own = (1.0 - case.val.below(u, TIE), 1.0 - case.val.below(u, -TIE))
    judge_count(findings, "1 - best_error", (1.0 - end.value, 1.0 - end.bound), own, right)

    # Where the reference scores 0, nothing is a tie: any label may differ from its own.
    scores = (case.X_val * case.scale) @ report.reference.coef + report.reference.intercept
    sure = np.abs(scores) > TIE
    points, unsure = Hinges(case.X_val, np.sign(scores) * sure), float(np.mean(~sure))
    end, u = ends["discrepancy"], models["discrepancy"]
    differ = (
        members.most_below(points, -TIE),
        min(ONE, members.most_below(points, TIE) + Fraction(unsure)),
    )
    own = (points.below(u, -TIE), points.below(u, TIE) + unsure)
    judge_count(findings, "discrepancy", (end.value, end.bound), own, differ)

    if complete:
        judge_ranges(findings, case, members, report.score_low, report.score_high)
        for k, x in enumerate(case.X_val):
            low, high = members.score_range(x)
            if min(abs(low), abs(high)) > TIE:
                text = f"row {k}, scores [{low:.9g}, {high:.9g}]: ambiguous or not"
                findings.require(bool(report.ambiguous[k]) == (low < 0.0 < high), text)
    _judge_guarantee(findings, report.guarantee, worst, wrong[0] * len(case.y_val))


def _judge_guarantee(findings: Findings, sentence: str, worst: Fraction, wrong: Fraction) -> None:
    """Judge the printed numbers: no member may exceed them, for they are rounded upwards."""
    loss = re.search(r"hinge loss of ([0-9.e+]+)", sentence)
    count = re.search(r"(\d+) of \d+ points wrong", sentence)
    text = f"{sentence!r}, truth {float(worst):.9g} and {float(wrong):g}"
    findings.require(loss is not None and count is not None, f"not read: {text}", Verdict.WEAK)
    findings.require(loss is None or at_most(worst, float(loss[1]), 1e-9), text)
    findings.require(count is None or at_most(wrong, int(count[1])), text)
