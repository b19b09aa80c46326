"""Training in a box, and the best, worst and extreme models that train about as well."""

from pessimal.near_optimal.polyhedral.extremes import BestCase, WorstCase, best_case, worst_case
from pessimal.near_optimal.polyhedral.linear_program import Trained, least_loss, score_range

__all__ = [
    "BestCase",
    "Trained",
    "WorstCase",
    "best_case",
    "least_loss",
    "score_range",
    "worst_case",
]
