"""Affine policies: bound the worst cases of a whole cell of boxes by several sets at once.

In every box h of a cell some model loses as much as the worst case; any near-optimal one loses no
more. So let a model be a *policy*, an affine function ``u(h)``. If it is near-optimal in every box
of the cell, its loss on a set S, counted as linear functions, lies below ``W(h)`` and is affine in
h; so is the average of several policies with sets of their own, and an affine function has its
least value over the cell at a corner that is plain to see. As the cell shrinks around the best box
the worst models *are* affine functions of h, and the bound is exact.

What keeps policies from being near-optimal is the training limit ``(1 + ε)·L_T*(h) + δ``, for
``L_T*`` bends. Policies therefore depend on it, too: they are affine in ``(h, τ)`` over

    P = {(h, τ): low ≤ h ≤ high, plane_k(h) ≤ τ ≤ L_T*(low) for all k},

where planes below ``L_T*`` are known from training. ``(h, L_T*(h))`` is in P for every h.

An affine function is never negative on P if and only if it is a sum of those that define P, with
weights that are not negative (Farkas). So the best policies, with the weights λ of their average,
are a linear program: of ``λ·u``, and of weights for each function that must not be negative. What
is reported is computed from its solution and the data alone; see `_bound`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array, hstack, kron

from pessimal.limits import Deadline
from pessimal.lp.highs import LinearProgram, Solved, solve_large
from pessimal.near_optimal.polyhedral.program import merged
from pessimal.problem import Budget, Mask, TuningProblem, Vector, margin_rows
from pessimal.solvers.minimax.groups import Groups
from pessimal.solvers.minimax.proof import Plane
from pessimal.tolerances import BUDGET_SLACK, ROUNDING


@dataclass(frozen=True, eq=False)
class PolicyBound:
    """No box of the cell has a smaller worst case than `bound`; in box h it may be attained.

    There τ is the training loss for which the policies are made; the sets have shares of them.
    """

    bound: float
    h: Vector
    tau: float
    shares: Vector


def policy_rows(problem: TuningProblem, groups: Groups) -> int:
    """Return how many rows a program has for each set."""
    return (len(groups) + 2) * (2 * problem.n_features + problem.n_train + 1)


class Policies:
    """Policies of one cell of boxes.

    Functions on P are vectors ``(1, s_1 … s_g, τ)`` of coefficients, with ``h = middle + half·s``
    and ``|s| ≤ 1``.

    Parameters
    ----------
    problem : TuningProblem
    budget : Budget
    groups : Groups
    low, high : ndarray of shape (g,)
        The cell.
    most_loss : float
        The least training loss in the box `low`, or more.
    """

    def __init__(
        self,
        problem: TuningProblem,
        budget: Budget,
        groups: Groups,
        low: Vector,
        high: Vector,
        most_loss: float,
    ) -> None:
        self._problem, self._budget = problem, budget
        self._low, self._high = low, high
        self._most_loss = most_loss + ROUNDING * (1.0 + most_loss)
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        self._train, self._train_weight, _ = merged(
            margin_rows(problem.X_train, problem.y_train), problem.train_weight
        )
        self._val = margin_rows(problem.X_val, problem.y_val)
        # A box grows with h, along a chord at least where features have upper limits of their own.
        at_low, at_high = groups.box(low), groups.box(high)
        features = np.arange(problem.n_features)
        self._box = np.zeros((problem.n_features, self.size))
        self._box[:, 0] = 0.5 * (at_low + at_high)
        self._box[features, 1 + groups.of_feature] = 0.5 * (at_high - at_low)

    @property
    def size(self) -> int:
        """Number of coefficients of a function on P."""
        return len(self._low) + 2

    def bound(
        self, sets: Sequence[Mask], planes: Sequence[Plane], deadline: Deadline
    ) -> PolicyBound | None:
        """Find the best policies for some sets; None if there was no time, or there are none."""
        positive = self._positive(planes)
        program = self._program(sets, positive)
        solved = solve_large(program, deadline)
        if solved is None:
            return None
        bound = self._bound(program, solved, sets)
        # Multipliers of the last functions are a point of P, on average.
        one, *at, tau = solved.multipliers[-1 - self.size : -1]
        s = np.clip(np.array(at) / one, -1.0, 1.0) if one else np.zeros(len(at))
        h = np.clip(self._middle + self._half * s, self._low, self._high)
        shares = solved.x[: -1 - positive.shape[1]].reshape(len(sets), -1)[:, 0]
        return PolicyBound(bound, h, tau / one if one else 0.0, shares)

    def _positive(self, planes: Sequence[Plane]) -> csr_array:
        """Return, as columns, the functions that define P: none is negative there."""
        g = len(self._low)
        above = np.zeros((self.size, len(planes) + 1))  # the last one: no loss is negative
        above[-1] = 1.0
        for k, plane in enumerate(planes):
            above[0, k] = -plane(self._middle)
            above[1:-1, k] = -self._half * plane.slope
        below = np.zeros((self.size, 1))
        below[0], below[-1] = self._most_loss, -1.0
        sides = np.zeros((self.size, 2 * g))
        sides[0] = 1.0
        sides[1:-1] = np.hstack([np.eye(g), -np.eye(g)])
        return csr_array(np.hstack([above, below, sides]))

    def _program(self, sets: Sequence[Mask], positive: csr_array) -> LinearProgram:
        """Write the program; a function is ``positive`` times weights that are not negative.

        Columns of each set: λ, then λ·u by entry and coefficient, then weights for what is left of
        the box on either side, for the hinges, for how far these exceed ``1 − margin``, and for
        what is left of the training limit. Last, the bound and the weights of what exceeds it.
        """
        of_set = self._near_optimal(positive)
        one = np.eye(self.size)[:, :1]
        losses = []
        for active in sets:
            weight, rows = self._problem.val_weight[active], self._val[active]
            by_model = kron(-(weight @ rows)[None, :], eye_array(self.size))
            rest = csr_array((self.size, of_set.shape[1] - 1 - by_model.shape[1]))
            losses.append(hstack([csr_array(weight.sum() * one), by_model, rest]))
        average = kron(np.ones((1, len(sets))), np.eye(1, of_set.shape[1]))
        matrix = block_array(
            [
                [kron(eye_array(len(sets)), of_set), None],
                [hstack(losses), hstack([csr_array(-one), -positive])],
                [csr_array(average), None],
            ]
        )
        bound_at = len(sets) * of_set.shape[1]
        free = np.zeros(of_set.shape[1], np.bool_)
        free[1 : 1 + self._val.shape[1] * self.size] = True
        lower = np.zeros(matrix.shape[1])
        lower[:bound_at] = np.tile(np.where(free, -np.inf, 0.0), len(sets))
        lower[bound_at] = -np.inf
        right = np.append(np.zeros(matrix.shape[0] - 1), 1.0)
        cost = np.zeros(len(lower))
        cost[bound_at] = -1.0
        return LinearProgram(cost, matrix, right, right, lower, np.full(len(lower), np.inf))

    def _near_optimal(self, positive: csr_array) -> csr_array:
        """Write that one policy is near-optimal everywhere on P."""
        p, n, size = len(self._box), len(self._train), self.size
        unit = eye_array(size)
        weights = np.eye(p, p + 1)
        box = csr_array(self._box.reshape(-1, 1))
        of_box, of_hinges = kron(eye_array(p), positive), kron(eye_array(n), positive)
        limit = np.zeros((size, 1))
        limit[0], limit[-1] = self._budget.delta, 1.0 + self._budget.epsilon
        ones = csr_array(np.tile(np.eye(size)[:, :1], (n, 1)))
        loss = kron(self._train_weight[None, :], positive)
        return csr_array(
            block_array(
                [
                    [box, kron(-weights, unit), -of_box, None, None, None, None],
                    [box, kron(weights, unit), None, -of_box, None, None, None],
                    [-ones, kron(self._train, unit), None, None, of_hinges, -of_hinges, None],
                    [csr_array(limit), None, None, None, -loss, None, -positive],
                ]
            )
        )

    def _bound(self, program: LinearProgram, solved: Solved, sets: Sequence[Mask]) -> float:
        """Bound the worst cases of the cell from policies, whatever the solver's word for them.

        By how much a function may miss what it should be follows from its coefficients. Weights
        that leave the box are cut off, which moves margins. What a policy then misses the training
        limit by must not exceed the slack that is allowed, or it is left out.
        """
        problem, p = self._problem, len(self._box)
        x = np.where(np.isfinite(program.lower), np.maximum(solved.x, 0.0), solved.x)
        matrix = program.matrix.csr
        missed = np.abs(matrix @ x - program.row_lower)
        missed += ROUNDING * (abs(matrix) @ np.abs(x) + np.abs(program.row_lower))
        largest = np.append(np.ones(self.size - 1), self._most_loss)  # of coordinates, in P
        *of_policies, of_bound = missed[:-1].reshape(-1, self.size) @ largest
        slack = BUDGET_SLACK * problem.loss_unit(self._budget.limit(0.0))
        moved = self._train_weight @ np.abs(self._train[:, :-1])
        bound_at = int(np.argmin(program.cost))
        value, total = float(x[bound_at]) - of_bound, 0.0
        policies = x[:bound_at].reshape(len(sets), -1)
        errors = np.reshape(of_policies, (len(sets), -1))
        for active, policy, error in zip(sets, policies, errors, strict=True):
            share, u = policy[0], policy[1 : 1 + (p + 1) * self.size].reshape(p + 1, -1)
            weight = problem.val_weight[active]
            slope = -weight @ self._val[active]
            beyond = np.maximum(error[:p], error[p : 2 * p])
            late = error[-1] + self._train_weight @ error[2 * p : -1] + moved @ beyond
            if late <= share * slack:
                total += share
                value -= np.abs(slope[:-1]) @ beyond
            else:
                loss = slope @ u
                loss[0] += share * weight.sum()
                value -= np.abs(loss) @ largest
        return value / total if total > 0.0 else -np.inf
