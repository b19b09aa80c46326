"""Bilevel problems written in CVXPY.

Both levels are ordinary CVXPY: a `Follower` names the variables it decides on, everything else is
the leader's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import cvxpy as cp
import numpy as np

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.canonical import named, refuse
from pessimal.bilevel.certificate import BilevelCertificate
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, RefusedError
from pessimal.bilevel.routes import METHODS
from pessimal.bilevel.solve_program import solve_program
from pessimal.bilevel.writer import ProgramWriter
from pessimal.errors import InvalidInputError
from pessimal.limits import is_number, read_node_limit, read_time_limit
from pessimal.problem import Vector


class Follower:
    """A follower: the inner problem, and the variables it decides on.

    Parameters
    ----------
    objective : cvxpy.Minimize or cvxpy.Maximize
        Convex piecewise linear or quadratic in the follower's variables; may hold products of
        outer and inner variables.
    constraints : sequence of cvxpy constraints
        Linear or piecewise linear; outer variables may stand in them, not in products.
    variables : sequence of cvxpy.Variable
        What the follower decides on.
    """

    def __init__(
        self,
        objective: cp.Minimize | cp.Maximize,
        constraints: Sequence[Any] = (),
        *,
        variables: Sequence[cp.Variable],
    ) -> None:
        self.objective = _read_objective(objective)
        self.constraints = list(constraints)
        self.variables = list(variables)
        for variable in self.variables:
            if not isinstance(variable, cp.Variable):
                raise InvalidInputError(f"variables has {variable!r}; pass cvxpy Variables")
        if not self.variables:
            raise InvalidInputError("variables is empty; name what the follower decides on")


class BilevelProblem:
    """A bilevel problem.

    Parameters
    ----------
    objective : cvxpy.Minimize or cvxpy.Maximize
        The leader's.
    constraints : sequence of cvxpy constraints
        The leader's. Where they hold inner variables, the view says for which responses they are
        meant: for the one that the leader gets, or for every near-optimal one.
    followers : Follower or sequence of Follower
        Independent of each other.

    Attributes
    ----------
    status : BilevelStatus or None
    value : float or None
        Outer objective of the answer; infinite without one.
    bound : float or None
        No decision has a better value: a lower bound, or an upper one if the leader maximises.
    certificate : BilevelCertificate or None
        The answer checked again by another solver.
    solution : BilevelSolution or None
        The answer in arrays, of the problem as a minimisation.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x, y = cp.Variable(name="x"), cp.Variable(name="y")
    >>> rows = [x + y >= 3, 2 * x - y >= 0, 2 * x + y <= 12, 3 * x - 2 * y <= 4, y >= 0]
    >>> follower = Follower(cp.Minimize(y), rows, variables=[y])
    >>> problem = BilevelProblem(cp.Minimize(x - 4 * y), [x >= 0], follower)
    >>> round(problem.solve(), 6), problem.status.value, problem.certificate.ok
    (-12.0, 'optimal', True)
    """

    def __init__(
        self,
        objective: cp.Minimize | cp.Maximize,
        constraints: Sequence[Any],
        followers: Follower | Iterable[Follower],
    ) -> None:
        self.maximise = isinstance(objective, cp.Maximize)
        self.objective = _read_objective(objective)
        self.constraints = list(constraints)
        self.followers = [followers] if isinstance(followers, Follower) else list(followers)
        if not self.followers or not all(isinstance(f, Follower) for f in self.followers):
            raise InvalidInputError("followers has something else; pass one Follower or several")
        self.status: BilevelStatus | None = None
        self.value: float | None = None
        self.bound: float | None = None
        self.certificate: BilevelCertificate | None = None
        self.solution: BilevelSolution | None = None
        self._outer, self._inner = self._split()

    def solve(
        self,
        view: str = "optimistic",
        *,
        epsilon: float = 0.0,
        delta: float = 0.0,
        method: str = "search",
        time_limit: float | None = None,
        node_limit: int | None = None,
    ) -> float:
        """Solve to proved optimality, set the values of all variables, and return the value.

        Parameters
        ----------
        view : {"optimistic", "pessimistic"}
            Which of a follower's responses the leader gets: the best, or the worst.
        epsilon, delta : float
            In the pessimistic view a response is near-optimal when its objective f is at most
            ``f* + epsilon·|f*| + delta``.
        method : {"search", "sos1 scip", "sos1 gurobi", "sos1 cplex", "milp highs", ...}
            The search of this package, or a mixed-integer solver with SOS1 constraints, or with
            proved Ms.
        time_limit, node_limit : float, int or None
            When to stop with the best decision and the bound there are; Ctrl-C does the same.

        Returns
        -------
        float
            Outer objective; infinite if no decision was found.
        """
        if view not in ("optimistic", "pessimistic"):
            raise InvalidInputError(f"view is {view!r}; pass 'optimistic' or 'pessimistic'")
        if method not in METHODS:
            raise InvalidInputError(
                f"method is {method!r}; pass one of {', '.join(map(repr, METHODS))}"
            )
        for name, given in (("epsilon", epsilon), ("delta", delta)):
            if not (is_number(given, Real) and 0.0 <= given < math.inf):
                raise InvalidInputError(f"{name} is {given!r}; pass a finite number from 0 on")
            if view == "optimistic" and given > 0.0:
                raise InvalidInputError(
                    f"{name} is {given!r} but view is 'optimistic', which has no use for it; "
                    "leave it out or pass view='pessimistic'"
                )
        program = self.program()
        try:
            solution = solve_program(
                program,
                pessimistic=view == "pessimistic",
                epsilon=float(epsilon),
                delta=float(delta),
                method=method,
                time_limit=read_time_limit(time_limit),
                node_limit=read_node_limit(node_limit),
            )
        except RefusedError as error:
            level = self if error.follower is None else self.followers[error.follower]
            parts = [level.objective] if error.part == "objective" else level.constraints
            expressions = "; ".join(map(named, parts))
            raise InvalidInputError(f"{error}: {expressions}") from None
        return self._take(solution, program.followers)

    def program(self) -> BilevelProgram:
        """Return the problem as arrays; the leader minimises."""
        return ProgramWriter(
            self.objective, self.constraints, self.followers, self._outer, self._inner
        ).write()

    def _split(self) -> tuple[list[cp.Variable], list[cp.Variable]]:
        """Return outer and inner variables; refuse followers that see each other."""
        owner: dict[int, int] = {}
        for k, follower in enumerate(self.followers):
            for variable in follower.variables:
                if owner.setdefault(variable.id, k) != k:
                    raise InvalidInputError(
                        f"variable {variable.name()!r} belongs to two followers; give it to one"
                    )
        seen: dict[int, cp.Variable] = {}
        for k, follower in enumerate(self.followers):
            for part in (follower.objective, *follower.constraints):
                for variable in part.variables():
                    seen[variable.id] = variable
                    if owner.get(variable.id, k) != k:
                        refuse(part, f"follower {k}", f"which holds {variable.name()!r}, a variable"
                               " of another follower; followers must be independent")  # fmt: skip
        for part in (self.objective, *self.constraints):
            seen |= {variable.id: variable for variable in part.variables()}
        outer = [variable for key, variable in seen.items() if key not in owner]
        return outer, [variable for f in self.followers for variable in f.variables]

    def _take(self, solution: BilevelSolution, followers: Sequence[FollowerProgram]) -> float:
        """Set values of variables and attributes from an answer."""
        if solution.x is not None and solution.y is not None:
            _set_values(self._outer, solution.x)
            for follower, program in zip(self.followers, followers, strict=True):
                _set_values(follower.variables, solution.y[program.columns])
            solution = self._checked(solution)
        sign = -1.0 if self.maximise else 1.0
        self.solution, self.status = solution, solution.status
        self.value, self.bound = sign * solution.value, sign * solution.bound
        self.certificate = solution.certificate
        return self.value

    def _checked(self, solution: BilevelSolution) -> BilevelSolution:
        """Evaluate the expressions themselves at the answer: the arrays may not say the same."""
        certificate = solution.certificate
        if certificate is None:
            return solution
        objective = float(self.objective.value)
        error = abs(objective - solution.value) / max(1.0, abs(objective))
        outer, inner = certificate.outer_violation, certificate.inner_violation
        certificate = replace(
            certificate,
            objective=objective,
            objective_error=max(certificate.objective_error, error),
            outer_violation=max(outer, _violation(self.constraints)),
            inner_violation=max(inner, *(_violation(f.constraints) for f in self.followers)),
        )
        status = solution.status
        if status is BilevelStatus.OPTIMAL and not certificate.ok:
            status = BilevelStatus.NOT_PROVED
        return replace(solution, status=status, certificate=certificate)


def _read_objective(objective: Any) -> Any:
    """Return the expression to be minimised."""
    if isinstance(objective, cp.Minimize):
        return objective.args[0]
    if isinstance(objective, cp.Maximize):
        return -objective.args[0]
    raise InvalidInputError(
        f"objective is {named(objective)}; pass cvxpy.Minimize(...) or cvxpy.Maximize(...)"
    )


def _violation(constraints: Sequence[Any]) -> float:
    """Largest violation of constraints, relative where their terms are above 1."""
    largest = 0.0
    for constraint in constraints:
        size = max(1.0, *(float(np.max(np.abs(arg.value))) for arg in constraint.args))
        largest = max(largest, float(np.max(constraint.violation())) / size)
    return largest


def _set_values(variables: Sequence[cp.Variable], values: Vector) -> None:
    first = 0
    for variable in variables:
        own = values[first : first + variable.size]
        # Past the checks of CVXPY: a rounding error beyond a sign is none of the user's concern.
        variable.save_value(own.reshape(variable.shape, order="F"))
        first += variable.size
