"""The audit report as a piece of HTML for a notebook: self-contained, every name escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pessimal.auditing.text import findings, scope
from pessimal.auditing.text import table as losses
from pessimal.markup import element, table, text

if TYPE_CHECKING:
    from pessimal.auditing.report import AuditReport

_LONGEST = 100
"""Rows of a folded table; `AuditReport.to_frame` has them all."""


def as_html(report: AuditReport) -> str:
    """Lead with the guarantee, then the numbers; fold the points and the models away."""
    points = report.to_frame().assign(low=report.found_low, high=report.found_high)
    points = points[report.ambiguous]
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
            element("p", f"<strong>{text(report.guarantee)}</strong>"),
            table(losses(report)),
            *(element("p", text(sentence)) for sentence in findings(report)),
            _folded(
                f"{len(points)} points found ambiguous",
                [
                    ("point", "label", "lowest score found", "highest score found"),
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
            *(element("p", text(words)) for words in (scope(report), *report.notes)),
            "</div>",
        ]
    )


def _folded(title: str, rows: list[tuple[Any, ...]]) -> str:
    shown = rows[: _LONGEST + 1]
    left = len(rows) - len(shown)
    more = element("p", f"and {left} more") if left else ""
    return element("details", element("summary", text(title)) + table(shown) + more)
