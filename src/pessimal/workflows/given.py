"""Linear models that people have: a list of coefficients, or a file of skops or ONNX.

Nothing in such a file is run. Coefficients are text; of an ONNX file the attributes of one node are
read; skops builds estimators of scikit-learn alone, and of what they do to features no more is used
than that their score is linear in them, which is checked.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from pessimal.errors import InvalidInputError, shortened
from pessimal.labels import Classes, listed
from pessimal.near_optimal import Linear
from pessimal.problem import Vector

INTERCEPTS = ("intercept", "(intercept)", "const")
"""What the row of the intercept may be called, in letters of any size."""

LINEAR = 1e-8
"""Largest share of a score that rounding may add to what coefficients say."""


@dataclass(frozen=True, eq=False)
class Given:
    """A linear model of features in the units of the table."""

    name: str
    coef: Vector
    intercept: float
    notes: tuple[str, ...]

    def scaled(self, scaler: StandardScaler) -> dict[str, Any]:
        """Return the same for standardised features, as `audit_estimator` takes it."""
        intercept = self.intercept + float(self.coef @ scaler.mean_)
        return {"given": Linear(self.coef * scaler.scale_, intercept), "given_name": self.name}


@dataclass(frozen=True)
class GivenSource:
    """A file that holds a linear model: a CSV of coefficients, .skops or .onnx."""

    path: Path

    def read(self, X: pd.DataFrame, classes: Classes) -> Given:
        """Read the model for the features of a table; a positive score is the second class."""
        if not self.path.is_file():
            raise InvalidInputError(f"{self.path} is not a file; pass one that holds a model")
        kind = self.path.suffix.lower()
        if kind == ".skops":
            return _of_skops(self.path, X, classes)
        if kind == ".onnx":
            return _of_onnx(self.path, X, classes)
        if kind in (".csv", ".txt"):
            return _of_csv(self.path, X, classes)
        raise InvalidInputError(
            f"{self.path} ends in {kind or 'nothing'}; pass coefficients in a .csv file, or a "
            "linear model in a .skops or .onnx file (pickles are refused: they run code)"
        )


def _given(path: Path, coef: Any, intercept: Any, note: str) -> Given:
    numbers, offset = np.asarray(coef, np.float64), float(intercept)
    if not (np.isfinite(numbers).all() and np.isfinite(offset)):
        raise InvalidInputError(f"{path} holds numbers that are not finite; pass a fitted model")
    return Given(path.name, numbers, offset, (note,))


def _of_csv(path: Path, X: pd.DataFrame, classes: Classes) -> Given:
    """Read two columns, names and values, with a header."""
    wanted = "pass a CSV file with a header and two columns, feature names and coefficients"
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (ValueError, OSError) as error:
        raise InvalidInputError(f"{path} cannot be read ({error}); {wanted}") from None
    if frame.shape[1] != 2:
        raise InvalidInputError(f"{path} has {frame.shape[1]} column(s); {wanted}")
    names = [name.strip() for name in frame.iloc[:, 0]]
    values = pd.to_numeric(frame.iloc[:, 1], errors="coerce")
    if values.isna().any():
        first = names[int(values.isna().to_numpy().argmax())]
        raise InvalidInputError(f"{path} has no number for {shortened(first)}; {wanted}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"{path} names {shortened(twice[0])} twice; name each feature once")
    of = dict(zip(names, values.tolist(), strict=True))
    places = [name for name in names if name.lower() in INTERCEPTS and name not in X.columns]
    intercept = of.pop(places[0]) if places else 0.0
    for missing, where in (
        ([name for name in X.columns if name not in of], f"{path} has no coefficient of"),
        ([name for name in of if name not in X.columns], "the table has no feature called"),
    ):
        if missing:
            raise InvalidInputError(
                f"{where} {shortened(missing[0])}; the features of the table are "
                f"{listed(list(X.columns))}, and a coefficient of 0 leaves one out"
            )
    note = f"Coefficients of {path.name}: a positive score is taken for class {classes[1]!s}"
    note += "." if places else "; there is no row called intercept, so it is 0."
    return _given(path, [of[name] for name in X.columns], intercept, note)


def _of_skops(path: Path, X: pd.DataFrame, classes: Classes) -> Given:
    """Load a model whose types are scikit-learn's, and read off what its score is linear in."""
    try:
        from skops import io  # noqa: PLC0415  # an extra
    except ImportError:
        raise InvalidInputError(_extra("skops", path)) from None
    try:
        # What skops trusts of itself are estimators of scikit-learn and arrays.
        unknown = io.get_untrusted_types(file=path)
        model = None if unknown else io.load(path, trusted=[])
    except (ValueError, TypeError, KeyError, AttributeError, OSError, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            f"{path} is not a model that skops can read ({error}); write it with skops.io.dump"
        ) from None
    if unknown:
        raise InvalidInputError(
            f"{path} holds a {unknown[0]}, which is not loaded; pass a linear model of "
            "scikit-learn, and audit trees with audit_estimator, which trains them again"
        )
    if getattr(model, "n_features_in_", None) != X.shape[1]:
        raise InvalidInputError(
            f"{path} holds a model of {getattr(model, 'n_features_in_', 'unknown')} features, and "
            f"the table has {X.shape[1]}: {listed(list(X.columns))}; leave columns out "
            "with --drop"
        )
    sign = _sign(path, getattr(model, "classes_", ()), classes)
    named = getattr(model, "feature_names_in_", None)
    if named is not None and list(named) != list(X.columns):
        raise InvalidInputError(
            f"{path} was fitted to {listed(list(named))}; pass a table with "
            "these features in this order"
        )
    coef, intercept = _probed(path, model, X, named is not None)
    note = f"{path.name} holds a {type(model).__name__}; its coefficients are those of its score."
    return _given(path, sign * coef, sign * intercept, note)


def _probed(path: Path, model: Any, X: pd.DataFrame, named: bool) -> tuple[Vector, float]:
    """Return the coefficients of a score, from steps along each feature, and check them."""
    refusal = InvalidInputError(
        f"{path} holds a {type(model).__name__}, whose score is not linear in the features; pass a "
        "linear model, and audit trees with audit_estimator, which trains them again"
    )
    if not hasattr(model, "decision_function"):
        raise refusal
    mean, step = X.mean().to_numpy(), X.std(ddof=0).to_numpy()
    points = np.vstack([mean, mean + np.diag(step), X.to_numpy()])
    rows = pd.DataFrame(points, columns=X.columns) if named else points
    try:
        scores = np.asarray(model.decision_function(rows), np.float64)
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidInputError(f"{path} cannot score the table ({error})") from None
    p = len(mean)
    if scores.ndim != 1:
        raise refusal
    coef = (scores[1 : p + 1] - scores[0]) / step
    said = scores[0] + (points - mean) @ coef
    if np.abs(said - scores).max() > LINEAR * (1.0 + np.abs(scores).max()):
        raise refusal
    return coef, float(scores[0] - coef @ mean)


def _of_onnx(path: Path, X: pd.DataFrame, classes: Classes) -> Given:
    """Read the attributes of the one linear node, and of scalers before it."""
    try:
        import onnx  # noqa: PLC0415  # an extra
    except ImportError:
        raise InvalidInputError(_extra("onnx", path)) from None
    try:
        nodes = list(onnx.load_model_from_string(path.read_bytes()).graph.node)
    except Exception as error:  # of protobuf, which has its own kinds of errors
        raise InvalidInputError(f"{path} is not an ONNX file ({error}); write it again") from None
    kinds = [node.op_type for node in nodes]
    linear = [k for k, kind in enumerate(kinds) if kind in ("LinearClassifier", "LinearRegressor")]
    before = kinds[: linear[0]] if linear else kinds
    other = [kind for kind in before if kind not in ("Cast", "Identity", "Scaler")]
    if len(linear) != 1 or other:
        what = other[0] if other else "no linear node" if not linear else "several linear nodes"
        raise InvalidInputError(
            f"{path} holds {what}; pass a linear model, alone or behind a scaler, and audit trees "
            "with audit_estimator, which trains them again"
        )
    node = nodes[linear[0]]
    fields = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    p = X.shape[1]
    try:
        rows = np.asarray(fields["coefficients"], np.float64).reshape(-1, p)
        offsets = np.asarray(fields.get("intercepts") or np.zeros(len(rows)), np.float64)
        # Two rows are the scores of both classes, of which the difference decides.
        coef, intercept = {
            1: lambda: (rows[0], offsets[0]),
            2: lambda: (rows[1] - rows[0], offsets[1] - offsets[0]),
        }[len(rows)]()
        if len(rows) == 2 and np.array_equal(rows[0], -rows[1]):
            coef, intercept = rows[1], offsets[1]
        for scaler in reversed(nodes[: linear[0]]):
            if scaler.op_type != "Scaler":
                continue
            of = {a.name: onnx.helper.get_attribute_value(a) for a in scaler.attribute}
            offset, scale = (
                np.broadcast_to(np.asarray(of[name], np.float64), (p,))
                for name in ("offset", "scale")
            )
            coef = coef * scale
            intercept = intercept - coef @ offset
    except (KeyError, ValueError, IndexError, TypeError):
        raise InvalidInputError(
            f"{path} has a {node.op_type} whose numbers do not fit the {p} features of the table "
            f"and two classes; the features are {listed(list(X.columns))}"
        ) from None
    if node.op_type == "LinearClassifier":
        labels = fields.get("classlabels_ints") or fields.get("classlabels_strings") or ()
        labels = [name.decode() if isinstance(name, bytes) else name for name in labels]
        sign, how = _sign(path, labels, classes), ""
    else:
        sign, how = 1.0, f" A regression: above 0 is taken for class {classes[1]!s}."
    order = "its coefficients are taken in the order of the columns of the table."
    note = f"{path.name} holds a {node.op_type}; {order}{how}"
    return _given(path, sign * coef, sign * intercept, note)


def _sign(path: Path, labels: Any, classes: Classes) -> float:
    """Return 1 if the second label of a model is that of the table, −1 if it is the first."""
    known = [str(label) for label in np.asarray(labels).tolist()]
    ours = [str(label) for label in classes]
    if known == ours:
        return 1.0
    if known == ours[::-1]:
        return -1.0
    raise InvalidInputError(
        f"{path} tells apart {listed(known)}, and the table "
        f"{listed(ours)}; pass a classifier of these two classes"
    )


def _extra(package: str, path: Path) -> str:
    return f"{path} needs the package {package}; install it with pip install pessimal[files]"
