"""What training minimises over linear models: a mean loss of rows, and a penalty.

Objectives are divided by the sum of the weights, which changes no model, so that the loss is a mean
and δ means the same for all of them. Inside, features are shifted and scaled to order one, so that
units do not matter to the arithmetic; the penalty is that of the features as they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from pessimal.errors import InvalidInputError
from pessimal.losses import SmoothLoss, Squared
from pessimal.near_optimal.base import Linear
from pessimal.near_optimal.smooth.rows import Block, HeldRows, Rows
from pessimal.near_optimal.smooth.source import Piece, Source, column_names, dense, read_source
from pessimal.problem import Matrix, Vector


@dataclass(frozen=True)
class Penalty:
    """``½l2·‖coef‖² + l1·‖coef‖₁``, and such a one on the intercept."""

    l2: float = 0.0
    l1: float = 0.0
    intercept_l2: float = 0.0
    intercept_l1: float = 0.0


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Features as they are worked with: ``z = ((x − shift)/scale, 1)``, the 1 for the intercept."""

    shift: Vector
    scale: Vector
    intercept: bool

    @classmethod
    def of(cls, X: Matrix, intercept: bool, shifted: bool) -> Coordinates:
        """Take mean and spread of some rows; without an intercept nothing can be shifted."""
        shift = X.mean(axis=0) if shifted else np.zeros(X.shape[1])
        size = np.sqrt(np.square(X - shift).mean(axis=0))
        # A power of two rounds nothing. What does not vary in these rows keeps its unit.
        scale = np.exp2(np.round(np.log2(np.where(size > 0.0, size, 1.0))))
        return cls(shift, scale, intercept)

    def rows(self, X: Matrix) -> Matrix:
        """Return the rows ``z``."""
        Z = np.empty((len(X), X.shape[1] + self.intercept))
        np.subtract(X, self.shift, out=Z[:, : X.shape[1]])
        Z[:, : X.shape[1]] /= self.scale
        Z[:, X.shape[1] :] = 1.0
        return Z

    def model(self, u: Vector) -> Linear:
        """Return the model of the features as they came."""
        coef = u[: len(self.scale)] / self.scale
        return Linear(coef, float(u[-1] - coef @ self.shift) if self.intercept else 0.0)

    def variables(self, model: Linear) -> Vector:
        """Return the variables of a model."""
        coef = np.asarray(model.coef, np.float64)
        if not self.intercept:
            return coef * self.scale
        return np.append(coef * self.scale, model.intercept + coef @ self.shift)

    def curvature(self, penalty: Penalty) -> Matrix:
        """Return P of the quadratic part of a penalty."""
        n = len(self.scale)
        P = np.zeros((n + self.intercept, n + self.intercept))
        P[:n, :n] = np.diag(penalty.l2 / np.square(self.scale))
        if self.intercept and penalty.intercept_l2:
            back = np.append(-self.shift / self.scale, 1.0)
            P += penalty.intercept_l2 * np.outer(back, back)
        return P

    def l1(self, penalty: Penalty) -> Vector:
        """Return the factors of the absolute values of the variables."""
        factors = penalty.l1 / self.scale
        return np.append(factors, penalty.intercept_l1) if self.intercept else factors


@dataclass(frozen=True, eq=False)
class Encoder:
    """Makes blocks of rows as a loss wants them."""

    coordinates: Coordinates
    classes: tuple[Any, Any] | None
    signed: bool
    factors: tuple[float, float] = (1.0, 1.0)

    def __call__(self, piece: Piece) -> Block:
        """Encode a piece of data; its weights are divided by their sum later."""
        X, y, weight = counted(piece)
        Z = self.coordinates.rows(dense(X))
        if self.classes is None:
            return Block.of(Z, np.asarray(y, np.float64), weight)
        positive = np.asarray(y == self.classes[1])
        labels = np.where(positive, 1.0, -1.0)
        weight = weight * np.where(positive, self.factors[1], self.factors[0])
        if self.signed:
            return Block.of(Z * labels[:, None], np.zeros(len(Z)), weight)
        return Block.of(Z, labels, weight)


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """What an estimator minimises, and how it reads rows and labels.

    Attributes
    ----------
    rows : Rows
    loss : SmoothLoss
    penalty : ndarray
        P of the quadratic penalty.
    l1 : ndarray
        Factors of absolute values in the other one.
    coordinates : Coordinates
    classes : tuple or None
        The two classes, negative one first; None for regression.
    columns : tuple or None
        Names of the features, if they came with some.
    n_rows : int
    """

    rows: Rows
    loss: SmoothLoss
    penalty: Matrix
    l1: Vector
    coordinates: Coordinates
    classes: tuple[Any, Any] | None
    columns: tuple[str, ...] | None
    n_rows: int

    def require_columns(self, X: Any) -> None:
        """Refuse a data frame whose columns are not those of training."""
        names = column_names(X)
        if None not in (names, self.columns) and names != self.columns:
            raise InvalidInputError(
                f"X has the columns {', '.join(names or ())}; pass those of training in their "
                f"order: {', '.join(self.columns or ())}"
            )

    def points(self, X: Any, y: Any) -> Source:
        """Read points to judge models by; check that they are like those of training."""
        self.require_columns(X)
        source = read_source(X, y, None, classifies=self.classes is not None)
        n_features = len(self.coordinates.scale)
        if source.summary.n_features != n_features:
            raise InvalidInputError(
                f"X has {source.summary.n_features} columns; pass {n_features}, as in training"
            )
        if self.classes is not None:
            for label in source.summary.classes:
                if label not in self.classes:
                    raise InvalidInputError(
                        f"y has the label {label!r}; pass labels {self.classes[0]!r} and "
                        f"{self.classes[1]!r}, as in training"
                    )
        return source

    def encoded(self, points: Source, loss: SmoothLoss) -> Rows:
        """Return rows of points as a loss wants them."""
        signed = not isinstance(loss, Squared)
        if signed and self.classes is None:
            raise InvalidInputError(
                f"loss is {type(loss).__name__}, which is for classes; pass 'squared', the loss "
                "of a regression"
            )
        encoder = Encoder(self.coordinates, self.classes, signed)
        return weighted(points, encoder, points.summary.weight)


def weighted(source: Source, encoder: Encoder, total: float) -> Rows:
    """Return encoded rows with weights that sum to 1, held in memory where the data are.

    What is sparse would grow, and a parabola passes over its rows once or twice.
    """
    rows = source.rows(Shares(encoder, total))
    held = source.in_memory and not issparse(source.first[0]) and encoder.signed
    return HeldRows(rows.each(_itself)) if held else rows


def counted(piece: Piece) -> Piece:
    """Leave out the rows of weight 0."""
    X, y, weight = piece
    keep = weight > 0.0
    return piece if keep.all() else (X[keep], y[keep], weight[keep])


def _itself(block: Block) -> Block:
    return block


@dataclass(frozen=True, eq=False)
class Shares:
    """Encodes, and divides the weights by their sum."""

    encoder: Encoder
    total: float

    def __call__(self, piece: Piece) -> Block:
        """Encode a piece of data."""
        block = self.encoder(piece)
        return Block.of(block.Z, block.offset, block.weight / self.total)
