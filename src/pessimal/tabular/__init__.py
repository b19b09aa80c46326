"""Tables from files: read them, name the rows' two classes, turn columns into features."""

from pessimal.moved import renamed
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

__getattr__ = renamed(
    __name__,
    {
        "Recipe": "pessimal.tabular.ColumnEncoder",
        "make_recipe": "pessimal.tabular.make_column_encoder",
    },
)
