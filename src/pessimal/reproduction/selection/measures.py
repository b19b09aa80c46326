"""What a chosen candidate is worth on held-out rows: clean, changed, and when trained again.

Features are in units of their standard deviation on the tuning rows. Held-out rows are taken

clean
    as they are;
noise
    with independent normal noise added;
shift
    with weights ``exp(±z)``, z the position along the first principal axis of the tuning rows in
    units of its standard deviation: other rows are common, labels given a row are as before. The
    mean of both signs;
evasion
    moved against their labels by an attacker who knows a logistic regression of the tuning rows;
attack
    moved by an attacker who knows the model itself, where that is linear.

Stability is how predictions on clean rows change when training is repeated with another solver or
seed, on the same rows in another order, or on bootstrap draws of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from pessimal.attacks import evade
from pessimal.problem import Matrix, Vector
from pessimal.reproduction.selection.models import Kind

NOISE = 0.5
RADIUS = 0.5
BOOTSTRAPS = 3

CERTAIN = 1e-3
"""Probabilities are kept this far from 0 and 1, or few rows would decide every mean log loss."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Tuning rows and held-out rows; labels are −1 and 1, features scaled by the tuning rows."""

    X: Matrix
    y: Vector
    X_test: Matrix
    y_test: Vector
    seed: int

    def rng(self) -> np.random.Generator:
        """Return the same numbers for every candidate: comparisons are paired."""
        return np.random.default_rng(self.seed)


def measure(kind: Kind, parameters: Mapping[str, Any], draw: Draw) -> dict[str, float]:
    """Train a candidate on the tuning rows and measure it on the others."""
    model = kind.trained(parameters, draw.X, draw.y, draw.seed)
    found: dict[str, float] = {}
    for situation, X, weight in situations(kind, model, draw):
        p = probability(model, X)
        right = np.where(draw.y_test > 0.0, p, 1.0 - p)
        inside = np.clip(right, CERTAIN, 1.0 - CERTAIN)
        found[f"accuracy_{situation}"] = float(
            np.average((p > 0.5) == (draw.y_test > 0), weights=weight)
        )
        found[f"log_loss_{situation}"] = float(np.average(-np.log(inside), weights=weight))
    before = probability(model, draw.X_test)
    for repeated, models in retrained(kind, parameters, draw):
        after = [probability(other, draw.X_test) for other in models]
        found[f"changed_{repeated}"] = float(np.mean([(p > 0.5) != (before > 0.5) for p in after]))
        found[f"moved_{repeated}"] = float(np.mean([np.abs(p - before) for p in after]))
    return found


def probability(model: Any, X: Matrix) -> Vector:
    """Return the probability of class 1; the scores of a model without are read as logits."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, 1], np.float64)
    return np.asarray(expit(model.decision_function(X)))


def situations(kind: Kind, model: Any, draw: Draw) -> Iterator[tuple[str, Matrix, Vector | None]]:
    """Yield held-out rows by what became of them, with their weights."""
    X, y = draw.X_test, draw.y_test
    yield "clean", X, None
    yield "noise", X + NOISE * draw.rng().standard_normal(X.shape), None
    yield "shift", X, tilt(draw.X, X)
    known = LogisticRegression(max_iter=10_000).fit(draw.X, draw.y)
    yield "evasion", evade(known, X, y, RADIUS), None
    if kind.linear:
        yield "attack", evade(model, X, y, RADIUS), None


def tilt(X: Matrix, X_test: Matrix) -> Vector:
    """Return the weights of rows that are shifted either way along the first principal axis."""
    axis = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
    z = (X_test - X.mean(axis=0)) @ axis / np.std(X @ axis)
    # Beyond three deviations a single row would be all that counts.
    sides = [np.exp(sign * np.clip(z, -3.0, 3.0)) for sign in (-1.0, 1.0)]
    return np.asarray(sum(side / side.sum() for side in sides))


def retrained(
    kind: Kind, parameters: Mapping[str, Any], draw: Draw
) -> Iterator[tuple[str, list[Any]]]:
    """Yield the models of repeated training by what was repeated how."""
    X, y, rng = draw.X, draw.y, draw.rng()
    yield "again", [kind.trained_again(parameters, X, y, draw.seed)]
    order = rng.permutation(len(y))
    yield "order", [kind.trained(parameters, X[order], y[order], draw.seed)]
    yield (
        "bootstrap",
        [
            kind.trained(parameters, X[rows], y[rows], draw.seed)
            for rows in (_bootstrap(y, rng) for _ in range(BOOTSTRAPS))
        ],
    )


def _bootstrap(y: Vector, rng: np.random.Generator) -> Any:
    """Draw as many rows of each class as there are, with replacement."""
    drawn = [rng.choice(np.flatnonzero(y == label), int((y == label).sum())) for label in (-1, 1)]
    return np.concatenate(drawn)
