"""Near-optimal sets: all models that train about as well as the best, and the extremes of them."""

from pessimal.moved import renamed
from pessimal.near_optimal.base import Extreme, Linear, Model, NearOptimalSet, ScoreRange
from pessimal.near_optimal.kinds import near_optimal_set
from pessimal.near_optimal.polyhedral.box_set import BoxSet
from pessimal.near_optimal.polyhedral.extremes import best_case, worst_case
from pessimal.near_optimal.polyhedral.linear_program import Trained, least_loss, score_range
from pessimal.near_optimal.prediction import PredictionRange

__all__ = [
    "BoxSet",
    "Extreme",
    "Linear",
    "Model",
    "NearOptimalSet",
    "PredictionRange",
    "ScoreRange",
    "Trained",
    "best_case",
    "least_loss",
    "near_optimal_set",
    "score_range",
    "worst_case",
]

__getattr__ = renamed(
    __name__, dict.fromkeys(("BestCase", "WorstCase"), "pessimal.near_optimal.Extreme")
)
