"""The two views of a tuning problem: trust the training that suits you, or guard against the worst.

Each picks a method, breaks ties between boxes by a stated rule, and has the answer certified.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass, replace
from numbers import Integral, Real
from types import ModuleType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from pessimal.certificate import (
    WORST_CASE_SECONDS,
    Certificate,
    certify,
    certify_worst_case,
)
from pessimal.errors import InvalidInputError
from pessimal.flip import flip_mask
from pessimal.limits import Callback, Deadline, Limits, read_node_limit, read_time_limit
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.solution import Outcome, Status, TuningSolution
from pessimal.solvers.minimax.groups import GroupsSpec
from pessimal.solvers.search import search_optimistic, search_pessimistic
from pessimal.ties import largest_box, smallest_box
from pessimal.tolerances import WEIGHT_SPREAD, WEIGHT_SPREAD_OF_PROGRAMS

Method = Literal["search", "milp"]
Solver = Literal["highs", "scip", "gurobi", "cplex"]
TieBreak = Literal["smallest_box", "largest_box"]
Inner = Literal["flip", "exact"]

_TIE_BREAKS = {"smallest_box": smallest_box, "largest_box": largest_box}

_FLIP_SHARE = 0.5
"""Of the limits, for the optimistic search that a flip rule may need first."""

_LATE_SECONDS, _LATE_SHARE = 0.5, 0.05
"""What follows a search may exceed a time limit by the larger: half a second, 5 % of it.

After Ctrl-C it has the half second."""

_AT_ONCE = 1e-9
"""A time limit that ends a search at its first model."""


def solve_optimistic(
    problem: TuningProblem,
    *,
    method: Method = "search",
    solver: Solver = "highs",
    time_limit: float | None = None,
    node_limit: int | None = None,
    tie_break: TieBreak = "smallest_box",
    callback: Callback | None = None,
    seed: int = 0,
) -> TuningSolution:
    """Tune the box, trusting training to return its best-validating optimum.

    Solves eq. (prob:optim-hinge) of the paper to global optimality.

    Parameters
    ----------
    problem : TuningProblem
        Data and limits.
    method : {"search", "milp"}, default="search"
        The package's own exact search, or the paper's mixed-integer program.
    solver : {"highs", "scip", "gurobi", "cplex"}, default="highs"
        Solver of the mixed-integer program; the search needs none.
    time_limit : float, optional
        Seconds after which the best model found is returned with a valid bound. Tie-break and
        certificate come on top of them: a few linear programs, hundredths of a second.
    node_limit : int, optional
        The same for nodes of the search or of the solver.
    tie_break : {"smallest_box", "largest_box"}, default="smallest_box"
        Which of the boxes in which the model is inner-optimal to return.
    callback : callable, optional
        Called now and then by the search with its progress; not by the mixed-integer program.
    seed : int, default=0
        Seed of the search's heuristic; the optimum does not depend on it.

    Returns
    -------
    TuningSolution

    Examples
    --------
    >>> problem = TuningProblem([[-2.0], [0.0], [1.0]], [-1, -1, 1], [[0.5], [2.0]], [-1, 1])
    >>> solution = solve_optimistic(problem)
    >>> solution.proved, round(solution.objective, 6)
    (True, 0.25)
    """
    started = time.perf_counter()
    _check_method(method, solver, tie_break)
    limits = _limits(method, time_limit, node_limit, callback, seed)
    outcome = _optimistic(problem, method, solver, limits)
    task = _Task(problem, Budget(), None, _method_name(method, solver), started, limits.time_limit)
    return _answered(task, outcome, tie_break)


def solve_pessimistic(
    problem: TuningProblem,
    budget: Budget | None = None,
    *,
    inner: Inner = "flip",
    groups: GroupsSpec = "each",
    flip: ArrayLike | str = "all",
    method: Method = "search",
    solver: Solver = "highs",
    time_limit: float | None = None,
    node_limit: int | None = None,
    multiplier_cap: float | None = None,
    tie_break: TieBreak = "smallest_box",
    callback: Callback | None = None,
    seed: int = 0,
) -> TuningSolution:
    """Tune the box against the worst of the models that train almost as well as the best.

    With ``inner="flip"``, solves the paper's eq. (A-RPBL-hyper) to global optimality: a linear
    program on flipped labels stands in for the worst case, and the true one at the tuned box is
    the solution's `exact_worst_case`. With ``inner="exact"`` that true worst case is itself what is
    made small, and the solution's model is the one that has it.

    Parameters
    ----------
    problem : TuningProblem
        Data and limits.
    budget : Budget, optional
        How much worse than the best a model may train (ε and δ); by default not at all.
    inner : {"flip", "exact"}, default="flip"
        What stands for the worst case: the paper's linear program, or the exact maximum.
    groups : {"each", "one"} or list of lists of feature indices, default="each"
        For ``"exact"``: one hyperparameter for each feature, one for all, or one for each group.
        One is solved to proved optimality; two mostly are when `budget` has an absolute part; for
        more, the gap that remains is reported.
    flip : {"all", "margin", "paper"} or mask of shape (n_val,), default="all"
        For ``"flip"``: validation points whose labels are flipped. A rule by the margin solves the
        optimistic problem first, within half of the limits.
    method, solver, tie_break
        As in `solve_optimistic`; ``"exact"`` has one method and no tie-break, and takes none.
    time_limit, node_limit, callback, seed
        As in `solve_optimistic`. With ``"exact"`` the certificate branches, too: it has the time
        that is left, and past the limit half a second or 5 % of it, whichever is more.
    multiplier_cap : float, optional
        Where the mixed-integer program splits the values of the budget row's multiplier, 1000 by
        default; the search needs no cap and takes none.

    Returns
    -------
    TuningSolution

    Examples
    --------
    >>> problem = TuningProblem([[-2.0], [0.0], [1.0]], [-1, -1, 1], [[0.5], [2.0]], [-1, 1])
    >>> solution = solve_pessimistic(problem, Budget(relative=0.2))
    >>> solution.proved, bool(solution.objective <= solution.exact_worst_case.value + 1e-9)
    (True, True)
    >>> true = solve_pessimistic(problem, Budget(relative=0.2), inner="exact", groups="one")
    >>> true.proved, bool(true.objective <= solution.exact_worst_case.value)
    (True, True)
    """
    started = time.perf_counter()
    if inner not in get_args(Inner):
        raise InvalidInputError(f"inner is {inner!r}; pass 'flip' or 'exact'")
    _check_method(method, solver, tie_break)
    budget = _read_budget(budget)
    cap = _read_cap(method, multiplier_cap)
    limits = _limits(method, time_limit, node_limit, callback, seed)
    if inner == "exact":
        _refuse_with_exact(flip=flip, method=method, solver=solver, tie_break=tie_break)
        outcome = _minimax().minimise_worst_case(problem, budget, groups, limits)
        return _answered(
            _Task(problem, budget, None, "worst case", started, limits.time_limit), outcome
        )
    if not (isinstance(groups, str) and groups == "each"):
        raise InvalidInputError(f"groups is {groups!r}; with inner='flip' it can only be 'each'")
    outcome, flipped = _flipped(problem, budget, flip, method, solver, limits, cap)
    name = _method_name(method, solver)
    task = _Task(problem, budget, flipped, name, started, limits.time_limit)
    return _answered(task, outcome, tie_break)


def _flipped(
    problem: TuningProblem,
    budget: Budget,
    flip: ArrayLike | str,
    method: Method,
    solver: Solver,
    limits: Limits,
    multiplier_cap: float | None,
) -> tuple[Outcome, Mask]:
    """Solve the paper's problem; the limits are for it and for the rule that says what to flip."""
    started = time.perf_counter()
    first: Outcome | None = None

    def hyperplane() -> tuple[Vector, float]:
        nonlocal first
        first = _optimistic(problem, method, solver, _share(limits, _FLIP_SHARE))
        return first.w, first.b

    flipped = flip_mask(problem, flip, hyperplane)
    if first is not None:
        limits = _rest(limits, first, started)
    if method == "search":
        outcome = search_pessimistic(problem, budget, flipped, limits)
    else:
        milp = _milp()
        cap = milp.MULTIPLIER_CAP if multiplier_cap is None else multiplier_cap
        outcome = milp.solve_pessimistic_milp(
            problem, budget, flipped, solver, limits.time_limit, cap, _solver_nodes(limits)
        )
    return (outcome if first is None else _after(first, outcome, flip)), flipped


def _share(limits: Limits, share: float) -> Limits:
    seconds, nodes = limits.time_limit, limits.node_limit
    return replace(
        limits,
        time_limit=None if seconds is None else share * seconds,
        node_limit=None if nodes is None else int(share * nodes),
    )


def _rest(limits: Limits, first: Outcome, started: float) -> Limits:
    """Limits of the second of two searches; after Ctrl-C it ends with its first model."""
    seconds, nodes = limits.time_limit, limits.node_limit
    if first.status is Status.INTERRUPTED:
        return replace(limits, time_limit=_AT_ONCE, node_limit=0)
    if seconds is not None:
        seconds = max(_AT_ONCE, seconds - (time.perf_counter() - started))
    return replace(
        limits,
        time_limit=seconds,
        node_limit=None if nodes is None else max(0, nodes - first.nodes),
    )


def _after(first: Outcome, outcome: Outcome, flip: ArrayLike | str) -> Outcome:
    """Tell of the first search what the answer of the second rests on."""
    interrupted = first.status is Status.INTERRUPTED
    notes = outcome.notes
    if first.status is not Status.OPTIMAL:
        notes = (
            *notes,
            f"flip={flip!r} went by an optimistic model that is not proved optimal "
            f"({first.status.value}); the bound is for the points flipped",
        )
    return replace(
        outcome,
        status=Status.INTERRUPTED if interrupted else outcome.status,
        nodes=first.nodes + outcome.nodes,
        notes=notes,
    )


def _optimistic(problem: TuningProblem, method: Method, solver: Solver, limits: Limits) -> Outcome:
    if method == "search":
        return search_optimistic(problem, limits)
    outcome: Outcome = _milp().solve_optimistic_milp(
        problem, solver, limits.time_limit, _solver_nodes(limits)
    )
    return outcome


def _solver_nodes(limits: Limits) -> int | None:
    """Nodes of a solver, which cannot do without a root."""
    return None if limits.node_limit is None else max(1, limits.node_limit)


def _milp() -> ModuleType:
    """Import the programs only when asked for: the search does without."""
    return importlib.import_module("pessimal.bilevel")


def _minimax() -> ModuleType:
    """Import true pessimism only when asked for: its optimizers take a while to load."""
    return importlib.import_module("pessimal.solvers.minimax")


def _check_method(method: str, solver: str, tie_break: str) -> None:
    for name, value, accepted in (
        ("method", method, get_args(Method)),
        ("solver", solver, get_args(Solver)),
        ("tie_break", tie_break, get_args(TieBreak)),
    ):
        if not (isinstance(value, str) and value in accepted):
            listed = ", ".join(map(repr, accepted))
            raise InvalidInputError(f"{name} is {value!r}; pass one of {listed}")
    if method == "search" and solver != "highs":
        raise InvalidInputError(
            f"solver is {solver!r} but method is 'search', which uses none; pass method='milp'"
        )


def _refuse_with_exact(**given: Any) -> None:
    """Refuse what belongs to ``inner="flip"`` alone, unless it is the default."""
    default = {"flip": "all", "method": "search", "solver": "highs", "tie_break": "smallest_box"}
    for name, value in given.items():
        if not (isinstance(value, str) and value == default[name]):
            raise InvalidInputError(
                f"{name} is {value!r} but inner is 'exact', which has no use for it; leave it "
                f"at {default[name]!r} or pass inner='flip'"
            )


def _limits(
    method: str,
    time_limit: float | None,
    node_limit: int | None,
    callback: Callback | None,
    seed: int,
) -> Limits:
    """Read the arguments that end a search, watch it and seed it."""
    seconds, nodes = read_time_limit(time_limit), read_node_limit(node_limit)
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback is {callback!r}; pass a function or None")
    if not (_is(seed, Integral) and seed >= 0):
        raise InvalidInputError(f"seed is {seed!r}; pass a whole number that is not negative")
    if method == "milp" and callback is not None:
        raise InvalidInputError(
            "callback is given but method is 'milp', which tells of no progress; pass None or "
            "method='search'"
        )
    return Limits(seconds, nodes, callback, int(seed))


def _read_budget(budget: Budget | None) -> Budget:
    if budget is None:
        return Budget()
    if not isinstance(budget, Budget):
        raise InvalidInputError(
            f"budget is {budget!r}; pass a Budget, such as Budget(relative=0.2), or None"
        )
    return budget


def _read_cap(method: str, multiplier_cap: float | None) -> float | None:
    if multiplier_cap is None:
        return None
    if method != "milp":
        raise InvalidInputError(
            f"multiplier_cap is {multiplier_cap!r} but only method='milp' has a cap; leave it out"
        )
    if not (_is(multiplier_cap, Real) and 0.0 < multiplier_cap < np.inf):
        raise InvalidInputError(
            f"multiplier_cap is {multiplier_cap!r}; pass a positive, finite number or None"
        )
    return float(multiplier_cap)


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _method_name(method: str, solver: str) -> str:
    return method if method == "search" else f"{method} ({solver})"


@dataclass(frozen=True, eq=False)
class _Task:
    """What was asked; `flipped` is None for the optimistic view and for true pessimism."""

    problem: TuningProblem
    budget: Budget
    flipped: Mask | None
    method: str
    started: float
    time_limit: float | None

    def seconds(self) -> float:
        return time.perf_counter() - self.started


def _answered(task: _Task, outcome: Outcome, tie_break: str | None = None) -> TuningSolution:
    """Break the tie between boxes, if any, and certify; Ctrl-C shortens that and is told."""
    try:
        return _certified(task, outcome, tie_break)
    except KeyboardInterrupt:
        return _certified(task, replace(outcome, status=Status.INTERRUPTED), tie_break)


def _certified(task: _Task, outcome: Outcome, tie_break: str | None) -> TuningSolution:
    if tie_break is None:
        return _worst_case_solution(task, outcome)
    return _solution(task, outcome, tie_break)


def _late(task: _Task, status: Status) -> float:
    """Seconds that are left, with those by which a check may exceed the limit."""
    if status is Status.INTERRUPTED:
        return _LATE_SECONDS
    if task.time_limit is None:
        return np.inf
    left = max(0.0, task.time_limit - task.seconds())
    return left + max(_LATE_SECONDS, _LATE_SHARE * task.time_limit)


def _worst_case_solution(task: _Task, outcome: Outcome) -> TuningSolution:
    """Recompute the worst case from its model and have it certified, in the time that is left."""
    problem, w, b, box = task.problem, outcome.w, outcome.b, outcome.box
    seconds = task.seconds()
    most = min(WORST_CASE_SECONDS, _late(task, outcome.status))
    certificate = certify_worst_case(problem, task.budget, box, w, b, problem.val_loss(w, b), most)
    return _answer(task, outcome, box, seconds, certificate)


def _solution(task: _Task, outcome: Outcome, tie_break: str) -> TuningSolution:
    """Break the tie between boxes, recompute the objective, certify."""
    problem, budget, flipped, w, b = task.problem, task.budget, task.flipped, outcome.w, outcome.b
    deadline = Deadline.after(_late(task, outcome.status))
    box = _TIE_BREAKS[tie_break](problem, budget, flipped, w, b, outcome.box, deadline)
    objective = problem.val_loss(w, b)
    seconds = task.seconds()
    certificate = certify(problem, budget, flipped, box, w, b, objective)
    if not certificate.ok:  # the tie-break's box fails numerically: the method's own stands
        box = outcome.box
        certificate = certify(problem, budget, flipped, box, w, b, objective)
    return _answer(task, outcome, box, seconds, certificate)


def _answer(
    task: _Task, outcome: Outcome, box: Vector, seconds: float, certificate: Certificate
) -> TuningSolution:
    status, notes = outcome.status, outcome.notes
    bound = min(outcome.lower_bound, certificate.objective)
    weight = task.problem.train_weight
    spread = weight.max() / weight[weight > 0.0].min()
    if spread > (WEIGHT_SPREAD_OF_PROGRAMS if task.method.startswith("milp") else WEIGHT_SPREAD):
        # Multipliers are as small as the weights, and tolerances are absolute.
        if not certificate.ok:
            raise InvalidInputError(
                f"train_weight spans a factor of {spread:.0e}, so much that no answer could be "
                "certified; set the weights that hardly count to 0"
            )
        notes += (f"training weights differ by a factor of {spread:.0e}, too much for a proof",)
        status = Status.NOT_PROVED if status is Status.OPTIMAL else status
        bound = 0.0
    return TuningSolution(
        problem=task.problem,
        budget=task.budget,
        flipped=task.flipped,
        box=box,
        coef=outcome.w,
        intercept=-outcome.b,
        objective=certificate.objective,
        lower_bound=bound,
        status=status,
        seconds=seconds,
        nodes=outcome.nodes,
        method=task.method,
        certificate=certificate,
        notes=notes,
        time_limit=task.time_limit,
        worst_case_bound=outcome.worst_case_bound,
    )
