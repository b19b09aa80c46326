"""
Support vector regression with two hyperparameters
==================================================

A regression with a tube of width ``2·tube``: errors within it cost nothing. Its slope is at most
``radius``. Both hyperparameters are tuned on validation data, in both views.

The optimistic view opens the tube until all training points are in it. Then every line through the
tube trains perfectly, and of those it takes the one that validates best: the tuning has become
training on the validation data. The pessimistic view fears the worst of these lines, and closes the
tube until training says which line it is.
"""

import sys

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

from pessimal.bilevel import BilevelProblem, Follower

N = 6
rng = np.random.default_rng(0)
X = rng.normal(size=(2 * N, 1))
y = X[:, 0] + 0.5 * rng.normal(size=2 * N)

radius, tube = cp.Variable(bounds=[0, 3], name="radius"), cp.Variable(bounds=[0, 1], name="tube")
w, b, excess = cp.Variable(1, name="w"), cp.Variable(name="b"), cp.Variable(N, nonneg=True)
error = X[:N] @ w + b - y[:N]
rows = [error <= tube + excess, -error <= tube + excess, cp.abs(w) <= radius]
follower = Follower(cp.Minimize(cp.sum(excess) / N), rows, variables=[w, b, excess])
validation = cp.Minimize(cp.sum(cp.abs(X[N:] @ w + b - y[N:])) / N)

# %%
# Each view chooses; then the choice is held fixed, and its best and its worst line are found.
choices = {}
for view in ("optimistic", "pessimistic"):
    problem = BilevelProblem(validation, [], follower)
    problem.solve(view)
    chosen = float(radius.value), float(tube.value)
    print(f"{view}: radius {chosen[0]:.3f}, tube {chosen[1]:.3f}, {problem.status.value}")
    lines = {}
    for name, of_lines in (("best", "optimistic"), ("worst", "pessimistic")):
        fixed = BilevelProblem(validation, [radius == chosen[0], tube == chosen[1]], follower)
        loss = fixed.solve(of_lines)
        lines[name] = loss, float(w.value[0]), float(b.value)
        print(f"  {name} line: validation error {loss:.3f}")
    choices[view] = chosen[1], lines

# %%
# Lines that train equally well: of the optimistic choice they have little in common.
figure, panels = plt.subplots(1, 2, figsize=(8.6, 4.0), layout="constrained", sharey=True)
at = np.array([X.min() - 0.2, X.max() + 0.2])
for axes, (view, (width, lines)) in zip(panels, choices.items(), strict=True):
    axes.plot(X[:N], y[:N], "o", color="black", label="training")
    axes.plot(X[N:], y[N:], "o", color="black", fillstyle="none", label="validation")
    for (name, (loss, slope, offset)), color in zip(
        lines.items(), ("#0072B2", "#D55E00"), strict=True
    ):
        line = slope * at + offset
        axes.plot(at, line, color=color, label=f"{name} line: error {loss:.2f}")
        axes.fill_between(at, line - width, line + width, color=color, alpha=0.12)
    axes.set_title(f"{view} choice, tube {width:.2f}")
    axes.set_xlabel("feature")
    axes.legend(frameon=False, fontsize="small")
panels[0].set_ylabel("target")

if __name__ == "__main__":
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "plot_bilevel_svr.png", dpi=150)
