"""When a call has to end, and what it tells on the way.

A call makes one `Deadline` when it begins and hands it, or shares of what is left of it, to
whatever it starts, so that limits hold for the whole of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

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

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline so many seconds from now; None is no limit."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        """Seconds left, negative when it is over."""
        return self.moment - time.perf_counter()

    @property
    def over(self) -> bool:
        """Whether it has passed."""
        return time.perf_counter() > self.moment

    def share(self, part: float) -> Deadline:
        """Return the moment when a part of what is left has passed."""
        if self.moment == math.inf:
            return self
        now = time.perf_counter()
        return Deadline(now + part * max(0.0, self.moment - now))

    def not_within(self, seconds: float) -> Deadline:
        """Return this, or so many seconds from now if that is later."""
        return Deadline(max(self.moment, time.perf_counter() + seconds))


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


@dataclass(frozen=True)
class Limits:
    """When to stop, whom to tell, and the seed of what is random."""

    time_limit: float | None = None
    node_limit: int | None = None
    callback: Callback | None = None
    seed: int = 0


def read_time_limit(seconds: float | None) -> float | None:
    """Validate a time limit given by the user; an infinite one is none."""
    if seconds is None:
        return None
    if not (_is(seconds, Real) and seconds > 0):
        raise InvalidInputError(
            f"time_limit is {seconds!r}; pass a positive number of seconds or None"
        )
    return None if math.isinf(seconds) else float(seconds)


def read_node_limit(nodes: int | None) -> int | None:
    """Validate a node limit given by the user."""
    if nodes is None:
        return None
    if not (_is(nodes, Integral) and nodes > 0):
        raise InvalidInputError(f"node_limit is {nodes!r}; pass a positive whole number or None")
    return int(nodes)


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
