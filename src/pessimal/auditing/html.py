"""The audit report as a piece of HTML for a notebook: self-contained, every name escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from pessimal.auditing.text import findings, scope, table

if TYPE_CHECKING:
    from pessimal.auditing.report import AuditReport

_LONGEST = 100
"""Rows of a folded table; `AuditReport.to_frame` has them all."""


def as_html(report: AuditReport) -> str:
    """Lead with the guarantee, then the numbers; fold the points and the models away."""
    points = report.to_frame()[report.ambiguous]
    models = zip(
        report.feature_names,
        report.box,
        report.best_loss.coef,
        report.reference.coef,
        report.worst_loss.coef,
        strict=True,
    )
    intercepts = (end.intercept for end in (report.best_loss, report.reference, report.worst_loss))
    return "".join(
        [
            "<div>",
            _element("p", f"<strong>{escape(report.guarantee)}</strong>"),
            _table(table(report)),
            *(_element("p", escape(sentence)) for sentence in findings(report)),
            _folded(
                f"{len(points)} ambiguous points",
                [
                    ("point", "label", "lowest score", "highest score"),
                    *(
                        (name, label, f"{low:.3f}", f"{high:.3f}")
                        for name, label, low, high, _ in points.itertuples(name=None)
                    ),
                ],
            ),
            _folded(
                "coefficients",
                [
                    ("feature", "box", "best loss", "chosen", "worst loss"),
                    *((name, *(f"{value:.4g}" for value in values)) for name, *values in models),
                    ("intercept", "", *(f"{value:.4g}" for value in intercepts)),
                ],
            ),
            *(_element("p", escape(text)) for text in (scope(report), *report.notes)),
            "</div>",
        ]
    )


def _folded(title: str, rows: list[tuple[Any, ...]]) -> str:
    shown = rows[: _LONGEST + 1]
    left = len(rows) - len(shown)
    more = _element("p", f"and {left} more") if left else ""
    return _element("details", _element("summary", escape(title)) + _table(shown) + more)


def _table(rows: Iterable[tuple[Any, ...]]) -> str:
    header, *body = rows
    lines = [_row("th", header), *(_row("td", cells) for cells in body)]
    return _element("table", "".join(lines))


def _row(tag: str, cells: tuple[Any, ...]) -> str:
    return _element("tr", "".join(_element(tag, escape(str(cell))) for cell in cells))


def _element(tag: str, content: str) -> str:
    return f"<{tag}>{content}</{tag}>"
