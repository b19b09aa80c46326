"""
Quantile regression with a box
==============================

A model of the 0.8 quantile minimises the pinball loss, with one limit on the size of each weight.
The limits are tuned on validation data: a bilevel problem with as many hyperparameters as features,
solved to proved optimality.

A grid search would have one limit for all features, or a grid in seven dimensions.
"""

import sys

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

from pessimal.bilevel import BilevelProblem, Follower

N, FEATURES, QUANTILE = 10, 7, 0.8
rng = np.random.default_rng(3)
X = rng.normal(size=(2 * N, FEATURES))
y = X[:, 0] - 0.5 * X[:, 1] + rng.exponential(0.7, size=2 * N)

w, b = cp.Variable(FEATURES, name="w"), cp.Variable(name="b")
box = cp.Variable(FEATURES, bounds=[0, 2], name="box")


def pinball(rows, w, b):
    """Mean pinball loss of a model on some rows."""
    error = y[rows] - X[rows] @ w - b
    return cp.sum(cp.maximum(QUANTILE * error, (QUANTILE - 1) * error)) / N


training, validation = slice(0, N), slice(N, 2 * N)
follower = Follower(cp.Minimize(pinball(training, w, b)), [w <= box, -box <= w], variables=[w, b])
problem = BilevelProblem(cp.Minimize(pinball(validation, w, b)), [], follower)
problem.solve()
print(f"validation loss {problem.value:.4f}, at least {problem.bound:.4f}: {problem.status.value}")

# %%
# One limit for all features, on a grid, trained by CVXPY.
shared = np.linspace(0.0, 2.0, 41)
limit, v, c = cp.Parameter(nonneg=True), cp.Variable(FEATURES), cp.Variable()
trained = cp.Problem(cp.Minimize(pinball(training, v, c)), [cp.abs(v) <= limit])
losses = []
for limit.value in shared:
    trained.solve(solver=cp.CLARABEL)
    losses.append(pinball(validation, v, c).value)
print(f"best shared limit {shared[np.argmin(losses)]:.2f}: validation loss {min(losses):.4f}")

# %%
# With ten rows the tuned box holds the largest weight, and some noise.
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.8), layout="constrained")
left.plot(shared, losses, color="#999999", label="one limit for all")
left.axhline(problem.value, color="#0072B2", label="a limit for each, proved optimal")
left.set_xlabel("limit on the weights")
left.set_ylabel("validation loss (mean pinball)")
left.legend(frameon=False)
right.bar(np.arange(FEATURES), w.value, color="#0072B2")
right.plot(
    np.arange(FEATURES),
    [1.0, -0.5] + [0.0] * (FEATURES - 2),
    "D",
    color="black",
    label="true weights",
)
right.axhline(0.0, color="black", linewidth=0.8)
right.set_xlabel("feature")
right.set_title("weights in the tuned box")
right.legend(frameon=False)

if __name__ == "__main__":
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "plot_bilevel_quantile.png", dpi=150)
