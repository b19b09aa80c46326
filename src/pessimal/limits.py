"""When a call has to end, and what it tells on the way.

A call makes one `Deadline` when it begins and hands it, or shares of what is left of it, to
whatever it starts, so that limits hold for the whole of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TypeAlias

from pessimal.errors import InvalidInputError


@dataclass(frozen=True)
class Deadline:
    """The moment, by ``time.perf_counter``, at which something has to end; never by default.

    Examples
    --------
    >>> Deadline().over, Deadline.after(-1.0).over
    (False, True)
    >>> Deadline.after(60.0).share(0.5).left <= 30.0
    True
    """

    moment: float = math.inf
    end: float | None = None
    """That of the whole, of which this is a share; None if it is no share."""

    @classmethod
    def read(cls, time_limit: TimeLimit) -> Deadline:
        """Return the deadline of a time limit given by the user, or one that is there."""
        if isinstance(time_limit, Deadline):
            return time_limit
        return cls.after(read_time_limit(time_limit))

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline so many seconds from now; None is no limit."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        """Seconds left, negative when it is over."""
        return self.moment - time.perf_counter()

    @property
    def whole_left(self) -> float:
        """Seconds left of the whole, of which this is a share."""
        return (self.moment if self.end is None else self.end) - time.perf_counter()

    def affords(self, seconds: float) -> bool:
        """Whether a step that takes so long may begin: the share not over, the whole not after it.

        A step that cannot be cut short may pass its share, and must not pass the whole.
        """
        return not self.over and self.whole_left >= seconds

    @property
    def over(self) -> bool:
        """Whether it has passed."""
        return time.perf_counter() > self.moment

    def share(self, part: float) -> Deadline:
        """Return the moment when a part of what is left has passed."""
        if self.moment == math.inf:
            return self
        now = time.perf_counter()
        end = self.moment if self.end is None else self.end
        return replace(self, moment=now + part * max(0.0, self.moment - now), end=end)

    def not_within(self, seconds: float) -> Deadline:
        """Return this, or so many seconds from now if that is later."""
        return replace(self, moment=max(self.moment, time.perf_counter() + seconds), end=None)


TimeLimit: TypeAlias = float | Deadline | None
"""Seconds for a call, the moment at which it has to end, or None for no limit."""

NEVER = Deadline()
"""No time limit."""


@dataclass(frozen=True)
class Progress:
    """A solver's state, handed to the callback.

    Attributes
    ----------
    incumbent : float
        Validation loss of the best model so far.
    bound : float
        Lower bound on the optimum.
    nodes : int
    seconds : float
    """

    incumbent: float
    bound: float
    nodes: int
    seconds: float


Callback = Callable[[Progress], None]

AT_ONCE = 1e-9
"""A time limit that ends a solver at its first model."""

LATE_SECONDS, LATE_SHARE = 0.3, 0.05
"""What follows a solver, and training itself, may pass a limit by the larger: seconds, a share.

The seconds are less than a fifth of two seconds, and far more than small tables take.
"""


@dataclass(frozen=True)
class Limits:
    """When to stop, whom to tell, the seed of what is random, and how many processes to use."""

    time_limit: float | None = None
    node_limit: int | None = None
    callback: Callback | None = None
    seed: int = 0
    n_jobs: int = 1

    @classmethod
    def read(
        cls,
        time_limit: float | None,
        node_limit: int | None,
        callback: Callback | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> Limits:
        """Validate the limits given by the user."""
        seconds, nodes = read_time_limit(time_limit), read_node_limit(node_limit)
        if callback is not None and not callable(callback):
            raise InvalidInputError(f"callback is {callback!r}; pass a function or None")
        if not (is_number(seed, Integral) and seed >= 0):
            raise InvalidInputError(f"seed is {seed!r}; pass a whole number that is not negative")
        return cls(seconds, nodes, callback, int(seed), read_n_jobs(n_jobs))

    def share(self, part: float) -> Limits:
        """Return a part of the time and of the nodes."""
        seconds, nodes = self.time_limit, self.node_limit
        return replace(
            self,
            time_limit=None if seconds is None else part * seconds,
            node_limit=None if nodes is None else int(part * nodes),
        )

    def rest(self, deadline: Deadline, nodes: int) -> Limits:
        """Return what is left until a deadline of these limits, and after so many nodes."""
        return replace(
            self,
            time_limit=None if self.time_limit is None else max(AT_ONCE, deadline.left),
            node_limit=None if self.node_limit is None else max(0, self.node_limit - nodes),
        )


def read_time_limit(seconds: float | None) -> float | None:
    """Validate a time limit given by the user; an infinite one is none."""
    if seconds is None:
        return None
    if not (is_number(seconds, Real) and seconds > 0):
        raise InvalidInputError(
            f"time_limit is {seconds!r}; pass a positive number of seconds or None"
        )
    return None if math.isinf(seconds) else float(seconds)


def read_node_limit(nodes: int | None) -> int | None:
    """Validate a node limit given by the user."""
    if nodes is None:
        return None
    if not (is_number(nodes, Integral) and nodes > 0):
        raise InvalidInputError(f"node_limit is {nodes!r}; pass a positive whole number or None")
    return int(nodes)


def read_n_jobs(n_jobs: int | None) -> int:
    """Return the number of processes that a user's n_jobs means: None is 1, −1 one per core."""
    if n_jobs is None:
        return 1
    if not is_number(n_jobs, Integral) or n_jobs == 0:
        raise InvalidInputError(
            f"n_jobs is {n_jobs!r}; pass a number of processes, -1 for one per core, or None"
        )
    if n_jobs == 1:
        return 1
    from joblib import effective_n_jobs  # type: ignore[import-untyped]  # noqa: PLC0415 (slow)

    return int(effective_n_jobs(n_jobs))


def is_number(value: object, kind: type) -> bool:
    """Whether a value is a number of that kind, which a truth value is not."""
    return isinstance(value, kind) and not isinstance(value, bool)
