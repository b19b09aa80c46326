"""The closed-form attack against a numerical optimiser that knows none of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from sklearn.linear_model import LogisticRegression

from pessimal.attacks import evade
from pessimal.errors import InvalidInputError
from pessimal.problem import Matrix, Vector

NORMS = (1, 2, np.inf)
INF = np.inf
TOLERANCE = 1e-9


def least_margin(
    w: Vector, x: Vector, y: float, radius: float, norm: float, lower: Vector, upper: Vector
) -> float:
    """Least ``y·w·x'`` over the attacked points x', by scipy: LP for 1 and inf, SLSQP for 2."""
    p = len(w)
    if norm == 2:
        found = minimize(
            lambda step: y * w @ (x + step),
            np.zeros(p),
            jac=lambda _: y * w,
            bounds=list(zip(lower - x, upper - x, strict=True)),
            constraints={
                "type": "ineq",
                "fun": lambda step: radius**2 - step @ step,
                "jac": lambda step: -2.0 * step,
            },
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        return float(found.fun)
    # x' = x + up − down; the 1-norm limits Σ(up + down), the maximum norm each of them.
    found = linprog(
        np.concatenate([y * w, -y * w]),
        A_ub=np.ones((1, 2 * p)) if norm == 1 else None,
        b_ub=[radius] if norm == 1 else None,
        bounds=[(0.0, min(radius, room)) for room in np.concatenate([upper - x, x - lower])],
    )
    assert found.success
    return float(found.fun + y * w @ x)


def random_attack(seed: int, bounded: bool) -> tuple[Vector, Matrix, Vector, Vector, Vector]:
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 6))
    w = rng.normal(size=p) * rng.choice([0.0, 0.1, 1.0], size=p)
    w[rng.integers(p)] = rng.normal()
    X = rng.normal(size=(6, p))
    y = rng.choice([-1.0, 1.0], size=6)
    if not bounded:
        return w, X, y, np.full(p, -INF), np.full(p, INF)
    # Some points touch a limit: there is no room on that side.
    lower = X.min(axis=0) - rng.choice([0.0, 0.5], size=p)
    upper = X.max(axis=0) + rng.choice([0.0, 0.5], size=p)
    return w, X, y, lower, upper


@pytest.mark.parametrize("radius", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("bounded", [False, True], ids=["free", "limited"])
@pytest.mark.parametrize("seed", range(6))
def test_no_optimiser_finds_a_stronger_attack(
    seed: int, bounded: bool, norm: float, radius: float
) -> None:
    w, X, y, lower, upper = random_attack(seed, bounded)
    attacked = evade((w, 0.3), X, y, radius, norm, (lower, upper) if bounded else None)
    assert (np.linalg.norm(attacked - X, norm, axis=1) <= radius * (1.0 + TOLERANCE)).all()
    assert ((attacked >= lower) & (attacked <= upper)).all()
    margins = y * (attacked @ w)
    for k, x in enumerate(X):
        # Up to the accuracy of SLSQP, which may step outside the ball by as much.
        rival = least_margin(w, x, y[k], radius, norm, lower, upper)
        assert margins[k] <= rival + 1e-6
        assert margins[k] == pytest.approx(rival, abs=1e-4)


@given(
    w=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5).map(np.array),
    norm=st.sampled_from(NORMS),
    radius=st.floats(0.0, 1e3),
    seed=st.integers(0, 100),
)
def test_without_limits_the_margin_falls_by_the_radius_times_the_dual_norm(
    w: Vector, norm: float, radius: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(4, len(w))), rng.choice([-1.0, 1.0], size=4)
    fall = y * ((X - evade((w, 0.0), X, y, radius, norm)) @ w)
    dual = {1: np.inf, 2: 2, np.inf: 1}[norm]
    assert fall == pytest.approx(radius * np.linalg.norm(w, dual), rel=1e-7, abs=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_limits_wide_enough_change_nothing(norm: float) -> None:
    w, X, y, _, _ = random_attack(1, bounded=False)
    free = evade((w, 0.0), X, y, 1.0, norm)
    assert np.allclose(evade((w, 0.0), X, y, 1.0, norm, (-100.0, 100.0)), free, atol=1e-12)
    assert np.allclose(evade((w, 0.0), X, y, 1.0, norm, (-INF, INF)), free, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_a_radius_larger_than_the_limits_ends_in_the_corner(norm: float) -> None:
    attacked = evade(([1.0, -1.0], 0.0), [[0.5, 0.5]], [1], 100.0, norm, ([0.0, -1.0], 2.0))
    assert attacked.tolist() == [[0.0, 2.0]]


@pytest.mark.parametrize("norm", NORMS)
def test_where_nothing_helps_nothing_moves(norm: float) -> None:
    X = [[1.0, 2.0]]
    assert evade(([0.0, 0.0], 1.0), X, [1], 1.0, norm).tolist() == X
    assert evade(([1.0, 1.0], 1.0), X, [1], 0.0, norm).tolist() == X
    assert evade(([0.0, 1.0], 1.0), X, [1], 1.0, norm).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("norm", NORMS)
def test_extreme_scales_neither_overflow_nor_vanish(norm: float) -> None:
    for scale in (1e-300, 1e300):
        attacked = evade(([3.0 * scale, 0.0], 0.0), [[0.0, 0.0]], [1], 2.0, norm)
        assert attacked.tolist() == [[-2.0, 0.0]]
    assert evade(([1.0], 0.0), [[0.0]], [1], 1e200, norm).tolist() == [[-1e200]]


def test_only_the_points_asked_for_move_and_the_input_is_left_alone() -> None:
    X = np.array([[1.0], [1.0]])
    attacked = evade(([1.0], 0.0), X, [1, 1], 3.0, where=[False, True])
    assert attacked.tolist() == [[1.0], [-2.0]]
    assert X.tolist() == [[1.0], [1.0]]
    # Limits bind attacked points only.
    attacked = evade(([1.0], 0.0), X * [[9.0], [1.0]], [1, 1], 3.0, 2, (0.0, 2.0), [False, True])
    assert attacked.tolist() == [[9.0], [0.0]]


def test_a_fitted_classifier_is_attacked_with_labels_of_its_own() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0.0, "in", "out")
    model = LogisticRegression().fit(X, y)
    accuracy = [model.score(evade(model, X, y, radius), y) for radius in (0.0, 0.5, 10.0)]
    assert accuracy[0] > accuracy[1] > accuracy[2] == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": ([1.0], 0.0, 1.0)}, "model is a tuple of 3; pass a pair"),
        ({"model": (["a"], 0.0)}, "cannot be read as numbers"),
        ({"model": ([np.nan], 0.0)}, "numbers that are not finite"),
        ({"model": LogisticRegression()}, "not fitted"),
        ({"X": [[1.0, 2.0]]}, "X has 2 columns; pass 1"),
        ({"X": [[np.inf]]}, "X contains inf at position"),
        ({"X": [["a"]]}, "X cannot be read as numbers"),
        ({"y": [0]}, "y contains the label 0; the classes are -1, 1"),
        ({"y": [1, 1]}, "y has 2 labels but X has 1 rows"),
        ({"radius": -1.0}, "radius is -1.0; pass a finite number"),
        ({"radius": INF}, "radius is inf"),
        ({"radius": "far"}, "radius is 'far'"),
        ({"norm": 3}, "norm is 3; pass 1, 2 or inf"),
        ({"limits": (2.0, 3.0)}, r"limits are \[2, 3\] for feature 0, but an attacked point has 1"),
        ({"limits": ([0.0, 0.0], 3.0)}, "limits do not fit 1 features"),
        ({"limits": 3.0}, "limits do not fit 1 features"),
        ({"where": [1]}, "where has type"),
    ],
)
def test_unusable_arguments_are_named(change: dict[str, Any], message: str) -> None:
    usable: dict[str, Any] = {"model": ([1.0], 0.0), "X": [[1.0]], "y": [1], "radius": 1.0}
    with pytest.raises(InvalidInputError, match=message):
        evade(**(usable | change))
