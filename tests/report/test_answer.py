"""What the first screen says of bounds that are of no use, and of points on neither side."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression

from pessimal import audit_estimator
from pessimal.report.answer import answer, right
from pessimal.report.audit_page import notebook
from pessimal.report.disagreement import disagreement
from pessimal.report.page import Table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + RNG.normal(size=60) > 0.0


def test_a_bound_of_no_rows_right_is_told_as_none() -> None:
    model = LogisticRegression().fit(X, Y)
    report = audit_estimator(model, X, Y, X, Y, epsilon=50.0, epsilons=(), time_limit=1e-6)
    assert report.worst_error.bound >= 1.0 > report.worst_error.value
    shown = notebook(report)
    assert "fewer are not ruled out" in shown
    undecided = int(report.undecided.sum())
    assert undecided > 30
    assert f"found; {undecided} not settled" in shown


def test_a_rare_class_is_named_with_how_many_of_it_are_found() -> None:
    rare = np.arange(60) % 10 == 0
    model = LogisticRegression().fit(X, rare)
    report = audit_estimator(model, X, rare, X, rare, epsilons=())
    assert not np.any(report.reference.scores > 0.0)
    shown = unescape(notebook(report))
    assert "right on 54 of 60 validation rows, and so is always saying “no”" in shown
    assert "Only 10% of the rows are “yes”: of these 6 the model finds none. Training in" in shown
    # Where the model is worth using, too; the class with negative scores may be the rare one.
    often = X[:, 0] > -1.3
    model = LogisticRegression(C=100.0).fit(X, often)
    report = audit_estimator(model, X, often, X, often, epsilons=())
    n, found = int(np.sum(~often)), int(np.sum(~model.predict(X)[~often]))
    assert n < 0.2 * 60
    assert n <= 2 * found
    shown = unescape(notebook(report))
    assert f"% of the rows are “no”: of these {n} the model finds {found}." in shown
    assert "both classes weigh the same" not in shown


def test_rows_that_every_model_scores_0_are_not_hidden_in_what_is_proved() -> None:
    model = LogisticRegression(fit_intercept=False).fit(X, Y)
    rows, labels = np.vstack([X, np.zeros((2, 3))]), np.append(Y, [True, True])
    report = audit_estimator(model, X, Y, rows, labels, epsilon=1e-6, epsilons=())
    assert report.at_zero == 2
    assert "if 2 that all score 0 count as right" in notebook(report)


def test_an_audit_that_was_stopped_at_once_does_not_say_that_models_agree() -> None:
    model = LogisticRegression().fit(X, Y)
    report = audit_estimator(model, X, Y, X, Y, epsilon=0.02, epsilons=(), time_limit=1e-6)
    assert report.stopped
    assert report.undecided.any()
    assert not report.ambiguous.any()
    assert "Run it again with more time" in notebook(report)


def test_where_most_rows_are_undecided_nobody_is_asked_to_decide_them_all() -> None:
    model = LogisticRegression().fit(X, Y)
    report = audit_estimator(model, X, Y, X, Y, epsilon=0.3, epsilons=())
    n = int(report.ambiguous.sum())
    assert n > 30
    assert right(report) > 60 - round(60 * report.constant.error)  # type: ignore[union-attr]
    shown = notebook(replace(report, worst_error=report.best_error))
    assert f"on most rows, {n} of 60 validation ones" in shown


def test_the_column_and_its_classes_are_named() -> None:
    model = LogisticRegression().fit(X, Y)
    report = audit_estimator(model, X, Y, X, Y, epsilons=(), time_limit=1.0)
    told = answer(report, "the model", target="relapse").meaning
    assert "whether “relapse” is False (“no”) or True (“yes”)." in told
    assert "“No” stands for False and “yes” for True." in answer(report, "the model").meaning
    kinds = np.where(Y, "malignant", "benign")
    report = audit_estimator(model.fit(X, kinds), X, kinds, X, kinds, epsilons=(), time_limit=1.0)
    told = answer(report, "the model", target="kind").meaning
    assert "whether “kind” is “benign” or “malignant”." in told
    assert "stands for" not in answer(report, "the model").meaning


def test_few_rows_are_said_to_tell_little_of_others() -> None:
    model = LogisticRegression().fit(X, Y)
    few = audit_estimator(model, X, Y, X[:15], Y[:15], epsilons=())
    ours = right(few)
    low, high = beta.ppf(0.025, ours, 16 - ours), beta.ppf(0.975, ours + 1, 15 - ours)
    assert (
        "15 validation rows are few: of other rows like them the model may have between "
        f"{math.floor(100.0 * low)}% and {math.ceil(100.0 * high)}% right (95% confidence)."
    ) in answer(few, "the model").meaning
    many, labels = np.vstack([X, X]), np.append(Y, Y)
    report = audit_estimator(model, X, Y, many, labels, epsilons=(), time_limit=1.0)
    assert "rows are few" not in answer(report, "the model").meaning


def test_where_models_disagree_on_each_row_there_are_no_others() -> None:
    model = LogisticRegression().fit(X, Y)
    report = audit_estimator(model, X, Y, X, Y, epsilon=3.0, epsilons=(), time_limit=1.0)
    assert report.ambiguous.all()
    assert answer(report, "the model").groups[0].bars[-1].more == "all of them"


def test_where_any_row_may_be_disagreed_on_no_bound_is_shown() -> None:
    model = LogisticRegression().fit(X, Y)
    report = audit_estimator(model, X, Y, X, Y, epsilon=3.0, epsilons=(), time_limit=1.0)
    assert report.ambiguous.all()
    low = report.found_low.copy()
    low[0] = report.found_high[0]  # as if no model had been found on the other side
    report = replace(report, found_low=low, discrepancy=report.best_error)
    shown = answer(report, "the model").groups[0].bars[-1]
    assert (shown.words, shown.bound, shown.more) == ("59 of 60", None, "found; 1 not settled")


def test_equal_rows_of_hundreds_of_columns_share_a_line_without_a_warning() -> None:
    model = LogisticRegression().fit(X, Y)
    twice = np.repeat([0, 1, 2], 2)
    rows, labels = pd.DataFrame(X[twice]), Y[twice]
    report = audit_estimator(model, X, Y, rows, labels, epsilon=3.0, epsilons=(), time_limit=1.0)
    assert report.ambiguous.all()
    cells = pd.DataFrame({f"c{k}": twice * k for k in range(130)}, index=rows.index)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (section,) = disagreement(report, cells)
    (table,) = section.parts
    assert isinstance(table, Table)
    assert table.frame["rows"].tolist() == ["0, 1", "2, 3", "4, 5"]
    assert table.frame.columns[-130:].tolist() == cells.columns.tolist()
