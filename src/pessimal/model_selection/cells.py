"""Branch and bound on cells of values: the best value of whole ranges, with a proved gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from pessimal.errors import InvalidInputError
from pessimal.model_selection.evaluation import Evaluation
from pessimal.model_selection.grid import Branch
from pessimal.model_selection.ranges import Losses, middle, smooth_loss

MOST_VALUES = 200
"""Looked at, unless another limit is given."""

FOR_BOUNDS = 0.25
"""Share of the gap that may be left between the best value's bound and what was found of it."""


@dataclass(frozen=True, order=True)
class Cell:
    """Values between two candidates; no mean worst score is above minus `low`."""

    low: float
    left: int
    right: int
    branch: int


class RangeSearch:
    """Divide the cell that may hold the best value until none can beat the best by the gap."""

    def __init__(self, evaluation: Evaluation, branches: Sequence[Branch], gap: float) -> None:
        if evaluation.folds.worst_case.loss is not None:
            smooth_loss(evaluation.folds.worst_case.loss)
        self.evaluation, self.branches, self.gap = evaluation, branches, gap
        self.cells: list[Cell] = []
        self._losses: dict[tuple[int, int], Losses] = {}

    def run(self, most: int) -> float:
        """Look at values, at most so many; return a score above which no value's worst is.

        Cells are divided by what was found, which is cheap. What is proved of the best comes last,
        in half of the time; what that leaves goes to cells again.
        """
        evaluation = self.evaluation
        left = most - self._begin()
        while not evaluation.stopped:
            added = self._divide(left)
            evaluation.tighten(FOR_BOUNDS * self.gap, alike=True)
            left -= added
            if left <= 0 or self._value_to_add() is None:
                break
            if added == 0:
                evaluation.stopped = evaluation.stopped or "time_limit"
        return -self.cells[0].low

    def _divide(self, most: int) -> int:
        """Divide cells for half of the time; return by how many values."""
        evaluation, half_time = self.evaluation, self.evaluation.deadline.share(0.5)
        added = 0
        while added < most and not (evaluation.stopped or half_time.over):
            value = self._value_to_add()
            if value is None:
                break
            cell, c = self.cells[0], len(evaluation.candidates)
            evaluation.add([self.branches[cell.branch].candidate(value)], of_range=True)
            if evaluation.is_complete(c):
                heappop(self.cells)
                self._add(cell.left, c, cell.branch)
                self._add(c, cell.right, cell.branch)
                added += 1
        return added

    def _value_to_add(self) -> float | None:
        """Return the value that divides the cell of the best bound; None if that is near enough."""
        worst = self.evaluation.worst
        best = float(np.nanmax(worst.found[worst.looked.all(axis=1)].mean(axis=1)))
        cell = self.cells[0]
        if -cell.low <= best + (1.0 - FOR_BOUNDS) * self.gap * abs(best):
            return None
        return self._middle(cell)

    def _begin(self) -> int:
        """Look at the first values of all ranges, and say how many they are.

        One after the other, so that soon there is a best one that others are dropped by.
        """
        evaluation = self.evaluation
        begun = len(evaluation.candidates)
        for number, branch in enumerate(self.branches):
            first, values = len(evaluation.candidates), branch.values.values(branch.name)
            for value in values:
                if not evaluation.stopped:
                    evaluation.add([branch.candidate(value)], of_range=True)
            last = first + len(values) - 1
            if evaluation.is_complete(last):
                for left in range(first, last):
                    self._add(left, left + 1, number)
            else:  # no loss is below 0, whatever the value
                heappush(self.cells, Cell(0.0, first, first, number))
        return len(evaluation.candidates) - begun

    def _middle(self, cell: Cell) -> float | None:
        """Return the middle of a cell, unless nothing is left to divide."""
        name = self.branches[cell.branch].name
        low, high = (self.evaluation.candidates[c][name] for c in (cell.left, cell.right))
        value = middle(name, low, high)
        return value if low < value < high else None

    def _add(self, left: int, right: int, branch: int) -> None:
        """Bound a cell by models, one on every fold, that both ends afford."""
        evaluation = self.evaluation
        witnesses = []
        for k in range(evaluation.n_splits):
            ends = evaluation.ends.get((left, k)), evaluation.ends.get((right, k))
            if ends[0] is None or ends[1] is None:
                raise InvalidInputError(
                    f"nothing is proved of {evaluation.candidates[left]} or of "
                    f"{evaluation.candidates[right]} on split {k}, so a Range has no meaning; pass "
                    "a list of values"
                )
            witnesses.append(self._losses_of(branch, k, left).witness(ends[0], ends[1]))
        heappush(self.cells, Cell(float(np.mean(witnesses)), left, right, branch))

    def _losses_of(self, branch: int, split: int, candidate: int) -> Losses:
        if (branch, split) not in self._losses:
            folds = self.evaluation.folds
            estimator = folds.with_parameters(self.evaluation.candidates[candidate])
            X, y, weight, X_test, y_test = folds.rows(estimator, split)
            members = folds.worst_case.bounded(estimator, X, y, weight)
            self._losses[branch, split] = Losses.of(folds.worst_case, members, X_test, y_test)
        return self._losses[branch, split]
