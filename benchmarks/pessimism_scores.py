"""What the accuracies show: tables of paired differences, and a sentence on them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from grouping import split_by
from pessimism_accuracy import (
    DELTA,
    EPSILON,
    PAPER,
    RADIUS,
    REFERENCE,
    TIME_LIMIT,
    TRUE,
    Draw,
    Score,
)
from wording import seconds, table

Scores = Mapping[Draw, Sequence[Score]]


def section(found: Scores) -> list[str]:
    """Return the section of the page."""
    n_seeds = len({draw.seed for draw in found})
    return [
        "## Does it generalise better?",
        f"Half of the rows train and half validate, ε = {EPSILON:g} and δ = {DELTA:g} together, "
        f"{n_seeds} seeds; the final model of our estimators is the default, the mean of the "
        f"near-optimal ones; tuning has {TIME_LIMIT:g} s. Accuracy in per cent on half of the data "
        "set, which tuning has not seen, as it is and *attacked*: every row moved against its "
        f"label by the strongest step of length {RADIUS:g} (features scaled) against the model at "
        f"hand. Differences to plain `{REFERENCE}` on all tuning rows, in points, are paired; ± is "
        "their standard error.",
        _table(found),
        "\n".join(
            _verdict(found, method, other) for method in TRUE for other in (REFERENCE, PAPER)
        ),
        *(
            f"### {data}, {n_rows} rows\n\n{_table(part)}"
            for (data, n_rows), part in split_by(found, lambda d: (d.data, d.n_rows)).items()
        ),
    ]


def _verdict(found: Scores, method: str, other: str) -> str:
    plain, attacked = (_difference(found, method, other, attack) for attack in (False, True))
    return (
        f"- {method}, against {other}: {_word(*plain)} as rows are ({_signed(*plain)} points), "
        f"{_word(*attacked)} attacked ({_signed(*attacked)})."
    )


def _word(points: float, error: float) -> str:
    """Call a difference one if it is larger than two standard errors."""
    if not abs(points) > 2.0 * error:
        return "no clear difference"
    return "better" if points > 0.0 else "worse"


def _table(found: Scores) -> str:
    lines = []
    for name in (score.method for score in next(iter(found.values()))):
        own = _scores(found, name)
        tuned = [score.seconds for score in own if score.seconds is not None]
        proofs = [score.proved for score in own if score.proved is not None]
        lines.append(
            [
                name,
                f"{100.0 * statistics.fmean(score.accuracy for score in own):.1f}",
                _signed(*_difference(found, name, REFERENCE, attacked=False)),
                f"{100.0 * statistics.fmean(score.attacked for score in own):.1f}",
                _signed(*_difference(found, name, REFERENCE, attacked=True)),
                seconds(statistics.median(tuned)) if tuned else "",
                f"{statistics.fmean(proofs):.0%}" if proofs else "",
            ]
        )
    head = ["method", "accuracy", "difference", "attacked", "difference", "seconds", "proved"]
    return table(head, lines)


def _scores(found: Scores, method: str) -> list[Score]:
    return [score for scores in found.values() for score in scores if score.method == method]


def _difference(found: Scores, method: str, other: str, attacked: bool) -> tuple[float, float]:
    """Return the mean of the paired differences in points, and its standard error."""
    points = [
        100.0 * (own.attacked - its.attacked if attacked else own.accuracy - its.accuracy)
        for own, its in zip(_scores(found, method), _scores(found, other), strict=True)
    ]
    error = statistics.stdev(points) / len(points) ** 0.5 if len(points) > 1 else float("nan")
    return statistics.fmean(points), error


def _signed(points: float, error: float) -> str:
    return f"{points:+.1f} ± {error:.1f}"
