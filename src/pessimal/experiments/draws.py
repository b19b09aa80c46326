"""A draw of the paper's data: rows to tune on and rows to test on, named by data set and seed."""

from __future__ import annotations

from pessimal.datasets import Split, load_cancer, load_diabetes, paper_split
from pessimal.problem import TuningProblem

_LOADERS = {"cancer": load_cancer, "diabetes": load_diabetes}
DATA_SETS = tuple(_LOADERS)


def draw(data: str, n_train: int, n_val: int, seed: int) -> Split:
    """Return the rows that a data set's name, two sizes and a seed stand for.

    Examples
    --------
    >>> draw("cancer", n_train=20, n_val=10, seed=0)
    Split(n_train=20, n_val=10, n_test=225, n_features=9)
    """
    return paper_split(_LOADERS[data](), n_train, n_val, seed)


def tuning_problem(split: Split) -> TuningProblem:
    """Return the problem of tuning on the rows of a draw, in the paper's limits 0 and 1."""
    return TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)
