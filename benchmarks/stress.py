"""Hunt for wrong answers of the search: random problems, each solved by another method too.

Run ``python benchmarks/stress.py --count 2000 --seed 1``. Problems are rich in ties, repeated rows
and columns, and limits that meet. Even numbers have at most two features and four points in each
set and go to the brute force of ``tests/oracles``; odd ones have up to five features and eight
points, and Gurobi solves the same optimality conditions, each complementary pair as a set of which
one member may be nonzero (SOS1, no big M).

Two methods that differ are judged by their points: the lower value is right if its point is
feasible, to a tolerance far below the difference. One line a mismatch; it names the problem, which
``--only NUMBER`` solves again. The exit code is 1 if there was any.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import gurobipy as gp
import numpy as np
from gurobipy import GRB

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from oracles import Optimum, bilevel, optimistic_optimum, pessimistic_optimum
from oracles.system import System

from pessimal import (
    Budget,
    TuningProblem,
    TuningSolution,
    solve_optimistic,
    solve_pessimistic,
)
from pessimal.certificate import certify
from pessimal.problem import Mask, Matrix, Vector

SAME = 1e-6
"""Values that differ by no more than this agree."""

FEASIBLE = 1e-8
"""Largest inner gap or violation of a point that decides a mismatch."""

SECONDS = 60.0
"""Time limit of either method for one problem."""

OUT_OF_TIME = "other: out of time"
"""The one verdict but "same" that is no mismatch."""


@dataclass(frozen=True)
class Instance:
    """A problem and the view to take of it: optimistic (no budget) or pessimistic."""

    problem: TuningProblem
    budget: Budget | None
    flipped: Mask

    @property
    def kind(self) -> str:
        """View, and whether there is a budget."""
        if self.budget is None:
            return "optimistic"
        plain = self.budget.relative == 0.0 and self.budget.absolute == 0.0
        return "pessimistic" if plain else "pessimistic with a budget"


def instance(seed: int, number: int) -> Instance:
    """Draw a problem; the same two numbers give the same one."""
    rng = np.random.default_rng([seed, number])
    p, most = (int(rng.integers(1, 3)), 4) if is_small(number) else (int(rng.integers(2, 6)), 8)
    n_train, n_val = int(rng.integers(2, most + 1)), int(rng.integers(1, most + 1))
    table = _features(rng, n_train + n_val, p)
    y_train = rng.choice((-1.0, 1.0), n_train)
    y_train[:2] = -1.0, 1.0
    flipped = rng.random(n_val) < rng.choice((0.5, 1.0))
    flipped[rng.integers(n_val)] = True
    val_weight = rng.choice((0.0, 1.0, 2.0, 5.0), n_val)
    val_weight[flipped] += 1.0
    upper = rng.choice((0.0, 0.5, 1.0, 2.5), p, p=(0.05, 0.25, 0.45, 0.25))
    upper[0] = max(upper[0], 0.5)
    problem = TuningProblem(
        table[:n_train],
        y_train,
        table[n_train:],
        rng.choice((-1.0, 1.0), n_val),
        lower=upper * rng.choice((0.0, 0.4, 1.0), p=(0.7, 0.25, 0.05)),
        upper=upper,
        train_weight=rng.choice((1.0, 2.0, 5.0), n_train) if rng.random() < 0.4 else None,
        val_weight=val_weight if rng.random() < 0.4 else None,
    )
    budgets = (None, Budget(), Budget(0.2), Budget(1.0), Budget(0.0, 0.1), Budget(0.2, 0.1))
    return Instance(problem, budgets[rng.integers(len(budgets))], flipped)


def is_small(number: int) -> bool:
    """Whether a number stands for a problem that brute force can do."""
    return number % 2 == 0


def _features(rng: np.random.Generator, n_rows: int, p: int) -> Matrix:
    """Draw T and V as one table, on a coarse grid or not, then repeat rows or columns."""
    match rng.integers(3):
        case 0:
            table = rng.integers(-2, 3, (n_rows, p)).astype(float)
        case 1:
            table = rng.integers(-4, 5, (n_rows, p)) / 2.0
        case _:
            table = rng.normal(size=(n_rows, p))
    match rng.integers(8):
        case 0:
            table[1] = table[0]
        case 1:
            table[-1] = table[0]
        case 2:
            table[:, -1] = table[:, 0]
        case 3:
            table[:, -1] = -2.0 * table[:, 0]
        case 4:
            table[:, -1] = table[0, -1]
        case _:
            pass
    return table


def by_search(case: Instance) -> TuningSolution:
    """Solve by the package."""
    if case.budget is None:
        return solve_optimistic(case.problem, time_limit=SECONDS)
    return solve_pessimistic(case.problem, case.budget, flip=case.flipped, time_limit=SECONDS)


def by_brute_force(case: Instance) -> Optimum:
    """Solve by the tests' oracle."""
    if case.budget is None:
        return optimistic_optimum(case.problem)
    return pessimistic_optimum(case.problem, case.budget, case.flipped)


def by_gurobi(case: Instance) -> Optimum:
    """Solve the oracle's optimality conditions, the pairs left to Gurobi."""
    with mock.patch.object(bilevel, "_solve_pairs", _solve_pairs):
        return by_brute_force(case)


def _solve_pairs(
    problem: TuningProblem, primal: System, dual: System, pairs: Mapping[str, str]
) -> Optimum:
    """Minimise ``L_V`` over the two systems such that each pair of columns has a zero."""
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
        model.Params.Threads = 1
        model.Params.TimeLimit = SECONDS
        model.Params.PreSOS1BigM = 0.0
        model.Params.FeasibilityTol = model.Params.OptimalityTol = 1e-9
        model.Params.IntFeasTol = 1e-9
        model.Params.MIPGap, model.Params.MIPGapAbs = 0.0, 1e-9
        model.Params.NumericFocus = 3
        columns = {}
        for name, system in (("primal", primal), ("dual", dual)):
            x = model.addMVar(len(system.lower), lb=system.lower, ub=system.upper)
            model.addConstr(system.A @ x == system.rhs)
            columns[name] = x.tolist()
        for name, partner in pairs.items():
            for i, k in zip(primal.columns[name], dual.columns[partner], strict=True):
                model.addSOS(GRB.SOS_TYPE1, [columns["primal"][i], columns["dual"][k]], [1, 2])
        loss = zip(primal.columns["g"], problem.val_weight, strict=True)
        model.setObjective(gp.quicksum(weight * columns["primal"][i] for i, weight in loss))
        model.optimize()
        if model.Status != GRB.OPTIMAL:
            raise TimeoutError(f"Gurobi stopped with status {model.Status}")
        found = np.array([column.X for column in columns["primal"]])
        w, b, box = (found[primal.columns[name]] for name in ("w", "b", "box"))
        return Optimum(float(model.ObjVal), w, float(b[0]), box)


def error_of(case: Instance, w: Vector, b: float, box: Vector) -> float:
    """How far a point is from feasible: inner gap, budget, box."""
    budget = Budget() if case.budget is None else case.budget
    flipped = None if case.budget is None else case.flipped
    box = np.clip(box, case.problem.lower, case.problem.upper)
    w = np.clip(w, -box, box)
    found = certify(case.problem, budget, flipped, box, w, b, case.problem.val_loss(w, b))
    return max(found.inner_gap, found.budget_violation, found.box_violation)


def verdict(case: Instance, solution: TuningSolution, other: Optimum) -> str:
    """Compare two answers: "same", or who is wrong, or "undecided"."""
    w, b = solution.coef, -solution.intercept
    if abs(case.problem.val_loss(w, b) - solution.objective) > SAME:
        return "search: objective is not that of its point"
    difference = solution.objective - other.value
    if abs(difference) <= SAME:
        return "same" if solution.proved else "search: not proved"
    if difference > 0.0:
        attained = case.problem.val_loss(other.w, other.b) <= other.value + SAME
        feasible = attained and error_of(case, other.w, other.b, other.box) <= FEASIBLE
        return "search: missed a better point" if feasible else "undecided: other not feasible"
    feasible = error_of(case, w, b, solution.box) <= FEASIBLE
    return "other: missed a better point" if feasible else "search: not feasible"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    parser.add_argument("--count", type=int, default=200, help="problems to solve")
    parser.add_argument("--seed", type=int, default=1, help="names the sequence of problems")
    parser.add_argument("--first", type=int, default=0, help="number to start from")
    parser.add_argument("--only", type=int, help="solve the problem of this number alone")
    asked = parser.parse_args()
    first, count = (asked.first, asked.count) if asked.only is None else (asked.only, 1)

    verdicts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    seconds = {"search": 0.0, "other": 0.0}
    worst_gap = 0.0
    for number in range(first, first + count):
        case = instance(asked.seed, number)
        started = time.perf_counter()
        solution = by_search(case)
        seconds["search"] += time.perf_counter() - started
        started = time.perf_counter()
        try:
            other = by_brute_force(case) if is_small(number) else by_gurobi(case)
            judged = verdict(case, solution, other)
        except TimeoutError:
            other, judged = None, OUT_OF_TIME
        seconds["other"] += time.perf_counter() - started
        verdicts[judged] += 1
        kinds[f"{'brute force' if is_small(number) else 'Gurobi'}, {case.kind}"] += 1
        worst_gap = max(worst_gap, solution.certificate.inner_gap)
        if judged != "same" or asked.only is not None:
            value = "none" if other is None else f"{other.value:.9f}"
            print(
                f"--seed {asked.seed} --only {number}: {judged}; search {solution.objective:.9f}"
                f" ({solution.status.value}, bound {solution.lower_bound:.9f}), other {value};"
                f" {case.kind}, {case.problem}",
                flush=True,
            )
    print(f"{count} problems, seed {asked.seed}:")
    for name, number in sorted(kinds.items()):
        print(f"  {number:6d}  {name}")
    for name, number in sorted(verdicts.items()):
        print(f"  {number:6d}  {name}")
    print(f"  worst inner gap of the search {worst_gap:.1e}")
    print(f"  seconds: search {seconds['search']:.1f}, other methods {seconds['other']:.1f}")
    return int(verdicts.keys() - {"same", OUT_OF_TIME} != set())


class _Raw(argparse.RawDescriptionHelpFormatter):
    """Keep the paragraphs of the module's docstring."""


if __name__ == "__main__":
    sys.exit(main())
