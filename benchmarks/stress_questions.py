"""What a case is asked, and how the answer is judged by exact oracles."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from oracles import pessimistic_optimum
from oracles.exact import (
    Hinges,
    NearOptimalSet,
    exact,
    follower_loss,
    in_box,
    least_loss,
    minimise,
    optimistic_value,
    pessimistic_value,
    sublevel,
)
from oracles.polytope import Point
from sklearn.linear_model import LogisticRegression
from stress_cases import Case, Rng, base
from stress_findings import Findings, Verdict, agree, at_most

from pessimal import (
    AuditReport,
    TuningSolution,
    audit,
    audit_estimator,
    best_case,
    solve_optimistic,
    solve_pessimistic,
    training,
    worst_case,
)
from pessimal.errors import InvalidInputError
from pessimal.problem import Vector
from pessimal.solution import Status
from pessimal.tolerances import STRICT

FEASIBLE = 1e-8
"""How far an answer may be from feasible, relative to losses above 1."""

TIE = 1.1 * STRICT
"""A margin this close to a threshold may be counted or not."""

SECONDS = 60.0
"""Time limit of a search."""


def judge_maximum(
    findings: Findings, name: str, value: float, bound: float, truth: Fraction
) -> None:
    """Judge a value that is attained, and a bound that no member passes."""
    text = f"{name} [{value:.9g}, {bound:.9g}], truth {float(truth):.9g}"
    findings.require(at_most(value, truth), f"{text}: value not attainable")
    findings.require(at_most(truth, bound), f"{text}: bound too low")
    findings.require(at_most(bound, value), f"{text}: open", Verdict.OPEN)
    findings.require(at_most(truth, value), f"{text}: value too low", Verdict.WEAK)


def judge_count(
    findings: Findings,
    name: str,
    found: tuple[float, float],
    attained: tuple[float, float],
    truth: tuple[Fraction, Fraction],
) -> None:
    """Judge a largest count: all pairs but `found` are without and with ties."""
    value, bound = found
    least, most = (float(count) for count in truth)
    text = f"{name} [{value:.9g}, {bound:.9g}], truth {least:.9g}..{most:.9g}"
    findings.require(at_most(least, bound), f"{text}: bound too low")
    findings.require(at_most(value, most), f"{text}: value not attainable")
    own = at_most(attained[0], value) and at_most(value, attained[1])
    findings.require(own, f"{text}: model has {attained[0]:.9g}..{attained[1]:.9g}")
    findings.require(at_most(bound, max(value, most)), f"{text}: open", Verdict.OPEN)
    findings.require(at_most(least, value), f"{text}: value too low", Verdict.WEAK)


def judge_member(findings: Findings, name: str, members: NearOptimalSet, u: Point) -> None:
    """Judge whether a model lies in the box, and trains within the budget."""
    inside = all(at_most(abs(w), limit, 1e-12) for w, limit in zip(u, members.box, strict=False))
    findings.require(inside, f"{name}: model outside the box")
    loss = members.train.loss(u)
    excess = float(loss - members.limit)
    findings.require(
        excess <= 2e-9 * max(1.0, float(members.limit)), f"{name}: trains {excess:.2g} too badly"
    )


def near_optimal(
    case: Case, box: Point | None = None, relative: float | None = None
) -> NearOptimalSet:
    """Members in the box of the case, or another one, for its budget, or another ε."""
    epsilon = case.budget.relative if relative is None else relative
    return NearOptimalSet(case.train, box or exact(case.box), epsilon, case.budget.absolute)


def ask_hinge(case: Case, findings: Findings) -> None:
    members = near_optimal(case)
    found = worst_case(case.problem, case.box / case.scale, case.budget)
    u = case.model(found.coef, found.intercept)
    truth = members.worst_hinge(case.val)
    judge_maximum(findings, "worst hinge", found.value, found.upper_bound, truth)
    judge_member(findings, "worst hinge", members, u)
    findings.require(agree(found.value, case.val.loss(u)), "value of model")
    few = worst_case(case.problem, case.box / case.scale, case.budget, node_limit=1)
    findings.require(at_most(truth, few.upper_bound), f"bound {few.upper_bound} at one node")
    findings.require(at_most(few.value, truth), f"value {few.value} at one node")
    flip = worst_case(
        case.problem, case.box / case.scale, case.budget, method="flip", flipped=case.flipped
    )
    findings.require(at_most(flip.value, truth), f"flip: value {flip.value}")
    findings.require(at_most(truth, flip.upper_bound), f"flip: bound {flip.upper_bound}")


def ask_counts(case: Case, findings: Findings) -> None:
    members = near_optimal(case)
    for loss, threshold in (("zero_one", 0.0), ("margin", 1.0)):
        found = worst_case(case.problem, case.box / case.scale, case.budget, loss=loss)  # type: ignore[arg-type]
        u = case.model(found.coef, found.intercept)
        judge_member(findings, loss, members, u)
        sides = threshold - TIE, threshold + TIE
        judge_count(
            findings,
            loss,
            (found.value, found.upper_bound),
            (case.val.below(u, sides[0]), case.val.below(u, sides[1])),
            (members.most_below(case.val, sides[0]), members.most_below(case.val, sides[1])),
        )


def ask_linear_programs(case: Case, findings: Findings) -> None:
    """Least training loss, best case, score ranges: linear programs, proved or wrong."""
    members = near_optimal(case)
    box = case.box / case.scale
    trained = training.least_loss(case.problem, box)
    text = f"least loss {trained.value:.9g}, truth {float(members.least):.9g}"
    findings.require(agree(trained.value, members.least), text)
    best = best_case(case.problem, box, case.budget)
    truth = members.best_hinge(case.val)
    text = f"best case {best.value:.9g}, truth {float(truth):.9g}"
    findings.require(agree(best.value, truth), text)
    judge_member(findings, "best case", members, case.model(best.coef, best.intercept))
    _judge_ranges(findings, case, members, *training.score_range(case.problem, box, case.budget))


def _judge_ranges(
    findings: Findings, case: Case, members: NearOptimalSet, low: Vector, high: Vector
) -> None:
    for k, x in enumerate(case.X_val):
        least, most = (float(end) for end in members.score_range(x))
        text = f"score {k} [{low[k]:.9g}, {high[k]:.9g}], truth [{least:.9g}, {most:.9g}]"
        findings.require(agree(low[k], least) and agree(high[k], most), text)


def ask_audit(case: Case, findings: Findings) -> None:
    case = replace(case, train_weight=None, val_weight=None)
    report = audit(
        case.X_train * case.scale,
        case.y_train,
        case.X_val * case.scale,
        case.y_val,
        box=case.box / case.scale,
        epsilon=case.budget.relative,
        delta=case.budget.absolute,
        epsilons=(0.0, 0.3),
    )
    _judge_audit(findings, case, near_optimal(case), report)
    for i, epsilon in enumerate(report.curve.epsilons):
        members = near_optimal(case, relative=float(epsilon))
        name, curve = f"curve at {epsilon}", report.curve
        bounds = curve.worst_loss_bound[i], curve.worst_error_bound[i]
        truth = members.worst_hinge(case.val)
        judge_maximum(findings, name, curve.worst_loss[i], bounds[0], truth)
        best = members.best_hinge(case.val)
        same = agree(curve.best_loss[i], best)
        findings.require(same, f"{name}: best {curve.best_loss[i]}, truth {float(best)}")
        counts = members.most_below(case.val, -TIE), members.most_below(case.val, TIE)
        value = float(curve.worst_error[i])
        judge_count(findings, f"{name}: error", (value, bounds[1]), (value, value), counts)


def ask_audit_estimator(case: Case, findings: Findings) -> None:
    """Ask in the box of a fitted model, with what it trains worse than the best as budget."""
    case = replace(case, train_weight=None, val_weight=None)
    X_train, X_val = case.X_train * case.scale, case.X_val * case.scale
    model = LogisticRegression(C=float(case.rng.choice((0.1, 1.0, 100.0)))).fit(
        X_train, case.y_train
    )
    epsilon = case.budget.relative
    report = audit_estimator(
        model, X_train, case.y_train, X_val, case.y_val, epsilon=epsilon, epsilons=()
    )
    u = case.model(model.coef_[0], model.intercept_[0])
    box = tuple(abs(w) for w in u[:-1])
    excess = case.train.loss(u) - least_loss(case.train, box)
    members = NearOptimalSet(case.train, box, epsilon, excess)
    _judge_audit(findings, case, members, report)
    own = case.val.loss(u)
    inside = at_most(report.best_loss.bound, own) and at_most(own, report.worst_loss.bound)
    findings.require(inside, f"the model itself, of loss {float(own):.9g}, is outside")


def _judge_audit(
    findings: Findings, case: Case, members: NearOptimalSet, report: AuditReport
) -> None:
    extremes = {
        name: getattr(report, name)
        for name in ("best_loss", "worst_loss", "best_error", "worst_error", "discrepancy")
    }
    models = {name: case.model(end.coef, end.intercept) for name, end in extremes.items()}
    for name, u in models.items():
        judge_member(findings, name, members, u)
    least, limit = report.least_train_loss, report.train_limit
    findings.require(agree(least, members.least), f"least loss {least}")
    findings.require(agree(limit, members.limit), f"limit {limit}")

    worst = extremes["worst_loss"]
    worst_hinge = members.worst_hinge(case.val)
    judge_maximum(findings, "worst loss", worst.value, worst.bound, worst_hinge)
    best, truth = extremes["best_loss"], members.best_hinge(case.val)
    judge_maximum(findings, "minus best loss", -best.value, -best.bound, -truth)

    labels = np.asarray(report.reference.coef) @ (case.X_val * case.scale).T
    labels = labels + report.reference.intercept
    sure = Hinges(case.X_val, np.where(np.abs(labels) > TIE, np.sign(labels), 0.0))
    unsure = float(np.mean(np.abs(labels) <= TIE))
    for name, points, slack in (("worst_error", case.val, 0.0), ("discrepancy", sure, unsure)):
        end, u = extremes[name], models[name]
        judge_count(
            findings,
            name,
            (end.value, end.bound),
            (points.below(u, -TIE), points.below(u, TIE) + slack),
            (members.most_below(points, -TIE), members.most_below(points, TIE) + Fraction(slack)),
        )
    end, u = extremes["best_error"], models["best_error"]
    judge_count(
        findings,
        "1 - best_error",
        (1.0 - end.value, 1.0 - end.bound),
        (1.0 - case.val.below(u, TIE), 1.0 - case.val.below(u, -TIE)),
        (members.most_above(case.val, TIE), members.most_above(case.val, -TIE)),
    )
    _judge_ranges(findings, case, members, report.score_low, report.score_high)
    for k, x in enumerate(case.X_val):
        low, high = members.score_range(x)
        if low < -TIE and high > TIE:
            findings.require(bool(report.ambiguous[k]), f"row {k} is ambiguous")
        elif low > TIE or high < -TIE:
            findings.require(not report.ambiguous[k], f"row {k} is not ambiguous")
    _judge_guarantee(
        findings,
        report.guarantee,
        worst_hinge,
        members.most_below(case.val, -TIE) * len(case.y_val),
    )


def _judge_guarantee(
    findings: Findings, sentence: str, worst_hinge: Fraction, wrong: Fraction
) -> None:
    loss = re.search(r"hinge loss of ([0-9.e+]+)", sentence)
    count = re.search(r"(\d+) of \d+ points wrong", sentence)
    text = f"{sentence!r}, truth {float(worst_hinge):.9g} and {float(wrong):g}"
    findings.require(loss is not None and count is not None, f"not read: {text}", Verdict.WEAK)
    findings.require(loss is None or at_most(worst_hinge, float(loss[1]), 1e-9), text)
    findings.require(count is None or at_most(wrong, int(count[1])), text)


def ask_optimistic(case: Case, findings: Findings) -> None:
    _judge_optimistic(case, findings, solve_optimistic(case.problem, time_limit=SECONDS))


def _judge_optimistic(case: Case, findings: Findings, solution: TuningSolution) -> None:
    truth = optimistic_value(case.train, case.val, exact(case.lower), exact(case.upper))
    u = _judge_solution(case, findings, solution, truth)
    gap = case.train.loss(u) - least_loss(case.train, case.own_units(solution.box))
    findings.require(at_most(gap, 0.0, FEASIBLE), f"model trains {float(gap):.2g} above the least")


def ask_flip(case: Case, findings: Findings) -> None:
    rule = (case.flipped, "all", "margin", "paper")[case.rng.integers(4)]
    tie_break = ("smallest_box", "largest_box")[case.rng.integers(2)]
    solution = solve_pessimistic(
        case.problem,
        case.budget,
        flip=rule,
        time_limit=SECONDS,
        tie_break=tie_break,  # type: ignore[arg-type]
    )
    _judge_flip(case, findings, solution)


def _judge_flip(case: Case, findings: Findings, solution: TuningSolution) -> None:
    assert solution.flipped is not None
    flipped = case.val.flipped(solution.flipped.tolist())
    lower, upper = exact(case.lower), exact(case.upper)
    free = case.budget.relative == case.budget.absolute == 0.0
    truth = pessimistic_value(case.train, case.val, flipped, lower, upper) if free else None
    u = _judge_solution(case, findings, solution, truth)
    error = _follower_error(case, flipped, u, case.own_units(solution.box))
    findings.require(error <= FEASIBLE, f"model fits flipped labels {error:.2g} above the least")
    if not free:
        _refute_flip(case, findings, solution, flipped)


def _follower_error(case: Case, flipped: Hinges, u: Point, box: Point) -> float:
    """How much better another model of the box fits the flipped labels, if it trains as well."""
    limit = max(near_optimal(case, box).limit, case.train.loss(u))
    models = sublevel(in_box(case.train, box, limit), case.train, limit)
    return float(flipped.loss(u) - minimise(models, flipped))


def _refute_flip(case: Case, findings: Findings, solution: TuningSolution, flipped: Hinges) -> None:
    """Try to find a point below the bound: that of the float oracle, and of some boxes."""
    bound = solution.lower_bound
    points = []
    if case.train_weight is None and case.val_weight is None:
        assert solution.flipped is not None
        plain = replace(case, scale=np.ones(len(case.box)))
        found = pessimistic_optimum(plain.problem, case.budget, solution.flipped)
        box = exact(np.clip(found.box, case.lower, case.upper))
        u = (*(max(-h, min(h, w)) for w, h in zip(exact(found.w), box, strict=True)),
             Fraction(found.b))  # fmt: skip
        if _follower_error(case, flipped, u, box) <= FEASIBLE:
            points.append(case.val.loss(u))
            text = f"objective {solution.objective:.9g}, oracle {found.value:.9g}"
            met = at_most(solution.objective, found.value)
            findings.require(met, f"{text}: missed", Verdict.WEAK)
    for _ in range(5):
        share = case.rng.choice((0.0, 0.25, 0.5, 1.0), len(case.box))
        box = exact(case.lower + share * (case.upper - case.lower))
        limit = near_optimal(case, box).limit + Fraction(float(case.rng.choice((0.0, 0.1, 0.5))))
        points.append(follower_loss(case.train, case.val, flipped, box, limit))
    findings.require(
        at_most(bound, min(points)), f"bound {bound:.9g}, a point has {float(min(points)):.9g}"
    )


def _judge_solution(
    case: Case, findings: Findings, solution: TuningSolution, truth: Fraction | None
) -> Point:
    """Judge objective, bound and box; return the model."""
    u = case.model(solution.coef, solution.intercept)
    box = case.own_units(solution.box)
    limits = zip(exact(case.lower), box, exact(case.upper), strict=True)
    held = all(at_most(lo, h, 1e-12) and at_most(h, up, 1e-12) for lo, h, up in limits)
    findings.require(held, "box outside its limits")
    inside = all(at_most(abs(w), h, 1e-12) for w, h in zip(u, box, strict=False))
    findings.require(inside, "model outside the box")
    text = f"objective {solution.objective:.9g}, bound {solution.lower_bound:.9g}"
    own = case.val.loss(u)
    findings.require(agree(solution.objective, own), f"{text}, own {float(own)}")
    findings.require(at_most(solution.lower_bound, solution.objective), f"{text} crossed")
    if truth is not None:
        text += f", truth {float(truth):.9g}"
        findings.require(at_most(solution.lower_bound, truth), f"{text}: bound too high")
        findings.require(at_most(truth, solution.objective), f"{text}: objective too low")
        met = at_most(solution.objective, truth) or solution.status != Status.OPTIMAL
        findings.require(met, f"{text}: missed", Verdict.WEAK)
    findings.require(solution.proved, f"{text}: {solution.status.value}", Verdict.OPEN)
    return u


def ask_exact(case: Case, findings: Findings) -> None:
    """Ask for true pessimism: the worst case of its own box, a bound that no box beats."""
    one = bool(case.rng.integers(2)) and len(np.unique(case.lower / case.scale)) == 1
    solution = solve_pessimistic(
        case.problem,
        case.budget,
        inner="exact",
        groups="one" if one else "each",
        time_limit=SECONDS,
        node_limit=200,
    )
    _judge_solution(case, findings, solution, None)
    own = near_optimal(case, case.own_units(solution.box)).worst_hinge(case.val)
    text = f"objective {solution.objective:.9g}, worst case of its box {float(own):.9g}"
    findings.require(agree(solution.objective, own), text)
    scaled = case.lower / case.scale, case.upper / case.scale
    for _ in range(8):
        if one:
            share = float(case.rng.choice((0.0, 0.125, 0.25, 0.5, 0.75, 1.0)))
            h = scaled[0].max() + share * (scaled[1].max() - scaled[0].max())
            box = np.minimum(h, scaled[1])
        else:
            shares = case.rng.choice((0.0, 0.25, 0.5, 0.75, 1.0), len(case.box))
            box = scaled[0] + shares * (scaled[1] - scaled[0])
        there = near_optimal(case, case.own_units(box)).worst_hinge(case.val)
        text = f"bound {solution.lower_bound:.9g}, {float(there):.9g} at {box.tolist()}"
        findings.require(at_most(solution.lower_bound, there), text)


def ask_milp(case: Case, findings: Findings) -> None:
    solver = ("highs", "scip", "gurobi", "cplex")[case.rng.integers(4)]
    findings.add(Verdict.SAME, solver)
    if case.rng.integers(2):
        solution = solve_optimistic(case.problem, method="milp", solver=solver, time_limit=SECONDS)
        _judge_optimistic(case, findings, solution)
    else:
        solution = solve_pessimistic(
            case.problem,
            case.budget,
            flip=case.flipped,
            method="milp",
            solver=solver,
            time_limit=SECONDS,
        )
        _judge_flip(case, findings, solution)


def empty_flip(rng: Rng, number: int, findings: Findings) -> None:
    """Ask with a mask that flips nothing, or no point of weight: it must be refused."""
    case = base(rng, small=True, m=3)
    if number % 2:
        case = replace(case, val_weight=np.array([0.0, 1.0, 2.0]))
    findings.source = case.source()
    mask = np.array([bool(number % 2), False, False])
    calls: dict[str, Callable[[], object]] = {
        "search": lambda: solve_pessimistic(case.problem, case.budget, flip=mask),
        "milp": lambda: solve_pessimistic(case.problem, case.budget, flip=mask, method="milp"),
        "worst case": lambda: worst_case(
            case.problem, case.box, case.budget, method="flip", flipped=mask
        ),
    }
    for name, call in calls.items():
        try:
            call()
        except InvalidInputError:
            continue
        findings.add(Verdict.WRONG, f"{name}: accepted {mask.tolist()}")


Question = Callable[[Case, Findings], None]

QUESTIONS: dict[str, tuple[Question, bool]] = {
    "hinge": (ask_hinge, False),
    "counts": (ask_counts, False),
    "linear programs": (ask_linear_programs, False),
    "audit": (ask_audit, False),
    "audit of an estimator": (ask_audit_estimator, False),
    "optimistic": (ask_optimistic, True),
    "flip": (ask_flip, True),
    "exact": (ask_exact, True),
    "milp": (ask_milp, True),
}
"""Each with whether its oracle needs a small case."""
