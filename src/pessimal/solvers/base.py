"""What a solver of tuning problems is asked, what it answers, and how it is found by name.

A solver is one class. It says which kinds of task it solves, does them in `_solve`, and is
registered under its name. Ctrl-C ends `_solve` with what it has and the status INTERRUPTED; with
nothing to return it raises KeyboardInterrupt.
"""

from __future__ import annotations

import enum
import importlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, TypeVar

from pessimal.errors import InvalidInputError
from pessimal.limits import Limits
from pessimal.problem import Budget, Mask, TuningProblem, Vector
from pessimal.solvers.minimax.groups import Groups
from pessimal.tolerances import WEIGHT_SPREAD

Kind = Literal["optimistic", "pessimistic", "worst case"]


class Status(enum.Enum):
    """Why a solver stopped."""

    OPTIMAL = "optimal"
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    INTERRUPTED = "interrupted"
    NOT_PROVED = "not proved"


class Stop(Exception):  # noqa: N818 (a signal, not an error)
    """A limit was reached or the user interrupted."""

    def __init__(self, status: Status) -> None:
        self.status = status


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked: a problem, a budget, the flipped points or, for true pessimism, groups."""

    problem: TuningProblem
    budget: Budget = field(default_factory=Budget)
    flipped: Mask | None = None
    groups: Groups | None = None

    @property
    def kind(self) -> Kind:
        """The optimistic problem, the paper's pessimistic one, or the least exact worst case."""
        if self.groups is not None:
            return "worst case"
        return "optimistic" if self.flipped is None else "pessimistic"


@dataclass(frozen=True)
class Result:
    """A model, a box it is inner-optimal in, a valid lower bound, and why the solver stopped.

    A solver that bounds the worst case of its box says so, too: no near-optimal model of the box
    has a larger validation loss than `worst_case_bound`.
    """

    w: Vector
    b: float
    box: Vector
    lower_bound: float
    status: Status
    nodes: int
    notes: tuple[str, ...] = ()
    worst_case_bound: float = math.inf


class BaseSolver(ABC):
    """A solver of some kinds of task; a subclass has a name, the kinds, and `_solve`.

    The options are those of mixed-integer programs; who has no use for them takes the defaults.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]]
    reports_progress: ClassVar[bool] = True
    largest_weight_spread: ClassVar[float] = WEIGHT_SPREAD

    def __init__(self, solver: str = "highs", multiplier_cap: float | None = None) -> None:
        if solver != "highs":
            raise InvalidInputError(
                f"solver is {solver!r} but method is {self.name!r}, which uses none; pass "
                "method='milp'"
            )
        if multiplier_cap is not None:
            raise InvalidInputError(
                f"multiplier_cap is {multiplier_cap!r} but only method='milp' has a cap; leave it "
                "out"
            )
        self.label = self.name  # what a solution calls the method

    def solve(self, task: Task, limits: Limits) -> Result:
        """Solve a task within limits; what the training weights leave unproved is said to be."""
        if task.kind not in self.kinds:
            raise InvalidInputError(f"method is {self.name!r}, which solves no {task.kind} problem")
        if limits.callback is not None and not self.reports_progress:
            raise InvalidInputError(
                f"callback is given but method is {self.name!r}, which tells of no progress; pass "
                "None or method='search'"
            )
        result = self._solve(task, limits)
        if self.can_prove(task.problem):
            return result
        spread = weight_spread(task.problem)
        note = f"training weights differ by a factor of {spread:.0e}, too much for a proof"
        status = Status.NOT_PROVED if result.status is Status.OPTIMAL else result.status
        return replace(result, lower_bound=0.0, status=status, notes=(*result.notes, note))

    def can_prove(self, problem: TuningProblem) -> bool:
        """Whether tolerances, which are absolute, suit multipliers as small as the weights."""
        return weight_spread(problem) <= self.largest_weight_spread

    @abstractmethod
    def _solve(self, task: Task, limits: Limits) -> Result:
        """Solve a task of one of the `kinds`; the limits may leave no time and no nodes."""


def weight_spread(problem: TuningProblem) -> float:
    """Ratio of the largest training weight to the least that counts."""
    weight = problem.train_weight
    return float(weight.max() / weight[weight > 0.0].min())


_SOLVERS: dict[str, type[BaseSolver] | str] = {
    "search": "pessimal.solvers.search.driver:SearchSolver",
    "milp": "pessimal.bilevel.solve:MilpSolver",
    "worst case": "pessimal.solvers.minimax.driver:WorstCaseSolver",
}
"""By name; as text, "module:class", until first asked for, so that importing stays quick."""

S = TypeVar("S", bound=type[BaseSolver])


def register_solver(solver: S) -> S:
    """Make a solver available by its name; a class decorator."""
    _SOLVERS[solver.name] = solver
    return solver


def find_solver(name: str, kind: Kind) -> type[BaseSolver]:
    """Return the solver of that name for a kind of task, or say which there are.

    Examples
    --------
    >>> find_solver("search", "optimistic").name
    'search'
    """
    if isinstance(name, str) and name in _SOLVERS and kind in _load(name).kinds:
        return _load(name)
    names = ", ".join(repr(name) for name in _SOLVERS if kind in _load(name).kinds)
    raise InvalidInputError(f"method is {name!r}; pass one of {names}")


def _load(name: str) -> type[BaseSolver]:
    found = _SOLVERS[name]
    if isinstance(found, str):
        module, _, class_name = found.partition(":")
        found = _SOLVERS[name] = getattr(importlib.import_module(module), class_name)
    return found
