"""A tuned linear classifier with what it needs to read later rows, and its file in JSON.

The file has a stated format, checked field by field on reading: nothing in it is ever executed, and
a file that is not exactly a model is refused.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from pessimal import __version__
from pessimal.atomic import write_text
from pessimal.errors import InvalidInputError, shortened
from pessimal.tabular import Column, ColumnEncoder

Fact: TypeAlias = str | int | float | bool | None
Label: TypeAlias = str | int | float | bool

FORMAT = "pessimal model"
VERSION = 1
BOX = "svc-box"
"""The kind of a file that does not name one: files of a box never did."""

_KINDS = {dict: "an object", list: "a list", str: "text"}
_T = TypeVar("_T", dict[str, Any], list[Any], str)


@dataclass(frozen=True)
class TunedModel:
    """A linear classifier of the rows of a table.

    Attributes
    ----------
    target : str
        Name of the column it predicts.
    classes : tuple
        The class of a negative and the class of a positive score.
    encoder : ColumnEncoder
        How columns become features.
    coef, intercept : tuple of float, float
        The score is ``features @ coef + intercept``, features in the units of the table.
    box : tuple of float or None
        The tuned limits on the weights of the standardised features; None for another kind of
        model, which has none.
    guarantee : str
        What was proved, in one sentence.
    facts : mapping
        How it was tuned and what came out, under plain names.
    kind : str
        What was tuned: "svc-box", or another linear model.
    """

    target: str
    classes: tuple[Label, Label]
    encoder: ColumnEncoder
    coef: tuple[float, ...]
    intercept: float
    box: tuple[float, ...] | None
    guarantee: str
    facts: Mapping[str, Fact]
    kind: str = BOX

    @property
    def recipe(self) -> ColumnEncoder:
        """The former name of `encoder`."""
        warnings.warn("TunedModel.recipe is now TunedModel.encoder", FutureWarning, stacklevel=2)
        return self.encoder

    def predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Score and classify the rows of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
            With the columns of the encoder.

        Returns
        -------
        pandas.DataFrame
            ``prediction`` and ``score``, both missing for rows with missing cells.

        Examples
        --------
        >>> encoder = ColumnEncoder((Column("size"),))
        >>> model = TunedModel("kind", ("a", "b"), encoder, (1.0,), -2.0, (1.0,), "", {})
        >>> model.predict(pd.DataFrame({"size": [1.0, 3.0, None]}))
          prediction  score
        0          a   -1.0
        1          b    1.0
        2       None    NaN
        """
        scores = self.encoder.features(frame).to_numpy() @ np.array(self.coef) + self.intercept
        labels = [
            None if np.isnan(score) else self.classes[int(score > 0.0)] for score in scores.tolist()
        ]
        return pd.DataFrame(
            {"prediction": pd.Series(labels, dtype=object, index=frame.index), "score": scores},
            index=frame.index,
        )


def write_model(model: TunedModel, path: Path) -> None:
    """Write a model file.

    Examples
    --------
    >>> import tempfile
    >>> encoder = ColumnEncoder((Column("size"),))
    >>> model = TunedModel("kind", ("a", "b"), encoder, (1.0,), -2.0, (1.0,), "", {"epsilon": 0.2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(model, Path(folder) / "model.json")
    ...     read_model(Path(folder) / "model.json") == model
    True
    """
    content = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"pessimal {__version__}",
        **({"kind": model.kind} if model.kind != BOX else {}),
        "target": model.target,
        "classes": model.classes,
        "columns": [asdict(column) for column in model.encoder.columns],
        "coef": model.coef,
        "intercept": model.intercept,
        **({"box": model.box} if model.box is not None else {}),
        "guarantee": model.guarantee,
        "facts": dict(model.facts),
    }
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_model(path: Path) -> TunedModel:
    """Read a model file, and refuse whatever is not one.

    Parameters
    ----------
    path : Path

    Returns
    -------
    TunedModel
        Without the notes of its encoder.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_distinct)
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be read ({error.strerror}); pass a model file written by pessimal tune"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{path} is not JSON ({error}); pass a model file written by pessimal tune"
        ) from None
    try:
        return _model(content)
    except _Wrong as wrong:
        raise InvalidInputError(
            f"{path} is not a model file: {wrong}; write it again with pessimal tune"
        ) from None


class _Wrong(Exception):  # noqa: N818 (becomes an error of the package, with the path)
    """What is wrong with the content of a file."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs; of a name given twice, JSON readers differ on which counts."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the name {shortened(name)} stands more than once in an object")
    return fields


def _model(content: Any) -> TunedModel:
    fields = _of_kind(dict, "the file", content)
    if fields.get("format") != FORMAT:
        raise _Wrong(f"format is {shortened(fields.get('format'))} instead of {FORMAT!r}")
    if type(fields.get("version")) is not int or fields["version"] != VERSION:
        raise _Wrong(
            f"version is {shortened(fields.get('version'))}, and this program reads {VERSION}"
        )
    columns = tuple(_column(item) for item in _of_kind(list, "columns", fields.get("columns")))
    encoder = ColumnEncoder(columns)
    names = [column.name for column in columns]
    if not names or len(set(names)) < len(names):
        raise _Wrong("columns is empty or names a column twice")
    classes = tuple(_label(item) for item in _of_kind(list, "classes", fields.get("classes")))
    if len(classes) != 2 or classes[0] == classes[1]:
        raise _Wrong("classes are not two different labels")
    n_features = len(encoder.feature_names)
    kind = _of_kind(str, "kind", fields.get("kind", BOX))
    if kind != BOX and "box" in fields:
        raise _Wrong(f"kind is {shortened(kind)}, which has no box")
    facts = _of_kind(dict, "facts", fields.get("facts"))
    return TunedModel(
        target=_of_kind(str, "target", fields.get("target")),
        classes=(classes[0], classes[1]),
        encoder=encoder,
        coef=_numbers("coef", fields.get("coef"), n_features),
        intercept=_number("intercept", fields.get("intercept")),
        box=_numbers("box", fields.get("box"), n_features) if kind == BOX else None,
        guarantee=_of_kind(str, "guarantee", fields.get("guarantee")),
        facts={name: None if fact is None else _label(fact) for name, fact in facts.items()},
        kind=kind,
    )


def _column(content: Any) -> Column:
    fields = _of_kind(dict, "a column", content)
    name = _of_kind(str, "the name of a column", fields.get("name"))
    fill = fields.get("fill")
    if fields.get("categories") is None:
        return Column(name, fill=None if fill is None else _number(f"fill of {name!r}", fill))
    categories = tuple(
        _of_kind(str, f"a category of {name!r}", item)
        for item in _of_kind(list, f"categories of {name!r}", fields["categories"])
    )
    if not categories or len(set(categories)) < len(categories):
        raise _Wrong(f"categories of {name!r} are none, or one of them is there twice")
    if fill is not None and fill not in categories:
        raise _Wrong(f"fill of {name!r} is {shortened(fill)}, which is none of its categories")
    return Column(name, categories, fill)


def _of_kind(kind: type[_T], name: str, value: Any) -> _T:
    if not isinstance(value, kind):
        raise _Wrong(f"{name} is {shortened(value)} instead of {_KINDS[kind]}")
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise _Wrong(f"{name} is {shortened(value)} instead of a finite number")


def _numbers(name: str, value: Any, length: int) -> tuple[float, ...]:
    values = _of_kind(list, name, value)
    if len(values) != length:
        raise _Wrong(f"{name} has {len(values)} numbers for {length} features")
    return tuple(_number(f"a number of {name}", item) for item in values)


def _label(value: Any) -> str | int | float | bool:
    return value if isinstance(value, str | int) else _number("a label or fact", value)
