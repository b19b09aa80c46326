"""The four measurements of true pessimism; each turns a configuration into rows.

The template of the page says what each of them shows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from measuring import timed, timed_apart
from sklearn.exceptions import ConvergenceWarning

from pessimal import Budget, solve_optimistic, solve_pessimistic, worst_case
from pessimal.attacks import evade
from pessimal.datasets import split, standardize_on_tuning_rows
from pessimal.estimators import OptimisticSVC, PessimisticSVC
from pessimal.limits import Deadline, Limits
from pessimal.near_optimal.polyhedral.cases import Worst, WorstCases
from pessimal.near_optimal.polyhedral.linear_program import near_optimal
from pessimal.near_optimal.polyhedral.mixed_integer import largest_hinge
from pessimal.reproduction.candidates import PLAIN, Candidate, baselines
from pessimal.reproduction.instances import DATA_SETS, LOADERS, draw, tuning_problem
from pessimal.reproduction.study import Row, full_factorial
from pessimal.solution import TuningSolution
from pessimal.solvers.minimax.driver import START_NODES
from pessimal.solvers.minimax.groups import groups_of
from pessimal.solvers.minimax.line import breakpoints
from pessimal.solvers.minimax.oracle import WorstCaseOracle

Found = list[dict[str, Any]]

SIZES = (5, 10, 20)
EPSILONS, DELTAS = (0.0, 0.2, 0.4), (0.0, 0.1)
OPTIMISTIC, PAPER, ONE, EACH = "optimistic", "paper", "one", "each"
ONE_LIMIT, EACH_LIMIT = 60.0, 12.0
"""Seconds on the clock; one limit per feature need not end with a proof."""

ROWS = (20, 40)
EPSILON, DELTA, RADIUS = 0.2, 0.05, 0.3
TUNING_LIMIT = 4.0
REFERENCE, PAPER_SVC = PLAIN, "PessimisticSVC"
TRUE = ("PessimisticSVC, exact, one", "PessimisticSVC, exact, each")

N_TRAIN = 20
VALIDATION_SIZES = (5, 10, 20, 40, 80)
REACH_LIMIT = 10.0
OURS, HIGHS = "pessimal", "HiGHS"

STEPS = (1e-2, 1e-3, 1e-4, 1e-5)


def factors(part: str, quick: bool) -> tuple[Mapping[str, Any], ...]:
    """Return the configurations of a part, the quick ones with the smallest size and one seed."""
    grids: dict[str, dict[str, Any]] = {
        "boxes": {"seed": range(700, 710), "data": DATA_SETS, "n_train": SIZES, "n_val": SIZES}
        | {"delta": DELTAS, "epsilon": EPSILONS},
        "accuracy": {"seed": range(2000, 2030), "data": DATA_SETS, "n_rows": ROWS},
        "reach": {"n_val": VALIDATION_SIZES, "data": DATA_SETS, "epsilon": EPSILONS[:2]}
        | {"delta": DELTAS, "seed": range(720, 723)},
        "jumps": {"n_rows": SIZES, "data": DATA_SETS, "seed": range(730, 740)},
    }
    grid = grids[part]
    if quick:
        small = ("seed", "n_train", "n_val", "n_rows")
        grid = {name: list(of)[:1] if name in small else of for name, of in grid.items()}
    return full_factorial(grid)


def boxes(at: Mapping[str, Any]) -> Found:
    """Tune by every method, and find the exact worst case of every box.

    The paper's search has as many nodes as the start that true pessimism takes from it, so that
    both find the same box.
    """
    budget = Budget(at["epsilon"], at["delta"])
    exact = partial(solve_pessimistic, budget=budget, inner="exact")
    methods: dict[str, Callable[..., TuningSolution]] = {
        OPTIMISTIC: solve_optimistic,
        PAPER: partial(solve_pessimistic, budget=budget, flip="all", node_limit=START_NODES),
        ONE: partial(exact, groups="one", time_limit=ONE_LIMIT),
        EACH: partial(exact, groups="each", time_limit=EACH_LIMIT),
    }
    found = []
    for method, solve in methods.items():
        problem = tuning_problem(draw(at["data"], at["n_train"], at["n_val"], at["seed"]))
        solution, seconds, check_seconds = timed_apart(solve, problem)
        value, bound = solution.objective, solution.objective + solution.certificate.inner_gap
        if method in (OPTIMISTIC, PAPER):  # the worst case is not what a view minimises
            worst = worst_case(problem, solution.box, budget)
            value, bound = worst.value, worst.upper_bound
        found.append(
            {
                "method": method,
                "width": float(solution.box.max()),
                "value": value,
                "upper_bound": bound,
                "lower_bound": solution.lower_bound if method in (ONE, EACH) else None,
                "proved": solution.proved,
                "status": solution.status.value,
                "seconds": seconds,
                "check_seconds": check_seconds,
            }
        )
    return found


def accuracy(at: Mapping[str, Any]) -> Found:
    """Fit every method on the same rows, half to train and half to validate; test on the others."""
    data, half = LOADERS[at["data"]](), at["n_rows"] // 2
    sets = standardize_on_tuning_rows(split(data.X, data.y, half, half, at["seed"]))
    common: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "time_limit": TUNING_LIMIT}
    common["random_state"] = at["seed"]
    tuned = {
        "OptimisticSVC": OptimisticSVC(**common),
        PAPER_SVC: PessimisticSVC(**common),
        TRUE[0]: PessimisticSVC(inner="exact", groups="one", **common),
        TRUE[1]: PessimisticSVC(inner="exact", groups="each", **common),
    }
    validation = {"X_val": sets.X_val, "y_val": sets.y_val}
    models = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a time limit that was reached
        for name, estimator in tuned.items():
            _, seconds = timed(estimator.fit, sets.X_train, sets.y_train, **validation)
            known: Row = {"model": name, "seconds": seconds, "proved": estimator.result_.proved}
            models.append(Candidate(known, estimator.coef_[0], float(estimator.intercept_[0])))
    return [
        {
            "method": model.columns["model"],
            "accuracy": model.accuracy(sets.X_test, sets.y_test),
            "attacked": model.accuracy(
                evade((model.coef, model.intercept), sets.X_test, sets.y_test, RADIUS), sets.y_test
            ),
            "seconds": model.columns.get("seconds"),
            "proved": model.columns.get("proved"),
        }
        for model in (*models, *baselines(tuning_problem(sets)))
    ]


def reach(at: Mapping[str, Any]) -> Found:
    """Find the worst case of the widest box by both methods."""
    problem = tuning_problem(draw(at["data"], N_TRAIN, at["n_val"], at["seed"]))
    budget, box = Budget(at["epsilon"], at["delta"]), problem.upper

    def search() -> Worst:
        deadline, cases = Deadline.after(REACH_LIMIT), WorstCases(problem, budget)
        return cases.worst(box, cases.limit(box), deadline=deadline)

    def program() -> float:
        deadline = Deadline.after(REACH_LIMIT)
        return largest_hinge(near_optimal(problem, box, budget), deadline)

    (worst, seconds), (bound, highs_seconds) = timed(search), timed(program)
    found = (
        (OURS, worst.value, worst.upper_bound, seconds, worst.nodes),
        # Theirs is a bound alone; it has met the worst case when it is that of our model.
        (HIGHS, min(worst.value, bound), bound, highs_seconds, 0),
    )
    names = ("method", "value", "upper_bound", "seconds", "nodes")
    return [dict(zip(names, row, strict=True)) for row in found]


def jumps(at: Mapping[str, Any]) -> Found:
    """Step away from every breakpoint of the least training loss, on either side."""
    problem = tuning_problem(draw(at["data"], at["n_rows"], at["n_rows"], at["seed"]))
    groups = groups_of(problem, "one")
    oracle = WorstCaseOracle(problem, Budget(), groups, Limits())

    def worst(h: float) -> float:
        return oracle.at(np.clip([h], groups.lower, groups.upper)).value

    values = {h: worst(h) for h in breakpoints(oracle)}

    def change(step: float) -> float:
        return max(abs(worst(h + s) - value) for h, value in values.items() for s in (-step, step))

    return [{"step": s, "change": change(s), "breakpoints": len(values)} for s in STEPS]
