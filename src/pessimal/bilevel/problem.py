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
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from pessimal.bilevel.answer import BilevelSolution, BilevelStatus
from pessimal.bilevel.canonical import (
    CanonicalLevel,
    canonicalise,
    is_dpp,
    limits,
    named,
    refuse,
    substitute,
    substitute_constraint,
    terms,
)
from pessimal.bilevel.certificate import BilevelCertificate
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, RefusedError, Rows
from pessimal.bilevel.routes import METHODS
from pessimal.bilevel.solve_program import solve_program
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
        followers, start = [], 0
        for k, follower in enumerate(self.followers):
            where = "the follower" if len(self.followers) == 1 else f"follower {k}"
            followers.append(self._follower(follower, start, where))
            start += len(followers[-1])
        return self._leader(followers, start)

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

    def _follower(self, follower: Follower, start: int, where: str) -> FollowerProgram:
        plain = [cp.Variable(v.shape, name=v.name()) for v in follower.variables]
        fixed = [_parameter(v, where) for v in self._outer]
        leaves = _constants(follower.objective, follower.constraints)
        leaves |= {v.id: p for v, p in zip(follower.variables, plain, strict=True)}
        leaves |= {v.id: p for v, p in zip(self._outer, fixed, strict=True)}
        level = canonicalise(
            substitute(follower.objective, leaves),
            [substitute_constraint(c, leaves, where) for c in follower.constraints],
            plain,
            fixed,
            where,
        )
        lower, upper = level.lower.copy(), level.upper.copy()
        first = 0
        for variable in follower.variables:
            low, high, integer = limits(variable, where)
            if integer.any():
                refuse(variable, where, "an integer variable; only outer ones may be integer")
            own = slice(first, first + variable.size)
            lower[own], upper[own] = np.maximum(lower[own], low), np.minimum(upper[own], high)
            first += variable.size
        return FollowerProgram(
            cost=level.cost,
            price=level.price,
            curvature=level.curvature,
            rows=level.rows,
            lower=lower,
            upper=upper,
            columns=slice(start, start + len(level.cost)),
            outer_cost=level.slope,
            constant=level.constant,
        )

    def _leader(self, followers: list[FollowerProgram], n_inner: int) -> BilevelProgram:
        where = "the outer problem"
        variables = [*self._outer, *self._inner]
        plain = [cp.Variable(v.shape, name=v.name()) for v in variables]
        leaves = _constants(self.objective, self.constraints)
        leaves |= {v.id: p for v, p in zip(variables, plain, strict=True)}
        convex: list[Any] = []
        products: list[Any] = []
        for term in terms(self.objective):
            (convex if substitute(term, leaves).is_convex() else products).append(term)
        level = canonicalise(
            sum((substitute(term, leaves) for term in convex), cp.Constant(0.0)),
            [substitute_constraint(c, leaves, where) for c in self.constraints],
            plain,
            [],
            where,
        )
        n_own = sum(v.size for v in self._outer)
        # Columns of the level: x, the named inner variables, auxiliary ones; y has its own order.
        inner = np.concatenate([self._inner_columns(f, p) for f, p in zip(
            self.followers, followers, strict=True)])  # fmt: skip
        n_level = len(level.cost)
        auxiliary = np.arange(n_own + len(inner), n_level)
        x = np.append(np.arange(n_own), auxiliary)
        pad = len(auxiliary)
        followers = [_padded(follower, pad) for follower in followers]

        def in_y(matrix: csr_array) -> csr_array:
            entries = csr_array(matrix)[:, n_own : n_own + len(inner)].tocoo()
            return csr_array(
                (entries.data, (entries.row, inner[entries.col])), shape=(matrix.shape[0], n_inner)
            )

        # Limits on inner variables are rows: they are the leader's, not the follower's.
        named_inner = slice(n_own, n_own + len(inner))
        low, high = level.lower[named_inner], level.upper[named_inner]
        bounded = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
        unit = csr_array(
            (np.ones(len(bounded)), (np.arange(len(bounded)), inner[bounded])),
            shape=(len(bounded), n_inner),
        )
        rows = _stacked(
            Rows(
                level.rows.inner[:, x], in_y(level.rows.inner), level.rows.lower, level.rows.upper
            ),
            Rows(csr_array((len(bounded), len(x))), unit, low[bounded], high[bounded]),
        )
        lower, upper = level.lower[x].copy(), level.upper[x].copy()
        integer = np.zeros(len(x), dtype=np.bool_)
        first = 0
        for variable in self._outer:
            own = slice(first, first + variable.size)
            low, high, integer[own] = limits(variable, where)
            lower[own], upper[own] = np.maximum(lower[own], low), np.minimum(upper[own], high)
            first += variable.size
        curvature = csr_array(level.curvature)
        if abs(curvature[x][:, named_inner]).sum() > 0.0:
            refuse(self.objective, where, "a square of outer and inner variables together; keep "
                   "them in separate squares")  # fmt: skip
        between = curvature[named_inner][:, named_inner].tocoo()
        inner_curvature = csr_array(
            (between.data, (inner[between.row], inner[between.col])), shape=(n_inner, n_inner)
        )
        outer_cost, inner_cost = level.cost[x].copy(), np.zeros(n_inner)
        inner_cost[inner] = level.cost[named_inner]
        price = csr_array((n_inner, len(x)))
        for term in products:
            product = self._product(term, where)
            outer_cost[:n_own] += product.slope
            inner_cost[inner] += product.cost
            price = price + _placed(product.price, inner, price.shape)
        return BilevelProgram(
            outer_cost=outer_cost,
            inner_cost=inner_cost,
            outer_curvature=csr_array(curvature[x][:, x]),
            inner_curvature=inner_curvature,
            price=csr_array(price),
            constant=level.constant,
            rows=rows,
            lower=lower,
            upper=upper,
            integer=integer,
            followers=tuple(followers),
            auxiliary=np.arange(len(x)) >= n_own,
        )

    def _product(self, term: Any, where: str) -> CanonicalLevel:
        """Return a term that is not convex as products of outer and inner variables."""
        plain = [cp.Variable(v.shape, name=v.name()) for v in self._inner]
        fixed = [_parameter(v, where) for v in self._outer]
        leaves = _constants(term, [])
        leaves |= {v.id: p for v, p in zip(self._inner, plain, strict=True)}
        leaves |= {v.id: p for v, p in zip(self._outer, fixed, strict=True)}
        as_function_of_y = substitute(term, leaves)
        reason = "which is neither convex nor a product of outer and inner variables"
        if not is_dpp(as_function_of_y):
            refuse(term, where, reason)
        level = canonicalise(as_function_of_y, [], plain, fixed, where)
        if abs(level.curvature).sum() > 0.0 or len(level.cost) > sum(v.size for v in plain):
            refuse(term, where, reason)
        return level

    @staticmethod
    def _inner_columns(follower: Follower, program: FollowerProgram) -> Any:
        return program.columns.start + np.arange(sum(v.size for v in follower.variables))

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


def _parameter(variable: cp.Variable, where: str) -> cp.Parameter:
    """Return a parameter in place of a variable, with its sign, which the rules of DCP use."""
    lower, upper, _ = limits(variable, where)
    nonneg, nonpos = bool(np.all(lower >= 0.0)), bool(np.all(upper <= 0.0))
    return cp.Parameter(
        variable.shape, name=variable.name(), nonneg=nonneg, nonpos=nonpos and not nonneg
    )


def _constants(objective: Any, constraints: Sequence[Any]) -> dict[int, Any]:
    """Return the values of the user's parameters, by their ids."""
    values = {}
    for part in (objective, *constraints):
        for parameter in part.parameters():
            if parameter.value is None:
                raise InvalidInputError(f"parameter {parameter.name()!r} has no value; set it")
            values[parameter.id] = cp.Constant(parameter.value)
    return values


def _padded(follower: FollowerProgram, pad: int) -> FollowerProgram:
    """Return a follower with outer variables appended that it does not see."""
    rows = follower.rows
    return replace(
        follower,
        price=csr_array(hstack([follower.price, csr_array((len(follower), pad))])),
        rows=replace(rows, outer=csr_array(hstack([rows.outer, csr_array((len(rows), pad))]))),
        outer_cost=np.append(follower.outer_cost, np.zeros(pad)),
    )


def _stacked(first: Rows, second: Rows) -> Rows:
    return Rows(
        csr_array(vstack([first.outer, second.outer])),
        csr_array(vstack([first.inner, second.inner])),
        np.append(first.lower, second.lower),
        np.append(first.upper, second.upper),
    )


def _placed(matrix: csr_array, rows: NDArray[np.intp], shape: tuple[int, int]) -> csr_array:
    """Return a larger matrix with the rows of this one at some of its rows."""
    entries = csr_array(matrix).tocoo()
    return csr_array((entries.data, (rows[entries.row], entries.col)), shape=shape)


def _set_values(variables: Sequence[cp.Variable], values: Vector) -> None:
    first = 0
    for variable in variables:
        own = values[first : first + variable.size]
        # Past the checks of CVXPY: a rounding error beyond a sign is none of the user's concern.
        variable.save_value(own.reshape(variable.shape, order="F"))
        first += variable.size
