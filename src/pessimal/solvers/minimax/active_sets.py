"""Sets of active hinges that worst models were met with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pessimal.problem import Mask, Vector
from pessimal.solvers.minimax.oracle import WorstCaseOracle


class ActiveSets:
    """Distinct sets, the latest last; with more than `most` the first are forgotten."""

    def __init__(self, sets: Iterable[Mask] = (), most: int | None = None) -> None:
        self._sets: dict[bytes, Mask] = {}
        self._most = most
        for active in sets:
            self.add(active)

    def __len__(self) -> int:
        return len(self._sets)

    def __iter__(self) -> Iterator[Mask]:
        """Go through the sets, the latest first."""
        return reversed(list(self._sets.values()))

    def __contains__(self, active: Mask) -> bool:
        return active.tobytes() in self._sets

    def add(self, active: Mask) -> None:
        """Let a set be the latest."""
        self._sets.pop(active.tobytes(), None)
        self._sets[active.tobytes()] = active
        if self._most is not None and len(self) > self._most:
            self._sets.pop(next(iter(self._sets)))

    def telling(self, oracle: WorstCaseOracle, h: Vector, most: int) -> list[Mask]:
        """Return the sets that say most about one box."""
        limit, weight = oracle.limit(h), oracle.problem.val_weight
        sets = [active for active in self if weight[active].any()]
        losses = [oracle.active_set_loss(h, limit, active) for active in sets]
        return [sets[k] for k in np.argsort(losses)[::-1][:most]]
