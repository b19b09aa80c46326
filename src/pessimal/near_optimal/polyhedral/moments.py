"""Moments of models: a bound on the loss over near-optimal models that many features do not spoil.

Chords bound the loss of each point by itself, as if every margin could be in the middle of its
range at once. So they lie above the largest loss by more the more features there are. Here a
distribution of models takes the place of one model, known by its mean ``v`` and second moments
``V``: these must be those of a distribution, ``V ⪰ v·vᵀ``. With ``t`` the threshold less the
margin, so that a ``t`` below 0 costs nothing and ``E t²`` is linear in ``(v, V)``, a point costs on
average no more than

    hinge:   ½·(E t + √E t²)  (Scarf),
    counts:  1 − (E t)²/E t² where E t < 0  (Cantelli),

nor more than a parabola that lies above its loss over the range of t and meets it at the ends. A
training point with ``−b ≤ t ≤ a`` costs at least ``½·E[t + (2t² + (b − a)·t)/(a + b)]``, since that
parabola lies below the hinge over the range. The training limit therefore bounds the second
moments. The largest average loss is a semidefinite program.

What is reported is computed from its multipliers alone. They make a sum of parabolas, one per
point, that is at least the loss of every model of the set; its largest value over a box that holds
the set is the bound, whatever the solver's word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, diags_array, vstack

from pessimal.interrupts import deferred_interrupts
from pessimal.limits import Deadline
from pessimal.near_optimal.polyhedral.parabolas import SMALLEST, Parabolas, Points
from pessimal.problem import Matrix, Vector

TOLERANCE = 1e-7
"""Of the solver, which decides how good a bound is, not whether it holds."""

NARROWEST = 1e-4
"""A counted point has at least this much of its range below its threshold, or its parabolas bend
more than arithmetic bears; with more than the truth they hold as well."""

FARTHEST = 1e100
"""A solver whose point has a larger entry has lost its way; squares of entries may overflow."""

ENDLESS = 1e10
"""A solver whose multipliers have grown by this much proves that there is no model, or nothing.
Going on, it may end in numbers too large for arithmetic, and in a panic told on standard error."""


class Moments(NamedTuple):
    """A bound on the loss, −∞ where there is no model, and the average of models that has it.

    What points add to the bound because they are known by moments alone, judged and trained ones,
    says whose ranges are worth narrowing.
    """

    bound: float
    mean: Vector
    covariance: Matrix
    judged: Vector
    trained: Vector


class MomentProgram:
    """The semidefinite program of one set, or of a cell of it.

    Parameters
    ----------
    judged, trained, others : Points
        Of the validation set, of the training set, and linear functions with a range.
    counts : bool
        Whether a point with ``t ≥ 0`` costs 1, or t.
    limit : float
        Largest training loss.
    reach : ndarray of shape (q,)
        No model has a ``|v_j|`` beyond.
    """

    def __init__(
        self,
        judged: Points,
        trained: Points,
        others: Points,
        counts: bool,
        limit: float,
        reach: Vector,
    ) -> None:
        self.counts, self.limit, self.reach = counts, limit, reach
        self.others = others
        self.free = free = judged.straddling & (judged.weight > 0.0)
        self.judged, self.lost = judged[free], judged[~free & (judged.high > SMALLEST)]
        # On a range of no width beside the breakpoint the loss is at most this more.
        touching = judged[~free & (judged.high <= SMALLEST)]
        near = touching[touching.high >= -SMALLEST]
        self.constant = float(near.weight.sum()) * (1.0 if counts else SMALLEST)
        if counts:
            self.constant += float(self.lost.weight.sum())
            self.lost = self.lost[:0]
        else:
            self.constant += SMALLEST * float(self.lost.weight.sum())
        self.kinked = kinked = trained.straddling & (trained.weight > 0.0)
        self.trained, self.paid = trained[kinked], trained[~kinked & (trained.low >= -SMALLEST)]

    def solve(self, deadline: Deadline) -> Moments:
        """Bound the loss.

        At the deadline or Ctrl-C the solver stops, and the multipliers it has by then make a bound.
        """
        import clarabel  # noqa: PLC0415 (slow to import)

        program = _Writer(self)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
        q = len(self.reach)
        no_squares = csc_array((program.size, program.size))
        solver = clarabel.DefaultSolver(no_squares, *program.data(), settings)
        endless = False

        def stops(now: clarabel.DefaultInfo) -> bool:
            nonlocal endless
            endless = now.ktratio > ENDLESS
            return endless or interrupts.pending or deadline.over

        try:
            with deferred_interrupts() as interrupts:
                solver.set_termination_callback(stops)
                solution = solver.solve()
                interrupts.deliver()
        except BaseException as error:
            # Clarabel panics where it finds no eigenvalues of an iterate. That is no Exception.
            if type(error).__name__ != "PanicException":
                raise
            return self._nothing(np.inf)
        z, x = np.array(solution.z), np.array(solution.x)
        if not (np.isfinite(z).all() and np.abs(x).max() < FARTHEST):
            return self._nothing(np.inf)
        if endless or "Infeasible" in str(solution.status):
            # Multipliers that prove it make a sum that is negative, yet no member has a negative.
            z /= max(1.0, np.abs(z).max())
            empty = self._parabolas(program, z, 0.0).is_negative(self.reach)
            return self._nothing(-np.inf if empty else np.inf)
        mean = x[:q]
        bound = self._parabolas(program, z, 1.0).most(self.reach, mean) + self.constant
        second = np.zeros((q, q))
        second[program.pairs] = x[q : q + len(program.pairs[0])]
        second += np.triu(second, 1).T
        covariance = second - np.outer(mean, mean)
        price = float(z[program.rows["limit"]][0])
        return Moments(bound, mean, covariance, *self._gaps(program, x, price, covariance))

    def _nothing(self, bound: float) -> Moments:
        """Return a bound without an average of models."""
        q, gaps = len(self.reach), (np.zeros(len(free)) for free in (self.free, self.kinked))
        return Moments(bound, np.zeros(q), np.eye(q), *gaps)

    def _gaps(
        self, program: _Writer, x: Vector, price: float, covariance: Matrix
    ) -> tuple[Vector, Vector]:
        """Return by how much judged points may cost less, and trained ones more, than here."""
        gaps = np.zeros(len(self.free)), np.zeros(len(self.kinked))
        mean = x[: len(self.reach)]
        t = self.judged.offset - self.judged.rows @ mean
        loss = t >= 0.0 if self.counts else np.maximum(0.0, t)
        gaps[0][self.free] = self.judged.weight * (x[program.cost_at] - loss)
        trained = self.trained
        t = trained.offset - trained.rows @ mean
        spread = np.einsum("ij,jk,ik->i", trained.rows, covariance, trained.rows)
        most = 0.5 * (t + np.sqrt(np.maximum(0.0, t**2 + spread)))
        gaps[1][self.kinked] = price * trained.weight * (most - x[program.hinge_at])
        return np.maximum(0.0, gaps[0]), np.maximum(0.0, gaps[1])

    def _parabolas(self, program: _Writer, z: Vector, share: float) -> Parabolas:
        """Return what multipliers make of the loss, or of 0 where its `share` is 0.

        Every term is at least a part of the loss, or never negative over the set.
        """
        part = {name: np.maximum(0.0, z[rows]) for name, rows in program.rows.items()}
        others = self.others
        points = self.lost + self.judged + self.paid + self.trained + others
        n_lost, n_paid, n_trained = len(self.lost), len(self.paid), len(self.trained)
        judged, trained = self.judged, self.trained

        # The cost of a point: parts of Scarf's or Cantelli's parabola, of its chord, and of 1.
        one = part.get("one", np.zeros(len(judged)))
        total = part["moment"] + part["cap"] + one
        scale = np.where(total > 0.0, share * judged.weight / np.where(total > 0.0, total, 1.0), 0)
        moment, cap = scale * part["moment"], scale * part["cap"]
        cap += np.where(total > 0.0, 0.0, share * judged.weight)
        touch = program.touches(z, part["moment"])
        constant, slope, curvature = (cap * part for part in program.cap)
        if self.counts:
            constant += moment + scale * one
            slope += 2.0 * moment / touch
            curvature += moment / touch**2
        else:
            constant += moment * touch / 4.0
            slope += moment / 2.0
            curvature += moment / (4.0 * touch)

        # The training limit, with less of each point than its weight.
        price = float(part["limit"][0])
        active, bowl = part["active"], part["bowl"]
        much = active + bowl
        fits = np.minimum(1.0, price * trained.weight / np.where(much > 0.0, much, 1.0))
        active, bowl = fits * active, fits * bowl
        square, line = program.bowl

        product = part["product"]
        pieces = [
            (np.zeros(n_lost), share * self.lost.weight, np.zeros(n_lost)),
            (constant, slope, curvature),
            (np.zeros(n_paid), -price * self.paid.weight, np.zeros(n_paid)),
            (np.zeros(n_trained), -active - bowl * line, -bowl * square),
            (-product * others.low * others.high, product * (others.low + others.high), -product),
        ]
        constant, slope, curvature = (np.concatenate(piece) for piece in zip(*pieces, strict=True))
        constant = np.append(constant, price * self.limit)
        fixed = Points(np.zeros((1, len(self.reach))), *np.zeros((4, 1)))
        return Parabolas(points + fixed, constant, np.append(slope, 0.0), np.append(curvature, 0.0))


def _hinged(points: Points) -> tuple[Vector, Vector, Vector]:
    """Return the parabola above the hinge over ``−a ≤ t ≤ b`` that meets it at both ends.

    It touches at the far end, so that it is nowhere above the chord.
    """
    a, b = -points.low, points.high
    curvature = np.minimum(a, b) / (a + b) ** 2
    far = np.where(a >= b, a, -b)
    return curvature * far**2, (a < b) + 2.0 * curvature * far, curvature


def _counted(points: Points) -> tuple[Vector, Vector, Vector]:
    """Return the parabola that is 0 at ``t = −a`` and 1 at 0 and at b.

    Between it and Cantelli's that touches at −a lies the chord from there to 1.
    """
    a, b = np.maximum(-points.low, NARROWEST), points.high
    curvature = 1.0 / (a * (a + b))
    return np.ones(len(a)), b * curvature, -curvature


class _Writer:
    """The program in Clarabel's form: minimise ``cost·x`` where ``b − A·x`` lies in cones."""

    def __init__(self, program: MomentProgram) -> None:
        self.program = program
        q, n, m = len(program.reach), len(program.judged), len(program.trained)
        self.pairs = np.triu_indices(q)
        self.first = q + len(self.pairs[0])
        # x: v, V by its upper half, then of judged points E t², cost and helpers, and cost of
        # trained ones. E t² is a variable because its row, with all of V, is then there once.
        self.square_at = self.first + np.arange(n)
        self.cost_at = self.square_at + n
        self.helper_at = self.cost_at + n
        self.below_at = self.helper_at + n if program.counts else self.helper_at[:0]
        self.hinge_at = self.first + (4 if program.counts else 3) * n + np.arange(m)
        self.size = self.first + (4 if program.counts else 3) * n + m
        judged = program.judged
        self.cap = _counted(judged) if program.counts else _hinged(judged)
        a, b = program.trained.high, -program.trained.low
        self.bowl = 1.0 / (a + b), 0.5 + 0.5 * (b - a) / (a + b)
        self.rows: dict[str, slice] = {}
        self._A: list[csr_array] = []
        self._b: list[Vector] = []
        self._n_rows = 0

    def data(self) -> tuple[Vector, csc_array, Vector, list[object]]:
        """Return costs, matrix, right-hand side and cones."""
        import clarabel  # noqa: PLC0415 (slow to import)

        program = self.program
        judged, trained = program.judged, program.trained
        n, m, q = len(judged), len(trained), len(program.reach)
        mean, square = self._first(judged), self._unit(self.square_at)
        self._most("square", square - self._second(judged), judged.offset**2)  # with equality
        cost = np.zeros(self.size)
        cost[self.cost_at] = -judged.weight
        cost[:q] = program.lost.weight @ program.lost.rows

        own, helper = self._unit(self.cost_at), self._unit(self.helper_at)
        if program.counts:
            self._most("moment", own - helper, np.zeros(n))
            self._most("one", own, np.ones(n))
        else:
            self._most("moment", own - 0.5 * helper - 0.5 * mean, 0.5 * judged.offset)
        constant, rise, bend = self.cap
        self._most(
            "cap",
            own - diags_array(rise) @ mean - diags_array(bend) @ square,
            constant + rise * judged.offset,
        )
        others = program.others
        middle = others.low + others.high
        self._most(
            "product",
            self._second(others) - diags_array(middle) @ self._first(others),
            middle * others.offset - others.offset**2 - others.low * others.high,
        )
        hinge = self._unit(self.hinge_at)
        self._most("active", self._first(trained) - hinge, -trained.offset)
        curve, line = self.bowl
        self._most(
            "bowl",
            diags_array(curve) @ self._second(trained)
            + diags_array(line) @ self._first(trained)
            - hinge,
            -curve * trained.offset**2 - line * trained.offset,
        )
        self._most("positive", -hinge, np.zeros(m))
        total = np.zeros(self.size)
        total[self.hinge_at] = trained.weight
        total[:q] = -program.paid.weight @ program.paid.rows
        limit = program.limit - float(program.paid.weight @ program.paid.offset)
        self._most("limit", csr_array(total[None, :]), np.array([limit]))
        if program.counts:
            below = self._unit(self.below_at)
            self._most("below", -mean - below, judged.offset)
            self._most("above", -below, np.zeros(n))
        cones: list[object] = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(self._n_rows - n)]
        if program.counts:  # below² ≤ (1 − helper)·E t²
            self._cone(square - helper, below, -helper - square, 1.0)
        else:  # helper² ≤ E t²
            self._cone(square, helper, square, -1.0)
        cones += [clarabel.SecondOrderConeT(3)] * n
        cones.append(clarabel.PSDTriangleConeT(q + 1))
        self._moments(q)
        return cost, csc_array(vstack(self._A, format="csc")), np.concatenate(self._b), cones

    def touches(self, z: Vector, moment: Vector) -> Vector:
        """Return where the parabola of each point touches its loss, from the cones' multipliers."""
        cones = z[self.rows["cone"]].reshape(-1, 3)
        sign = -1.0 if self.program.counts else 1.0
        curvature = np.maximum(cones[:, 0] + sign * cones[:, 2], 1e-12)
        at = np.sqrt(moment / curvature) if self.program.counts else moment / (4.0 * curvature)
        return np.clip(at, 1e-6, 1e6)

    def _first(self, points: Points) -> csr_array:
        """Return ``E t`` of points, but for its constant, as a linear function of x."""
        return self._padded(-points.rows)

    def _second(self, points: Points) -> csr_array:
        """Return ``E t²`` in the same way."""
        i, j = self.pairs
        products = points.rows[:, i] * points.rows[:, j] * np.where(i == j, 1.0, 2.0)
        return self._padded(np.hstack([-2.0 * points.offset[:, None] * points.rows, products]))

    def _padded(self, left: Matrix) -> csr_array:
        """Return a matrix with the columns of x, the first of which are given."""
        n, columns = left.shape
        indices = np.tile(np.arange(columns), n)
        starts = columns * np.arange(n + 1)
        return csr_array((left.ravel(), indices, starts), shape=(n, self.size))

    def _unit(self, at: NDArray[np.intp]) -> csr_array:
        """Return some of the variables x themselves."""
        return csr_array((np.ones(len(at)), at, np.arange(len(at) + 1)), (len(at), self.size))

    def _most(self, name: str, A: csr_array, b: Vector) -> None:
        """Write ``A·x ≤ b``."""
        self.rows[name] = slice(self._n_rows, self._n_rows + len(b))
        self._n_rows += len(b)
        self._A.append(A)
        self._b.append(b)

    def _cone(self, A0: csr_array, A1: csr_array, A2: csr_array, b2: float) -> None:
        """Write that ``A0·x + 1`` is at least the norm of ``(2·A1·x, A2·x + b2)``, row by row."""
        n = A0.shape[0]
        order = np.arange(3 * n).reshape(3, n).T.ravel()
        A = vstack([-A0, -2.0 * A1, -A2], format="csr")[order]
        self._most("cone", A, np.repeat([1.0, 0.0, b2], n)[order])

    def _moments(self, q: int) -> None:
        """Write that mean and second moments are those of a distribution.

        Clarabel takes the upper half of a matrix, off the diagonal times √2, column by column.
        """
        at = np.zeros((q + 1, q + 1), np.intp)
        at[0, 1:] = np.arange(q)
        at[self.pairs[0] + 1, self.pairs[1] + 1] = q + np.arange(len(self.pairs[0]))
        j, i = np.tril_indices(q + 1)
        entries = np.where(i == j, -1.0, -np.sqrt(2.0))
        b = np.zeros(len(i))
        entries[0], b[0] = 0.0, 1.0
        A = csr_array((entries, (np.arange(len(i)), at[i, j])), (len(i), self.size))
        self._most("moments", A, b)
