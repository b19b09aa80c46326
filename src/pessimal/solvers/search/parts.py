"""The parts of a problem: which trees to search, and with what help.

The optimistic problem and the pessimistic one without a budget are one tree each. With a budget
the pessimistic problem has two parts: λ = 0, where the budget plays no role, and λ > 0, where it
must be used up. In the second part λ has a proved cap: the training optimum ``v`` of the box
satisfies ``F(u) + λ·L_T(u) ≤ F(v) + λ·L_T(v)``, and ``L_T(u) − L_T(v) ≥ ε·L_T*(upper) + δ``. A
search that has taken some hundred nodes can afford a lower one (`MultiplierCap`), and cells of
boxes, which bound the part in their own way (`BoxCells`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pessimal.errors import SolverError
from pessimal.limits import Deadline
from pessimal.lp.watch import Watch
from pessimal.near_optimal.polyhedral.program import intercept_range
from pessimal.problem import Budget, Mask, TuningProblem
from pessimal.solvers.base import Task
from pessimal.solvers.search.box_cells import BoxCells
from pessimal.solvers.search.budget import MAX_CUTS, BudgetCondition
from pessimal.solvers.search.complementarities import (
    Conditions,
    active_set_conditions,
    flipped_conditions,
    intercept_limit,
    optimistic_conditions,
    weighted_conditions,
)
from pessimal.solvers.search.heuristic import Heuristic
from pessimal.solvers.search.multiplier_cap import MultiplierCap
from pessimal.solvers.search.tree import Tree
from pessimal.tolerances import CUTOFF, ROUNDING

if TYPE_CHECKING:
    from pessimal.solvers.search.subtrees import Subtrees

TURN = 50
"""Nodes between two turns of the cells."""

CELLS_AHEAD, CELLS_BEHIND = 20, 1
"""Cells halved in a turn, by whether their bound or the tree's is the larger one.

A cell takes about as long as two or three nodes: half of the time, and a twentieth.
"""

MANY_ROWS, FIRST_TURNS = 80, 12
"""With so many rows a search takes long: cells have some turns at once, for an early bound."""


class Part:
    """A tree, its heuristic, how many boxes that tries per round, and the bound at the root."""

    def __init__(
        self,
        problem: TuningProblem,
        conditions: Conditions,
        seed: int,
        watch: Watch,
        budget: BudgetCondition | None = None,
        lower_cap: Callable[[Deadline], MultiplierCap] | None = None,
        cells: BoxCells | None = None,
        multiplier_cap: float = np.inf,
        floor: float = -np.inf,
    ) -> None:
        self.lower_cap = lower_cap
        self.cap: MultiplierCap | None = None
        self.tree: Tree | Subtrees = Tree(conditions, budget, watch)
        self.cells = cells
        self.multiplier_cap = multiplier_cap
        self.takes_long = cells is not None and problem.n_train + problem.n_val >= MANY_ROWS
        self.first_turns = FIRST_TURNS if self.takes_long else 0
        self.heuristic = Heuristic(self.tree.incumbent, conditions, problem, seed, self.takes_long)
        # With many features a node and its strong branching cost far more than the heuristic.
        self.boxes_per_round = 1 + problem.n_features // 20
        self.root_bound = max(self.tree.open_bound(), floor)
        self.n_entries = conditions.primal.A.size + conditions.dual.A.size

    def bound(self) -> float:
        """Return the largest lower bound that is known of this part."""
        bound = max(self.root_bound, self.tree.open_bound())
        return bound if self.cells is None else max(bound, self.cells.bound())

    def nodes_to_turn(self) -> int:
        """Return after how many nodes it is the cells' turn."""
        return TURN - self.tree.nodes % TURN

    def take_turn(self, best: float) -> None:
        """Halve some cells if it is their turn, given the loss of the best model known."""
        if self.tree.nodes % TURN == 0:
            self.halve_some(best)

    def halve_some(self, best: float) -> None:
        """Halve some cells, if there are any, many if they are ahead of the tree."""
        if self.cells is not None:
            self.halve_cells(best, self.cells.bound() > self.tree.open_bound())

    def halve_cells(self, best: float, ahead: bool) -> None:
        """Halve some cells; if they are ahead, try the middle of the lowest one as a box."""
        assert self.cells is not None
        known = self.cells.n_cells
        n_cells = CELLS_AHEAD if ahead else CELLS_BEHIND
        self.cells.advance(n_cells, best - CUTOFF, self.multiplier_cap)
        middle = self.cells.lowest()
        if ahead and self.cells.n_cells > known and middle is not None:
            self.heuristic.try_given(middle)

    def find_cap(self, deadline: Deadline) -> None:
        """Find the lower cap of λ, if there is one, once."""
        if self.lower_cap is not None and self.cap is None:
            with suppress(SolverError):
                self.cap = self.lower_cap(deadline)

    def use_cap(self, best: float) -> None:
        """Bound λ in all nodes to come, given the loss of the best model known."""
        if self.cap is not None and best < np.inf:
            self.multiplier_cap = min(self.multiplier_cap, self.cap.below(best))
            self.tree.cap_multiplier(self.multiplier_cap)


def parts_of(task: Task, seed: int, watch: Watch) -> list[Part]:
    """Split eq. (prob:optim-hinge), or the paper's pessimistic eq. (A-RPBL-hyper)."""
    problem, budget, flipped = task.problem, task.budget, task.flipped
    if flipped is None:
        return [Part(problem, optimistic_conditions(problem), seed, watch)]
    if budget.epsilon == 0.0 and budget.delta == 0.0:
        return [Part(problem, weighted_conditions(problem, flipped), seed, watch)]
    condition = BudgetCondition(problem, budget, intercept_limit(problem), watch)
    cap = _multiplier_cap(problem, flipped, condition.slack)
    with_budget = weighted_conditions(problem, flipped, cap, MAX_CUTS)
    lower_cap = partial(MultiplierCap, problem, budget, flipped) if cap < np.inf else None
    cells = BoxCells(problem, with_budget, condition, watch)
    return [
        Part(
            problem,
            flipped_conditions(problem, flipped),
            seed,
            watch,
            floor=floor_without_price(problem, flipped),
        ),
        Part(problem, with_budget, seed, watch, condition, lower_cap, cells, cap),
    ]


def floor_without_price(problem: TuningProblem, flipped: Mask) -> float:
    """Bound the loss where λ = 0 from below.

    Then ``u`` fits flipped labels no worse than any model without weights, and a point loses at
    least 2 with both its labels together.
    """
    positive = float(problem.flipped_weight(flipped) @ (problem.y_val[flipped] > 0.0))
    without_weights = 2.0 * min(positive, 1.0 - positive)
    floor = float(problem.val_weight[flipped].sum()) * (2.0 - without_weights)
    return floor - ROUNDING * problem.n_val


def active_set_parts(
    problem: TuningProblem, budget: Budget, active: Mask, seed: int, watch: Watch
) -> list[Part]:
    """Split the problem of the model that loses most on some points: λ = 0, and λ > 0."""
    # The model 0 has training loss 1, so no box has a larger limit than that of 1.
    ends = intercept_range(problem, problem.upper, budget.limit(1.0))
    b_limit = 1.0 + max(intercept_limit(problem), -ends[0], ends[1])
    n_train = problem.n_train
    if budget.epsilon == 0.0 and budget.delta == 0.0:
        conditions = active_set_conditions(problem, active, n_train, b_limit)
        return [Part(problem, conditions, seed, watch)]
    condition = BudgetCondition(problem, budget, b_limit, watch)
    reach = np.abs(problem.X_val[active]) @ problem.upper + b_limit
    most = 2.0 * float(problem.flipped_weight(active) @ reach)
    cap = most / condition.slack if condition.slack > 0.0 else np.inf
    with_budget = active_set_conditions(problem, active, n_train, b_limit, cap, MAX_CUTS)
    return [
        Part(problem, active_set_conditions(problem, active, 0, b_limit), seed, watch),
        Part(problem, with_budget, seed, watch, condition),
    ]


def _multiplier_cap(problem: TuningProblem, flipped: Mask, slack: float) -> float:
    """Largest λ > 0 that any optimum can have: the largest F over the slack of the budget."""
    if slack <= 0.0:
        return np.inf
    reach = np.abs(problem.X_val[flipped]) @ problem.upper
    largest = problem.flipped_weight(flipped) @ (1.0 + reach + intercept_limit(problem))
    return float(largest / slack)
