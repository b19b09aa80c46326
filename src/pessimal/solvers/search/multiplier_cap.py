"""How large λ can be where a budget must be used up.

Let ``u`` minimise ``F + λ·L_T`` over its box, better than the incumbent, and let ``v`` train best
in that box. Then ``F(u) + λ·L_T(u) ≤ F(v) + λ·L_T(v)`` and ``L_T(u) ≥ (1 + ε)·L_T(v) + δ``, so

    λ·(ε·L_T(v) + δ) ≤ F(v) − F(u).

A point loses at least 2 with both labels together, so ``F(u) ≥ 2 − ρ·L_V(u)``, where ρ is the
ratio of a flipped point's weights in F and in ``L_V``, and ``L_V(u)`` is less than the incumbent's.
``F(v)`` is at most the worst case, with flipped labels, of all models that train as well as ``v``.
How well that is nobody knows, so the possible training losses are cut into intervals: the worst
case grows with the loss, and so does the left-hand side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pessimal.errors import SolverError
from pessimal.limits import Deadline
from pessimal.near_optimal.polyhedral.cases import WorstCases
from pessimal.problem import Budget, Mask, TuningProblem, Vector

INTERVALS = 12
NODES = 100  # of each worst case; many end at their root
SHARE = 0.02  # of the time left, for all worst cases
ROUNDING = 1e-6  # more than tolerances of budget and worst case can do


def flipped_problem(problem: TuningProblem, flipped: Mask) -> TuningProblem:
    """Return the problem whose validation loss is F."""
    weight = problem.flipped_weight(flipped)
    return replace(
        problem, X_val=problem.X_val[flipped], y_val=-problem.y_val[flipped], val_weight=weight
    )


class MultiplierCap:
    """Bounds λ, given the incumbent's loss; the worst cases are found once.

    Where the slack of the budget, ε·L_T*(upper) + δ, is 0, nothing does: a `SolverError`.
    """

    def __init__(
        self, problem: TuningProblem, budget: Budget, flipped: Mask, deadline: Deadline
    ) -> None:
        self._ratio = 1.0 / float(problem.val_weight[flipped].sum())
        cases = WorstCases(flipped_problem(problem, flipped), Budget(), deadline=deadline)
        least = max(0.0, cases.train(problem.upper).bound)
        most = max(least, cases.train(problem.lower).loss)
        # Intervals of equal ratio of the slack: over each of them the bound is off by that ratio.
        ends = np.array([least, most])
        slack = budget.epsilon * ends + budget.delta
        if slack[0] <= 0.0:
            raise SolverError("no multiplier is too large; pass delta > 0")
        if budget.epsilon > 0.0:
            ends = (np.geomspace(slack[0], slack[1], INTERVALS + 1) - budget.delta) / budget.epsilon
        self._slack: Vector = budget.epsilon * ends[:-1] + budget.delta
        deadline = deadline.share(SHARE)
        self._largest: Vector = np.array(
            [
                cases.worst(problem.upper, end, deadline=deadline, node_limit=NODES).upper_bound
                for end in ends[1:] + ROUNDING
            ]
        )

    def below(self, loss: float) -> float:
        """Largest λ of any ``u`` whose validation loss is below `loss`."""
        least = max(0.0, 2.0 - self._ratio * loss)
        cap = float(((self._largest - least) / self._slack).max())
        return max(0.0, cap) * (1.0 + ROUNDING)
