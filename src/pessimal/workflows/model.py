"""A tuned linear classifier with what it needs to read later rows, and its file in JSON.

The file has a stated format, ``model_file.schema.json``, against which it is checked on reading:
nothing in it is ever executed, and a file that is not a model is refused.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
import pandas as pd

from pessimal import __version__
from pessimal.atomic import write_text
from pessimal.errors import InvalidInputError, shortened
from pessimal.near_optimal.prediction import of_scores
from pessimal.tabular import Column, ColumnEncoder
from pessimal.workflows.checked import WrongContent, check, numbers
from pessimal.workflows.enclosures import AnyEnclosure, fields_of, read_enclosure

Fact: TypeAlias = str | int | float | bool | None
Label: TypeAlias = str | int | float | bool

FORMAT = "pessimal model"
VERSION = 1
BOX = "svc-box"
"""The kind of a file that does not name one: files of a box never did."""


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
    equally_good : Enclosure, BoxEnclosure or None
        What bounds the scores of all models that train as well, without the rows they trained on;
        None in files of earlier versions, and for very many features.
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
    equally_good: AnyEnclosure | None = field(default=None, compare=False, repr=False)

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
            ``prediction`` and ``score``; ``low`` and ``high``, scores that no model passes which
            trains as well; ``agreement``, whether all these models predict one class: "yes", "no"
            or "not known". All are missing for rows with missing cells, and the ranges where
            there is no bound, as of a model without ``equally_good``.

        Examples
        --------
        >>> encoder = ColumnEncoder((Column("size"),))
        >>> model = TunedModel("kind", ("a", "b"), encoder, (1.0,), -2.0, (1.0,), "", {})
        >>> model.predict(pd.DataFrame({"size": [1.0, 3.0, None]}))
          prediction  score  low  high  agreement
        0          a   -1.0  NaN   NaN  not known
        1          b    1.0  NaN   NaN  not known
        2       None    NaN  NaN   NaN       None
        """
        with np.errstate(all="ignore"):  # numbers of any size may stand in a file
            return self._predict(frame)

    def _predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        features = self.encoder.features(frame).to_numpy()
        scores = features @ np.array(self.coef) + self.intercept
        known = np.isfinite(scores)
        scores[~known] = np.nan
        low, high = np.full((2, len(scores)), np.nan)
        agreement = np.full(len(scores), None, dtype=object)
        agreement[known] = "not known"
        if self.equally_good is not None and known.any():
            said = of_scores(*self.equally_good.score_range(features[known]), True, "score")
            low[known], high[known], agreement[known] = said.low, said.high, said.agreement
            low[np.isinf(low)], high[np.isinf(high)] = np.nan, np.nan  # which bounds nothing
        labels = [
            None if np.isnan(score) else self.classes[int(score > 0.0)] for score in scores.tolist()
        ]
        return pd.DataFrame(
            {
                "prediction": pd.Series(labels, dtype=object, index=frame.index),
                "score": scores,
                "low": low,
                "high": high,
                "agreement": pd.Series(agreement, dtype=object, index=frame.index),
            },
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
        **({"equally_good": fields_of(model.equally_good)} if model.equally_good else {}),
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
    except WrongContent as wrong:
        raise InvalidInputError(
            f"{path} is not a model file: {wrong}; write it again with pessimal tune"
        ) from None


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
    check(content)
    columns = tuple(_column(item) for item in content["columns"])
    if len({column.name for column in columns}) < len(columns):
        raise WrongContent("columns is empty or names a column twice")
    encoder = ColumnEncoder(columns)
    n_features = len(encoder.feature_names)
    kind = content.get("kind", BOX)
    if kind != BOX and "box" in content:
        raise WrongContent(f"kind is {shortened(kind)}, which has no box")
    return TunedModel(
        target=content["target"],
        classes=tuple(content["classes"]),
        encoder=encoder,
        coef=numbers("coef", content["coef"], n_features),
        intercept=float(content["intercept"]),
        box=numbers("box", content["box"], n_features) if kind == BOX else None,
        guarantee=content["guarantee"],
        facts=content["facts"],
        kind=kind,
        equally_good=(
            read_enclosure(content["equally_good"], n_features)
            if "equally_good" in content
            else None
        ),
    )


def _column(content: dict[str, Any]) -> Column:
    name, categories, fill = content["name"], content.get("categories"), content.get("fill")
    if categories is None:
        return Column(name, fill=None if fill is None else float(fill))
    if fill is not None and fill not in categories:
        raise WrongContent(
            f"fill of {name!r} is {shortened(fill)}, which is none of its categories"
        )
    return Column(name, tuple(categories), fill)
