"""Parts of the near-optimal set Ψ, and bounds on linear functions over them from multipliers.

For any numbers ``α ≥ 0`` let μ be the largest ``α_i/weight_i``. Then every model of Ψ has

    Σ_i α_i·(1 − margin_i) ≤ Σ_i μ·weight_i·[1 − margin_i]₊ = μ·L_T(u) ≤ μ·limit,

which bounds a linear function together with multiples of the half-spaces that make the part: what
they leave of it is least at a corner of the box. The numbers are sought by the simplex method of
the search. Nothing depends on how well it does: the bound is of the data, less all rounding.
"""

from __future__ import annotations

import numpy as np

from pessimal.lp.codes import INFEASIBLE, OPTIMAL
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.program import MORE_CUTS, intercept_range, models_program
from pessimal.near_optimal.polyhedral.traced_models import TracedModels
from pessimal.problem import Matrix, TuningProblem, Vector, margin_rows
from pessimal.tolerances import ROUNDING

ROOM = 12
"""For half-spaces in a program, at first."""

MEMORY = 5e7
"""Bytes that programs kept warm may take."""


class NearOptimal:
    """The models ``u = (w, b)`` of a box that train within a limit."""

    def __init__(self, problem: TuningProblem, box: Vector, limit: float) -> None:
        counts = problem.train_weight > 0.0
        self.rows = margin_rows(problem.X_train[counts], problem.y_train[counts])
        self.weight = problem.train_weight[counts]
        self.limit, self.box = limit, box
        b_low, b_high = intercept_range(problem, box, limit)
        self.low, self.high = np.append(-box, b_low), np.append(box, b_high)
        self.widest = np.maximum(np.abs(self.low), np.abs(self.high))
        self.sizes = 1.0 + np.abs(self.rows) @ self.widest  # of 1 − margin


class Part:
    """The models of Ψ with ``rows·u ≤ at_most``."""

    def __init__(self, whole: NearOptimal, rows: Matrix, at_most: Vector) -> None:
        self.whole, self.rows, self.at_most = whole, rows, at_most
        self.reach = np.abs(rows) @ whole.widest

    def cut(self, row: Vector, at_most: float) -> Part:
        """Return its models with ``row·u ≤ at_most``."""
        return Part(self.whole, np.vstack([self.rows, row]), np.append(self.at_most, at_most))

    def bound(self, cost: Vector, of_hinges: Vector, of_rows: Vector) -> float:
        """Bound ``cost·u`` from below by any multipliers; negative ones count as 0."""
        whole = self.whole
        of_hinges, of_rows = np.maximum(of_hinges, 0.0), np.maximum(of_rows, 0.0)
        of_limit = float((of_hinges / whole.weight).max()) * whole.limit
        left = cost - of_hinges @ whole.rows + of_rows @ self.rows
        least = np.minimum(left * whole.low, left * whole.high).sum()
        size = of_hinges @ whole.sizes + of_rows @ (self.reach + np.abs(self.at_most))
        rounding = ROUNDING * (size + np.abs(cost) @ whole.widest + of_limit)
        return float(least + of_hinges.sum() - of_rows @ self.at_most - of_limit - rounding)


class WarmPrograms:
    """Linear programs over parts, solved again from where one of the same objective ended last.

    Parameters
    ----------
    problem : TuningProblem
        In balanced units.
    whole : NearOptimal
    inner : ndarray of shape (p + 1,)
        A model of it.
    watch : Watch
    """

    def __init__(
        self, problem: TuningProblem, whole: NearOptimal, inner: Vector, watch: Watch
    ) -> None:
        self._problem, self._whole, self._inner, self._watch = problem, whole, inner, watch
        self._make_room(ROOM)

    def _make_room(self, n_rows: int) -> None:
        """Begin anew, with so many rows to make parts of."""
        q, n = len(self._inner), len(self._whole.weight)
        self._room, self._n_cuts = n_rows, q + MORE_CUTS
        self._most = 1 + int(MEMORY / (16 * q * (n_rows + self._n_cuts) + n * self._n_cuts))
        self._programs: dict[int, tuple[TracedModels, Part]] = {}
        self._of_hinges, self._of_rows = np.zeros(n), np.zeros(n_rows)

    def least(
        self, part: Part, cost: Vector, place: int, rounds: int
    ) -> tuple[Vector | None, float]:
        """Return a model of least ``cost·u``, if found, and a bound: infinite if there is none.

        Objectives that are much the same have one `place`, where the last of them ended.
        """
        program = self._of_part(part, place)
        program.rounds = rounds
        status = program.minimise(cost[None, :], 0, 1.0)
        if status == INFEASIBLE:
            program.blame()
        program.write_multipliers(self._of_hinges, self._of_rows)
        multipliers = self._of_hinges, self._of_rows[: len(part.rows)]
        if status == INFEASIBLE:
            return None, np.inf if part.bound(0.0 * cost, *multipliers) > 0.0 else -np.inf
        return program.model() if status == OPTIMAL else None, part.bound(cost, *multipliers)

    def _of_part(self, part: Part, place: int) -> TracedModels:
        """Return the program of a place, made to be one of a part."""
        if len(part.rows) > self._room:
            self._make_room(2 * len(part.rows))
        place %= self._most
        program, last = self._programs.get(place) or (self._program(), None)
        if last is not part:
            self._programs[place] = program, part
            program.confine(part.rows, part.reach, part.at_most)
        return program

    def _program(self) -> TracedModels:
        whole = self._whole
        rows = np.zeros((self._room, len(self._inner)))
        kinked = models_program(self._problem, whole.limit, rows, self._n_cuts)
        program = TracedModels(kinked, whole.rows, whole.weight, self._watch)
        unit = self._problem.loss_unit(whole.limit)
        program.move_to(whole.box, whole.limit, unit, self._inner)
        return program
