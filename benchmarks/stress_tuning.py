"""Questions about tuned boxes: both views, by the search and by mixed-integer programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from oracles import pessimistic_optimum
from oracles.exact import (
    Hinges,
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
from stress_boxes import near_optimal
from stress_cases import Case, Rng, base
from stress_findings import Findings, Verdict, agree, at_most

from pessimal import TuningSolution, solve_optimistic, solve_pessimistic, worst_case
from pessimal.errors import InvalidInputError
from pessimal.solution import Status
from pessimal.solve import Solver
from pessimal.solvers.base import weight_spread
from pessimal.tolerances import CERTIFICATE, LP_FEASIBILITY, WEIGHT_SPREAD

FEASIBLE = 1e-8
"""How far from optimal in the inner problem an answer may be, relative to losses above 1.

Where training weights span more than `WEIGHT_SPREAD` nothing is proved, and what is promised of a
model is its certificate alone: the slack of the training budget, small as it is, moves the hinge of
the lightest point, and with it the model, by up to a hundred times itself.
"""

SECONDS = 60.0
"""Time limit of a search; the cases are far smaller than it takes."""

SOLVERS: tuple[Solver, ...] = ("highs", "scip", "gurobi", "cplex")


def ask_optimistic(case: Case, findings: Findings) -> None:
    _judge_optimistic(case, findings, partial(solve_optimistic, time_limit=SECONDS))


def ask_flip(case: Case, findings: Findings) -> None:
    rule = (case.flipped, "all", "margin", "paper")[case.rng.integers(4)]
    _judge_flip(case, findings, partial(solve_pessimistic, flip=rule, time_limit=SECONDS))


def ask_milp(case: Case, findings: Findings) -> None:
    solver = SOLVERS[case.rng.integers(len(SOLVERS))]
    findings.subject += f" ({solver})"
    if case.rng.integers(2):
        solve = partial(solve_optimistic, method="milp", solver=solver, time_limit=SECONDS)
        _judge_optimistic(case, findings, solve, limits=False)
    else:
        solve = partial(
            solve_pessimistic, flip=case.flipped, method="milp", solver=solver, time_limit=SECONDS
        )
        _judge_flip(case, findings, solve, limits=False)


def ask_exact(case: Case, findings: Findings) -> None:
    """Ask for true pessimism: the worst case of its own box, a bound that no box beats."""
    lower, upper = case.lower / case.scale, case.upper / case.scale
    one = bool(case.rng.integers(2)) and bool((lower == lower[0]).all())
    solution = solve_pessimistic(
        case.problem,
        case.budget,
        inner="exact",
        groups="one" if one else "each",
        time_limit=SECONDS,
        node_limit=200,
    )
    findings.subject += ", one limit" if one else ""
    _judge_solution(case, findings, solution, None)
    own = near_optimal(case, case.own_units(solution.box)).worst_hinge(case.val)
    text = f"objective {solution.objective:.9g}, worst case of its box {float(own):.9g}"
    bound = solution.worst_case_bound
    findings.require(at_most(solution.objective, own) and at_most(own, bound), f"{text} <= {bound}")
    findings.require(agree(solution.objective, own), text, Verdict.OPEN)
    findings.require(not solution.proved or agree(solution.objective, own), f"{text}, proved")
    for _ in range(8):
        share = case.rng.choice((0.0, 0.125, 0.25, 0.5, 0.75, 1.0), 1 if one else len(case.box))
        box = np.minimum(lower + share * (upper.max() if one else upper - lower), upper)
        there = near_optimal(case, case.own_units(box)).worst_hinge(case.val)
        text = f"bound {solution.lower_bound:.9g}, {float(there):.9g} at {box.tolist()}"
        findings.require(at_most(solution.lower_bound, there), text)


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
            case.problem, case.box, case.budget, inner="flip", flip=mask
        ),
    }
    for name, call in calls.items():
        try:
            call()
        except InvalidInputError:
            continue
        findings.add(Verdict.WRONG, f"{name}: accepted {mask.tolist()}")


def _judge_optimistic(
    case: Case, findings: Findings, solve: Callable[..., TuningSolution], limits: bool = True
) -> None:
    truth = optimistic_value(case.train, case.val, exact(case.lower), exact(case.upper))
    for nodes in (None, 1, 3) if limits else (None,):
        with findings.limited(nodes is not None):
            solution = solve(case.problem, **({"node_limit": nodes} if nodes else {}))
            u = _judge_solution(case, findings, solution, truth)
            gap = case.train.loss(u) - least_loss(case.train, case.own_units(solution.box))
            text = f"model trains {float(gap):.2g} above the least"
            findings.require(gap <= FEASIBLE, text)


def _judge_flip(
    case: Case, findings: Findings, solve: Callable[..., TuningSolution], limits: bool = True
) -> None:
    lower, upper = exact(case.lower), exact(case.upper)
    tie_break = str(case.rng.choice(("smallest_box", "largest_box")))
    for nodes in (None, 2) if limits else (None,):
        options = {"node_limit": nodes} if nodes else {}
        solution = solve(case.problem, case.budget, tie_break=tie_break, **options)
        assert solution.flipped is not None
        flipped = case.val.flipped(solution.flipped.tolist())
        free = case.budget.epsilon == case.budget.delta == 0.0
        truth = pessimistic_value(case.train, case.val, flipped, lower, upper) if free else None
        with findings.limited(nodes is not None):
            u = _judge_solution(case, findings, solution, truth)
            error = _follower_error(case, flipped, u, case.own_units(solution.box))
            text = f"model fits the flipped labels {error:.2g} above the least"
            spread = weight_spread(case.problem)
            findings.require(error <= (FEASIBLE if spread <= WEIGHT_SPREAD else CERTIFICATE), text)
            if not free:
                _refute(case, findings, solution, flipped)


def _judge_solution(
    case: Case, findings: Findings, solution: TuningSolution, truth: Fraction | None
) -> Point:
    """Judge objective, bound and box; return the model."""
    u, box = case.model(solution.coef, solution.intercept), case.own_units(solution.box)
    limits = zip(exact(case.lower), box, exact(case.upper), strict=True)
    held = all(at_most(lo, h, 1e-12) and at_most(h, up, 1e-12) for lo, h, up in limits)
    findings.require(held, "box outside its limits")
    inside = all(at_most(abs(w), h, 1e-12) for w, h in zip(u, box, strict=False))
    findings.require(inside, "model outside the box")
    text = f"objective {solution.objective:.9g}, bound {solution.lower_bound:.9g}"
    own = case.val.loss(u)
    findings.require(agree(solution.objective, own), f"{text}, own {float(own):.9g}")
    findings.require(at_most(solution.lower_bound, solution.objective), f"{text} crossed")
    if truth is not None:
        text += f", truth {float(truth):.9g}"
        findings.require(at_most(solution.lower_bound, truth), f"{text}: bound too high")
        findings.require(at_most(truth, solution.objective), f"{text}: objective too low")
        met = at_most(solution.objective, truth) or solution.status != Status.OPTIMAL
        findings.require(met, f"{text}: missed", Verdict.WEAK)
    findings.require(solution.proved, f"{text}: {solution.status.value}", Verdict.OPEN)
    return u


def _follower_error(case: Case, flipped: Hinges, u: Point, box: Point) -> float:
    """How much better another model of the box fits the flipped labels, if it trains as well."""
    # A solver knows a box, and so its least training loss, to its feasibility; the budget is 1 + ε
    # times that. At ε = 1000 a box off by 1e-9 has a budget off by 1e-6, which is what a
    # certificate lets pass.
    unknown = Fraction((1.0 + case.budget.epsilon) * LP_FEASIBILITY)
    limit = max(near_optimal(case, box).limit - unknown, case.train.loss(u))
    models = sublevel(in_box(case.train, box, limit), case.train, limit)
    return float(flipped.loss(u) - minimise(models, flipped))


def _refute(case: Case, findings: Findings, solution: TuningSolution, flipped: Hinges) -> None:
    """Look for a point below the bound: in some boxes, and where the oracle in floats has one."""
    points = []
    for _ in range(5):
        share = case.rng.choice((0.0, 0.25, 0.5, 1.0), len(case.box))
        box = exact(case.lower + share * (case.upper - case.lower))
        limit = near_optimal(case, box).limit + Fraction(float(case.rng.choice((0.0, 0.1, 0.5))))
        points.append(follower_loss(case.train, case.val, flipped, box, limit))
    if case.train_weight is None and case.val_weight is None:
        assert solution.flipped is not None
        plain = replace(case, scale=np.ones(len(case.box)))
        found = pessimistic_optimum(plain.problem, case.budget, solution.flipped)
        within = np.clip(found.box, case.lower, case.upper)
        u = (*exact(np.clip(found.w, -within, within)), Fraction(found.b))
        if _follower_error(case, flipped, u, exact(within)) <= FEASIBLE:
            points.append(case.val.loss(u))
    text = f"bound {solution.lower_bound:.9g}, a point has {float(min(points)):.9g}"
    findings.require(at_most(solution.lower_bound, min(points)), text)
    missed = solution.status == Status.OPTIMAL and not at_most(solution.objective, min(points))
    findings.require(not missed, f"{text}: missed", Verdict.WEAK)
