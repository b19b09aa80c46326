"""Every number of a page of tuned limits, computed again by linear and mixed-integer programs.

The programs are stated here, from the definition: weights keep to the limits, and the mean hinge
loss on the training rows is at most 1.2 times the least. SciPy solves them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from page_text import bars, cells_below, section, trial
from scipy.optimize import LinearConstraint, milp
from sklearn.linear_model import LogisticRegression

from pessimal.tabular import Source, draw_rows, with_labels
from pessimal.workflows import Settings, TuningRun, tune_table

N, EPSILON = 60, 0.2
COLUMNS = ["dose", "urea", "age"]
ON_A_SIDE = 1e-6


@dataclass(frozen=True)
class Shown:
    """The page, the run it is of, and the rows as they were tuned on, standardised."""

    page: str
    run: TuningRun
    table: pd.DataFrame
    T: np.ndarray
    V: np.ndarray
    train_y: np.ndarray
    val_y: np.ndarray
    tuned: pd.DataFrame
    held_out: pd.DataFrame


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    path = tmp_path_factory.mktemp("page") / "page.html"
    table = trial(N)
    labelled = with_labels(Source("trial.csv", table), "cured")
    run = tune_table(labelled, Settings(curve=True, time_limit=120.0))
    assert run.solution.proved
    assert not run.stopped
    run.to_html(path, "trial.csv")
    kept, held = draw_rows(labelled, 0.25, 0)
    tuned, held_out = table.iloc[np.sort(kept)], table.iloc[np.sort(held)]
    mean, deviation = tuned[COLUMNS].mean(), tuned[COLUMNS].std(ddof=0)
    scaled = ((tuned[COLUMNS] - mean) / deviation).to_numpy()
    y = np.where(tuned["cured"] == 1, 1.0, -1.0)
    val = np.isin(tuned.index + 1, run.audit.index)
    return Shown(
        Path(path).read_text("utf-8"),
        run,
        table,
        scaled[~val],
        scaled[val],
        y[~val],
        y[val],
        tuned,
        held_out,
    )


@dataclass(frozen=True)
class Limited:
    """All models of a box that train within ε: rows of ``A @ (w, b, ξ, …) >= low``."""

    box: np.ndarray
    shown: Shown
    epsilon: float

    def solve(self, cost: Any, rows: Any = None, low: Any = None, integer: int = 0) -> Any:
        """Minimise a cost of weights, intercept and further variables, the last ones binary."""
        X, y, p = self.shown.T, self.shown.train_y, len(self.box)
        n, more = len(y), len(cost) - p - 1
        hinge = np.column_stack([y[:, None] * X, y, np.eye(n), np.zeros((n, more))])
        limit = (1.0 + self.epsilon) * self.least
        within = np.concatenate([np.zeros(p + 1), np.full(n, -1.0 / n), np.zeros(more)])
        A, lowest = [hinge, within[None]], [np.ones(n), np.array([-limit - 1e-9])]
        if rows is not None:
            A.append(
                np.column_stack([rows[:, : p + 1], np.zeros((len(rows), n)), rows[:, p + 1 :]])
            )
            lowest.append(low)
        size = p + 1 + n + more
        least, most = np.full(size, -np.inf), np.full(size, np.inf)
        least[:p], most[:p], least[p + 1 :] = -self.box, self.box, 0.0
        binary = np.zeros(size)
        if integer:
            binary[-integer:], most[-integer:] = 1, 1.0
        found = milp(
            np.concatenate([cost[: p + 1], np.zeros(n), cost[p + 1 :]]),
            constraints=LinearConstraint(np.vstack(A), np.concatenate(lowest)),
            bounds=(least, most),
            integrality=binary,
            options={"mip_rel_gap": 0.0},
        )
        assert found.success, found.message
        return found.fun

    @cached_property
    def least(self) -> float:
        """Return the least mean hinge loss on the training rows."""
        X, y, p = self.shown.T, self.shown.train_y, len(self.box)
        n = len(y)
        found = milp(
            np.concatenate([np.zeros(p + 1), np.full(n, 1.0 / n)]),
            constraints=LinearConstraint(np.column_stack([y[:, None] * X, y, np.eye(n)]), 1.0),
            bounds=(
                np.concatenate([-self.box, [-np.inf], np.zeros(n)]),
                np.concatenate([self.box, np.full(n + 1, np.inf)]),
            ),
        )
        return float(found.fun)

    def ends(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest of ``rows @ (w, b)``."""
        least = [self.solve(row) for row in rows]
        most = [-self.solve(-row) for row in rows]
        return np.array(least), np.array(most)

    def margins(self) -> np.ndarray:
        """Return the validation rows whose products with (w, b) are margins."""
        V, y = self.shown.V, self.shown.val_y
        return np.column_stack([y[:, None] * V, y])

    def best_loss(self) -> float:
        Z = self.margins()
        n = len(Z)
        cost = np.concatenate([np.zeros(Z.shape[1]), np.full(n, 1.0 / n)])
        return float(self.solve(cost, np.column_stack([Z, np.eye(n)]), np.ones(n)))

    @cached_property
    def worst_loss(self) -> float:
        """Let a binary say of each row whether it costs 1 − margin or nothing."""
        Z = self.margins()
        n, (low, high) = len(Z), self.ends(Z)
        most = np.maximum(0.0, 1.0 - low) + 1.0
        cost = np.concatenate([np.zeros(Z.shape[1]), np.full(n, -1.0 / n), np.zeros(n)])
        slack = np.maximum(0.0, high - 1.0) + 1.0
        # loss ≤ most·binary, and loss ≤ 1 − margin + slack·(1 − binary)
        rows = np.vstack(
            [
                np.column_stack([np.zeros_like(Z), -np.eye(n), np.diag(most)]),
                np.column_stack([-Z, -np.eye(n), -np.diag(slack)]),
            ]
        )
        return -float(
            self.solve(cost, rows, np.concatenate([np.zeros(n), -1.0 - slack]), integer=n)
        )

    def most_errors(self, counted: np.ndarray, side: float = -1.0) -> int:
        """Return the largest number of counted rows with a margin on one side of 0."""
        Z = side * self.margins()[counted]
        n, low = len(Z), self.ends(Z)[0]
        far = np.maximum(0.0, -low) + 1.0
        cost = np.concatenate([np.zeros(Z.shape[1]), -np.ones(n)])
        rows = np.column_stack([Z, -np.diag(far)])
        return -int(np.rint(self.solve(cost, rows, ON_A_SIDE - far, integer=n)))


def tuned_box(shown: Shown) -> np.ndarray:
    assert shown.run.audit.box is not None
    return np.asarray(shown.run.audit.box)


def limited(shown: Shown, epsilon: float = EPSILON) -> Limited:
    return Limited(tuned_box(shown), shown, epsilon)


def test_the_bars_of_the_validation_rows(shown: Shown) -> None:
    n, models = len(shown.val_y), limited(shown)
    drawn = bars(shown.page)
    reference = shown.run.audit.reference
    scores = shown.V @ reference.coef + reference.intercept
    right = int(np.sum((scores > 0.0) == (shown.val_y > 0.0)))
    says = 1.0 if shown.train_y.sum() > 0.0 else -1.0
    low, high = models.ends(np.column_stack([shown.V, np.ones(n)]))
    differ = int(np.sum((low < -ON_A_SIDE) & (high > ON_A_SIDE)))
    expected = {
        "the tuned model, trained on the other half": right,
        "the worst equally good model found": n - models.most_errors(np.ones(n, bool)),
        f"always “{'yes' if says > 0.0 else 'no'}”": int(np.sum(shown.val_y == says)),
        "rows on which equally good models disagree": differ,
    }
    for name, count in expected.items():
        width, words, line = drawn[name]
        assert words == f"{count} of {n}", name
        assert width == pytest.approx(100.0 * count / n, abs=0.005)
        assert line is None or line == pytest.approx(width, abs=0.005)
    assert np.all(np.abs(reference.coef) <= tuned_box(shown) + 1e-9)
    hinge = np.maximum(0.0, 1.0 - shown.train_y * (shown.T @ reference.coef + reference.intercept))
    assert hinge.mean() == pytest.approx(models.least, abs=1e-6)


def test_the_bars_of_the_held_out_rows(shown: Shown) -> None:
    tuned, held = shown.tuned, shown.held_out
    n, y = len(held), np.where(held["cured"] == 1, 1.0, -1.0)
    mean, deviation = tuned[COLUMNS].mean(), tuned[COLUMNS].std(ddof=0)
    plain = LogisticRegression(tol=1e-8).fit(
        ((tuned[COLUMNS] - mean) / deviation).to_numpy(), tuned["cured"]
    )
    theirs = plain.predict(((held[COLUMNS] - mean) / deviation).to_numpy()) == held["cured"]
    model = shown.run.model
    scores = held[COLUMNS].to_numpy() @ np.array(model.coef) + model.intercept
    ours = (scores > 0.0) == (y > 0.0)
    frequent = round(tuned["cured"].mean())
    drawn = bars(shown.page)
    for name, count in {
        "the tuned model, trained on both halves": int(ours.sum()),
        "plain logistic regression": int(theirs.sum()),
        "always the more frequent class": int(np.sum(held["cured"] == frequent)),
    }.items():
        assert drawn[name][1] == f"{count} of {n}", name
    right, accuracy, only = cells_below(shown.page, "Beside logistic regression")
    assert right[1:] == [f"{ours.sum()} of {n}", f"{theirs.sum()} of {n}"]
    assert accuracy[1:] == [f"{ours.mean():.1%}", f"{theirs.mean():.1%}"]
    assert only[1:] == [str((ours & ~theirs).sum()), str((theirs & ~ours).sum())]


def test_ordinary_and_pessimistic_tuning_have_their_best_and_worst_models(shown: Shown) -> None:
    ordinary = shown.run.ordinary
    assert ordinary is not None
    lines = cells_below(shown.page, "Ordinary and pessimistic tuning")
    boxes = {"ordinary tuning": ordinary.box, "pessimistic tuning": tuned_box(shown)}
    assert [line[0] for line in lines] == list(boxes)
    worst = []
    for name, best, found, bound in lines:
        models = Limited(boxes[name], shown, EPSILON)
        worst.append(models.worst_loss)
        assert float(best) == pytest.approx(models.best_loss(), abs=6e-5)
        assert float(found) == pytest.approx(worst[-1], abs=6e-5)
        assert worst[-1] <= float(bound.removeprefix("at most ")) <= worst[-1] + 1.1e-4
    told = section(shown.page, "Ordinary and pessimistic tuning")
    assert ("pessimistic tuning is better, proved" in told) == (worst[1] < worst[0])


def test_the_sentences_of_the_guarantee(shown: Shown) -> None:
    models, n, text = limited(shown), len(shown.val_y), unescape(shown.page)
    least = models.least
    assert f"is at most {(1.0 + EPSILON) * least:.4f}" in text
    assert f"the least possible is {least:.4f}" in text
    everyone = np.ones(n, bool)
    wrong = models.most_errors(everyone)
    loss = models.worst_loss
    told = re.search(r"a mean hinge loss of ([\d.]+) and (\d+) of (\d+) points wrong", text)
    assert told is not None
    assert loss <= float(told[1]) <= loss + 1.1e-4
    assert (int(told[2]), int(told[3])) == (wrong, n)
    for name, label in (("Sensitivity", 1.0), ("Specificity", -1.0)):
        of = shown.val_y == label
        fewest = int(of.sum()) - models.most_errors(of)
        sentence = re.search(
            rf"{name}: of the (\d+) validation points .*? the worst .*? found (\d+) \(([\d.]+)%\); "
            r"none has fewer than (\d+)",
            text,
        )
        assert sentence is not None
        assert [int(sentence[k]) for k in (1, 2, 4)] == [of.sum(), fewest, fewest]
        assert float(sentence[3]) == pytest.approx(100.0 * fewest / of.sum(), abs=0.06)


def test_the_table_of_the_guarantee(shown: Shown) -> None:
    models, n = limited(shown), len(shown.val_y)
    everyone = np.ones(n, bool)
    # A score of 0 is no error, so the fewest are all but those that can be on the right side of it.
    lines = {line[0]: line[1:] for line in cells_below(shown.page, "What is guaranteed")}
    assert float(lines["best"][0]) == pytest.approx(models.best_loss(), abs=6e-5)
    assert float(lines["worst"][0]) == pytest.approx(models.worst_loss, abs=6e-5)
    assert float(lines["at least"][0]) <= models.best_loss()
    assert float(lines["at most"][0]) >= models.worst_loss - 1e-9
    assert lines["worst"][1] == f"{models.most_errors(everyone) / n:.1%}"
    fewest = n - models.most_errors(everyone, side=1.0)
    assert float(lines["at least"][1][:-1]) <= 100.0 * fewest / n + 0.06
    reference = shown.run.audit.reference
    margins = shown.val_y * (shown.V @ reference.coef + reference.intercept)
    loss, error = lines["a training optimum"]
    assert float(loss) == pytest.approx(np.maximum(0.0, 1.0 - margins).mean(), abs=6e-5)
    assert error == f"{np.mean(margins < 0.0):.1%}"


def test_the_disagreeing_rows(shown: Shown) -> None:
    n = len(shown.val_y)
    low, high = limited(shown).ends(np.column_stack([shown.V, np.ones(n)]))
    differ = (low < -ON_A_SIDE) & (high > ON_A_SIDE)
    lines = cells_below(shown.page, "Rows on which equally good models disagree")
    names = np.asarray(shown.run.audit.index)
    assert [int(line[0]) for line in lines] == names[differ].tolist()
    reference = shown.run.audit.reference
    for k, (name, true, said, least, most, *entries) in zip(
        np.flatnonzero(differ), lines, strict=True
    ):
        row = shown.table.iloc[int(name) - 1]
        score = shown.V[k] @ reference.coef + reference.intercept
        assert true == ("yes" if row["cured"] == 1 else "no")
        assert said == ("yes" if score > 0.0 else "no")
        assert float(least) == pytest.approx(low[k], abs=6e-3)
        assert float(most) == pytest.approx(high[k], abs=6e-3)
        assert [float(entry) for entry in entries] == row[COLUMNS].tolist()


def test_the_curve(shown: Shown) -> None:
    lines = cells_below(shown.page, "If training may be worse")
    assert EPSILON in [float(line[0]) for line in lines]
    everyone = np.ones(len(shown.val_y), bool)
    for epsilon, best, worst, bound, wrong in lines:
        models = limited(shown, float(epsilon))
        assert float(best) == pytest.approx(models.best_loss(), abs=6e-4)
        assert float(worst) == pytest.approx(models.worst_loss, abs=6e-4)
        assert float(bound) >= models.worst_loss - 6e-4
        if float(epsilon) > 0.0:  # at 0 a set of one model, which rounding may leave empty
            assert wrong == str(models.most_errors(everyone))


def test_the_directions(shown: Shown) -> None:
    models, p = limited(shown), len(COLUMNS)
    low, high = models.ends(np.eye(p + 1)[:p])
    deviation = shown.tuned[COLUMNS].std(ddof=0).to_numpy()
    predicts = np.array(shown.run.model.coef) * deviation
    lines = cells_below(shown.page, "Which way each column points")
    for k, (name, coef, least, most, so, limit) in enumerate(lines):
        assert name == COLUMNS[k]
        assert float(coef) == pytest.approx(predicts[k], abs=6e-4)
        assert float(least) == pytest.approx(low[k], abs=2e-3)
        assert float(most) == pytest.approx(high[k], abs=2e-3)
        assert float(limit) == pytest.approx(tuned_box(shown)[k], abs=6e-4)
        undetermined = low[k] < -ON_A_SIDE and high[k] > ON_A_SIDE
        assert (so == "its direction is not determined by your data") == undetermined
        assert ("speaks for “yes”" in so) == (low[k] > ON_A_SIDE)
        assert (so == "not used") == (tuned_box(shown)[k] == 0.0)
