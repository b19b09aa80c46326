"""Brute force straight from the paper, for problems of a few points; knows linear programs alone.

No reduction of the package is used: no shrinking of the box, no items, no big M. Everything is
solved by `scipy.optimize.linprog`.
"""

from oracles.bilevel import (
    Optimum,
    brute_force_optimistic,
    brute_force_pessimistic,
    optimistic_optimum,
    pessimistic_optimum,
)
from oracles.boxes import (
    brute_force_best_case,
    brute_force_worst_case,
    follower_value,
    grid_of_boxes,
    grid_pessimistic,
    in_near_optimal_set,
    is_pessimistic_answer,
    least_flipped_loss,
    least_training_loss,
    sign_patterns,
)
from oracles.system import LP_TOLERANCE

__all__ = [
    "LP_TOLERANCE",
    "Optimum",
    "brute_force_best_case",
    "brute_force_optimistic",
    "brute_force_pessimistic",
    "brute_force_worst_case",
    "follower_value",
    "grid_of_boxes",
    "grid_pessimistic",
    "in_near_optimal_set",
    "is_pessimistic_answer",
    "least_flipped_loss",
    "least_training_loss",
    "optimistic_optimum",
    "pessimistic_optimum",
    "sign_patterns",
]
