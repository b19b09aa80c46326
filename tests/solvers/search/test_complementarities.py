"""P, D and complementarities of a problem small enough to write down, and their meaning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import is_pessimistic_answer, least_flipped_loss, least_training_loss
from scipy.optimize import linprog
from strategies import boxes, flip_masks, problems

from pessimal import Budget, TuningProblem
from pessimal.lp.program import KinkedProgram
from pessimal.near_optimal import least_loss
from pessimal.problem import Vector
from pessimal.solvers.search.complementarities import (
    ABOVE,
    BELOW,
    Complementarities,
    Conditions,
    flipped_conditions,
    intercept_limit,
    optimistic_conditions,
    weighted_conditions,
)

INF = np.inf
FLIPPED = np.array([True, False, True])

# Scores are x·w − b, so the margin of (x, y) is the row y·(x, −1).
MARGINS = [[2, 0, 1], [3, 1, -1], [1, 2, -1], [1, -4, 1], [0, -1, -1]]

Side = tuple[int, str, float] | None


def tiny(lower: float | list[float] = 0.0) -> TuningProblem:
    """Two features, two training and three validation points; weights w₁ ≤ 1, w₂ ≤ 2."""
    return TuningProblem(
        [[-2.0, 0.0], [3.0, 1.0]],
        [-1, 1],
        [[1.0, 2.0], [-1.0, 4.0], [0.0, -1.0]],
        [1, -1, 1],
        lower=lower,
        upper=[1.0, 2.0],
    )


def spelled_out(pairs: Complementarities) -> list[tuple[int, float, Side, Side]]:
    """Write complementarities as (row of P, breakpoint, implied below it, implied above it)."""

    def implied(pair: int, side: int) -> Side:
        row = int(pairs.dual_row[pair, side])
        sign = "≤" if pairs.dual_side[pair, side] == BELOW else "≥"
        return None if row < 0 else (row, sign, float(pairs.dual_value[pair, side]))

    return [
        (int(pairs.row[i]), float(pairs.breakpoint[i]), implied(i, BELOW), implied(i, ABOVE))
        for i in range(pairs.n_pairs)
    ]


class TestTheTwoPrograms:
    @pytest.mark.parametrize(
        "conditions",
        [
            optimistic_conditions(tiny()),
            flipped_conditions(tiny(), FLIPPED),
            weighted_conditions(tiny(), FLIPPED),
        ],
        ids=["optimistic", "flipped", "weighted"],
    )
    def test_p_is_the_validation_loss(self, conditions: Conditions) -> None:
        primal = conditions.primal
        assert primal.A.tolist() == MARGINS
        # |x·w| is at most 9, so b stays within 11, and a margin within |x|·upper + 11.
        assert primal.high.tolist() == [1, 2, 11, 13, 16, 16, 20, 13]
        assert primal.low.tolist() == (-primal.high).tolist()
        assert primal.slope_left == pytest.approx([0.0] * 5 + [-1 / 3] * 3)
        assert primal.slope_right.tolist() == [0.0] * 8
        assert primal.kink.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
        assert primal.n_local == 0

    def test_rows_for_cuts_come_last(self) -> None:
        primal = weighted_conditions(tiny(), FLIPPED, n_local=2).primal
        assert primal.n_local == 2
        assert primal.A.tolist() == [*MARGINS, [0, 0, 0], [0, 0, 0]]
        assert primal.slope_left == pytest.approx([0.0] * 5 + [-1 / 3] * 3 + [0.0] * 2)
        assert primal.kink.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 0, 0]

    def test_d_of_the_optimistic_view(self) -> None:
        # Columns β₁, β₂; rows c₁, c₂, balance of labels.
        dual = optimistic_conditions(tiny()).dual
        assert dual.A.tolist() == [[2, 3], [0, 1], [-1, 1]]
        assert dual.low.tolist() == [0, 0, -INF, -INF, 0]
        assert dual.high.tolist() == [0.5, 0.5, INF, INF, 0]
        assert_costs_are_positive(dual)

    def test_d_of_the_flipped_loss(self) -> None:
        # Columns α₁, α₃, with labels −1 after flipping; rows as above.
        dual = flipped_conditions(tiny(), FLIPPED).dual
        assert dual.A.tolist() == [[-1, 0], [-2, 1], [-1, -1]]
        assert dual.low.tolist() == [0, 0, -INF, -INF, 0]
        assert dual.high.tolist() == [0.5, 0.5, INF, INF, 0]
        assert_costs_are_positive(dual)

    @pytest.mark.parametrize("cap", [INF, 7.0])
    def test_d_of_the_weighted_problem(self, cap: float) -> None:
        # Columns α₁, α₃, β₁, β₂, λ; rows λ/2 − β₁, λ/2 − β₂, c₁, c₂, balance of labels.
        dual = weighted_conditions(tiny(), FLIPPED, cap).dual
        assert dual.A.tolist() == [
            [0, 0, -1, 0, 0.5],
            [0, 0, 0, -1, 0.5],
            [-1, 0, 2, 3, 0],
            [-2, 1, 0, 1, 0],
            [-1, -1, -1, 1, 0],
        ]
        assert dual.low.tolist() == [0, 0, 0, 0, 0, 0, 0, -INF, -INF, 0]
        assert dual.high.tolist() == [0.5, 0.5, INF, INF, cap, INF, INF, INF, INF, 0]
        assert_costs_are_positive(dual)


def assert_costs_are_positive(dual: KinkedProgram) -> None:
    """D asks only for feasibility: its costs are there against ties, one on each multiplier."""
    n = dual.A.shape[1]
    assert (dual.slope_left[:n] > 0.0).all()
    assert not dual.slope_left[n:].any()
    assert np.array_equal(dual.slope_left, dual.slope_right)
    assert not dual.kink.any()


class TestTheComplementarities:
    def test_of_the_optimistic_view(self) -> None:
        conditions = optimistic_conditions(tiny())
        assert conditions.reduced_cost_row == 2
        assert spelled_out(conditions.pairs) == [
            (0, 0.0, (2, "≤", 0.0), (2, "≥", 0.0)),  # w₁ and its reduced cost c₁
            (1, 0.0, (3, "≤", 0.0), (3, "≥", 0.0)),  # w₂ and c₂
            (3, 1.0, (0, "≥", 0.5), (0, "≤", 0.0)),  # margin of training point 1, and β₁
            (4, 1.0, (1, "≥", 0.5), (1, "≤", 0.0)),  # margin of training point 2, and β₂
        ]

    def test_of_the_flipped_loss(self) -> None:
        conditions = flipped_conditions(tiny(), FLIPPED)
        assert conditions.reduced_cost_row == 2
        assert spelled_out(conditions.pairs) == [
            (0, 0.0, (2, "≤", 0.0), (2, "≥", 0.0)),
            (1, 0.0, (3, "≤", 0.0), (3, "≥", 0.0)),
            (5, -1.0, (0, "≤", 0.0), (0, "≥", 0.5)),  # margin of validation point 1, and α₁
            (7, -1.0, (1, "≤", 0.0), (1, "≥", 0.5)),  # margin of validation point 3, and α₃
        ]

    def test_of_the_weighted_problem(self) -> None:
        conditions = weighted_conditions(tiny(), FLIPPED)
        assert conditions.reduced_cost_row == 7
        assert spelled_out(conditions.pairs) == [
            (0, 0.0, (7, "≤", 0.0), (7, "≥", 0.0)),
            (1, 0.0, (8, "≤", 0.0), (8, "≥", 0.0)),
            (3, 1.0, (5, "≤", 0.0), (2, "≤", 0.0)),  # below, λ/2 − β₁ = 0; above, β₁ = 0
            (4, 1.0, (6, "≤", 0.0), (3, "≤", 0.0)),
            (5, -1.0, (0, "≤", 0.0), (0, "≥", 0.5)),
            (7, -1.0, (1, "≤", 0.0), (1, "≥", 0.5)),
        ]

    def test_a_lower_limit_makes_two_complementarities_of_a_weight(self) -> None:
        # With w̄₂ ≥ 0.4 a weight between −0.4 and 0.4 lies inside its box, so c₂ must be 0.
        pairs = spelled_out(optimistic_conditions(tiny(lower=[0.0, 0.4])).pairs)
        assert pairs[:3] == [
            (0, 0.0, (2, "≤", 0.0), (2, "≥", 0.0)),
            (1, 0.4, (3, "≤", 0.0), None),
            (1, -0.4, None, (3, "≥", 0.0)),
        ]
        assert len(pairs) == 5


class TestWhatTheyStandFor:
    """A model is inner-optimal in its own box exactly if D has the bounds its sides imply."""

    @settings(max_examples=60)
    @given(problem=problems(), data=st.data())
    def test_optimistic(self, problem: TuningProblem, data: st.DataObject) -> None:
        w, b = data.draw(models(problem))
        gap = problem.train_loss(w, b) - least_training_loss(problem, own_box(problem, w))
        assert has_multipliers(optimistic_conditions(problem), w, b) == (gap <= 1e-6)

    @settings(max_examples=60)
    @given(problem=problems(), data=st.data())
    def test_flipped(self, problem: TuningProblem, data: st.DataObject) -> None:
        w, b = data.draw(models(problem))
        flipped = data.draw(flip_masks(problem))
        least = least_flipped_loss(problem, own_box(problem, w), INF, flipped)
        gap = problem.flipped_loss(w, b, flipped) - least
        assert has_multipliers(flipped_conditions(problem, flipped), w, b) == (gap <= 1e-6)

    @settings(max_examples=60)
    @given(problem=problems(), data=st.data())
    def test_weighted(self, problem: TuningProblem, data: st.DataObject) -> None:
        w, b = data.draw(models(problem))
        flipped = data.draw(flip_masks(problem))
        conditions = weighted_conditions(problem, flipped)
        assert has_multipliers(conditions, w, b) == is_pessimistic_answer(
            problem, w, b, own_box(problem, w), Budget(), flipped
        )

    @settings(max_examples=60)
    @given(problem=problems(), data=st.data())
    def test_no_score_outgrows_the_intercept_limit(
        self, problem: TuningProblem, data: st.DataObject
    ) -> None:
        box = data.draw(boxes(problem))
        for X in (problem.X_train, problem.X_val):
            assert (np.abs(X @ box) + 1.0 < intercept_limit(problem)).all()


@st.composite
def models(draw: st.DrawFn, problem: TuningProblem) -> tuple[Vector, float]:
    """Draw a model: one that trains best in some box half of the time, anything otherwise."""
    box = draw(boxes(problem))
    if draw(st.booleans()):
        trained = least_loss(problem, box)
        return trained.w, trained.b
    sign = np.array([draw(st.sampled_from((-1.0, 0.0, 1.0))) for _ in box])
    return sign * box, draw(st.sampled_from((-1.0, 0.0, 0.3, 1.0)))


def own_box(problem: TuningProblem, w: Vector) -> Vector:
    """Smallest box that holds a model."""
    return np.maximum(np.abs(w), problem.lower)


def has_multipliers(conditions: Conditions, w: Vector, b: float) -> bool:
    """Whether D is feasible with the bounds that the sides of a model imply."""
    pairs, dual = conditions.pairs, conditions.dual
    z = np.concatenate([w, [b], conditions.primal.A @ np.append(w, b)])
    low, high = dual.low.copy(), dual.high.copy()
    for i in range(pairs.n_pairs):
        off = z[pairs.row[i]] - pairs.breakpoint[i]
        if abs(off) > 1e-7:
            side = ABOVE if off > 0.0 else BELOW
            k, value = pairs.dual_row[i, side], pairs.dual_value[i, side]
            if k >= 0 and pairs.dual_side[i, side] == ABOVE:
                low[k] = max(low[k], value)
            elif k >= 0:
                high[k] = min(high[k], value)
    if (low > high).any():
        return False
    n_rows, n_columns = dual.A.shape
    answer = linprog(
        np.zeros(n_columns + n_rows),
        A_eq=np.hstack([dual.A, -np.eye(n_rows)]),
        b_eq=np.zeros(n_rows),
        bounds=np.column_stack([low, high]),
    )
    return bool(answer.status == 0)
