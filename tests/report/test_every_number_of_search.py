"""Every number of a page of a tuned logistic regression, and of its predictions, computed again.

Fits are scikit-learn's, ranges are convex programs of CVXPY, and worst losses are sought by SciPy
from many starts. What training minimises is stated here from its definition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pandas as pd
import pytest
from command import run_command
from page_text import bars, cells_below, trial
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from pessimal.tabular import Source, draw_rows, with_labels
from pessimal.workflows import SearchRun, SearchSettings, search_table, write_model

cp: Any = cvxpy

N, EPSILON = 60, 0.05
COLUMNS = ["dose", "urea", "age"]


def scaled(by: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray((rows - by.mean(axis=0)) / by.std(axis=0))


@dataclass(frozen=True)
class Trained:
    """All logistic regressions that train within ε on some rows, and rows to judge them by."""

    X: np.ndarray
    y: np.ndarray
    V: np.ndarray
    labels: np.ndarray
    C: float = 1.0
    epsilon: float = EPSILON

    @cached_property
    def fitted(self) -> np.ndarray:
        model = LogisticRegression(C=self.C, tol=1e-10, max_iter=10_000).fit(self.X, self.y)
        return np.append(model.coef_, model.intercept_)

    def objective(self, u: np.ndarray) -> float:
        margins = self.y * (self.X @ u[:-1] + u[-1])
        n = len(margins)
        return float(np.logaddexp(0.0, -margins).mean() + u[:-1] @ u[:-1] / (2 * n * self.C))

    def loss(self, u: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -self.labels * (self.V @ u[:-1] + u[-1])).mean())

    @property
    def limit(self) -> float:
        return (1.0 + self.epsilon) * self.objective(self.fitted)

    def ends(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest of ``rows @ (w, b)``."""
        u, direction = cp.Variable(rows.shape[1]), cp.Parameter(rows.shape[1])
        Z = self.y[:, None] * np.column_stack([self.X, np.ones(len(self.X))])
        n = len(Z)
        trained = cp.sum(cp.logistic(-Z @ u)) / n + cp.sum_squares(u[:-1]) / (2 * n * self.C)
        program = cp.Problem(cp.Minimize(direction @ u), [trained <= self.limit])
        found = np.empty((2, len(rows)))
        for k, row in enumerate(rows):
            for place, side in enumerate((1.0, -1.0)):
                direction.value = side * row
                found[place, k] = side * program.solve(solver=cp.CLARABEL)
        return found[0], found[1]

    def extreme_loss(self, side: float) -> float:
        """Return the largest loss (side 1) or the least that SciPy finds, from many starts."""
        rng, best = np.random.default_rng(0), side * self.loss(self.fitted)
        within = {"type": "ineq", "fun": lambda u: self.limit - self.objective(u)}
        for start in rng.normal(0.0, 0.3, (6, len(self.fitted))) + self.fitted:
            found = minimize(lambda u: -side * self.loss(u), start, constraints=[within], tol=1e-10)
            if self.objective(found.x) <= self.limit * (1.0 + 1e-7):
                best = max(best, -found.fun)
        return side * best


@dataclass(frozen=True)
class Shown:
    page: str
    run: SearchRun
    table: pd.DataFrame
    tuned: pd.DataFrame
    held_out: pd.DataFrame
    models: Trained


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    path = tmp_path_factory.mktemp("page") / "page.html"
    table = trial(N)
    labelled = with_labels(Source("trial.csv", table), "cured")
    run = search_table(labelled, SearchSettings(curve=True, time_limit=500.0))
    assert not run.stopped
    run.to_html(path, "trial.csv")
    kept, held = draw_rows(labelled, 0.25, 0)
    tuned, held_out = table.iloc[kept], table.iloc[held]
    train = tuned[COLUMNS].to_numpy(float)
    models = Trained(
        scaled(train, train),
        signs(tuned),
        scaled(train, held_out[COLUMNS].to_numpy(float)),
        signs(held_out),
        C=run.chosen.value,
    )
    return Shown(Path(path).read_text("utf-8"), run, table, tuned, held_out, models)


def signs(rows: pd.DataFrame) -> np.ndarray:
    return np.where(rows["cured"] == 1, 1.0, -1.0)


def sampled(models: Trained) -> list[np.ndarray]:
    """Return members on the boundary, in random directions from the fitted one."""
    found = []
    for direction in np.random.default_rng(0).normal(size=(1000, len(models.fitted))):
        low, high = 0.0, 10.0
        for _ in range(30):
            middle = (low + high) / 2.0
            within = models.objective(models.fitted + middle * direction) <= models.limit
            low, high = (middle, high) if within else (low, middle)
        found.append(models.fitted + low * direction)
    return found


def test_the_bars(shown: Shown) -> None:
    models, n = shown.models, len(shown.held_out)
    drawn = bars(shown.page)
    V = np.column_stack([models.V, np.ones(n)])
    right = int(np.sum(models.labels * (V @ models.fitted) > 0.0))
    plain = Trained(models.X, models.y, models.V, models.labels)
    says = 1.0 if models.y.sum() > 0.0 else -1.0
    low, high = models.ends(V)
    expected = {
        "the tuned model": right,
        "plain logistic regression": int(np.sum(models.labels * (V @ plain.fitted) > 0.0)),
        f"always “{'yes' if says > 0.0 else 'no'}”": int(np.sum(models.labels == says)),
        "rows on which equally good models disagree": int(np.sum((low < 0.0) & (high > 0.0))),
    }
    for name, count in expected.items():
        width, words, _ = drawn[name]
        assert words == f"{count} of {n}", name
        assert width == pytest.approx(100.0 * count / n, abs=0.005)
    _, words, line = drawn["the worst equally good model found"]
    found = int(words.split()[0])
    assert line is not None
    fewest = min(int(np.sum(models.labels * (V @ u) > 0.0)) for u in sampled(models))
    assert round(line * n / 100.0) <= found <= fewest


def test_the_sentences_on_each_class(shown: Shown) -> None:
    models, text = shown.models, unescape(shown.page)
    V = np.column_stack([models.V, np.ones(len(models.V))])
    for name, label in (("Sensitivity", 1.0), ("Specificity", -1.0)):
        of = models.labels == label
        counts = [int(np.sum(label * (V[of] @ u) > 0.0)) for u in sampled(models)]
        ours = int(np.sum(label * (V[of] @ models.fitted) > 0.0))
        told = re.search(
            rf"{name}: of the (\d+) validation points of class \d, the chosen model has (\d+) "
            r"right \(([\d.]+)%\), and the worst of these models that was found (\d+) "
            r"\(([\d.]+)%\); none has fewer than (\d+)",
            text,
        )
        assert told is not None
        n, found, none = int(told[1]), int(told[4]), int(told[6])
        assert (n, int(told[2])) == (of.sum(), ours)
        assert none <= found <= min(counts)
        assert float(told[3]) == pytest.approx(100.0 * ours / n, abs=0.06)
        assert float(told[5]) == pytest.approx(100.0 * found / n, abs=0.06)


def test_the_curve_and_the_guarantee(shown: Shown) -> None:
    of = shown.models
    for epsilon, best, worst, bound, _ in cells_below(shown.page, "If training may be worse"):
        models = Trained(of.X, of.y, of.V, of.labels, of.C, max(float(epsilon), 1e-9))
        assert float(best) == pytest.approx(models.extreme_loss(-1.0), abs=1e-3)
        assert float(worst) == pytest.approx(models.extreme_loss(1.0), abs=1e-3)
        assert float(bound) >= models.extreme_loss(1.0) - 1e-3
    lines = {line[0]: line[1:] for line in cells_below(shown.page, "What is guaranteed")}
    largest = of.extreme_loss(1.0)
    assert float(lines["worst"][0]) == pytest.approx(largest, abs=1e-4)
    assert float(lines["at most"][0]) >= largest - 1e-5
    assert float(lines["best"][0]) == pytest.approx(of.extreme_loss(-1.0), abs=1e-4)
    assert float(lines["at least"][0]) <= of.extreme_loss(-1.0) + 1e-5
    loss, error = lines["the audited LogisticRegression"]
    assert float(loss) == pytest.approx(of.loss(of.fitted), abs=1e-3)
    scores = of.V @ of.fitted[:-1] + of.fitted[-1]
    assert error == f"{np.mean(of.labels * scores < 0.0):.1%}"
    text = unescape(shown.page)
    assert f"at most {of.limit:.4f}: 5 % above the least possible, {of.limit / 1.05:.4f}" in text


def test_the_candidates(shown: Shown) -> None:
    X, y = shown.tuned[COLUMNS].to_numpy(float), signs(shown.tuned)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    lines = cells_below(shown.page, "Every candidate")
    assert {line[-1] for line in lines} >= {"chosen"}
    for value, trained, found, bound, role in lines:
        losses, worst = [], []
        for train, left_out in folds:
            V = scaled(X[train], X[left_out])
            models = Trained(scaled(X[train], X[train]), y[train], V, y[left_out], float(value))
            losses.append(models.loss(models.fitted))
            if role == "chosen":
                worst.append(models.extreme_loss(1.0))
        assert float(trained) == pytest.approx(np.mean(losses), abs=3e-4)
        assert float(found) <= float(bound.removeprefix("at most "))
        if role == "chosen":
            assert float(found) == pytest.approx(np.mean(worst), abs=3e-4)
            assert float(bound.removeprefix("at most ")) >= np.mean(worst) - 1e-5


def test_the_directions(shown: Shown) -> None:
    low, high = shown.models.ends(np.eye(4)[:3])
    lines = cells_below(shown.page, "Which way each column points")
    for k, (name, coef, least, most, so) in enumerate(lines):
        assert name == COLUMNS[k]
        assert float(coef) == pytest.approx(shown.models.fitted[k], abs=2e-3)
        assert float(least) == pytest.approx(low[k], abs=3e-3)
        assert float(most) == pytest.approx(high[k], abs=3e-3)
        assert (so == "its direction is not determined by your data") == (low[k] < 0.0 < high[k])


def test_predictions_from_the_model_file(shown: Shown, tmp_path: Path) -> None:
    assert shown.run.model is not None
    write_model(shown.run.model, tmp_path / "model.json")
    shown.held_out[COLUMNS].to_csv(tmp_path / "new.csv", index=False)
    said = tmp_path / "said.csv"
    ended = run_command("predict", tmp_path / "model.json", tmp_path / "new.csv", "--out", said)
    assert ended.code == 0, ended.err
    predicted = pd.read_csv(said)
    V = np.column_stack([shown.models.V, np.ones(len(shown.held_out))])
    low, high = shown.models.ends(V)
    scores = V @ shown.models.fitted
    np.testing.assert_allclose(predicted["score"], scores, atol=3e-3)
    assert np.all(predicted["low"] <= low + 1e-4)
    assert np.all(predicted["high"] >= high - 1e-4)
    assert np.array_equal(predicted["prediction"] == 1, scores > 0.0)
    differ = (low < 0.0) & (high > 0.0)
    assert not np.any(predicted["agreement"][differ] == "yes")
    assert not np.any(predicted["agreement"][~differ] == "no")
