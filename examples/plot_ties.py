"""
Ties between boxes
==================

Many boxes share the best validation loss, with the very same model: whatever weight the model
leaves unused, the box may grant or not. The loss of the model does not see the difference. The
worst case does: a larger box holds more models that train as well, among them worse ones. So an
evaluated worst case depends on how a solver breaks the tie, and ``tie_break`` states the rule.

On 10 + 10 rows of Cancer we compare the *smallest* box, which just holds the model, with the
*largest* one in which it is still optimal.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from pessimal import TuningProblem, load_cancer, solve_optimistic
from pessimal.datasets import paper_split

DRAWS = 12

best, smallest, largest = [], [], []
for seed in range(DRAWS):
    data = paper_split(load_cancer(), n_train=10, n_val=10, seed=seed)
    problem = TuningProblem(data.X_train, data.y_train, data.X_val, data.y_val)
    tight = solve_optimistic(problem, tie_break="smallest_box")
    wide = solve_optimistic(problem, tie_break="largest_box")
    best.append(tight.objective)
    smallest.append(tight.exact_worst_case.value)
    largest.append(wide.exact_worst_case.value)

# %%
# The same model, the same validation loss, and two worst cases.
figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
order = np.argsort(largest)
rows = np.arange(DRAWS)
axes.hlines(rows, np.take(smallest, order), np.take(largest, order), color="#999999")
for values, color, marker, name in (
    (best, "black", "|", "the model itself, in both boxes"),
    (smallest, "#0072B2", "o", "worst case, smallest box"),
    (largest, "#D55E00", "s", "worst case, largest box"),
):
    axes.plot(np.take(values, order), rows, marker, color=color, markersize=8, label=name)
axes.set_xlabel("validation loss (mean hinge)")
axes.set_ylabel("draw of Cancer, 10 + 10 rows")
axes.set_yticks(rows, [f"seed {seed}" for seed in order])
axes.set_title("One optimum, two boxes")
axes.legend(frameon=False, loc="lower right")

if __name__ == "__main__":
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "plot_ties.png", dpi=150)
