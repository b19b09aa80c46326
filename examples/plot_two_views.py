"""
Optimistic and pessimistic tuning
=================================

Both views tune the box ``|w_j| ≤ w̄_j`` of a linear classifier on 20 training and 20 validation
rows of Cancer. The optimistic one trusts training to return the optimum that suits it best. The
pessimistic one allows training to miss its optimum by ε = 20 % and guards against what it returns
then. We take both boxes and compute, exactly, the worst validation loss of all models that train
within ε of their optimum. The fewer rows, the more such models there are.

The pessimistic problem of the paper stands in for the exact worst case, so its box does better on
average, not on every draw (thin lines).
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from pessimal import (
    Budget,
    TuningProblem,
    load_cancer,
    solve_optimistic,
    solve_pessimistic,
    worst_case,
)
from pessimal.datasets import paper_split

EPSILONS = (0.0, 0.1, 0.2, 0.4)
DRAWS = range(6)

worst = {"optimistic": [], "pessimistic": []}
for seed in DRAWS:
    data = paper_split(load_cancer(), n_train=20, n_val=20, seed=seed)
    problem = TuningProblem(data.X_train, data.y_train, data.X_val, data.y_val)
    boxes = {
        "optimistic": solve_optimistic(problem).box,
        "pessimistic": solve_pessimistic(problem, Budget(epsilon=0.2)).box,
    }
    for view, box in boxes.items():
        losses = [worst_case(problem, box, Budget(epsilon=e)).value for e in EPSILONS]
        worst[view].append(losses)

# %%
# The mean over the draws, and every draw.
figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for (view, losses), color, marker in zip(worst.items(), ("#D55E00", "#0072B2"), "so", strict=True):
    axes.plot(EPSILONS, np.transpose(losses), color=color, linewidth=0.6, alpha=0.5)
    mean = np.mean(losses, axis=0)
    axes.plot(EPSILONS, mean, marker + "-", color=color, linewidth=2.5, label=f"{view} box")
axes.set_xlabel("ε (training may miss its optimum by this share)")
axes.set_ylabel("worst validation loss (mean hinge)")
axes.set_title(f"Cancer, 20 + 20 rows: mean of {len(DRAWS)} draws")
axes.set_ylim(bottom=0.0)
axes.legend(frameon=False)

if __name__ == "__main__":
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "plot_two_views.png", dpi=150)
