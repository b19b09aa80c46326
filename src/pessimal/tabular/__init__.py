"""Tables from files: read them, name the rows' two classes, turn columns into features."""

from pessimal.tabular.files import Source, read_source
from pessimal.tabular.labelled import Labelled, with_labels
from pessimal.tabular.recipe import Column, Missing, Recipe, Text, make_recipe
from pessimal.tabular.rows import CompleteRows, complete_rows, draw_rows, require_both_classes

__all__ = [
    "Column",
    "CompleteRows",
    "Labelled",
    "Missing",
    "Recipe",
    "Source",
    "Text",
    "complete_rows",
    "draw_rows",
    "make_recipe",
    "read_source",
    "require_both_classes",
    "with_labels",
]
