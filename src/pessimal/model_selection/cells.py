"""Branch and bound on cells of values: the best value of whole ranges, with a proved gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from pessimal.errors import InvalidInputError
from pessimal.model_selection.evaluation import Evaluation
from pessimal.model_selection.ranges import Losses, Range, middle

MOST_VALUES = 200
"""Looked at, unless another limit is given."""

FOR_BOUNDS = 0.25
"""Share of the gap that may be left between the best value's bound and what was found of it."""


@dataclass(frozen=True)
class Branch:
    """A range of one parameter, with fixed values of others."""

    name: str
    values: Range
    others: dict[str, Any]

    def candidate(self, value: float) -> dict[str, Any]:
        """Return the parameters at a value."""
        return {**self.others, self.name: value}


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
        self.evaluation, self.branches, self.gap = evaluation, branches, gap
        self.cells: list[Cell] = []
        self._losses: dict[tuple[int, int], Losses] = {}

    def run(self, most: int) -> float:
        """Look at values, at most so many; return a score above which no value's worst is.

        Cells are divided by what was found, which is cheap; what is proved of the best comes last.
        """
        evaluation, half_time = self.evaluation, self.evaluation.deadline.share(0.5)
        looked_at = self._begin()
        while not (evaluation.stopped or half_time.over or looked_at >= most):
            cell = self.cells[0]
            best = float(np.nanmax(evaluation.worst.found.mean(axis=1)))
            value = self._middle(cell)
            if -cell.low <= best + (1.0 - FOR_BOUNDS) * self.gap * abs(best) or value is None:
                break
            c = len(evaluation.candidates)
            evaluation.add([self.branches[cell.branch].candidate(value)], of_range=True)
            if evaluation.is_complete(c):
                heappop(self.cells)
                self._add(cell.left, c, cell.branch)
                self._add(c, cell.right, cell.branch)
                looked_at += 1
        if not evaluation.stopped:
            evaluation.tighten(FOR_BOUNDS * self.gap, alike=True)
        return -self.cells[0].low

    def _begin(self) -> int:
        """Look at the first values of all ranges, and say how many they are."""
        first = len(self.evaluation.candidates)
        values = [branch.values.values(branch.name) for branch in self.branches]
        self.evaluation.add(
            [
                branch.candidate(value)
                for branch, of in zip(self.branches, values, strict=True)
                for value in of
            ],
            of_range=True,
        )
        c = first
        for number, of in enumerate(values):
            if self.evaluation.is_complete(c + len(of) - 1):
                for left in range(c, c + len(of) - 1):
                    self._add(left, left + 1, number)
            else:  # no loss is below 0, whatever the value
                heappush(self.cells, Cell(0.0, c, c, number))
            c += len(of)
        return c - first

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
