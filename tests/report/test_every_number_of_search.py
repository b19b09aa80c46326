"""Every number of a page of a tuned logistic regression, and of its predictions, computed again.

Fits are scikit-learn's, ranges are convex programs of CVXPY, and worst losses are sought by SciPy
from many starts. A number that nothing here has computed makes the test fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import page_checks
import pandas as pd
import pytest
from command import run_command
from oracles.equally_good import LogisticModels, with_ones
from page_checks import BLUE, GREEN, GREY, VERMILION
from page_text import COLUMNS, Page, patients
from sklearn.model_selection import StratifiedKFold

from pessimal.tabular import Source, draw_rows, with_labels
from pessimal.workflows import SearchRun, SearchSettings, search_table, write_model

EPSILON = 0.05


@dataclass(frozen=True)
class Shown:
    page: Page
    run: SearchRun
    tuned: pd.DataFrame
    held_out: pd.DataFrame
    models: LogisticModels


def scaled(by: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray((rows - by.mean(axis=0)) / by.std(axis=0))


def signs(rows: pd.DataFrame) -> np.ndarray:
    return np.where(rows["label"] == 1, 1.0, -1.0)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    path = tmp_path_factory.mktemp("page") / "page.html"
    table = patients()
    labelled = with_labels(Source("patients.csv", table), "label")
    run = search_table(labelled, SearchSettings(curve=True, time_limit=500.0))
    assert not run.stopped
    run.to_html(path, "patients.csv")
    table.index += 1
    kept, held = draw_rows(labelled, 0.25, 0)
    tuned, held_out = table.iloc[kept], table.iloc[held]
    train = tuned[COLUMNS].to_numpy(float)
    of = partial(scaled, train)
    models = LogisticModels(
        of(train),
        signs(tuned),
        of(held_out[COLUMNS].to_numpy(float)),
        signs(held_out),
        EPSILON,
        C=run.chosen.value,
    )
    return Shown(Page(path.read_text("utf-8")), run, tuned, held_out, models)


def test_every_number_of_a_search(shown: Shown) -> None:
    page, models, n = shown.page, shown.models, len(shown.held_out)
    assert shown.run.audit is not None
    audited = page_checks.Audited(page, shown.run.audit, models, shown.held_out)
    found = page_checks.rows_right(audited, "the tuned model")
    constant = int(np.sum(models.labels < 0.0))
    assert found < constant
    page.read(
        rf"one that trains as well is right on {found} of {n} held-out rows, and always saying "
        rf"“no” on {constant}\."
    )
    n_tuned = len(models.X)
    page.read(rf"fit the {n_tuned} training rows within 5 % of the best fit")
    page.read(
        rf"at most {models.limit:.4f}: 5 % above the least possible, {models.least:.4f}\. "
        rf"{n_tuned} training points, {n} validation points, 3 features"
    )
    page_checks.guarantee(audited)
    page_checks.disagreeing_rows(audited)
    page_checks.every_row(audited)
    page_checks.against_epsilon(audited)
    page_checks.directions(audited, models.fitted)

    Z = with_ones(models.V)
    plain = LogisticModels(models.X, models.y, models.V, models.labels, EPSILON).fitted
    ours, theirs = (models.labels * (Z @ u) > 0.0 for u in (models.fitted, plain))
    page_checks.beside_logistic_regression(page, ours, theirs)
    page_checks.small_print(page, int(ours.sum()), n, "held-out", "the tuned model")
    assert page.bars()["plain logistic regression"].words == f"{theirs.sum()} of {n}"
    page.read(rf"the more frequent class of every row is right on {constant} of {n}\.")
    worst, bound = candidates(shown)

    page.read(
        rf"{n_tuned} rows to tune on, in 5 folds, {n} held out; 3 features; classes 0 \(negative "
        r"score\) and 1 \(positive score\)",
        "Notes",
    )
    page.read(rf"Class 1 \(yes\) has {np.mean(models.y > 0.0):.1%} of the rows", "Notes")
    report, losses = shown.run.audit, models.extreme_loss(1.0)
    page_checks.how_it_was_computed(
        page,
        {
            "model": "logistic",
            "C": shown.run.chosen.value,
            "epsilon": EPSILON,
            "class_weight": "none",
            "seed": 0,
            "n_tuned": n_tuned,
            "n_folds": 5,
            "loss": "log",
            "mean_loss": float(np.mean([m.loss(m.fitted) for m in folds(shown, models.C)])),
            "worst_loss": worst,
            "worst_loss_bound": bound,
            "usual_choice": shown.run.usual.value,
            "stopped_by": "–",
            "held_out_worst_loss": losses,
            "held_out_worst_loss_bound": losses,
            "held_out_worst_errors": n - found,
            # Held to account where the page says it first: none has fewer rows right.
            "held_out_worst_errors_bound": round(report.worst_error.bound * n),
        },
    )
    assert page.unread() == []


def folds(shown: Shown, C: float) -> list[LogisticModels]:
    """Return the models of each fold, judged by the rows left out."""
    X, y = shown.tuned[COLUMNS].to_numpy(float), signs(shown.tuned)
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    return [
        LogisticModels(
            scaled(X[train], X[train]), y[train], scaled(X[train], X[out]), y[out], EPSILON, C=C
        )
        for train, out in splits
    ]


def candidates(shown: Shown) -> tuple[float, float]:
    """Check all that is said of candidates; return the worst case of the chosen, and a bound."""
    page, picture, below = shown.page, shown.page.pictures[3], "Every candidate"
    _, *lines = page.cells(below)
    roles = {line[4]: line for line in lines}
    chosen, usual = roles["chosen"], roles["ordinary tuning"]
    values = [float(line[0]) for line in lines]
    losses = np.array([np.mean([m.loss(m.fitted) for m in folds(shown, C)]) for C in values])
    worst = np.array([np.mean([m.extreme_loss(1.0) for m in folds(shown, C)]) for C in values])
    found = np.array([float(line[2]) for line in lines])
    bounds = np.array([float(line[3].removeprefix("at most ")) for line in lines])
    np.testing.assert_allclose([float(line[1]) for line in lines], losses, atol=3e-4)
    # Bounds of candidates that cannot win are left coarse, and so is the search for their worst.
    assert np.all(found <= worst + 3e-4)
    assert np.all(bounds >= worst - 1e-5)
    place = lines.index(chosen)
    assert found[place] == pytest.approx(worst[place], abs=3e-4)
    assert place == int(np.argmin(bounds))
    assert lines.index(usual) == int(np.argmin(losses))

    page.read(rf"with C = {chosen[0]} is chosen: .* Ordinary tuning takes {usual[0]}\.", below)
    page.read(
        rf"mean over 5 folds on the rows left out: in \[{found[place]:.4f}, {bounds[place]:.4f}\]",
        below,
    )
    page.read("on the rows left out of 5 folds, of the model", below)
    before = "Ordinary and pessimistic tuning"
    page.read(rf"takes C = {usual[0]}, by the .* Pessimistic tuning takes {chosen[0]}, by", before)
    page.read("on the rows left out of 5 folds; smaller is better", before)
    _, *both = page.cells(before)
    assert both == [["ordinary tuning", *usual[:4]], ["pessimistic tuning", *chosen[:4]]]

    names = {chosen[0]: " (chosen)", usual[0]: " (ordinary)"}
    assert picture.labels.pop("y") == [line[0] + names.get(line[0], "") for line in lines]
    rows = np.arange(len(lines))
    for colour, expected in ((BLUE, losses), (VERMILION, found), (GREEN, bounds)):
        marks = picture.take("marks", colour)
        np.testing.assert_allclose(marks, np.column_stack([expected, rows]), atol=2e-3)
    ends = picture.take("lines", GREY).reshape(-1, 2, 2)
    np.testing.assert_allclose(ends[:, :, 0], np.column_stack([losses, found]), atol=2e-3)
    np.testing.assert_allclose(ends[:, :, 1], np.column_stack([rows, rows]), atol=2e-3)
    return float(worst[place]), float(bounds[place])


def test_predictions_from_the_model_file(shown: Shown, tmp_path: Path) -> None:
    assert shown.run.model is not None
    write_model(shown.run.model, tmp_path / "model.json")
    shown.held_out[COLUMNS].to_csv(tmp_path / "new.csv", index=False)
    said = tmp_path / "said.csv"
    ended = run_command("predict", tmp_path / "model.json", tmp_path / "new.csv", "--out", said)
    assert ended.code == 0, ended.err
    predicted = pd.read_csv(said)
    V = with_ones(shown.models.V)
    low, high = shown.models.ends(V)
    scores = V @ shown.models.fitted
    np.testing.assert_allclose(predicted["score"], scores, atol=3e-3)
    assert np.all(predicted["low"] <= low + 1e-4)
    assert np.all(predicted["high"] >= high - 1e-4)
    assert np.array_equal(predicted["prediction"] == 1, scores > 0.0)
    differ = (low < 0.0) & (high > 0.0)
    assert not np.any(predicted["agreement"][differ] == "yes")
    assert not np.any(predicted["agreement"][~differ] == "no")
