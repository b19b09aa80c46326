"""The tables that the paper prints, to the digit.

Table 1 has the sizes of the data sets; A1 the accuracies with limited data; A2 and A3 those with
perturbed test rows, on clean and on perturbed validation rows. Accuracies come with the standard
deviation over the paper's runs. The first five deviations of the pessimistic column for Cancer in
Table A3 are ten times their neighbours; they are kept as printed.
"""

from __future__ import annotations

from importlib import resources
from typing import Literal

import pandas as pd


def paper_table(name: Literal["1", "a1", "a2", "a3"]) -> pd.DataFrame:
    """Return a table of the paper.

    Parameters
    ----------
    name : {"1", "a1", "a2", "a3"}
        Its number.

    Returns
    -------
    DataFrame
        Keys first (``data``; ``n_val`` and ``n_train``, or ``rho_val`` and ``rho_test``), then the
        columns ``pessimistic`` and ``optimistic``, each with its ``_std``; for Table 1 ``n_rows``,
        ``n_test`` and ``n_features``.

    Examples
    --------
    >>> paper_table("a1").head(1).to_numpy().tolist()
    [['cancer', 5, 5, 0.861, 0.066, 0.6, 0.199]]
    """
    file = resources.files("pessimal.report") / "paper" / f"table_{name}.csv"
    with file.open(encoding="utf-8") as text:
        return pd.read_csv(text)
