"""The instances of the paper's studies: rows to tune on and to test on, clean or perturbed.

An instance is named by data set, sizes and seed. In perturbed ones, rows inside the optimistic
margin evade a soft SVM: the attacker knows a linear SVM trained on T and moves a row against its
label, as far as a radius allows in the 2-norm. Against a linear model the paper's gradient attack
of maximum confidence ends at the strongest such step, which has a closed form. Only rows inside
the margin of the hyperplane that the optimistic view finds, ``|score| < 1``, are moved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.svm import SVC

from pessimal.attacks import evade
from pessimal.datasets import Split, load_cancer, load_diabetes, paper_split
from pessimal.fitted import LinearModel, read_linear_model
from pessimal.problem import Matrix, TuningProblem, Vector
from pessimal.reproduction.candidates import Candidate
from pessimal.solution import TuningSolution
from pessimal.solve import solve_optimistic
from pessimal.tolerances import AT_BREAKPOINT

LOADERS = {"cancer": load_cancer, "diabetes": load_diabetes}
DATA_SETS = tuple(LOADERS)


def draw(data: str, n_train: int, n_val: int, seed: int) -> Split:
    """Draw the instance that a data set's name, two sizes and a seed name."""
    return paper_split(LOADERS[data](), n_train, n_val, seed)


def tuning_problem(split: Split) -> TuningProblem:
    """Return the problem of tuning on the rows of an instance, in the paper's limits 0 and 1."""
    return TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)


@dataclass(frozen=True, eq=False)
class Evasion:
    """An instance with its validation rows attacked, and the SVM that is evaded."""

    split: Split
    attacked: LinearModel

    @property
    def problem(self) -> TuningProblem:
        """The problem of tuning on the attacked rows."""
        return tuning_problem(self.split)

    def test_rows(self, hyperplane: Candidate, radius: float) -> Matrix:
        """Attack the test rows inside the margin of a hyperplane."""
        return _moved(self.attacked, hyperplane, self.split.X_test, self.split.y_test, radius)


def evasion(split: Split, radius: float, node_limit: int) -> Evasion:
    """Train the SVM on T and attack the validation rows inside the clean optimistic margin.

    A radius of 0 leaves them as they are; the node limit is for the optimistic hyperplane.
    """
    svm = read_linear_model(SVC(kernel="linear").fit(split.X_train, split.y_train))
    if radius == 0.0:
        return Evasion(split, svm)
    clean = solve_optimistic(tuning_problem(split), node_limit=node_limit)
    return Evasion(replace(split, X_val=_moved(svm, clean, split.X_val, split.y_val, radius)), svm)


def _moved(
    svm: LinearModel, hyperplane: Candidate | TuningSolution, X: Matrix, y: Vector, radius: float
) -> Matrix:
    """Attack the rows inside the margin of a hyperplane, those on its edge left out."""
    inside = np.abs(X @ hyperplane.coef + hyperplane.intercept) < 1.0 - AT_BREAKPOINT
    return evade((svm.coef, svm.intercept), X, y, radius, where=inside)
