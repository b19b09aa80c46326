"""Training on pushed rows again and again, as far as the budget goes.

The rows are added with a weight of λ, their share of the weight of the training rows. λ is searched
for where the budget ends; the rows are weighted anew by the model found there, and so on, until
that gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pessimal.limits import Deadline
from pessimal.near_optimal.retrained.pushing import Push
from pessimal.near_optimal.retrained.refitting import Extra

SHARES = (1e-3, 1e-2, 1e-1, 1.0)
"""λ to begin with."""

LARGEST_SHARE = 10.0
"""Beyond it training is all about the added rows."""

NEAR_LIMIT = 0.98
"""A fit that uses this share of the budget is as good as one at its end."""

BISECTIONS = 8
"""Fits on the way to the end of the budget."""

GAIN = 1e-4
"""Relative gain of a round below which there is no other."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted estimator and its training loss."""

    model: Any
    train_loss: float


@dataclass
class Allowance:
    """How many fits there may still be, until when, and how long one takes by now."""

    fits: int
    deadline: Deadline
    seconds: Callable[[], float]

    @property
    def in_time(self) -> bool:
        """Whether a fit that begins now ends in time; one that would not is not begun."""
        return self.deadline.affords(self.seconds())

    def take(self) -> bool:
        """Return whether there may be one more, and count it."""
        self.fits -= 1
        return self.fits >= 0 and self.in_time


@dataclass(frozen=True, eq=False)
class Ascent:
    """Fits to pushed rows within a budget.

    Attributes
    ----------
    fit : callable
        Train with rows added that have a share λ of the weight.
    least, limit : float
        The least training loss, and the largest of a member.
    allowance : Allowance
    """

    fit: Callable[[Extra, float], Fit]
    least: float
    limit: float
    allowance: Allowance

    def climb(self, push: Push, model: Any, extra: Extra) -> list[Fit]:
        """Train on pushed rows until that gains nothing; return the fits on the way."""
        found: list[Fit] = []
        share = None
        before = push.reached(model)
        while extra.weight.any():
            path = self._path(extra, share)
            found += [fit for _, fit in path]
            afforded = [
                (push.reached(fit.model), lam, fit)
                for lam, fit in path
                if fit.train_loss <= self.limit
            ]
            if not afforded:
                break
            reached, share, fit = max(afforded, key=lambda entry: entry[0])
            if reached <= before + GAIN * abs(before):
                break
            before, extra = reached, push.rows(fit.model)
        return found

    def _path(self, extra: Extra, guess: float | None) -> list[tuple[float, Fit]]:
        """Fit along λ: a geometric grid first, then towards the last λ that the budget affords."""
        path: list[tuple[float, Fit]] = []
        # L_T(λ) need not rise: the whole grid is looked at once.
        shares = list(SHARES) if guess is None else [guess]
        for _ in range(len(shares) + BISECTIONS):
            share = shares.pop(0) if shares else self._next_share(path)
            if share is None or not self.allowance.take():
                break
            path.append((share, self.fit(extra, share)))
            path.sort(key=lambda entry: entry[0])
        return path

    def _next_share(self, path: list[tuple[float, Fit]]) -> float | None:
        """Return the next λ on the way to the end of the budget; None if that is near."""
        slack = self.limit - self.least
        excess = [(share, fit.train_loss - self.least) for share, fit in path]
        afforded = [k for k, (_, e) in enumerate(excess) if e <= slack]
        if not afforded:
            share, e = excess[0]
            # Near λ = 0 the excess is a parabola.
            return share * min(0.5, max(0.05, 0.99 * float(np.sqrt(slack / e))))
        low, e_low = excess[afforded[-1]]
        if e_low >= NEAR_LIMIT * slack:
            return None
        if afforded[-1] == len(excess) - 1:
            steps = 0.99 * np.sqrt(slack / max(e_low, 1e-4 * slack))
            return None if low >= LARGEST_SHARE else low * float(np.clip(steps, 1.02, 10.0))
        high, e_high = excess[afforded[-1] + 1]
        if high <= low * 1.001:
            return None
        middle = float(np.sqrt(low * high))
        if e_low <= 0.0:
            return middle
        part = np.log(0.5 * (1.0 + NEAR_LIMIT) * slack / e_low) / np.log(e_high / e_low)
        return float(low * (high / low) ** np.clip(part, 0.05, 0.95))
