"""Training in a box, and the best, worst and extreme models that train about as well."""

from pessimal.training.near_optimal import Trained, least_loss, score_range
from pessimal.training.worst import BestCase, WorstCase, best_case, worst_case

__all__ = [
    "BestCase",
    "Trained",
    "WorstCase",
    "best_case",
    "least_loss",
    "score_range",
    "worst_case",
]
