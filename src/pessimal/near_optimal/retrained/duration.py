"""How long a refit takes, by those that there were: one that is begun cannot be cut short."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

FIRST_WEIGHTED = 6.0
"""Plain fits that the first one to weighted rows may take, with those that tell how weights are
read: histogram boosting looks for the bins of weighted rows column by column, in far more time."""


@dataclass
class Duration:
    """How long fits to some rows take.

    Attributes
    ----------
    plain : float
        Seconds of a fit to the rows as they are.
    rows : int
    weighted : float or None
        Seconds of the slowest fit to weighted rows, with none added; None before the first.
    """

    plain: float
    rows: int
    weighted: float | None = None

    def expected(self, added: int = 0) -> float:
        """Return the seconds that a refit with so many rows added is given."""
        if self.weighted is None:
            return self.plain * (FIRST_WEIGHTED + added / self.rows)
        return max(self.plain, self.weighted) * (1.0 + added / self.rows)

    @contextmanager
    def refit(self, added: int = 0) -> Iterator[None]:
        """Measure a refit to weighted rows."""
        begun = time.perf_counter()
        yield
        took = (time.perf_counter() - begun) / (1.0 + added / self.rows)
        self.weighted = max(took, self.weighted or 0.0)
