"""The models that the command line tunes and audits, each with the candidates it is tuned over.

Candidates are in the order in which they are looked at, so that a time limit leaves the more
ordinary ones; which of them is chosen does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

ModelName: TypeAlias = Literal["logistic", "linear-svc", "ridge", "forest", "boosting"]

ClassWeight: TypeAlias = Literal["none", "balanced"]
"""How classes weigh in training: by their rows, or both the same."""


@dataclass(frozen=True)
class ModelKind:
    """A kind of classifier.

    Attributes
    ----------
    title : str
        What it is called in a sentence.
    make : callable
        Makes one from a seed.
    parameter, values : str, tuple
        What is tuned, and the values it may have.
    loss : str
        What training minimises, and candidates are judged by.
    linear : bool
        Whether it has coefficients, so that worst cases are proved and the model has a file.
    n_folds : int
        Of its cross-validation.
    """

    title: str
    make: Callable[[int], Any]
    parameter: str
    values: tuple[float, ...]
    loss: str
    linear: bool = True
    n_folds: int = 5

    def pipeline(self, seed: int, class_weight: ClassWeight = "none") -> Pipeline:
        """Return the first candidate; it standardises on the rows it is fitted to."""
        first = self.make(seed).set_params(**{self.parameter: self.values[0]})
        if class_weight == "balanced":
            first.set_params(class_weight=class_weight)
        return make_pipeline(StandardScaler(), first)

    def grid(self, pipeline: Pipeline) -> list[dict[str, list[float]]]:
        """Return the candidates, as a search wants them."""
        name = f"{pipeline.steps[-1][0]}__{self.parameter}"
        return [{name: [value]} for value in self.values]


MODELS: dict[str, ModelKind] = {
    "logistic": ModelKind(
        "logistic regression",
        lambda seed: LogisticRegression(max_iter=1000, random_state=seed),
        "C",
        (1.0, 0.1, 10.0, 0.01, 100.0, 0.001, 1000.0),
        "log",
    ),
    "linear-svc": ModelKind(
        "linear SVM",
        lambda seed: LinearSVC(max_iter=10_000, random_state=seed),
        "C",
        (1.0, 0.1, 0.01, 0.001, 10.0),
        "squared_hinge",
    ),
    "ridge": ModelKind(
        "ridge classifier",
        lambda seed: RidgeClassifier(random_state=seed),
        "alpha",
        (1.0, 10.0, 100.0, 1000.0, 0.1),
        "squared",
    ),
    "forest": ModelKind(
        "random forest",
        lambda seed: RandomForestClassifier(50, random_state=seed),
        "min_samples_leaf",
        (5, 20, 1),
        "log",
        linear=False,
        n_folds=3,
    ),
    "boosting": ModelKind(
        "gradient boosting",
        lambda seed: HistGradientBoostingClassifier(
            max_leaf_nodes=8, min_samples_leaf=10, early_stopping=False, random_state=seed
        ),
        "learning_rate",
        (0.1, 0.03, 0.3),
        "log",
        linear=False,
        n_folds=3,
    ),
}
"""By their names on the command line."""
