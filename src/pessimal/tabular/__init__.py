"""Tables from files: read them, name the rows' two classes, turn columns into features."""

import warnings

from pessimal.tabular.columns import Column, ColumnEncoder, Missing, Text, make_column_encoder
from pessimal.tabular.files import Source, read_source
from pessimal.tabular.rows import (
    CompleteRows,
    Labelled,
    complete_rows,
    draw_rows,
    require_both_classes,
    with_labels,
)

__all__ = [
    "Column",
    "ColumnEncoder",
    "CompleteRows",
    "Labelled",
    "Missing",
    "Source",
    "Text",
    "complete_rows",
    "draw_rows",
    "make_column_encoder",
    "read_source",
    "require_both_classes",
    "with_labels",
]

_FORMER = {"Recipe": "ColumnEncoder", "make_recipe": "make_column_encoder"}


def __getattr__(name: str) -> object:
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is now {_FORMER[name]}", FutureWarning, stacklevel=2)
    return globals()[_FORMER[name]]
