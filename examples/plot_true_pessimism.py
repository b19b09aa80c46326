"""
True pessimism with one limit
=============================

One limit h for all weights, ``|w_j| ≤ h``, and 20 training and 20 validation rows of Cancer. For
every h there is an exact worst case: the largest validation loss of all models that train within
20 % of the best. True pessimism asks for the h whose worst case is smallest. The search finds it
piece by piece, between the h at which the least training loss bends (thin vertical lines), and
proves that no other h is better.

The paper replaces the worst case by the loss of the model that fits flipped labels best. It is a
lower estimate, and its smallest value can lie at quite another h.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import find_peaks

from pessimal import Budget, TuningProblem, load_cancer, solve_pessimistic, worst_case
from pessimal.datasets import paper_split
from pessimal.near_optimal import least_loss

BUDGET = Budget(epsilon=0.2)
H = np.linspace(0.0, 1.0, 251)

data = paper_split(load_cancer(), n_train=20, n_val=20, seed=3)
problem = TuningProblem(data.X_train, data.y_train, data.X_val, data.y_val)
true = solve_pessimistic(problem, BUDGET, inner="exact", groups="one")
exact = np.array([worst_case(problem, h, BUDGET).value for h in H])
flipped = np.array([worst_case(problem, h, BUDGET, inner="flip").value for h in H])
training = np.array([least_loss(problem, h).value for h in H])

# %%
# The least training loss is convex and piecewise linear: it bends where its slope grows.
bends = H[1 + find_peaks(np.diff(training, 2), height=1e-6)[0]]

# %%
# The worst case, what flipping labels makes of it, and the smallest value of either.
figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
axes.vlines(bends, 0.0, 1.0, color="#d8d8d8", linewidth=0.8, transform=axes.get_xaxis_transform())
axes.plot(H, exact, color="#0072B2", linewidth=2.5, label="exact worst case, validation")
axes.plot(H, flipped, color="#D55E00", linewidth=1.5, label="the same by flipping labels")
axes.plot(H, training, color="#999999", linewidth=1.0, label="least loss, training")
best = H[np.argmin(flipped)]
axes.vlines(best, flipped.min(), np.interp(best, H, exact), color="#D55E00", linestyle=":")
axes.plot(best, flipped.min(), "s", color="#D55E00", label=f"flipping would take h = {best:.2f}")
axes.plot(true.box[0], true.objective, "o", color="#0072B2", markersize=9, label="proved least")
axes.set_xlabel("h, the limit on every weight")
axes.set_ylabel("mean hinge loss")
axes.set_title("Cancer, 20 + 20 rows, ε = 20 %")
axes.set_xlim(0.0, 1.0)
axes.set_ylim(bottom=0.0)
axes.legend(frameon=False)

if __name__ == "__main__":
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "plot_true_pessimism.png", dpi=150)
