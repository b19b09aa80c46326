"""The two views of a tuning problem: trust the training that suits you, or guard against the worst.

Each picks a method, breaks ties between boxes by a stated rule, and has the answer certified.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Literal

from numpy.typing import ArrayLike

from pessimal.certificate import (
    WORST_CASE_SECONDS,
    Certificate,
    certify,
    certify_worst_case,
)
from pessimal.errors import InvalidInputError
from pessimal.flip import flip_mask
from pessimal.minimax.groups import GroupsSpec
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.search import Limits, Progress, search_optimistic, search_pessimistic
from pessimal.solution import Outcome, Status, TuningSolution
from pessimal.ties import largest_box, smallest_box

Method = Literal["search", "milp"]
TieBreak = Literal["smallest_box", "largest_box"]
Inner = Literal["flip", "exact"]
Callback = Callable[[Progress], None]

_METHODS = ("search", "milp")
_TIE_BREAKS = {"smallest_box": smallest_box, "largest_box": largest_box}

_LATE_SECONDS, _LATE_SHARE = 0.5, 0.05
"""The check of a worst case may exceed a time limit by the larger: half a second, 5 % of it.

After Ctrl-C it has the half second."""


def solve_optimistic(
    problem: TuningProblem,
    *,
    method: Method = "search",
    solver: str = "highs",
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
        The same for nodes of the search.
    tie_break : {"smallest_box", "largest_box"}, default="smallest_box"
        Which of the boxes in which the model is inner-optimal to return.
    callback : callable, optional
        Called now and then by the search with its progress.
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
    _check(method, tie_break, time_limit, node_limit)
    outcome = _optimistic(problem, method, solver, Limits(time_limit, node_limit, callback, seed))
    name = _method_name(method, solver)
    return _solution(problem, Budget(), None, outcome, name, tie_break, started, time_limit)


def solve_pessimistic(
    problem: TuningProblem,
    budget: Budget | None = None,
    *,
    inner: Inner = "flip",
    groups: GroupsSpec = "each",
    flip: ArrayLike | str = "all",
    method: Method = "search",
    solver: str = "highs",
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
        For ``"flip"``: validation points whose labels are flipped.
    method, solver, tie_break
        As in `solve_optimistic`; ``"exact"`` has one method and needs no tie-break.
    time_limit, node_limit, callback, seed
        As in `solve_optimistic`. With ``"exact"`` the certificate branches, too: it has the time
        that is left, and past the limit half a second or 5 % of it, whichever is more.
    multiplier_cap : float, optional
        Where the mixed-integer program splits the values of the budget row's multiplier, 1000 by
        default; the search needs no cap.

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
    _check(method, tie_break, time_limit, node_limit)
    budget = Budget() if budget is None else budget
    limits = Limits(time_limit, node_limit, callback, seed)
    if inner == "exact":
        outcome = _minimax().minimise_worst_case(problem, budget, groups, limits)
        return _worst_case_solution(problem, budget, outcome, started, time_limit)
    if inner != "flip":
        raise InvalidInputError(f"inner is {inner!r}; pass 'flip' or 'exact'")
    if not (isinstance(groups, str) and groups == "each"):
        raise InvalidInputError(f"groups is {groups!r}; with inner='flip' it can only be 'each'")

    def hyperplane() -> tuple[Vector, float]:
        outcome = _optimistic(problem, method, solver, limits)
        return outcome.w, outcome.b

    flipped = flip_mask(problem, flip, hyperplane)
    if method == "search":
        outcome = search_pessimistic(problem, budget, flipped, limits)
    else:
        milp = _milp()
        cap = milp.MULTIPLIER_CAP if multiplier_cap is None else multiplier_cap
        outcome = milp.solve_pessimistic_milp(problem, budget, flipped, solver, time_limit, cap)
    name = _method_name(method, solver)
    return _solution(problem, budget, flipped, outcome, name, tie_break, started, time_limit)


def _optimistic(problem: TuningProblem, method: Method, solver: str, limits: Limits) -> Outcome:
    if method == "search":
        return search_optimistic(problem, limits)
    outcome: Outcome = _milp().solve_optimistic_milp(problem, solver, limits.time_limit)
    return outcome


def _milp() -> ModuleType:
    """Import the programs only when asked for: CVXPY takes a second, the search does without."""
    return importlib.import_module("pessimal.milp")


def _minimax() -> ModuleType:
    """Import true pessimism only when asked for: its optimizers take a while to load."""
    return importlib.import_module("pessimal.minimax")


def _check(method: str, tie_break: str, time_limit: float | None, node_limit: int | None) -> None:
    if method not in _METHODS:
        raise InvalidInputError(f"method is {method!r}; pass one of {_listed(_METHODS)}")
    if tie_break not in _TIE_BREAKS:
        raise InvalidInputError(f"tie_break is {tie_break!r}; pass one of {_listed(_TIE_BREAKS)}")
    for name, limit in (("time_limit", time_limit), ("node_limit", node_limit)):
        if limit is not None and not limit > 0:
            raise InvalidInputError(f"{name} is {limit!r}; pass a positive number or None")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _method_name(method: str, solver: str) -> str:
    return method if method == "search" else f"{method} ({solver})"


def _worst_case_solution(
    problem: TuningProblem,
    budget: Budget,
    outcome: Outcome,
    started: float,
    time_limit: float | None,
) -> TuningSolution:
    """Recompute the worst case from its model and have it certified, in the time that is left."""
    w, b, box = outcome.w, outcome.b, outcome.box
    seconds = time.perf_counter() - started
    most = WORST_CASE_SECONDS
    if outcome.status is Status.INTERRUPTED:
        most = _LATE_SECONDS
    elif time_limit is not None:
        late = max(_LATE_SECONDS, _LATE_SHARE * time_limit)
        most = min(most, max(0.0, time_limit - seconds) + late)
    certificate = certify_worst_case(problem, budget, box, w, b, problem.val_loss(w, b), most)
    return _answer(
        problem, budget, None, outcome, box, "worst case", seconds, certificate, time_limit
    )


def _solution(
    problem: TuningProblem,
    budget: Budget,
    flipped: Mask | None,
    outcome: Outcome,
    method: str,
    tie_break: str,
    started: float,
    time_limit: float | None,
) -> TuningSolution:
    """Break the tie between boxes, recompute the objective, certify."""
    w, b = outcome.w, outcome.b
    box = _TIE_BREAKS[tie_break](problem, budget, flipped, w, b, outcome.box)
    objective = problem.val_loss(w, b)
    seconds = time.perf_counter() - started
    certificate = certify(problem, budget, flipped, box, w, b, objective)
    if not certificate.ok:  # the tie-break's box fails numerically: the method's own stands
        box = outcome.box
        certificate = certify(problem, budget, flipped, box, w, b, objective)
    return _answer(problem, budget, flipped, outcome, box, method, seconds, certificate, time_limit)


def _answer(
    problem: TuningProblem,
    budget: Budget,
    flipped: Mask | None,
    outcome: Outcome,
    box: Vector,
    method: str,
    seconds: float,
    certificate: Certificate,
    time_limit: float | None,
) -> TuningSolution:
    return TuningSolution(
        problem=problem,
        budget=budget,
        flipped=flipped,
        box=box,
        coef=outcome.w,
        intercept=-outcome.b,
        objective=certificate.objective,
        lower_bound=min(outcome.lower_bound, certificate.objective),
        status=outcome.status,
        seconds=seconds,
        nodes=outcome.nodes,
        method=method,
        certificate=certificate,
        notes=outcome.notes,
        time_limit=time_limit,
    )
