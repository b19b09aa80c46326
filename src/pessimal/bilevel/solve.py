"""Solve the paper's programs and say what that proves.

A solver's word is taken for one thing only, its lower bound. A point counts once its binaries are
rounded, the linear program that is left is solved again, and the certificate, which knows nothing
of binaries and multipliers, accepts it. A point that fails is cut off together with every other
point that fails for the same reason (:func:`pessimal.bilevel.kkt.find_conflict`), and the program
is solved again. What remains unproved is reported as such.

That one thing is not taken on trust either: the search has a small part of the time, and a bound
that a model of the search contradicts is no bound.

Solved is the problem with columns of similar size (:mod:`pessimal.units`): solvers have absolute
tolerances, and drop what is smaller than 1e-9.

The multiplier λ of the training budget has no bound in general. Unless the data prove one below
`multiplier_cap`, two programs share the work: λ up to the cap, and the tail beyond it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import NamedTuple

import numpy as np

from pessimal.bilevel import paper
from pessimal.bilevel.backends import Effort, find_backend
from pessimal.bilevel.kkt import find_conflict
from pessimal.bilevel.single_level import SingleLevel
from pessimal.certificate import certify
from pessimal.errors import InvalidInputError, SolverError
from pessimal.limits import Deadline, Limits, is_number
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal.polyhedral.linear_program import near_optimal
from pessimal.problem import Mask, Vector, margin_rows
from pessimal.solvers.base import BaseSolver, Result, Status, Task
from pessimal.solvers.search.driver import SearchSolver
from pessimal.tolerances import CUTOFF, OPTIMAL_GAP, WEIGHT_SPREAD_OF_PROGRAMS
from pessimal.units import equilibrate

MULTIPLIER_CAP = 1000.0


class MilpSolver(BaseSolver):
    """The paper's mixed-integer programs, solved by HiGHS, SCIP, Gurobi or CPLEX.

    Of the pessimistic problem the first program has multipliers λ of the training budget up to
    `multiplier_cap`; the tail program takes the rest, so the cap affects the time and not the
    answer.
    """

    name = "milp"
    kinds = ("optimistic", "pessimistic")
    reports_progress = False
    largest_weight_spread = WEIGHT_SPREAD_OF_PROGRAMS

    def __init__(self, solver: str = "highs", multiplier_cap: float | None = None) -> None:
        cap = MULTIPLIER_CAP if multiplier_cap is None else multiplier_cap
        if not (is_number(cap, Real) and 0.0 < cap < math.inf):
            raise InvalidInputError(
                f"multiplier_cap is {multiplier_cap!r}; pass a positive, finite number or None"
            )
        self.backend_name = solver
        self.multiplier_cap = float(cap)
        self.label = f"{self.name} ({solver})"

    def _solve(self, task: Task, limits: Limits) -> Result:
        scaled = equilibrate(task.problem)
        task = replace(task, problem=scaled.problem)
        result = _Run(task, self.backend_name, limits).solve(self.multiplier_cap)
        return replace(result, w=result.w / scaled.factor, box=result.box / scaled.factor)


class _Point(NamedTuple):
    w: Vector
    b: float
    box: Vector
    objective: float


@dataclass(frozen=True, eq=False)
class _State:
    """The best point so far, what one program proves about it, and the work it took."""

    best: _Point
    bound: float = 0.0
    status: Status = Status.OPTIMAL
    nodes: int = 0
    cuts: int = 0

    @property
    def settled(self) -> bool:
        return self.best.objective - self.bound <= OPTIMAL_GAP


class _Run:
    """One task in equilibrated units; `solve` may be called once."""

    def __init__(self, task: Task, backend_name: str, limits: Limits) -> None:
        self.task = task
        self.problem = task.problem
        self.backend = find_backend(backend_name)
        self.limits = limits
        self.started = time.perf_counter()

    def solve(self, multiplier_cap: float) -> Result:
        """Solve the program, or both, each with an equal share of what is left; check the bound."""
        deadline = Deadline.after(self.limits.time_limit)
        nodes = self.limits.node_limit
        nodes_left = math.inf if nodes is None else max(1, nodes)  # a solver needs its root
        programs, notes = self._programs(multiplier_cap)
        states: list[_State] = []
        best = self._respond(self.problem.upper)
        for left, program in zip(range(len(programs), 0, -1), programs, strict=True):
            state = self._explore(program, best, deadline.share(1.0 / left), nodes_left / left)
            states.append(state)
            best = state.best
            nodes_left -= state.nodes
            if state.status is Status.INTERRUPTED:
                # What was not looked at has no bound but 0.
                states += [_State(best, status=Status.INTERRUPTED)] * (left - 1)
                break
        return self._with_second_opinion(self._result(states, notes))

    def _programs(self, multiplier_cap: float) -> tuple[list[Callable[[], SingleLevel]], list[str]]:
        """Return what makes the programs, and what is to be told about them."""
        problem, budget, flipped = self.problem, self.task.budget, self.task.flipped
        if flipped is None:
            return [partial(paper.optimistic_program, problem)], []
        proved = paper.proved_multiplier_cap(problem, budget, flipped)
        pessimistic = partial(paper.pessimistic_program, problem, budget, flipped)
        if proved <= multiplier_cap:
            note = f"the multiplier λ is at most {proved:g}, proved from the slack of the budget"
            return [partial(pessimistic, (1.0, 1.0), (0.0, proved))], [note]
        note = (
            f"the multiplier λ has no proved bound up to {multiplier_cap:g}: "
            "one program up to that cap and one beyond it"
        )
        capped = partial(pessimistic, (1.0, 1.0), (0.0, multiplier_cap))
        tail = partial(pessimistic, (0.0, 1.0 / multiplier_cap), (1.0, 1.0))
        return [capped, tail], [note]

    def _explore(
        self, make: Callable[[], SingleLevel], best: _Point, deadline: Deadline, nodes: float
    ) -> _State:
        """Solve one program, cutting off points that fail, until bound and best point meet."""
        state = _State(best)
        bilevel = make()
        while not state.settled:
            # A point must improve on the best one; where none does, the best one is optimal.
            cutoff = state.best.objective - CUTOFF
            sought = bilevel.program.with_row(bilevel.program.cost, -np.inf, cutoff)
            answer = self.backend.solve(sought, Effort(deadline.left, nodes - state.nodes))
            state = replace(
                state,
                bound=max(state.bound, min(answer.bound, cutoff)),
                nodes=state.nodes + answer.nodes,
                status=answer.status,
            )
            if answer.x is None:
                break
            point = self._polish(bilevel, answer.x)
            better = [
                new
                for new in (point, self._respond(point.box))
                if new.objective < state.best.objective and self._certified(new)
            ]
            if better:
                state = replace(state, best=min(better, key=lambda new: new.objective))
            if state.settled or answer.status is not Status.OPTIMAL:
                break
            conflict = self._conflict(bilevel, point)
            integers = np.round(answer.x[bilevel.program.integer])
            if conflict is not None and not integers[conflict].any():
                bilevel = bilevel.with_cut(conflict)
                state = replace(state, cuts=state.cuts + 1)
            elif not better:
                # The same answer would come again.
                return replace(state, status=Status.NOT_PROVED)
        return state

    def _polish(self, bilevel: SingleLevel, x: Vector) -> _Point:
        """Solve again with the binaries rounded and fixed, which stops what leaks through an M."""
        # Without a solution the pattern lives on leaks alone; the point as it is will show where.
        with contextlib.suppress(SolverError):
            x = WarmProgram(bilevel.program.with_integers_fixed(x)).minimise()
        box, w, b = paper.model_at(self.problem, bilevel, x)
        return self._point(w, b, box)

    def _respond(self, box: Vector) -> _Point:
        """Return a point of the bilevel problem with this box: always there, seldom the best."""
        problem, flipped = self.problem, self.task.flipped
        if flipped is None:
            rows, weight = margin_rows(problem.X_val, problem.y_val), problem.val_weight
        else:
            rows = margin_rows(problem.X_val[flipped], -problem.y_val[flipped])
            weight = problem.flipped_weight(flipped)
        u = near_optimal(problem, box, self.task.budget, rows).minimise(hinge_cost=weight)
        return self._point(u[:-1], float(u[-1]), box)

    def _point(self, w: Vector, b: float, box: Vector) -> _Point:
        return _Point(w, b, box, self.problem.val_loss(w, b))

    def _certified(self, point: _Point) -> bool:
        w, b, box, objective = point
        return certify(self.problem, self.task.budget, self.task.flipped, box, w, b, objective).ok

    def _conflict(self, bilevel: SingleLevel, point: _Point) -> Mask | None:
        """Return complementarities that forbid the multipliers of a point, if it has none."""
        flipped = self.task.flipped
        if flipped is None:
            return None
        response = paper.response_at(self.problem, flipped, point.box, point.w, point.b)
        # With κ + λ ≤ 1, a κ that counts as 0 is a λ above ten million.
        return find_conflict(bilevel.conditions, bilevel.conditions.slacks(response), "lam")

    def _with_second_opinion(self, result: Result) -> Result:
        """Have the search look for a model that contradicts the bound."""
        seconds = self.limits.time_limit
        least = 1.0 if seconds is None else min(1.0, 0.1 * seconds)
        used = time.perf_counter() - self.started
        try:
            other = SearchSolver().solve(self.task, Limits(time_limit=max(0.1 * used, least)))
        except KeyboardInterrupt:
            return replace(result, status=Status.INTERRUPTED)
        if other.status is Status.INTERRUPTED:
            result = replace(result, status=Status.INTERRUPTED)
        point = self._point(other.w, other.b, other.box)
        if point.objective >= result.lower_bound - OPTIMAL_GAP or not self._certified(point):
            return result
        note = (
            f"not proved: the search has a model of loss {point.objective:.6g}, below the bound "
            f"{result.lower_bound:.6g} that the solver claims"
        )
        return replace(
            result,
            lower_bound=min(other.lower_bound, point.objective),
            status=Status.NOT_PROVED,
            notes=(*result.notes, note),
        )

    def _result(self, states: list[_State], notes: list[str]) -> Result:
        best = states[-1].best
        notes = [f"solved by {self.backend.name}", *notes]
        cuts = sum(state.cuts for state in states)
        if cuts:
            notes.append(f"answers cut off because no multipliers exist for them: {cuts}")
        unsettled = [state for state in states if best.objective - state.bound > OPTIMAL_GAP]
        status = unsettled[0].status if unsettled else Status.OPTIMAL
        if unsettled and status in (Status.OPTIMAL, Status.NOT_PROVED):
            status = Status.NOT_PROVED
            notes.append("not proved: the solver gave up, or its answer fails the certificate")
        elif not unsettled and not self._certified(best):
            status = Status.NOT_PROVED
            notes.append("not proved: the best point fails the certificate")
        return Result(
            w=best.w,
            b=best.b,
            box=best.box,
            lower_bound=min(best.objective, *(state.bound for state in states)),
            status=status,
            nodes=sum(state.nodes for state in states),
            notes=tuple(notes),
        )
