"""What one follower does, given the leader's decision."""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import highspy
import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array, hstack, triu, vstack

from pessimal.bilevel.program import FollowerProgram
from pessimal.lp.highs import LinearProgram, WarmProgram
from pessimal.problem import Vector
from pessimal.tolerances import LP_FEASIBILITY


@dataclass(frozen=True, eq=False)
class Response:
    """An optimal response, and its multipliers: positive at lower limits, negative at upper ones.

    A multiplier that is 0 up to rounding is 0.
    """

    y: Vector
    value: float
    of_rows: Vector
    of_limits: Vector


def respond(follower: FollowerProgram, x: Vector) -> Response | None:
    """Return an optimal response, or None where there is none."""
    return _respond_quadratic(follower, x) if follower.curved else _respond_linear(follower, x)


def program_at(follower: FollowerProgram, x: Vector) -> LinearProgram:
    """Return the follower's problem after a decision, without its quadratic part."""
    moved = follower.rows.outer @ x
    return LinearProgram(
        cost=follower.cost + follower.price @ x,
        matrix=follower.rows.inner,
        row_lower=follower.rows.lower - moved,
        row_upper=follower.rows.upper - moved,
        lower=follower.lower,
        upper=follower.upper,
    )


def _respond_linear(follower: FollowerProgram, x: Vector) -> Response | None:
    lp = _Program(program_at(follower, x))
    if not lp.solve():
        return None
    y = np.clip(lp.point(), follower.lower, follower.upper)
    of_rows, of_limits = lp.multipliers()
    return Response(y, follower.objective(x, y), of_rows, of_limits)


class _Program(WarmProgram):
    def multipliers(self) -> tuple[Vector, Vector]:
        """Return the multipliers of rows and of limits of the columns; 0 where basic."""
        solution, basis = self._highs.getSolution(), self._highs.getBasis()
        basic = highspy.HighsBasisStatus.kBasic
        rows = np.where([s == basic for s in basis.row_status], 0.0, solution.row_dual)
        columns = np.where([s == basic for s in basis.col_status], 0.0, solution.col_dual)
        rows[np.abs(rows) <= LP_FEASIBILITY] = 0.0
        columns[np.abs(columns) <= LP_FEASIBILITY] = 0.0
        return self._scaled.row * rows, columns / self._scaled.column


def _respond_quadratic(follower: FollowerProgram, x: Vector) -> Response | None:
    """Find the active constraints by an interior point, and then the response by linear algebra.

    Near a constraint that is barely active an interior point is off by the root of its tolerance.
    """
    program = program_at(follower, x)
    n, m = len(follower), len(program.row_lower)
    solved = solve_quadratic(program, follower.curvature)
    if solved is None:
        return None
    y, multiplier = solved
    matrix, lower, upper = _limits_as_rows(program)
    at = matrix @ y
    # Of a multiplier and its slack the larger is positive.
    at_lower = (multiplier > at - lower) | (lower == upper)
    at_upper = (-multiplier > upper - at) | (lower == upper)
    conditions = LinearProgram(
        cost=np.zeros(n + len(lower)),
        matrix=vstack(
            [
                hstack([matrix, csr_array((len(lower), len(lower)))]),
                hstack([follower.curvature, -matrix.T]),
            ]
        ),
        row_lower=np.append(np.where(at_upper, upper, lower), -program.cost),
        row_upper=np.append(np.where(at_lower, lower, upper), -program.cost),
        lower=np.append(np.full(n, -np.inf), np.where(at_upper, -np.inf, 0.0)),
        upper=np.append(np.full(n, np.inf), np.where(at_lower, np.inf, 0.0)),
    )
    lp = WarmProgram(conditions)
    if lp.solve():
        z = lp.point()
        y, multiplier = np.clip(z[:n], follower.lower, follower.upper), z[n:]
    multiplier[~(at_lower | at_upper) | (np.abs(multiplier) <= LP_FEASIBILITY)] = 0.0
    return Response(y, follower.objective(x, y), multiplier[:m], multiplier[m:])


def solve_quadratic(
    program: LinearProgram, curvature: csr_array | None = None
) -> tuple[Vector, Vector] | None:
    """Minimise ``cost·y + ½ y·curvature·y`` over a program, without integers, by Clarabel.

    Return the point, and the multipliers of rows and columns; or None where none was found.
    """
    n = len(program.cost)
    squares = csr_array((n, n)) if curvature is None else curvature
    matrix, lower, upper = _limits_as_rows(program)
    equation = lower == upper
    low, high = ~equation & np.isfinite(lower), ~equation & np.isfinite(upper)
    # Clarabel: A·y + s = b with s in a cone.
    A = vstack([matrix[equation], -matrix[low], matrix[high]], format="csc")
    b = np.concatenate([lower[equation], -lower[low], upper[high]])
    sizes = (int(equation.sum()), int(low.sum() + high.sum()))
    cones = [clarabel.ZeroConeT(sizes[0]), clarabel.NonnegativeConeT(sizes[1])]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    upper_half = csc_array(triu(squares, format="csc"))
    solution = clarabel.DefaultSolver(upper_half, program.cost, A, b, cones, settings).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        return None
    multiplier, z = np.zeros(len(lower)), np.array(solution.z)
    multiplier[equation] = -z[: sizes[0]]
    multiplier[low] += z[sizes[0] : sizes[0] + int(low.sum())]
    multiplier[high] -= z[sizes[0] + int(low.sum()) :]
    return np.array(solution.x), multiplier


def _limits_as_rows(program: LinearProgram) -> tuple[csr_array, Vector, Vector]:
    """Return the rows of a program, and then its columns, with the limits of both."""
    matrix = vstack([program.matrix.csr, eye_array(len(program.cost))], format="csr")
    lower = np.append(program.row_lower, program.lower)
    return matrix, lower, np.append(program.row_upper, program.upper)
