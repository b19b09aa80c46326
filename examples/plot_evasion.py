"""
Evasion attacks
===============

An attacker moves every malignant test row of Cancer against its label, as far as a radius allows.
On a linear model the strongest such attack has a closed form. We compare the optimistic and the
pessimistic model with a plain logistic regression, each tuned and trained on the same 40 rows.

Logistic regression spreads its weight over all features and comes out ahead at every radius. A
guard against bad luck in training is not one against rows that move.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from pessimal import Budget, TuningProblem, load_cancer, solve_optimistic, solve_pessimistic
from pessimal.attacks import evade
from pessimal.datasets import paper_split

RADII = np.linspace(0.0, 3.0, 13)
DRAWS = range(8)


def accuracies(coef, intercept, X, y):
    """Accuracy on the test rows at each radius."""
    attacked = (evade((coef, intercept), X, y, radius, where=y > 0.0) for radius in RADII)
    return [np.mean(np.where(rows @ coef + intercept > 0.0, 1.0, -1.0) == y) for rows in attacked]


curves = {"logistic regression": [], "optimistic": [], "pessimistic": []}
for seed in DRAWS:
    data = paper_split(load_cancer(), n_train=20, n_val=20, seed=seed)
    problem = TuningProblem(data.X_train, data.y_train, data.X_val, data.y_val)
    X, y = np.vstack([data.X_train, data.X_val]), np.append(data.y_train, data.y_val)
    logistic = LogisticRegression().fit(X, y)
    optimistic = solve_optimistic(problem)
    pessimistic = solve_pessimistic(problem, Budget(epsilon=0.2))
    models = (
        (logistic.coef_[0], logistic.intercept_[0]),
        (optimistic.coef, optimistic.intercept),
        (pessimistic.coef, pessimistic.intercept),
    )
    for curve, model in zip(curves.values(), models, strict=True):
        curve.append(accuracies(*model, data.X_test, data.y_test))

figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
styles = (("black", "^--"), ("#D55E00", "s-"), ("#0072B2", "o-"))
for (name, values), (color, style) in zip(curves.items(), styles, strict=True):
    axes.plot(RADII, 100.0 * np.mean(values, axis=0), style, color=color, label=name)
axes.set_xlabel("radius of the attack (2-norm, standard deviations)")
axes.set_ylabel("test accuracy (%)")
axes.set_title(f"Cancer, malignant rows attacked: mean of {len(DRAWS)} draws")
axes.legend(frameon=False)

if __name__ == "__main__":
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "plot_evasion.png", dpi=150)
