"""Every number of one page's first screen and tables, computed again without the package.

The page is that of an audit of a small table. Ranges come from convex programs that CVXPY states
from the definition: what logistic regression minimises is at most 1.05 times its least.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import cvxpy
import numpy as np
import pandas as pd
import pytest
from command import run_command
from page_text import bars, cells_below, trial
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

cp: Any = cvxpy

N, EPSILON = 60, 0.05


@dataclass(frozen=True)
class Shown:
    """The page, and the table it is about, standardised as its training half is."""

    page: str
    rows: pd.DataFrame
    X_train: np.ndarray
    X_val: np.ndarray
    y_train: np.ndarray
    y_val: np.ndarray


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("page")
    table = trial(N)
    table.to_csv(folder / "trial.csv", index=False)
    page = folder / "audit.html"
    options = ("--target", "cured", "--time-limit", "60", "--report", page)
    assert run_command("audit", folder / "trial.csv", *options).code in (0, 3)
    table.index = pd.RangeIndex(1, N + 1)
    y = np.where(table.pop("cured") == 1, 1.0, -1.0)
    train, val, y_train, y_val = train_test_split(
        table, y, test_size=0.5, stratify=y, random_state=0
    )
    mean, deviation = train.mean(), train.std(ddof=0)
    X_train, X_val = (((part - mean) / deviation).to_numpy() for part in (train, val))
    return Shown(page.read_text("utf-8"), val, X_train, X_val, y_train, y_val)


def model(shown: Shown) -> LogisticRegression:
    return LogisticRegression(max_iter=1000, tol=1e-10).fit(shown.X_train, shown.y_train)


def ends(shown: Shown, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest of rows @ (w, b), over all models that train this well."""
    w, b, direction = cp.Variable(3), cp.Variable(), cp.Parameter(4)
    margins = cp.multiply(shown.y_train, shown.X_train @ w + b)
    n = len(shown.y_train)
    objective = cp.sum(cp.logistic(-margins)) / n + cp.sum_squares(w) / (2 * n)
    least = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    cost = direction[:3] @ w + direction[3] * b
    furthest = cp.Problem(cp.Minimize(cost), [objective <= (1.0 + EPSILON) * least])
    found = np.empty((2, len(rows)))
    for k, row in enumerate(rows):
        for place, side in enumerate((1.0, -1.0)):
            direction.value = side * row
            found[place, k] = side * furthest.solve(solver=cp.CLARABEL)
    return found[0], found[1]


def test_bars_are_as_long_as_their_numbers_say(shown: Shown) -> None:
    n = len(shown.y_val)
    assert len(bars(shown.page)) == 4
    for width, words, _ in bars(shown.page).values():
        right, of, all_rows = words.split()
        assert (of, int(all_rows)) == ("of", n)
        assert width == pytest.approx(100.0 * int(right) / n, abs=0.005)


def test_rows_right_are_those_of_the_model_and_of_the_majority(shown: Shown) -> None:
    right = int(np.sum(model(shown).predict(shown.X_val) == shown.y_val))
    n, says = len(shown.y_val), 1.0 if np.sum(shown.y_train) > 0.0 else -1.0
    drawn = bars(shown.page)
    assert drawn["the audited LogisticRegression"][1] == f"{right} of {n}"
    constant = drawn[f"always “{'yes' if says > 0.0 else 'no'}”"]
    assert constant[1] == f"{int(np.sum(shown.y_val == says))} of {n}"


def test_no_model_that_trains_this_well_has_fewer_rows_right_than_is_proved(shown: Shown) -> None:
    _, words, line = bars(shown.page)["the worst equally good model found"]
    n, found = len(shown.y_val), int(words.split()[0])
    assert line is not None
    least = round(line * n / 100.0)
    told = re.search(r">none has fewer than (\d+)", shown.page)
    assert least == (int(told[1]) if told else found)
    rng = np.random.default_rng(0)
    best = np.append(model(shown).coef_, model(shown).intercept_)
    fewest = n
    for direction in rng.normal(size=(2000, 4)):
        member = best + furthest_step(shown, best, direction) * direction
        scores = shown.X_val @ member[:3] + member[3]
        fewest = min(fewest, int(np.sum(shown.y_val * scores > 0.0)))
    assert least <= min(found, fewest)


def objective(shown: Shown, u: np.ndarray) -> float:
    margins = shown.y_train * (shown.X_train @ u[:3] + u[3])
    return float(np.logaddexp(0.0, -margins).mean() + u[:3] @ u[:3] / (2 * len(margins)))


def furthest_step(shown: Shown, best: np.ndarray, direction: np.ndarray) -> float:
    """Return how far a model may go in a direction and still train this well."""
    limit = (1.0 + EPSILON) * objective(shown, best)
    low, high = 0.0, 10.0
    for _ in range(30):
        middle = (low + high) / 2.0
        within = objective(shown, best + middle * direction) <= limit
        low, high = (middle, high) if within else (low, middle)
    return low


def test_the_disagreeing_rows_are_those_whose_range_has_both_signs(shown: Shown) -> None:
    n = len(shown.y_val)
    low, high = ends(shown, np.column_stack([shown.X_val, np.ones(n)]))
    differ = (low < 0.0) & (high > 0.0)
    _, words, line = bars(shown.page)["rows on which equally good models disagree"]
    assert words == f"{int(differ.sum())} of {n}"
    assert line == pytest.approx(100.0 * differ.sum() / n, abs=0.005)
    lines = cells_below(shown.page, "Rows on which equally good models disagree")
    listed = {int(name): cells for cells in lines for name in cells[0].split(", ")}
    assert set(listed) == set(shown.rows.index[differ])
    says = model(shown).predict(shown.X_val)
    for k in np.flatnonzero(differ):
        row = shown.rows.iloc[k]
        _, true, said, least, most, *entries = listed[int(row.name)]
        assert (true, said) == tuple("yes" if y > 0 else "no" for y in (shown.y_val[k], says[k]))
        for percent, score in ((least, low[k]), (most, high[k])):
            assert int(percent[:-1]) == pytest.approx(100.0 / (1.0 + np.exp(-score)), abs=0.6)
        assert [float(entry) for entry in entries] == row.tolist()


def test_coefficients_and_directions_are_those_of_convex_programs(shown: Shown) -> None:
    low, high = ends(shown, np.eye(4)[:3])
    fitted = model(shown).coef_[0]
    lines = cells_below(shown.page, "Which way each column points")
    assert [name for name, *_ in lines] == list(shown.rows.columns)
    for k, (_, coef, least, most, so) in enumerate(lines):
        assert float(coef) == pytest.approx(fitted[k], abs=2e-3)
        assert float(least) == pytest.approx(low[k], abs=3e-3)
        assert float(most) == pytest.approx(high[k], abs=3e-3)
        undetermined = low[k] < 0.0 < high[k]
        assert (so == "its direction is not determined by your data") == undetermined
        assert ("speaks for “yes”" in so) == (low[k] > 0.0)
