"""Every number of a page of tuned limits, computed again by linear and mixed-integer programs.

The programs are stated from the definition: weights keep to the limits, and the mean hinge loss on
the training rows is at most 1.2 times the least. SciPy solves them. A number that nothing here has
computed makes the test fail.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import page_checks
import pandas as pd
import pytest
from oracles.equally_good import BoxModels
from page_text import COLUMNS, Page, patients
from sklearn.linear_model import LogisticRegression

from pessimal.tabular import Source, draw_rows, with_labels
from pessimal.workflows import Settings, TuningRun, tune_table

EPSILON = 0.2
TO_WITHIN = 1e-6
"""What the page says that its certificate holds to."""


def test_every_number_of_tuned_limits(tmp_path: Path) -> None:
    table = patients()
    labelled = with_labels(Source("patients.csv", table), "label")
    run = tune_table(labelled, Settings(curve=True, time_limit=120.0))
    assert run.solution.proved
    assert not run.stopped
    run.to_html(tmp_path / "page.html", "patients.csv")
    page = Page((tmp_path / "page.html").read_text("utf-8"))

    table.index += 1
    kept, held = draw_rows(labelled, 0.25, 0)
    tuned, held_out = table.iloc[kept], table.iloc[held]
    mean, deviation = tuned[COLUMNS].mean(), tuned[COLUMNS].std(ddof=0)
    val = tuned.index.isin(run.audit.index)
    scaled = ((tuned[COLUMNS] - mean) / deviation).to_numpy()
    y = np.where(tuned["label"] == 1, 1.0, -1.0)
    box = run.solution.box
    models = BoxModels(scaled[~val], y[~val], scaled[val], y[val], EPSILON, box)
    audited = page_checks.Audited(page, run.audit, models, tuned[val])

    found = page_checks.rows_right(audited, "the tuned model, trained on the other half")
    n, says = len(models.V), "no"
    constant = int(np.sum(models.labels < 0.0))
    assert found == constant
    page.read(
        rf"one that trains as well is right on {found} of {n} validation rows, and so is always "
        f"saying “{says}”"
    )
    limit, least = f"{models.limit:.4f}", f"{models.least:.4f}"
    n_train = len(models.X)
    page.read(rf"on the {n_train} training rows is at most {limit}, the least being {least}\.")
    page.read(rf"the training rows is at most {limit} \(the least possible is {least}\)")

    page_checks.guarantee(audited)
    page_checks.disagreeing_rows(audited)
    page_checks.every_row(audited)
    page_checks.against_epsilon(audited)
    predicts = np.array(run.model.coef) * deviation.to_numpy()
    page_checks.directions(audited, predicts, box)
    # It is one of those that train well on all rows that were not held out.
    hinge = np.maximum(0.0, 1.0 - y * table_scores(run, tuned)).mean()
    everything = BoxModels(scaled, y, models.V, models.labels, EPSILON, box)
    assert everything.least <= hinge + 1e-9 <= everything.limit

    plain = LogisticRegression(tol=1e-8).fit(scaled, tuned["label"])
    rows = ((held_out[COLUMNS] - mean) / deviation).to_numpy()
    theirs = (plain.predict(rows) == held_out["label"]).to_numpy()
    held_out_rows(page, run, held_out, theirs, round(tuned["label"].mean()))
    ordinary_and_pessimistic(page, run, models)
    certificate(page, run, models)
    page.read(
        rf"{n_train} rows trained, {n} validated, {len(held_out)} were held out; 3 features; "
        r"classes 0 \(negative score\) and 1 \(positive score\)",
        "Notes",
    )
    n_differ, wrong = int(audited.differ.sum()), models.most_below(models.margins)[0]
    objective, worst = models.loss(solution(run)), models.extreme_loss(1.0)
    page_checks.how_it_was_computed(
        page,
        {
            "view": "pessimistic",
            "inner": "flip",
            "groups": "each",
            "epsilon": EPSILON,
            "delta": 0.0,
            "seed": 0,
            "n_train": n_train,
            "n_val": n,
            "validation_loss": objective,
            "lower_bound": objective,
            "status": "optimal",
            "proved": "yes",
            "nodes": run.solution.nodes,
            "seconds": run.solution.seconds,
            "method": "search",
            "certificate_ok": "yes",
            "certificate_inner_gap": 0.0,
            "worst_loss": worst,
            "worst_loss_bound": worst,
            "worst_errors": wrong,
            "worst_errors_bound": wrong,
            "best_loss": models.extreme_loss(-1.0),
            "ambiguous_rows": n_differ,
            "ambiguous_rows_bound": n_differ,
        },
    )
    assert page.unread() == []


def table_scores(run: TuningRun, rows: pd.DataFrame) -> np.ndarray:
    """Return the scores of the model that predicts, which is in the units of the table."""
    return np.asarray(rows[COLUMNS].to_numpy() @ np.array(run.model.coef) + run.model.intercept)


def held_out_rows(
    page: Page, run: TuningRun, held_out: pd.DataFrame, theirs: np.ndarray, frequent: int
) -> None:
    """Check the bars and the table of rows that nothing was tuned on."""
    ours = (table_scores(run, held_out) > 0.0) == (held_out["label"] == 1).to_numpy()
    page_checks.beside_logistic_regression(page, ours, theirs)
    drawn, n = page.bars(), len(held_out)
    page_checks.small_print(page, int(ours.sum()), n, "held-out", "the tuned model")
    page.read(rf"Rows right, of {n} other rows, held out from tuning")
    for name, count in {
        "the tuned model, trained on both halves": int(ours.sum()),
        "plain logistic regression": int(theirs.sum()),
        "always the more frequent class": int(np.sum(held_out["label"] == frequent)),
    }.items():
        assert drawn[name].words == f"{count} of {n}", name


def solution(run: TuningRun) -> np.ndarray:
    return np.append(run.solution.coef, run.solution.intercept)


def ordinary_and_pessimistic(page: Page, run: TuningRun, models: BoxModels) -> None:
    """Check the best and the worst model of both boxes."""
    assert run.ordinary is not None
    below = "Ordinary and pessimistic tuning"
    page.read(rf"Mean hinge loss on the {len(models.V)} validation rows", below)
    _, *lines = page.cells(below)
    boxes = {"ordinary tuning": run.ordinary.box, "pessimistic tuning": models.box}
    assert [line[0] for line in lines] == list(boxes)
    worst = []
    for name, best, found, bound in lines:
        members = replace(models, box=boxes[name])
        worst.append(members.extreme_loss(1.0))
        assert float(best) == pytest.approx(members.extreme_loss(-1.0), abs=6e-5)
        assert float(found) == pytest.approx(worst[-1], abs=6e-5)
        assert worst[-1] <= float(bound.removeprefix("at most ")) <= worst[-1] + 1.1e-4
    assert ("pessimistic tuning is better, proved" in page.text) == (worst[1] < worst[0])


def certificate(page: Page, run: TuningRun, models: BoxModels) -> None:
    """Check the objective, and what the certificate says of the model that has it.

    The model fits flipped labels best among those that train as well as it does, and its training
    loss is at least the budget. No limits drawn at random do better, as was proved.
    """
    u = solution(run)
    objective = models.loss(u)
    told = page.read(
        rf"objective {objective:.4f}, proved in ([\d.]+) s \(nodes: (\d+)\) and checked", times=2
    )
    # How long it took cannot be computed again; it is what the run says.
    assert float(told[1]) == pytest.approx(run.solution.seconds, abs=0.051)
    assert int(told[2]) == run.solution.nodes
    page.read(rf"it holds to within {TO_WITHIN:g}\.", "Certificate")
    page.read("0 is perfect", "Certificate")
    trained = np.maximum(0.0, 1.0 - models.y * (models.X @ u[:-1] + u[-1])).mean()
    fit = models.flipped_fit(max(trained, models.limit))
    _, *lines = page.cells("Certificate")
    expected = {
        "how much the model could still improve the inner objective": max(
            0.0, models.flipped_loss(u) - models.flipped_loss(fit)
        ),
        "how far its training loss is off the budget": max(0.0, models.limit - trained),
        "how far its weights leave the box": max(0.0, float(np.max(np.abs(u[:-1]) - models.box))),
        "how far the objective is from the one recomputed": abs(run.solution.objective - objective),
    }
    for name, found in lines:
        assert re.fullmatch(r"\d\.\de[-+]\d\d", found)
        assert float(found) <= TO_WITHIN
        assert float(found) == pytest.approx(expected.pop(name), abs=TO_WITHIN)
    assert expected == {}
    for limits in np.random.default_rng(0).uniform(0.0, 2.0, (50, 3)) ** 2:
        other = replace(models, box=limits)
        assert models.loss(other.flipped_fit(other.limit)) >= objective - TO_WITHIN
