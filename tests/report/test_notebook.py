"""Results show themselves in a notebook, and write their page, from Python."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from pessimal import audit_estimator
from pessimal.tabular import Source, with_labels
from pessimal.workflows import SearchSettings, Settings, search_table, tune_table

RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(RNG.normal(size=(40, 2)).round(1), columns=["dose", "age & sex"])
FRAME["cured"] = (FRAME["dose"] + 0.5 * RNG.normal(size=40) > 0.0).astype(int)


@pytest.fixture(scope="module")
def results() -> dict[str, object]:
    table = with_labels(Source("trial.csv", FRAME), "cured")
    X, y = FRAME[["dose", "age & sex"]], FRAME["cured"]
    model = LogisticRegression().fit(X[:20], y[:20])
    return {
        "search": search_table(table, SearchSettings(model="ridge", test_size=0.5)),
        "box": tune_table(table, Settings(view="optimistic", test_size=0.5)),
        "audit": audit_estimator(model, X[:20], y[:20], X[20:], y[20:], epsilons=()),
    }


@pytest.mark.parametrize("name", ["search", "box", "audit"])
def test_a_result_has_a_page_and_a_first_screen_that_say_the_same(
    results: dict[str, object], name: str, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    results[name].to_html(path, title="/some/folder/trial.csv")  # type: ignore[attr-defined]
    page, shown = path.read_text("utf-8"), results[name]._repr_html_()  # type: ignore[attr-defined]
    lead = page.partition('<p class="lead">')[2].partition("</p>")[0]
    assert lead
    assert f'<p class="lead">{lead}</p>' in shown
    assert "trial.csv" in page
    assert "/some/folder" not in page
    assert "<script" not in page + shown
    assert "age &amp; sex" in page


def test_classes_0_and_1_are_no_and_yes(results: dict[str, object]) -> None:
    shown = results["audit"]._repr_html_()  # type: ignore[attr-defined]
    assert "always “yes”" in shown or "always “no”" in shown
    assert "speaks for “yes”" in shown


def test_rows_with_the_same_entries_share_a_line(tmp_path: Path) -> None:
    X = pd.DataFrame({"a": [-2.0, -1.0, 1.0, 2.0, 0.5, -0.5]})
    y = ["no", "no", "yes", "yes", "no", "yes"]
    model = LogisticRegression().fit(X, y)
    rows = pd.DataFrame({"a": [0.1, 3.0, 0.1]}, index=[7, 8, 9])
    report = audit_estimator(model, X, y, rows, ["yes", "yes", "yes"], epsilon=0.2, epsilons=())
    report.to_html(tmp_path / "page.html", rows=rows.rename(columns={"a": "as written"}))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert report.ambiguous.tolist() == [True, False, True]
    assert "<td>7, 9</td><td>yes</td>" in page
    assert "as written" in page


def test_a_regressor_is_told_by_what_its_predictions_are_off_by() -> None:
    X = RNG.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + RNG.normal(size=60)
    model = Ridge().fit(X[:30], y[:30])
    report = audit_estimator(model, X[:30], y[:30], X[30:], y[30:], epsilons=())
    shown = report._repr_html_()
    off = np.sqrt(np.mean((model.predict(X[30:]) - y[30:]) ** 2))
    assert f"<strong>{off:.4g}</strong>" in shown
    assert f"<strong>{np.sqrt(np.mean((y[:30].mean() - y[30:]) ** 2)):.4g}</strong>" in shown
    assert "Read a prediction as a range" in shown
