"""What others do with a linear bilevel program: one mixed-integer program of its KKT conditions.

Every complementary pair is two rows and a binary variable with a constant M (Fortuny-Amat and
McCarl, 1981), here by HiGHS, or a special ordered set, by Gurobi. No M is known to suffice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from pessimal.bilevel.program import BilevelProgram
from pessimal.errors import import_extra

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Claim:
    """What a rival says: whether it proved an optimum, its value and its decision."""

    status: str
    value: float = math.nan
    x: Array | None = None


@dataclass
class Conditions:
    """``lower ≤ A z ≤ upper`` with z = (x, y, multipliers), and pairs of a multiplier and a slack.

    The slack of a pair is ``offset + row·z``.
    """

    n: int
    cost: Array
    A: Array
    lower: Array
    upper: Array
    low: Array
    high: Array
    integer: Array
    pairs: list[tuple[int, Array, float]]


def conditions(program: BilevelProgram) -> Conditions:
    """Write the KKT conditions of a linear program's followers."""
    n, m = program.n_outer, program.n_inner
    sides: list[tuple[Array, float, bool]] = []  # row·(x, y) ≤ right, or =
    of_follower: list[slice] = []
    for f in program.followers:
        start = len(sides)
        inner = np.zeros((len(f.rows), m))
        inner[:, f.columns] = f.rows.inner.toarray()
        unit = np.zeros((len(f), m))
        unit[:, f.columns] = np.eye(len(f))
        rows = np.block([[f.rows.outer.toarray(), inner], [np.zeros((len(f), n)), unit]])
        limits = np.append(f.rows.lower, f.lower), np.append(f.rows.upper, f.upper)
        for row, below, above in zip(rows, *limits, strict=True):
            if below == above:
                sides.append((row, above, True))
                continue
            if math.isfinite(above):
                sides.append((row, above, False))
            if math.isfinite(below):
                sides.append((-row, -below, False))
        of_follower.append(slice(start, len(sides)))
    width = n + m + len(sides)
    own = np.hstack([program.rows.outer.toarray(), program.rows.inner.toarray()])
    A, lower, upper = [_wide(own, width)], [program.rows.lower], [program.rows.upper]
    low, high = np.full(width, -np.inf), np.full(width, np.inf)
    low[:n], high[:n] = program.lower, program.upper
    pairs = []
    for k, (row, right, equal) in enumerate(sides):
        A.append(_wide(row[None], width))
        lower.append(np.array([right if equal else -np.inf]))
        upper.append(np.array([right]))
        if not equal:
            low[n + m + k] = 0.0
            pairs.append((n + m + k, _wide(-row[None], width)[0], right))
    for f, mine in zip(program.followers, of_follower, strict=True):
        stationary = np.zeros((len(f), width))
        stationary[:, :n] = f.price.toarray()
        for k in range(mine.start, mine.stop):
            stationary[:, n + m + k] = sides[k][0][n:][f.columns]
        A.append(stationary)
        lower.append(-f.cost)
        upper.append(-f.cost)
    cost, integer = np.zeros(width), np.zeros(width)
    cost[:n], cost[n : n + m], integer[:n] = program.outer_cost, program.inner_cost, program.integer
    return Conditions(
        n, cost, np.vstack(A), np.concatenate(lower), np.concatenate(upper), low, high, integer,
        pairs,
    )  # fmt: skip


def _wide(rows: Array, width: int) -> Array:
    return np.hstack([rows, np.zeros((len(rows), width - rows.shape[1]))])


def fortuny_amat(program: BilevelProgram, big: float, time_limit: float) -> Claim:
    """Solve with one M for all pairs, by HiGHS."""
    kkt = conditions(program)
    width, count = len(kkt.cost), len(kkt.pairs)
    A = [np.hstack([kkt.A, np.zeros((len(kkt.A), count))])]
    lower, upper = [kkt.lower], [kkt.upper]
    for k, (multiplier, row, offset) in enumerate(kkt.pairs):
        linked = np.zeros((2, width + count))
        linked[0, multiplier], linked[0, width + k] = 1.0, -big  # multiplier ≤ M z
        linked[1, :width], linked[1, width + k] = row, big  # slack ≤ M (1 − z)
        A.append(linked)
        lower.append(np.full(2, -np.inf))
        upper.append(np.array([0.0, big - offset]))
    found = milp(
        np.append(kkt.cost, np.zeros(count)),
        constraints=LinearConstraint(np.vstack(A), np.concatenate(lower), np.concatenate(upper)),
        bounds=Bounds(np.append(kkt.low, np.zeros(count)), np.append(kkt.high, np.ones(count))),
        integrality=np.append(kkt.integer, np.ones(count)),
        options={"time_limit": time_limit},
    )
    status = {0: "optimal", 1: "limit", 2: "infeasible", 3: "unbounded"}.get(found.status, "failed")
    if found.x is None:
        return Claim(status)
    return Claim(status, float(found.fun) + program.constant, found.x[: kkt.n])


def sos1_gurobi(program: BilevelProgram, time_limit: float) -> Claim:
    """Solve with a special ordered set per pair, by Gurobi."""
    gurobi: Any = import_extra("gurobipy", "solvers")
    kkt = conditions(program)
    with gurobi.Env(params={"OutputFlag": 0}) as environment:
        model = gurobi.Model(env=environment)
        kinds = np.where(kkt.integer > 0, "I", "C").tolist()
        z = model.addMVar(len(kkt.cost), lb=kkt.low, ub=kkt.high, vtype=kinds)
        model.setObjective(kkt.cost @ z)
        for row, below, above in zip(kkt.A, kkt.lower, kkt.upper, strict=True):
            if below == above:
                model.addConstr(row @ z == above)
                continue
            if math.isfinite(above):
                model.addConstr(row @ z <= above)
            if math.isfinite(below):
                model.addConstr(row @ z >= below)
        for multiplier, row, offset in kkt.pairs:
            slack = model.addVar()
            model.addConstr(slack - row @ z == offset)
            model.addSOS(gurobi.GRB.SOS_TYPE1, [z[multiplier].item(), slack])
        model.Params.TimeLimit, model.Params.Threads = time_limit, 1
        model.optimize()
        codes = gurobi.GRB
        status = {
            codes.OPTIMAL: "optimal", codes.TIME_LIMIT: "limit", codes.INFEASIBLE: "infeasible",
            codes.UNBOUNDED: "unbounded", codes.INF_OR_UNBD: "infeasible or unbounded",
        }.get(model.Status, "failed")  # fmt: skip
        if model.SolCount == 0:
            return Claim(status)
        return Claim(status, model.ObjVal + program.constant, np.asarray(z.X[: kkt.n]))
