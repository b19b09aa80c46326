"""A tuned linear classifier together with what it needs to read a table of later rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd

from pessimal.tabular import Recipe

Fact: TypeAlias = str | int | float | bool | None
Label: TypeAlias = str | int | float | bool


@dataclass(frozen=True)
class TunedModel:
    """A linear classifier of the rows of a table.

    Attributes
    ----------
    target : str
        Name of the column it predicts.
    classes : tuple
        The class of a negative and the class of a positive score.
    recipe : Recipe
        How columns become features.
    coef, intercept : tuple of float, float
        The score is ``features @ coef + intercept``, features in the units of the table.
    box : tuple of float
        The tuned limits on the weights of the standardised features.
    guarantee : str
        What was proved about the box, in one sentence.
    facts : mapping
        How it was tuned and what came out, under plain names.
    """

    target: str
    classes: tuple[Label, Label]
    recipe: Recipe
    coef: tuple[float, ...]
    intercept: float
    box: tuple[float, ...]
    guarantee: str
    facts: Mapping[str, Fact]

    def predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Score and classify the rows of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
            With the columns of the recipe.

        Returns
        -------
        pandas.DataFrame
            ``prediction`` and ``score``, both missing for rows with missing cells.

        Examples
        --------
        >>> from pessimal.tabular import Column
        >>> recipe = Recipe((Column("size"),))
        >>> model = TunedModel("kind", ("a", "b"), recipe, (1.0,), -2.0, (1.0,), "", {})
        >>> model.predict(pd.DataFrame({"size": [1.0, 3.0, None]}))
          prediction  score
        0          a   -1.0
        1          b    1.0
        2       None    NaN
        """
        scores = self.recipe.features(frame).to_numpy() @ np.array(self.coef) + self.intercept
        labels = [
            None if np.isnan(score) else self.classes[int(score > 0.0)] for score in scores.tolist()
        ]
        return pd.DataFrame(
            {"prediction": pd.Series(labels, dtype=object, index=frame.index), "score": scores},
            index=frame.index,
        )
