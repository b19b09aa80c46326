"""From CVXPY to arrays, by CVXPY's own reductions.

One level is a convex problem in its own variables in which the variables of the other level are
parameters. CVXPY canonicalises it once, with its parameters in place ("disciplined parametrised
programming"), so every array that comes back is an affine function of them. Products of outer and
inner variables are then prices, and everything else is a right-hand side.

Refused, with the expression named: what is not convex, what is neither piecewise linear nor
quadratic, and products anywhere but in an objective.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array, hstack

from pessimal.bilevel.program import Rows
from pessimal.errors import InvalidInputError
from pessimal.problem import Mask, Vector

_UNSUPPORTED = ("symmetric", "diag", "PSD", "NSD", "complex", "imag", "hermitian", "sparsity")


@dataclass(frozen=True, eq=False)
class CanonicalLevel:
    """``min (cost + price·p)·v + ½ v·curvature·v + slope·p + constant`` subject to rows and limits.

    The columns v are those of the variables, in Fortran order, and then auxiliary ones; p are the
    parameters. The rows have p as their outer and v as their inner part.
    """

    cost: Vector
    price: csr_array
    curvature: csr_array
    slope: Vector
    constant: float
    rows: Rows
    lower: Vector
    upper: Vector


def named(expression: Any) -> str:
    """Return an expression or a constraint as text for a message, cut where it is long."""
    text = str(expression)
    return text if len(text) <= 120 else text[:117] + "..."


def refuse(expression: Any, where: str, reason: str) -> NoReturn:
    """Say which expression cannot be taken, and why."""
    raise InvalidInputError(f"{where} has {named(expression)}, {reason}")


def substitute(expression: Any, leaves: Mapping[int, Any]) -> Any:
    """Return an expression with other leaves in place of those with these ids."""
    if isinstance(expression, cp.Variable | cp.Parameter):
        return leaves[expression.id]
    if not expression.args:
        return expression
    return expression.copy([substitute(arg, leaves) for arg in expression.args])


def substitute_constraint(constraint: Any, leaves: Mapping[int, Any], where: str) -> Any:
    """Return a linear or piecewise-linear constraint with other leaves; refuse any other kind."""
    args = [substitute(arg, leaves) for arg in constraint.args]
    match type(constraint).__name__, args:
        case "Equality", [left, right]:
            return left == right
        case "Inequality", [left, right]:
            return left <= right
        case "Zero", [value]:
            return value == 0
        case "NonNeg", [value]:
            return value >= 0
        case "NonPos", [value]:
            return value <= 0
    refuse(constraint, where, "which is no equation or inequality; write it as one")


def limits(variable: cp.Variable, where: str) -> tuple[Vector, Vector, Mask]:
    """Return lower and upper limits of a variable, and whether it is integer, entry by entry."""
    for attribute in _UNSUPPORTED:
        if variable.attributes.get(attribute):
            refuse(variable, where, f"a variable with the attribute {attribute!r}; use a plain one")
    shape = variable.shape
    lower, upper = np.full(shape, -np.inf), np.full(shape, np.inf)
    if variable.attributes.get("bounds") is not None:
        low, high = cast(Any, variable.attributes["bounds"])
        lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    if variable.attributes.get("nonneg") or variable.attributes.get("pos"):
        lower = np.maximum(lower, 0.0)
    if variable.attributes.get("nonpos") or variable.attributes.get("neg"):
        upper = np.minimum(upper, 0.0)
    boolean = variable.attributes.get("boolean")
    integer = np.full(shape, bool(boolean or variable.attributes.get("integer")))
    for attribute in ("boolean", "integer"):
        if isinstance(variable.attributes.get(attribute), list | tuple):
            refuse(variable, where, f"which is {attribute} in some entries; use two variables")
    if boolean:
        lower, upper = np.maximum(lower, 0.0), np.minimum(upper, 1.0)
    return lower.ravel("F"), upper.ravel("F"), integer.ravel("F")


def is_dpp(expression: Any) -> bool:
    """Whether an expression is convex in its variables and affine in its parameters."""
    problem: Any = cp.Problem(cp.Minimize(expression))
    return bool(problem.is_dcp(dpp=True))


def terms(expression: Any, sign: float = 1.0) -> Iterator[Any]:
    """Split a sum into its terms."""
    if expression.is_constant() or not expression.args:
        yield sign * expression
        return
    match type(expression).__name__:
        case "AddExpression":
            for arg in expression.args:
                yield from terms(arg, sign)
        case "NegExpression":
            yield from terms(expression.args[0], -sign)
        case _:
            yield expression if sign > 0.0 else -expression


def canonicalise(
    objective: Any,
    constraints: Sequence[Any],
    variables: Sequence[cp.Variable],
    parameters: Sequence[cp.Parameter],
    where: str,
) -> CanonicalLevel:
    """Canonicalise one level; `where` names it in messages."""
    _check(objective, constraints, where)
    # All variables are to have columns, whether they stand in this level or not.
    data = _reduce(objective + sum(0.0 * variable.sum() for variable in variables), constraints)
    n = data.x.size
    own = [data.var_id_to_col[v.id] + np.arange(v.size) for v in variables]
    first = np.concatenate(own)
    order = np.empty(n, dtype=np.intp)
    order[np.append(first, np.setdiff1d(np.arange(n), first))] = np.arange(n)

    def moved(matrix: Any) -> csr_array:
        entries = csr_array(matrix).tocoo()
        where_to = (entries.row, order[entries.col])
        return csr_array((entries.data, where_to), shape=(matrix.shape[0], n))

    zeros = {p.id: np.zeros(p.shape) for p in data.parameters}
    P, q, d, A, b = data.apply_parameters(zeros, quad_obj=True)
    if not all(np.isfinite(part).all() for part in (P.data, q, A.data, b)):
        refuse(objective, where, "or a constraint that holds infinite numbers")
    prices, slopes, right_hand_sides = [], [], []
    for parameter in parameters:
        for k in range(parameter.size):
            if parameter.id not in data.param_id_to_col:
                price, slope, side = np.zeros(data.x.size), 0.0, np.zeros(A.shape[0])
            else:
                unit = np.zeros(parameter.size)
                unit[k] = 1.0
                values = zeros | {parameter.id: unit.reshape(parameter.shape, order="F")}
                dP, price, slope, dA, side = data.apply_parameters(
                    values, zero_offset=True, quad_obj=True
                )
                if abs(dA).sum() > 0.0:
                    _refuse_product(constraints, objective, where)
                if abs(dP).sum() > 0.0:
                    refuse(objective, where, "whose curvature depends on a variable of the other "
                           "level; make the quadratic term constant")  # fmt: skip
            prices.append(moved(np.asarray(price)[None, :]))
            slopes.append(float(slope))
            right_hand_sides.append(csr_array(np.asarray(side)[:, None]))
    equation = np.concatenate(
        [np.zeros(0, dtype=bool)]
        + [np.full(c.size, type(c).__name__ == "Zero") for c in data.constraints]
    )
    n_p, m = len(slopes), A.shape[0]
    offset = -np.asarray(b, dtype=float)
    rows = Rows(
        outer=csr_array(hstack(right_hand_sides)) if n_p else csr_array((m, 0)),
        inner=moved(A),
        lower=offset,
        upper=np.where(equation, offset, np.inf),
    )
    curvature = moved(moved(P).T).T
    rows, lower, upper = _rows_to_limits(rows, n)
    return CanonicalLevel(
        cost=moved(np.asarray(q)[None, :]).toarray()[0],
        price=csr_array(np.vstack([p.toarray() for p in prices]).T) if n_p else csr_array((n, 0)),
        curvature=csr_array(0.5 * (curvature + curvature.T)),
        slope=np.array(slopes),
        constant=float(d),
        rows=rows,
        lower=lower,
        upper=upper,
    )


def _check(objective: Any, constraints: Sequence[Any], where: str) -> None:
    """Refuse the first expression that CVXPY cannot take, or that is not piecewise linear."""
    for constraint in constraints:
        if not constraint.is_dcp(dpp=True):
            refuse(constraint, where, "which is not convex in its variables; see the rules of DCP, "
                   "and declare multipliers of convex functions nonneg=True")  # fmt: skip
        if not all(arg.is_pwl() for arg in constraint.args):
            refuse(constraint, where, "which is not piecewise linear")
    for term in terms(objective):
        if not is_dpp(term):
            refuse(term, where, "which is not convex in its variables; see the rules of DCP, "
                   "and declare multipliers of convex functions nonneg=True")  # fmt: skip
        if not term.is_qpwa():
            refuse(term, where, "which is neither piecewise linear nor quadratic")


def _reduce(objective: Any, constraints: Sequence[Any]) -> Any:
    """Return CVXPY's cone program with its parameters in place."""
    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    for parameter in problem.parameters():
        parameter.value = np.zeros(parameter.shape)
    try:
        # CVXPY multiplies infinite bounds by 0 when it asks for the signs of expressions.
        with np.errstate(invalid="ignore"):
            return problem.get_problem_data(cp.OSQP, enforce_dpp=True)[0]["param_prob"]
    except cp.error.SolverError as error:
        refuse(objective, "a level", f"which CVXPY cannot write with linear rows ({error})")


def _refuse_product(constraints: Sequence[Any], objective: Any, where: str) -> NoReturn:
    for constraint in constraints:
        data = _reduce(0, [constraint])
        ones = {p.id: np.ones(p.shape) for p in data.parameters}
        if data.parameters and abs(data.apply_parameters(ones, zero_offset=True)[2]).sum() > 0.0:
            refuse(constraint, where, "a product of outer and inner variables in a constraint; "
                   "products are allowed in objectives only")  # fmt: skip
    refuse(objective, where, "a product of outer and inner variables inside a function; products "
           "are allowed as terms of an objective only")  # fmt: skip


def _rows_to_limits(rows: Rows, n: int) -> tuple[Rows, Vector, Vector]:
    """Make limits on a column of the rows that hold nothing else."""
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    rows.inner.eliminate_zeros()
    rows.outer.eliminate_zeros()
    single = (np.diff(rows.inner.indptr) == 1) & (np.diff(rows.outer.indptr) == 0)
    for k in np.flatnonzero(single):
        j, entry = rows.inner.indices[rows.inner.indptr[k]], rows.inner.data[rows.inner.indptr[k]]
        low, high = sorted((rows.lower[k] / entry, rows.upper[k] / entry))
        lower[j], upper[j] = max(lower[j], low), min(upper[j], high)
    # Rows without any variable say whether the level is feasible at all, so they stay.
    kept = np.flatnonzero(~single)
    rest = Rows(rows.outer[kept], rows.inner[kept], rows.lower[kept], rows.upper[kept])
    return rest, lower, upper
