"""The passengers and crew of the Titanic by class, sex, age and survival (Dawson, 1995)."""

from __future__ import annotations

import numpy as np

from pessimal.problem import Matrix, Vector

# Class (0 for the crew), male, adult, survivors, victims.
COUNTS = (
    (1, 0, 0, 1, 0),
    (1, 0, 1, 140, 4),
    (1, 1, 0, 5, 0),
    (1, 1, 1, 57, 118),
    (2, 0, 0, 13, 0),
    (2, 0, 1, 80, 13),
    (2, 1, 0, 11, 0),
    (2, 1, 1, 14, 154),
    (3, 0, 0, 14, 17),
    (3, 0, 1, 76, 89),
    (3, 1, 0, 13, 35),
    (3, 1, 1, 75, 387),
    (0, 0, 1, 20, 3),
    (0, 1, 1, 192, 670),
)


def titanic() -> tuple[Matrix, Vector]:
    """Return 2201 rows of four features, of which 14 differ, and who survived."""
    X, y = [], []
    for rank, male, adult, survivors, victims in COUNTS:
        X += [[rank, rank == 0, male, adult]] * (survivors + victims)
        y += [1.0] * survivors + [-1.0] * victims
    return np.array(X, dtype=np.float64), np.array(y)
