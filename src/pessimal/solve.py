"""The two views of a tuning problem: trust the training that suits you, or guard against the worst.

Each picks a solver, breaks ties between boxes by a stated rule, and has the answer certified.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from pessimal.certificate import (
    WORST_CASE_SECONDS,
    certify,
    certify_worst_case,
    near_optimal_model,
)
from pessimal.errors import InvalidInputError
from pessimal.flip import flip_mask
from pessimal.limits import AT_ONCE, LATE_SECONDS, LATE_SHARE, Callback, Deadline, Limits
from pessimal.problem import Budget, TuningProblem, Vector
from pessimal.solution import TuningSolution
from pessimal.solvers.base import BaseSolver, Kind, Result, Status, Task, find_solver, weight_spread
from pessimal.solvers.minimax.groups import GroupsSpec, groups_of
from pessimal.ties import largest_box, smallest_box
from pessimal.tolerances import CERTIFICATE

Method = Literal["search", "milp"]
Solver = Literal["highs", "scip", "gurobi", "cplex"]
TieBreak = Literal["smallest_box", "largest_box"]
Inner = Literal["flip", "exact"]

_TIE_BREAKS = {"smallest_box": smallest_box, "largest_box": largest_box}

_FLIP_SHARE = 0.5
"""Of the limits, for the optimistic problem that a flip rule may need solved first."""


def solve_optimistic(
    problem: TuningProblem,
    *,
    method: str = "search",
    solver: Solver = "highs",
    time_limit: float | None = None,
    node_limit: int | None = None,
    tie_break: TieBreak = "smallest_box",
    callback: Callback | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> TuningSolution:
    """Tune the box, trusting training to return its best-validating optimum.

    Solves eq. (prob:optim-hinge) of the paper to global optimality.

    Parameters
    ----------
    problem : TuningProblem
        Data and limits.
    method : {"search", "milp"} or name of a registered solver, default="search"
        The package's own exact search, or the paper's mixed-integer program.
    solver : {"highs", "scip", "gurobi", "cplex"}, default="highs"
        Solver of the mixed-integer program; the search needs none.
    time_limit : float, optional
        Seconds after which the best model found is returned with a valid bound. Tie-break and
        certificate come on top of them, hundredths of a second as a rule and 0.3 s or 5 % of the
        limit at most, whichever is more; what is not checked by then counts as a gap.
    node_limit : int, optional
        The same for nodes of the search or of the solver.
    tie_break : {"smallest_box", "largest_box"}, default="smallest_box"
        Which of the boxes in which the model is inner-optimal to return.
    callback : callable, optional
        Called now and then by the search with its progress; not by the mixed-integer program.
    seed : int, default=0
        Seed of the search's heuristic; the optimum does not depend on it.
    n_jobs : int, optional
        Processes in which the search goes on when it takes longer than a second or two; -1 is one
        per core. A proved optimum is the same for any number of them, and so is every digit of the
        answer for any number from 2 on. The mixed-integer program has its solver's own threads.

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
    chosen = _solver("optimistic", method, solver, tie_break)
    call = _Call(chosen, Limits.read(time_limit, node_limit, callback, seed, n_jobs), started)
    task = Task(problem)
    return call.answer(task, chosen.solve(task, call.limits), tie_break)


def solve_pessimistic(
    problem: TuningProblem,
    budget: Budget | None = None,
    *,
    inner: Inner = "flip",
    groups: GroupsSpec = "each",
    flip: ArrayLike | str = "all",
    method: str = "search",
    solver: Solver = "highs",
    time_limit: float | None = None,
    node_limit: int | None = None,
    multiplier_cap: float | None = None,
    tie_break: TieBreak = "smallest_box",
    callback: Callback | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
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
        that is left, and past the limit 0.3 s or 5 % of it, whichever is more.
    n_jobs : int, optional
        As in `solve_optimistic`; ``"exact"`` uses one process.
    multiplier_cap : float, optional
        Where the mixed-integer program splits the values of the budget row's multiplier, 1000 by
        default; the search needs no cap and takes none.

    Returns
    -------
    TuningSolution

    Examples
    --------
    >>> problem = TuningProblem([[-2.0], [0.0], [1.0]], [-1, -1, 1], [[0.5], [2.0]], [-1, 1])
    >>> solution = solve_pessimistic(problem, Budget(epsilon=0.2))
    >>> solution.proved, bool(solution.objective <= solution.exact_worst_case.value + 1e-9)
    (True, True)
    >>> true = solve_pessimistic(problem, Budget(epsilon=0.2), inner="exact", groups="one")
    >>> true.proved, bool(true.objective <= solution.exact_worst_case.value)
    (True, True)
    """
    started = time.perf_counter()
    if inner not in get_args(Inner):
        raise InvalidInputError(f"inner is {inner!r}; pass 'flip' or 'exact'")
    chosen = _solver("pessimistic", method, solver, tie_break, multiplier_cap)
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidInputError(
            f"budget is {budget!r}; pass a Budget, such as Budget(epsilon=0.2), or None"
        )
    budget = Budget() if budget is None else budget
    limits = Limits.read(time_limit, node_limit, callback, seed, n_jobs)
    if inner == "exact":
        _refuse_with_exact(flip=flip, method=method, solver=solver, tie_break=tie_break)
        chosen = find_solver("worst case", "worst case")()
        task = Task(problem, budget, groups=groups_of(problem, groups))
        result = chosen.solve(task, limits)
    elif isinstance(groups, str) and groups == "each":
        task, result = _solve_flipped(chosen, Task(problem, budget), flip, limits)
    else:
        raise InvalidInputError(f"groups is {groups!r}; with inner='flip' it can only be 'each'")
    return _Call(chosen, limits, started).answer(task, result, tie_break)


def _solver(
    kind: Kind, method: str, solver: str, tie_break: str, multiplier_cap: float | None = None
) -> BaseSolver:
    """Read the arguments that pick a solver and its options."""
    found = find_solver(method, kind)
    for name, value, accepted in (
        ("solver", solver, get_args(Solver)),
        ("tie_break", tie_break, get_args(TieBreak)),
    ):
        if not (isinstance(value, str) and value in accepted):
            listed = ", ".join(map(repr, accepted))
            raise InvalidInputError(f"{name} is {value!r}; pass one of {listed}")
    return found(solver, multiplier_cap)


def _refuse_with_exact(**given: Any) -> None:
    """Refuse what belongs to ``inner="flip"`` alone, unless it is the default."""
    default = {"flip": "all", "method": "search", "solver": "highs", "tie_break": "smallest_box"}
    for name, value in given.items():
        if not (isinstance(value, str) and value == default[name]):
            raise InvalidInputError(
                f"{name} is {value!r} but inner is 'exact', which has no use for it; leave it "
                f"at {default[name]!r} or pass inner='flip'"
            )


def _solve_flipped(
    solver: BaseSolver, task: Task, flip: ArrayLike | str, limits: Limits
) -> tuple[Task, Result]:
    """Solve the paper's problem; the limits are for it and for the rule that says what to flip."""
    deadline = Deadline.after(limits.time_limit)
    first: Result | None = None

    def hyperplane() -> tuple[Vector, float]:
        nonlocal first
        first = solver.solve(Task(task.problem), limits.share(_FLIP_SHARE))
        return first.w, first.b

    task = replace(task, flipped=flip_mask(task.problem, flip, hyperplane))
    if first is None:
        return task, solver.solve(task, limits)
    limits = limits.rest(deadline, first.nodes)
    interrupted = first.status is Status.INTERRUPTED
    if interrupted:
        limits = replace(limits, time_limit=AT_ONCE, node_limit=0)
    result = solver.solve(task, limits)
    notes = result.notes
    if first.status is not Status.OPTIMAL:
        notes += (
            f"flip={flip!r} went by an optimistic model that is not proved optimal "
            f"({first.status.value}); the bound is for the points flipped",
        )
    return task, replace(
        result,
        status=Status.INTERRUPTED if interrupted else result.status,
        nodes=first.nodes + result.nodes,
        notes=notes,
    )


@dataclass(frozen=True)
class _Call:
    """One call of the user: what solves it, within which limits, since when."""

    solver: BaseSolver
    limits: Limits
    started: float

    def answer(self, task: Task, result: Result, tie_break: str) -> TuningSolution:
        """Break the tie between boxes, if any, and certify; Ctrl-C shortens that and is told."""
        try:
            return self._certified(task, result, tie_break)
        except KeyboardInterrupt:
            result = replace(result, status=Status.INTERRUPTED)
            return self._certified(task, result, tie_break)

    def _certified(self, task: Task, result: Result, tie_break: str) -> TuningSolution:
        problem, budget, flipped = task.problem, task.budget, task.flipped
        w, b, box, objective = result.w, result.b, result.box, problem.val_loss(result.w, result.b)
        late = Deadline.after(self._seconds_left(result.status))
        if task.kind == "worst case":
            seconds = time.perf_counter() - self.started
            most = late.left
            if self.limits.time_limit is None or result.status is not Status.OPTIMAL:
                most = min(most, max(WORST_CASE_SECONDS, seconds))
            certificate = certify_worst_case(problem, budget, box, w, b, objective, most)
            if certificate.budget_violation > CERTIFICATE:
                # A large ε multiplies the rounding of the least training loss.
                w, b = near_optimal_model(problem, budget, box, w, b, late)
                objective = problem.val_loss(w, b)
                certificate = certify_worst_case(problem, budget, box, w, b, objective, late.left)
        else:
            box = _TIE_BREAKS[tie_break](task, w, b, box, late)
            seconds = time.perf_counter() - self.started
            certificate = certify(problem, budget, flipped, box, w, b, objective, late)
            if not (certificate.ok or late.over):
                # The tie-break's box fails numerically: the solver's own stands.
                box = result.box
                certificate = certify(problem, budget, flipped, box, w, b, objective, late)
        if not (certificate.ok or self.solver.can_prove(problem)):
            raise InvalidInputError(
                f"train_weight spans a factor of {weight_spread(problem):.0e}, so much that no "
                "answer could be certified; set the weights that hardly count to 0"
            )
        return TuningSolution(
            problem=problem,
            budget=budget,
            flipped=flipped,
            box=box,
            coef=w,
            intercept=-b,
            objective=certificate.objective,
            lower_bound=min(result.lower_bound, certificate.objective),
            status=result.status,
            seconds=seconds,
            nodes=result.nodes,
            method=self.solver.label,
            certificate=certificate,
            notes=result.notes,
            time_limit=self.limits.time_limit,
            worst_case_bound=result.worst_case_bound,
        )

    def _seconds_left(self, status: Status) -> float:
        """Seconds that are left, with those by which a check may exceed the limit."""
        time_limit = self.limits.time_limit
        if status is Status.INTERRUPTED:
            return LATE_SECONDS
        if time_limit is None:
            return np.inf
        left = Deadline(self.started + time_limit).left
        return max(0.0, left) + max(LATE_SECONDS, LATE_SHARE * time_limit)
