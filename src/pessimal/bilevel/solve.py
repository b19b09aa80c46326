"""Solve the paper's programs and say what that proves.

A solver's word is taken for one thing only, its lower bound. A point counts once its binaries are
rounded, the linear program that is left is solved again, and the certificate, which knows nothing
of binaries and multipliers, accepts it. A point that fails is cut off together with every other
point that fails for the same reason (:func:`pessimal.bilevel.kkt.find_conflict`), and the program
is solved again. What remains unproved is reported as such.

That one thing is not taken on trust either: the search has a look at the problem, for a small part
of the time, and a bound that a model of the search contradicts is no bound.

Solved is the problem with columns of similar size (:mod:`pessimal.units`): solvers have absolute
tolerances, and drop what is smaller than 1e-9.

The multiplier λ of the training budget has no bound in general. Unless the data prove one below
`multiplier_cap`, two programs share the work: λ up to the cap, and the tail beyond it.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, replace

import numpy as np

from pessimal.bilevel import paper
from pessimal.bilevel.backends import Backend, Effort, find_backend
from pessimal.bilevel.kkt import find_conflict
from pessimal.bilevel.single_level import SingleLevel
from pessimal.certificate import certify
from pessimal.errors import InvalidInputError, SolverError
from pessimal.limits import Limits
from pessimal.lp.highs import WarmProgram
from pessimal.near_optimal.polyhedral.linear_program import near_optimal
from pessimal.problem import Budget, Mask, TuningProblem, Vector, margin_rows
from pessimal.solution import Outcome, Status
from pessimal.solvers.search import search_optimistic, search_pessimistic
from pessimal.tolerances import CUTOFF, OPTIMAL_GAP
from pessimal.units import Balanced, balance

MULTIPLIER_CAP = 1000.0


@dataclass(frozen=True, eq=False)
class _Point:
    w: Vector
    b: float
    box: Vector
    objective: float


class _Limits:
    """When to stop: a time limit that begins now, and a number of nodes."""

    def __init__(self, time_limit: float | None, node_limit: int | None) -> None:
        for name, limit in (("time_limit", time_limit), ("node_limit", node_limit)):
            if limit is not None and not limit > 0:
                raise InvalidInputError(f"{name} is {limit!r}; pass a positive number or None")
        self.started = time.monotonic()
        self.seconds = math.inf if time_limit is None else time_limit
        self.nodes = math.inf if node_limit is None else node_limit

    @property
    def seconds_left(self) -> float:
        return self.started + self.seconds - time.monotonic()

    @property
    def opinion_seconds(self) -> float:
        """Time for a second opinion: a tenth of what was used, a second at least if there is."""
        used = time.monotonic() - self.started
        return max(0.1 * used, min(1.0, 0.1 * self.seconds))


@dataclass(frozen=True, eq=False)
class _Task:
    """What is solved, with what; `flipped` is None for the optimistic problem."""

    problem: TuningProblem
    budget: Budget
    flipped: Mask | None
    backend: Backend
    limits: _Limits


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


def solve_optimistic_milp(
    problem: TuningProblem,
    solver: str = "highs",
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> Outcome:
    """Solve the paper's eq. (prob:optim-hinge) as one mixed-integer program.

    The solver is "highs", "scip", "gurobi" or "cplex"; limits, in seconds and in nodes of its
    trees, are by default none.

    Examples
    --------
    >>> problem = TuningProblem([[-2.0], [2.0]], [-1, 1], [[2.0], [-2.0]], [1, -1])
    >>> outcome = solve_optimistic_milp(problem)
    >>> outcome.status.value, round(problem.val_loss(outcome.w, outcome.b), 6)
    ('optimal', 0.0)
    """
    limits = _Limits(time_limit, node_limit)
    balanced = balance(problem)
    task = _Task(balanced.problem, Budget(), None, find_backend(solver), limits)
    program, best = paper.optimistic_program(task.problem), _respond(task, task.problem.upper)
    state = _explore(task, program, best, limits.seconds_left, limits.nodes)
    return _answer(task, [state], [], balanced)


def solve_pessimistic_milp(
    problem: TuningProblem,
    budget: Budget,
    flipped: Mask,
    solver: str = "highs",
    time_limit: float | None = None,
    multiplier_cap: float = MULTIPLIER_CAP,
    node_limit: int | None = None,
) -> Outcome:
    """Solve the single-level form of the paper's eq. (A-RPBL-hyper), see `solve_optimistic_milp`.

    `flipped` marks the flipped validation points V_f. The first program has multipliers λ of the
    training budget up to `multiplier_cap`; the tail program takes the rest, so the cap affects the
    time and not the answer.

    Examples
    --------
    >>> problem = TuningProblem([[-2.0], [2.0]], [-1, 1], [[2.0], [-2.0]], [1, -1])
    >>> outcome = solve_pessimistic_milp(problem, Budget(), np.array([True, True]))
    >>> outcome.status.value, round(problem.val_loss(outcome.w, outcome.b), 6)
    ('optimal', 0.0)
    """
    if not (multiplier_cap > 0.0 and math.isfinite(multiplier_cap)):
        raise InvalidInputError(
            f"multiplier_cap is {multiplier_cap!r}; pass a positive, finite number"
        )
    limits = _Limits(time_limit, node_limit)
    balanced = balance(problem)
    problem = balanced.problem
    task = _Task(problem, budget, flipped, find_backend(solver), limits)
    proved = paper.proved_multiplier_cap(problem, budget, flipped)
    if proved <= multiplier_cap:
        ranges = [((1.0, 1.0), (0.0, proved))]
        note = f"the multiplier λ is at most {proved:g}, proved from the slack of the budget"
    else:
        ranges = [
            ((1.0, 1.0), (0.0, multiplier_cap)),
            ((0.0, 1.0 / multiplier_cap), (1.0, 1.0)),
        ]
        note = (
            f"the multiplier λ has no proved bound up to {multiplier_cap:g}: "
            "one program up to that cap and one beyond it"
        )
    states: list[_State] = []
    best = _respond(task, problem.upper)
    for left, (kappa, lam) in zip(range(len(ranges), 0, -1), ranges, strict=True):
        # Each program still to come gets an equal share of what is left.
        seconds = limits.seconds_left / left
        nodes = (limits.nodes - sum(state.nodes for state in states)) / left
        program = paper.pessimistic_program(problem, budget, flipped, kappa, lam)
        state = _explore(task, program, best, seconds, nodes)
        states.append(state)
        best = state.best
        if state.status is Status.INTERRUPTED:
            # What was not looked at has no bound but 0.
            states += [_State(best, status=Status.INTERRUPTED)] * (left - 1)
            break
    return _answer(task, states, [note], balanced)


def _explore(
    task: _Task, bilevel: SingleLevel, best: _Point, seconds: float, nodes: float
) -> _State:
    """Solve one program, cutting off points that fail, until bound and best point meet."""
    deadline = time.monotonic() + seconds
    state = _State(best)
    if state.settled:
        return state
    while not state.settled:
        # A point must improve on the best one; where none does, the best one is optimal.
        cutoff = state.best.objective - CUTOFF
        sought = bilevel.program.with_row(bilevel.program.cost, -np.inf, cutoff)
        effort = Effort(deadline - time.monotonic(), nodes - state.nodes)
        result = task.backend.solve(sought, effort)
        state = replace(
            state,
            bound=max(state.bound, min(result.bound, cutoff)),
            nodes=state.nodes + result.nodes,
            status=result.status,
        )
        if result.x is None:
            break
        point = _polish(task, bilevel, result.x)
        better = [
            new
            for new in (point, _respond(task, point.box))
            if new.objective < state.best.objective and _certified(task, new)
        ]
        if better:
            state = replace(state, best=min(better, key=lambda new: new.objective))
        if state.settled or result.status is not Status.OPTIMAL:
            break
        conflict = _conflict(task, bilevel, point)
        if conflict is not None and not np.round(result.x[bilevel.program.integer])[conflict].any():
            bilevel = bilevel.with_cut(conflict)
            state = replace(state, cuts=state.cuts + 1)
        elif not better:
            # The same answer would come again.
            state = replace(state, status=Status.NOT_PROVED)
            break
    return state


def _polish(task: _Task, bilevel: SingleLevel, x: Vector) -> _Point:
    """Solve again with the binaries rounded and fixed, which stops what leaks through an M."""
    # Without a solution the pattern lives on leaks alone; the point as it is will show where.
    with contextlib.suppress(SolverError):
        x = WarmProgram(bilevel.program.with_integers_fixed(x)).minimise()
    w_bar, w, b = (x[bilevel.columns[name]] for name in ("w_bar", "w", "b"))
    box = np.clip(w_bar, task.problem.lower, task.problem.upper)
    return _point(task.problem, np.clip(w, -box, box), float(b[0]), box)


def _respond(task: _Task, box: Vector) -> _Point:
    """Return a point of the bilevel problem with this box: always there, seldom the best."""
    problem, flipped = task.problem, task.flipped
    if flipped is None:
        rows, weight = margin_rows(problem.X_val, problem.y_val), problem.val_weight
    else:
        rows = margin_rows(problem.X_val[flipped], -problem.y_val[flipped])
        weight = problem.flipped_weight(flipped)
    u = near_optimal(problem, box, task.budget, rows).minimise(hinge_cost=weight)
    return _point(problem, u[:-1], float(u[-1]), box)


def _point(problem: TuningProblem, w: Vector, b: float, box: Vector) -> _Point:
    return _Point(w=w, b=b, box=box, objective=problem.val_loss(w, b))


def _certified(task: _Task, point: _Point) -> bool:
    certificate = certify(
        task.problem, task.budget, task.flipped, point.box, point.w, point.b, point.objective
    )
    return bool(certificate.ok)


def _conflict(task: _Task, bilevel: SingleLevel, point: _Point) -> Mask | None:
    """Return complementarities that forbid the multipliers of a point, if it has none."""
    if task.flipped is None:
        return None
    response = paper.response_at(task.problem, task.flipped, point.box, point.w, point.b)
    # With κ + λ ≤ 1, a κ that counts as 0 is a λ above ten million.
    return find_conflict(bilevel.conditions, bilevel.conditions.slacks(response), "lam")


def _answer(task: _Task, states: list[_State], notes: list[str], balanced: Balanced) -> Outcome:
    """Ask for a second opinion of what was found; answer in the user's units."""
    outcome = _with_second_opinion(task, _outcome(task, states, notes))
    return replace(outcome, w=outcome.w / balanced.factor, box=outcome.box / balanced.factor)


def _with_second_opinion(task: _Task, outcome: Outcome) -> Outcome:
    """Have the search look for a model that contradicts the bound."""
    limits = Limits(time_limit=task.limits.opinion_seconds)
    try:
        if task.flipped is None:
            other = search_optimistic(task.problem, limits)
        else:
            other = search_pessimistic(task.problem, task.budget, task.flipped, limits)
    except KeyboardInterrupt:
        return replace(outcome, status=Status.INTERRUPTED)
    if other.status is Status.INTERRUPTED:
        outcome = replace(outcome, status=Status.INTERRUPTED)
    point = _point(task.problem, other.w, other.b, other.box)
    if point.objective >= outcome.lower_bound - OPTIMAL_GAP or not _certified(task, point):
        return outcome
    return replace(
        outcome,
        lower_bound=min(other.lower_bound, point.objective),
        status=Status.NOT_PROVED,
        notes=(
            *outcome.notes,
            f"not proved: the search has a model of loss {point.objective:.6g}, below the bound "
            f"{outcome.lower_bound:.6g} that the solver claims",
        ),
    )


def _outcome(task: _Task, states: list[_State], notes: list[str]) -> Outcome:
    best = states[-1].best
    notes = [f"solved by {task.backend.name}", *notes]
    cuts = sum(state.cuts for state in states)
    if cuts:
        notes.append(f"answers cut off because no multipliers exist for them: {cuts}")
    unsettled = [state for state in states if best.objective - state.bound > OPTIMAL_GAP]
    status = unsettled[0].status if unsettled else Status.OPTIMAL
    if unsettled and status in (Status.OPTIMAL, Status.NOT_PROVED):
        status = Status.NOT_PROVED
        notes.append("not proved: the solver gave up, or its answer fails the certificate")
    elif not unsettled and not _certified(task, best):
        status = Status.NOT_PROVED
        notes.append("not proved: the best point fails the certificate")
    return Outcome(
        w=best.w,
        b=best.b,
        box=best.box,
        lower_bound=min(best.objective, *(state.bound for state in states)),
        status=status,
        nodes=sum(state.nodes for state in states),
        notes=tuple(notes),
    )
