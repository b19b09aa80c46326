"""Arguments and options that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer


def number(value: float | None) -> float | None:
    """Refuse what is not a finite number."""
    # The limits of an option let "nan" and "inf" through.
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


def positive(value: float | None) -> float | None:
    """Refuse what is not a positive number."""
    if value is not None and not (math.isfinite(value) and value > 0.0):
        raise typer.BadParameter(f"{value} is not a positive number.")
    return value


def tolerance(words: str, default: bool | str = True) -> Any:
    """Return an option that is a number from 0 on; `default` says what it is if not given."""
    return typer.Option(
        metavar="NUMBER", min=0.0, callback=number, show_default=default, help=words
    )


Data: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A CSV or Parquet file with a header, or one of cancer, diabetes."
    ),
]
Target: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The column that holds the two classes. Needed for files."),
]
Drop: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; may be repeated.")
]
Missing: TypeAlias = Annotated[
    Literal["drop", "fill"],
    typer.Option(
        help="Rows with missing cells: drop them, or fill the cells with the column's median "
        "(text: the most frequent)."
    ),
]
Text: TypeAlias = Annotated[
    Literal["refuse", "one-hot"],
    typer.Option(help="Text columns: refuse them, or make a feature of 0 and 1 of each category."),
]
ClassWeight: TypeAlias = Annotated[
    Literal["none", "balanced"],
    typer.Option(
        help="How classes weigh in training: by their rows, or both the same, for a rare class "
        "that matters. Not for svc-box."
    ),
]
Model: TypeAlias = Literal["logistic", "linear-svc", "ridge", "forest", "boosting", "svc-box"]
Delta: TypeAlias = Annotated[
    float,
    tolerance(
        "With --box: see epsilon. Where the training rows can be fitted without loss, only delta "
        "counts."
    ),
]
TimeLimit: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", callback=positive, help="Stop after this long.")
]
Seed: TypeAlias = Annotated[
    int, typer.Option(metavar="NUMBER", min=0, max=2**32 - 1, help="Seed of every random draw.")
]
Page: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE.html", help="Write a page with figures to this file.")
]
PAGE_SECONDS, PAGE_SHARE = 1.0, 0.4
"""For drawing the figures of a page; of a short time limit no more than this share."""


def seconds_before(page: Path | None, time_limit: float) -> float:
    """Return how much of a time limit there is until the page has to be drawn, if one is."""
    return time_limit - (min(PAGE_SECONDS, PAGE_SHARE * time_limit) if page else 0.0)


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
