"""The search against Gurobi, on up to five features and eight points in each set.

Gurobi solves the optimality conditions of `tests/oracles`, each complementary pair as a set of
which one member may be nonzero (SOS1, no big M). Two methods that differ are judged by their
points: the lower value is right if its point is feasible, to a tolerance far below the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from unittest import mock

import gurobipy as gp
import numpy as np
from gurobipy import GRB
from oracles import Optimum, bilevel, optimistic_optimum, pessimistic_optimum
from oracles.system import System
from stress_cases import Rng, base
from stress_findings import Findings, Verdict, at_most

from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic
from pessimal.certificate import certify
from pessimal.problem import Mask, Vector

FEASIBLE = 1e-8
"""Largest inner gap or violation of a point that decides a mismatch."""

SECONDS = 60.0
"""Time limit of either method for one problem."""


def rival(rng: Rng, number: int, findings: Findings) -> None:
    """Both views of a problem too large for brute force; the optimistic one a third of the time."""
    case = base(rng, small=False, p=int(rng.integers(2, 6)), m=int(rng.integers(1, 9)))
    problem, flipped = case.problem, None if number % 3 == 0 else case.flipped
    findings.source = case.source()
    if flipped is None:
        findings.subject = "optimistic"
        solution = solve_optimistic(problem, time_limit=SECONDS)
    else:
        findings.subject = "flip"
        solution = solve_pessimistic(problem, case.budget, flip=flipped, time_limit=SECONDS)
    text = f"objective {solution.objective:.9g}, bound {solution.lower_bound:.9g}"
    try:
        with mock.patch.object(bilevel, "_solve_pairs", _solve_pairs):
            other = (
                optimistic_optimum(problem)
                if flipped is None
                else pessimistic_optimum(problem, case.budget, flipped)
            )
    except TimeoutError:
        findings.add(Verdict.OPEN, f"{text}: Gurobi out of time")
        return
    text += f", Gurobi {other.value:.9g}"
    budget = Budget() if flipped is None else case.budget
    if not at_most(solution.lower_bound, other.value):
        true = at_most(problem.val_loss(other.w, other.b), other.value)
        error = _error(problem, budget, flipped, other.w, other.b, other.box)
        findings.require(not true or error > FEASIBLE, f"{text}: missed a better point")
    own = _error(problem, budget, flipped, solution.coef, -solution.intercept, solution.box)
    findings.require(own <= FEASIBLE, f"{text}: infeasible by {own:.2g}")
    findings.require(solution.proved, text, Verdict.OPEN)


def _error(
    problem: TuningProblem, budget: Budget, flipped: Mask | None, w: Vector, b: float, box: Vector
) -> float:
    """How far a point is from feasible: inner gap, budget, box."""
    box = np.clip(box, problem.lower, problem.upper)
    w = np.clip(w, -box, box)
    found = certify(problem, budget, flipped, box, w, b, problem.val_loss(w, b))
    return max(found.inner_gap, found.budget_violation, found.box_violation)


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
