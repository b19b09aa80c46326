"""Wisconsin Breast Cancer (Original) and Pima Indians Diabetes, cleaned as the paper does.

The files beside this module are the raw tables; ``data/TERMS.md`` says where they come from and
on which terms. The cleaning of the paper's section on UCI data happens here, in code: identifiers
and the class in words are dropped, then rows with a missing value, then repeated rows. That leaves
the paper's Table 1: 449 rows of 9 features (Cancer) and 768 rows of 8 (Diabetes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources

import numpy as np
import pandas as pd

from pessimal.problem import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of raw features with labels −1 and +1.

    Attributes
    ----------
    name : str
        Short name, ``"cancer"`` or ``"diabetes"``.
    X : ndarray of shape (n_rows, p)
        Features in their original units, not scaled; read-only.
    y : ndarray of shape (n_rows,)
        Labels −1 and +1; read-only.
    feature_names : tuple of str
        Names of the p columns.
    source : str
        Where the data come from, to be named wherever they are used.
    """

    name: str
    X: Matrix = field(repr=False)
    y: Vector = field(repr=False)
    feature_names: tuple[str, ...]
    source: str

    def __post_init__(self) -> None:
        self.X.setflags(write=False)
        self.y.setflags(write=False)


def load_cancer() -> Dataset:
    """Wisconsin Breast Cancer (Original): 449 rows, 9 features from 1 to 10, +1 = malignant.

    Of the 699 raw rows, 16 lack a value and 234 repeat the features of an earlier row; both kinds
    are dropped, as in the paper. 213 benign and 236 malignant rows remain.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> cancer = load_cancer()
    >>> cancer.X.shape, int((cancer.y == 1).sum())
    ((449, 9), 236)
    """
    return _load(
        name="cancer",
        file="breast_cancer_wisconsin_original.csv",
        not_features=["id", "class"],
        source=(
            "W. Wolberg, Breast Cancer Wisconsin (Original), UCI Machine Learning Repository, "
            "1992, doi:10.24432/C5HP4Z, CC BY 4.0"
        ),
    )


def load_diabetes() -> Dataset:
    """Pima Indians Diabetes: 768 rows, 8 features, +1 = tested positive.

    Zeros in glucose, pressure, triceps, insulin and mass stand for values that were not measured.
    The paper keeps them as they are, and so does this function. No row repeats another.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> diabetes = load_diabetes()
    >>> diabetes.X.shape, int((diabetes.y == 1).sum())
    ((768, 8), 268)
    """
    return _load(
        name="diabetes",
        file="pima_indians_diabetes.csv",
        not_features=["diabetes"],
        source=(
            "J. W. Smith, J. E. Everhart, W. C. Dickson, W. C. Knowler and R. S. Johannes, Pima "
            "Indians Diabetes, National Institute of Diabetes and Digestive and Kidney Diseases, "
            "1988, CC0"
        ),
    )


def _load(name: str, file: str, not_features: list[str], source: str) -> Dataset:
    with (resources.files("pessimal.datasets") / "data" / file).open(encoding="utf-8") as raw:
        table = pd.read_csv(raw).drop(columns=not_features).dropna()
    # No feature vector carries two labels, so comparing whole rows compares feature vectors. The
    # first of equal rows stays: the order of rows, and with it every seeded split, depends on that.
    table = table.drop_duplicates()
    features = table.drop(columns="label")
    return Dataset(
        name=name,
        X=features.to_numpy(dtype=np.float64, copy=True),
        y=np.where(table["label"] == 1, 1.0, -1.0),
        feature_names=tuple(features.columns),
        source=source,
    )
