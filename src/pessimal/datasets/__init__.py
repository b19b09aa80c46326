"""The paper's two UCI data sets as raw numbers, its splits, and two ways to scale features."""

from pessimal.datasets.splits import (
    Split,
    paper_split,
    split,
    standardize_all_rows,
    standardize_on_tuning_rows,
)
from pessimal.datasets.uci import Dataset, load_cancer, load_diabetes

__all__ = [
    "Dataset",
    "Split",
    "load_cancer",
    "load_diabetes",
    "paper_split",
    "split",
    "standardize_all_rows",
    "standardize_on_tuning_rows",
]
