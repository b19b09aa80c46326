"""Ranges of coefficients are those of another solver, and a direction is called what it is."""

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint, linprog, minimize
from sklearn.linear_model import LogisticRegression

from pessimal import audit, audit_estimator

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
Y = np.where(X @ [1.5, 0.1, 0.0] + RNG.normal(size=60) > 0.0, 1.0, -1.0)


def test_ranges_of_logistic_regression_are_those_that_slsqp_finds() -> None:
    model = LogisticRegression(C=0.5).fit(X, Y)
    report = audit_estimator(model, X, Y, X[:10], Y[:10], epsilon=0.05, epsilons=())
    ranges = report.coefficients
    assert ranges is not None

    def objective(u: np.ndarray) -> float:
        margins = Y * (X @ u[:3] + u[3])
        return float(np.logaddexp(0.0, -margins).mean() + u[:3] @ u[:3] / (2 * 0.5 * len(Y)))

    start = np.append(model.coef_, model.intercept_)
    limit = 1.05 * minimize(objective, start, tol=1e-12).fun
    within = NonlinearConstraint(objective, -np.inf, limit)
    for j in range(3):
        for side, found, proved in (
            (1.0, ranges.found_low[j], ranges.low[j]),
            (-1.0, ranges.found_high[j], ranges.high[j]),
        ):
            end = minimize(
                lambda u, j=j, side=side: side * u[j],
                start,
                method="SLSQP",
                constraints=[within],
                options={"maxiter": 500, "ftol": 1e-12},
            ).x[j]
            assert found == pytest.approx(end, abs=2e-3)
            assert side * proved <= side * found
            assert side * proved <= side * end + 1e-5  # no member is beyond what is proved
            assert proved == pytest.approx(end, abs=5e-3)
    assert ranges.undetermined.tolist() == [False, True, True]


def test_ranges_in_a_box_are_those_of_a_linear_program_written_apart() -> None:
    report = audit(X[:20], Y[:20], X[20:30], Y[20:30], box=0.6, epsilon=0.1, epsilons=())
    ranges = report.coefficients
    assert ranges is not None
    n = 20
    # Variables: weights, intercept, hinges.
    rows = np.hstack([-Y[:n, None] * X[:n], -Y[:n, None], -np.eye(n)])
    mean = np.concatenate([np.zeros(4), np.full(n, 1.0 / n)])
    bounds = [(-0.6, 0.6)] * 3 + [(None, None)] + [(0.0, None)] * n
    least = linprog(mean, rows, -np.ones(n), bounds=bounds).fun
    A, b = np.vstack([rows, mean]), np.append(-np.ones(n), 1.1 * least)
    for j in range(3):
        cost = np.eye(4 + n)[j]
        low = linprog(cost, A, b, bounds=bounds).fun
        high = -linprog(-cost, A, b, bounds=bounds).fun
        assert ranges.low[j] <= low + 1e-7
        assert ranges.high[j] >= high - 1e-7
        assert (ranges.found_low[j], ranges.found_high[j]) == pytest.approx((low, high), abs=5e-3)


def test_without_time_ranges_are_coarse_and_hold() -> None:
    model = LogisticRegression(C=0.5).fit(X, Y)
    rows = (X, Y, X[:10], Y[:10])
    full, none = (
        audit_estimator(model, *rows, epsilons=(), time_limit=seconds).coefficients
        for seconds in (None, 1e-9)
    )
    assert full is not None
    assert none is not None
    assert np.all(none.low <= full.found_low)
    assert np.all(none.high >= full.found_high)
