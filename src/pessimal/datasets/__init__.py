"""The paper's two UCI data sets, its splits, and two ways to scale features.

Raw numbers come out of `load_cancer` and `load_diabetes`; `split` draws the training, validation
and test sets; scaling is a separate, explicit step, because the paper's way of doing it
(`standardize_all_rows`) lets the test rows influence the features and the other
(`standardize_on_tuning_rows`) does not.
"""

from pessimal.datasets.scaling import (
    paper_split,
    standardize_all_rows,
    standardize_on_tuning_rows,
)
from pessimal.datasets.splits import Split, split
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
