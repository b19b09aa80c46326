"""Training with a penalty on absolute values, by Newton steps whose models keep the penalty.

Each step minimises the parabola of the smooth part plus ``Σ λ_j|u_j|`` by descent along one
coordinate at a time (Friedman, Hastie and Tibshirani 2010), and, as soon as it is known which
coefficients are 0 and what sign the others have, by one linear system.
"""

from __future__ import annotations

import numpy as np

from pessimal.near_optimal.smooth.objective import MOST_STEPS, Function, flat, solve
from pessimal.near_optimal.smooth.quadratic import Quadratic, certainly_positive
from pessimal.problem import Vector

SWEEPS = 1000
"""Over all coordinates, at most, in a step; tens are usual."""

SETTLED = 5
"""Sweeps after which the linear system is tried again."""


def proximal_newton(smooth: Function, l1: Vector, start: Vector) -> Vector:
    """Minimise a smooth convex function plus ``Σ l1_j·|u_j|``."""
    u = start
    at = smooth.expansion(u)
    for _ in range(MOST_STEPS):
        if not certainly_positive(at.curvature):
            raise flat()
        step = _minimiser(at, l1, u) - u
        decrease = -float(at.slope @ step + l1 @ (np.abs(u + step) - np.abs(u)))
        if decrease <= 1e-16 * max(1e-9, abs(at.value)):
            return u
        share, value = 1.0, at.value + float(l1 @ np.abs(u))
        while True:
            further = u + share * step
            reached = smooth.value(further) + float(l1 @ np.abs(further))
            if reached <= value - 0.25 * share * decrease:
                break
            share *= 0.5
            if share < 1e-10:  # rounding: no step is better
                return u
        u = further
        at = smooth.expansion(u)
    return u


def _minimiser(at: Quadratic, l1: Vector, u: Vector) -> Vector:
    """Minimise the parabola around u plus the penalty."""
    H, x, gradient = at.curvature, u.copy(), at.slope.copy()
    steepness = np.diag(H)
    for sweep in range(SWEEPS):
        for j in range(len(x)):
            target = x[j] - gradient[j] / steepness[j]
            new = np.sign(target) * max(0.0, abs(target) - l1[j] / steepness[j])
            if new != x[j]:
                gradient += (new - x[j]) * H[:, j]
                x[j] = new
        if sweep % SETTLED == 0:
            exact = _settled(at, l1, u, np.sign(x))
            if exact is not None:
                return exact
            x = _towards_signs(at, l1, u, x)
            gradient = at.slope + H @ (x - u)
    return x


def _towards_signs(at: Quadratic, l1: Vector, u: Vector, x: Vector) -> Vector:
    """Descend from x to the minimiser of its signs, or to where one of them ends on the way.

    Along columns that nearly depend on each other sweeps hardly move (Lee et al. 2007).
    """

    def value(x: Vector) -> float:
        return at.at(x - u) + float(l1 @ np.abs(x))

    least = value(x)
    for _ in range(len(x)):
        signs = np.sign(x)
        active = (signs != 0.0) | (l1 == 0.0)
        if not active.any():
            break
        step = -x
        right = (at.curvature @ u - at.slope - l1 * signs)[active]
        step[active] += solve(at.curvature[np.ix_(active, active)], right)
        crossing = np.flatnonzero((l1 > 0.0) & (x * (x + step) < 0.0))
        ends = [x + step]
        for j in crossing:
            end = x - x[j] / step[j] * step
            end[j] = 0.0
            ends.append(end)
        values = [value(end) for end in ends]
        best = int(np.argmin(values))
        if not values[best] < least:
            break
        x, least = ends[best], values[best]
        if best == 0:
            break
    return x


def _settled(at: Quadratic, l1: Vector, u: Vector, signs: Vector) -> Vector | None:
    """Return the minimiser if its signs are these, None if it has others."""
    active = (signs != 0.0) | (l1 == 0.0)
    x = np.zeros_like(u)
    # The slope of the parabola at x is slope + H(x − u), and has to balance the penalty.
    right = (at.curvature @ u - at.slope - l1 * signs)[active]
    x[active] = solve(at.curvature[np.ix_(active, active)], right) if active.any() else right
    slope = at.slope + at.curvature @ (x - u)
    held = np.abs(slope) <= l1 * (1.0 + 1e-9)
    same = (np.sign(x) == signs) | (l1 == 0.0)
    return x if (held | active).all() and same.all() else None
