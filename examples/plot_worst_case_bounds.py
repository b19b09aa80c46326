"""
Two parabolas around a loss, and the bound they give
====================================================

Over a range of margins the logistic loss lies between two parabolas. Below training and above
validation, one for each row, they bound the loss of every model that trains within a budget.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from pessimal import Budget, near_optimal_set
from pessimal.losses import Logistic

figure = Figure(figsize=(11.0, 4.2), layout="constrained")
left, right = figure.subplots(1, 2)

# %%
# Tangent at one margin, with the least and the largest curvature that a chord from there has.
loss, at, low, high = Logistic(), np.array([0.5]), np.array([-3.0]), np.array([2.5])
shift = np.linspace(low[0], high[0], 101)
tangent = loss.value(at) + loss.slope(at) * shift
left.plot(at + shift, loss.value(at + shift), color="black", label="logistic loss")
for curvature, label in (
    (loss.least_secant(at, low, high), "parabola below"),
    (loss.largest_secant(at, low, high), "parabola above"),
):
    left.plot(at + shift, tangent + 0.5 * curvature * shift**2, label=label)
left.plot(at, loss.value(at), "o", color="black")
left.set(xlabel="margin", ylabel="loss")
left.legend()

# %%
# Logistic regression on 100 rows, judged on 100 others: the worst model found, and what no model
# that trains as well exceeds. Training itself ends with the least loss, on the left.
X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
members = near_optimal_set(LogisticRegression(), X[:100], y[:100])
budgets = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2]
found = [
    members.with_budget(Budget(epsilon)).worst(X[100:200], y[100:200], node_limit=4)
    for epsilon in budgets
]
value, bound = ([getattr(worst, end) for worst in found] for end in ("value", "upper_bound"))
percent = [100.0 * epsilon for epsilon in budgets]
right.plot(percent, value, "o-", label="worst model found")
right.plot(percent, bound, "^--", label="proved bound")
right.fill_between(percent, value, bound, alpha=0.2)
right.set(xlabel="budget ε, %", ylabel="mean loss on other rows", ylim=(0.0, None))
right.legend()

if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else "plot_worst_case_bounds.png"
    figure.savefig(output, dpi=150)
