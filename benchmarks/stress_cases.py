"""Random cases for the hunt: small problems, one function a family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from oracles.exact import Hinges, exact
from oracles.polytope import Point

from pessimal import Budget, TuningProblem
from pessimal.problem import Mask, Matrix, Vector

Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, a box, a budget and a flip mask.

    The package sees the columns times `scale`, and the limits divided by it; an oracle sees them
    as they are. Both must give the same answers.
    """

    X_train: Matrix
    y_train: Vector
    X_val: Matrix
    y_val: Vector
    lower: Vector
    upper: Vector
    box: Vector
    budget: Budget
    flipped: Mask
    scale: Vector
    train_weight: Vector | None = None
    val_weight: Vector | None = None
    rng: Rng = field(repr=False, default_factory=np.random.default_rng)
    """What a question may draw for itself."""

    @property
    def data(self) -> dict[str, Any]:
        """Arguments of the problem that the package sees."""
        return {
            "X_train": self.X_train * self.scale,
            "y_train": self.y_train,
            "X_val": self.X_val * self.scale,
            "y_val": self.y_val,
            "lower": self.lower / self.scale,
            "upper": self.upper / self.scale,
            "train_weight": self.train_weight,
            "val_weight": self.val_weight,
        }

    @cached_property
    def problem(self) -> TuningProblem:
        """What the package sees."""
        return TuningProblem(**self.data)

    @property
    def limits(self) -> Vector:
        """The box that the package sees."""
        return self.box / self.scale

    @cached_property
    def train(self) -> Hinges:
        """What an oracle sees of T."""
        return Hinges(self.X_train, self.y_train, self.train_weight)

    @cached_property
    def val(self) -> Hinges:
        """What an oracle sees of V."""
        return Hinges(self.X_val, self.y_val, self.val_weight)

    def own_units(self, weights: Vector) -> Point:
        """Weights, or limits on them, of the scaled columns, as those of the columns here."""
        return tuple(w * s for w, s in zip(exact(weights), exact(self.scale), strict=True))

    def model(self, coef: Vector, intercept: float) -> Point:
        """``(w, b)`` of an answer in scikit-learn's sign."""
        return (*self.own_units(coef), -Fraction(float(intercept)))

    def source(self) -> str:
        """Python that makes the arguments of the package again."""
        arguments = ", ".join(f"{name}={_literal(value)}" for name, value in self.data.items())
        return (
            f"problem = TuningProblem({arguments})\nbox = {_literal(self.limits)}\n"
            f"budget = {self.budget!r}\nflipped = {_literal(self.flipped)}"
        )


def _literal(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


def base(rng: Rng, small: bool, p: int | None = None, m: int | None = None) -> Case:
    """Draw features of both kinds, rich in ties; `small` is what the bilevel oracles can do."""
    p = p or int(rng.integers(1, 3) if small else rng.choice((1, 2, 3), p=(0.35, 0.45, 0.2)))
    n = int(rng.integers(2, 5 if small else 7))
    m = m or int(rng.integers(1, 5 if small else 8))
    match rng.integers(3):
        case 0:
            table = rng.integers(-2, 3, (n + m, p)).astype(float)
        case 1:
            table = rng.integers(-4, 5, (n + m, p)) / 2.0
        case _:
            # Multiples of 1/256 keep fractions short.
            table = np.round(256.0 * rng.normal(size=(n + m, p))) / 256.0
    y_train = rng.choice((-1.0, 1.0), n)
    y_train[:2] = -1.0, 1.0
    upper = rng.choice((0.0, 0.5, 1.0, 2.5), p, p=(0.05, 0.25, 0.45, 0.25))
    upper[0] = max(upper[0], 0.5)
    lower = upper * rng.choice((0.0, 0.4), p=(0.7, 0.3))
    flipped = rng.random(m) < rng.choice((0.5, 1.0))
    flipped[rng.integers(m)] = True
    budgets = (Budget(), Budget(), Budget(0.2), Budget(1.0), Budget(0.0, 0.1), Budget(0.2, 0.1))
    return Case(
        table[:n],
        y_train,
        table[n:],
        rng.choice((-1.0, 1.0), m),
        lower=lower,
        upper=upper,
        box=np.clip(upper * rng.choice((0.3, 0.5, 1.0), p), lower, upper),
        budget=budgets[rng.integers(len(budgets))],
        flipped=flipped,
        scale=np.ones(p),
        rng=rng,
    )


def integer(rng: Rng, small: bool) -> Case:
    case = base(rng, small)
    n, m, p = len(case.y_train), len(case.y_val), len(case.box)
    table = rng.integers(-3, 4, (n + m, p)).astype(float)
    return replace(case, X_train=table[:n], X_val=table[n:], box=np.ones(p), upper=np.ones(p))


def binary(rng: Rng, small: bool) -> Case:
    case = integer(rng, small)
    return replace(
        case, X_train=np.clip(case.X_train, 0.0, 1.0), X_val=np.clip(case.X_val, 0.0, 1.0)
    )


def duplicates(rng: Rng, small: bool) -> Case:
    """Rows again with the opposite label, in T, in V, and from one to the other."""
    case = base(rng, small)
    X_train, X_val = case.X_train.copy(), case.X_val.copy()
    y_train, y_val = case.y_train.copy(), case.y_val.copy()
    X_train[1] = X_train[0]
    X_val[-1], y_val[-1] = X_train[0], y_train[1]
    if len(y_val) > 1:
        X_val[0], y_val[0] = X_val[-1], -y_val[-1]
    return replace(case, X_train=X_train, X_val=X_val, y_train=y_train, y_val=y_val)


def units(rng: Rng, small: bool) -> Case:
    case = base(rng, small)
    powers = rng.integers(-10, 11, len(case.box))
    return replace(case, scale=np.power(10.0, powers))


def weights(rng: Rng, small: bool) -> Case:
    case = base(rng, small)
    power = int(rng.choice((1, 2, 3, 4, 8)))
    train_weight, val_weight = (
        np.power(10.0, rng.integers(-power, power + 1, len(y))) for y in (case.y_train, case.y_val)
    )
    return replace(case, train_weight=train_weight, val_weight=val_weight)


def zero_weights(rng: Rng, small: bool) -> Case:
    """Points without weight; the first two of T and a flipped one of V keep theirs."""
    case = base(rng, small)
    train_weight = rng.choice((0.0, 1.0, 2.0, 5.0), len(case.y_train))
    val_weight = rng.choice((0.0, 1.0, 3.0), len(case.y_val))
    train_weight[:2] = 1.0, 2.0
    val_weight[np.argmax(case.flipped)] = 1.0
    return replace(case, train_weight=train_weight, val_weight=val_weight)


def fixed_box(rng: Rng, small: bool) -> Case:
    case = base(rng, small)
    return replace(case, lower=case.upper, box=case.upper)


def one_feature(rng: Rng, small: bool) -> Case:
    return base(rng, small, p=1)


def one_point(rng: Rng, small: bool) -> Case:
    return base(rng, small, m=1)


def one_class(rng: Rng, small: bool) -> Case:
    case = base(rng, small)
    return replace(case, y_val=np.full(len(case.y_val), rng.choice((-1.0, 1.0))))


def separable(rng: Rng, small: bool) -> Case:
    """Make the first feature the label, times one to three: some boxes train to 0."""
    case = base(rng, small)
    X_train = case.X_train.copy()
    X_train[:, 0] = case.y_train * rng.integers(1, 4, len(case.y_train))
    return replace(case, X_train=X_train)


def huge_epsilon(rng: Rng, small: bool) -> Case:
    return replace(base(rng, small), budget=Budget(float(10.0 ** rng.integers(1, 7))))


def tiny_delta(rng: Rng, small: bool) -> Case:
    case = separable(rng, small) if rng.random() < 0.5 else base(rng, small)
    return replace(case, budget=Budget(0.0, 1e-12))


def constant(rng: Rng, small: bool) -> Case:
    """Make a column constant, or a multiple of another."""
    case = base(rng, small, p=2)
    table = np.vstack([case.X_train, case.X_val])
    table[:, 1] = (1.0, 0.0, 3.0)[rng.integers(3)] if rng.random() < 0.5 else -2.0 * table[:, 0]
    n = len(case.y_train)
    return replace(case, X_train=table[:n], X_val=table[n:])


DRAWS: dict[str, Callable[[Rng, bool], Case]] = {
    draw.__name__: draw
    for draw in (
        base, integer, binary, duplicates, units, weights, zero_weights, fixed_box, one_feature,
        one_point, one_class, separable, huge_epsilon, tiny_delta, constant,
    )
}  # fmt: skip
