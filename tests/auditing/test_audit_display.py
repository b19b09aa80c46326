"""What a reader sees of a report: text, figure, HTML."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from pessimal.auditing import AuditReport, audit

EVIL = "<img src=x onerror=alert(1)>"


def report_with_names(name: str) -> AuditReport:
    """Every name a user can give carries `name`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14, 2))
    y = np.where(X[:, 0] + rng.normal(size=14) > 0.0, f"yes {name}", f"no {name}")
    y[:2] = f"yes {name}", f"no {name}"
    columns = [f"a {name}", f"b {name}"]
    index = [f"point {k} {name}" for k in range(6)]
    return audit(
        pd.DataFrame(X[:8], columns=columns),
        y[:8],
        pd.DataFrame(X[8:], columns=columns, index=index),
        y[8:],
        box=0.5,
        epsilon=0.4,
    )


@pytest.fixture(scope="module")
def report() -> AuditReport:
    return report_with_names("")


class Tags(HTMLParser):
    """Collects the tags of a page, and complains when they do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_names_with_markup_stay_text_in_html() -> None:
    evil = report_with_names(EVIL)
    assert evil.ambiguous.any()
    tags = Tags(evil._repr_html_())
    table = {"table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"}
    plain = {"div", "style", "p", "strong", "span", "details", "summary"}
    assert tags.seen == plain | table | {"svg", "rect"}
    assert not [name for name, _ in tags.attributes if name.startswith("on") or name == "src"]
    for name in (f"a {EVIL}", f"yes {EVIL}", f"point {int(evil.ambiguous.argmax())} {EVIL}"):
        assert name in tags.text


def test_html_and_text_lead_to_the_guarantee(report: AuditReport) -> None:
    assert report.guarantee in Tags(report._repr_html_()).text
    assert report.guarantee in " ".join(str(report).split())
    assert report.guarantee.startswith("No model that trains this well does worse than")
    assert f"{report.worst_loss.value:.4f}" in str(report)
    assert str(report) == report.summary()
    assert max(map(len, str(report).splitlines())) <= 80


def test_the_guarantee_never_promises_more_than_was_proved(report: AuditReport) -> None:
    words = report.guarantee.split()
    assert float(words[words.index("and") - 1]) >= report.worst_loss.bound - 1e-6
    assert int(words[words.index("and") + 1]) >= report.worst_error.bound * report.n_val - 1e-6


def test_the_repr_fits_a_terminal_and_holds_no_tables(report: AuditReport) -> None:
    assert "worst_loss=Extreme(value=" in repr(report)
    assert "array" not in repr(report)


def test_the_figure_has_two_labelled_panels_and_leaves_pyplot_alone(report: AuditReport) -> None:
    before = plt.get_fignums()
    figure = report.plot()
    figure.savefig(BytesIO(), format="png")
    assert plt.get_fignums() == before
    left, right = figure.axes
    assert left.get_xlabel() == "ε (share of the least training loss)"
    assert left.get_ylabel() == "validation loss (mean hinge)"
    assert "validation points" in right.get_xlabel()
    assert "score" in right.get_ylabel()


def test_the_figure_shows_the_numbers_of_the_report(report: AuditReport) -> None:
    left, right = report.plot().axes
    drawn = {line.get_label(): line.get_ydata() for line in left.lines}
    assert np.array_equal(drawn["worst model"], report.curve.worst_loss)
    assert np.array_equal(drawn["best model"], report.curve.best_loss)
    n_segments = {bars.get_label(): len(bars.get_paths()) for bars in right.collections}
    assert n_segments["models disagree (ambiguous)"] == report.ambiguous.sum()
    assert n_segments["all agree"] == (~report.ambiguous).sum()


def test_a_class_called_like_a_formula_is_drawn_as_text() -> None:
    report_with_names(r"$\frac$ _x").plot().savefig(BytesIO(), format="png")


def test_a_report_survives_pickling(report: AuditReport) -> None:
    assert str(pickle.loads(pickle.dumps(report))) == str(report)
