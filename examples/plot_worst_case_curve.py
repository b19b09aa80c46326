"""
How boosting's worst case depends on its learning rate
======================================================

The validation score of a boosted model says nothing of its neighbours. Along the learning rate,
the worst model found that trains within 5 % of the best; then, for the chosen one, the rows on
which such models disagree. All of it is found by training again: nothing is proved, and worse
models may exist.
"""

import sys

from matplotlib.figure import Figure
from sklearn.ensemble import GradientBoostingClassifier

from pessimal import PessimisticSearchCV, load_diabetes
from pessimal.datasets import split
from pessimal.model_selection.plots import plot_curve, plot_disagreement

diabetes = load_diabetes()
data = split(diabetes.X, diabetes.y, n_train=90, n_val=60, seed=0)
search = PessimisticSearchCV(
    GradientBoostingClassifier(n_estimators=10, max_depth=2, random_state=0),
    {"learning_rate": [0.02, 0.05, 0.1, 0.2, 0.5]},
    epsilon=0.05,
    scoring="neg_log_loss",
    cv=3,
    node_limit=15,
).fit(data.X_train, data.y_train)
print("chosen:", search.best_params_)

# %%
# A higher rate may fit better on average. What it allows is worse.
figure = Figure(figsize=(11.0, 4.2), layout="constrained")
left, right = figure.subplots(1, 2)
plot_curve(search, "learning_rate", left)

# %%
# Each line is a row: the probabilities that models found give to it.
plot_disagreement(
    search.best_estimator_, data.X_train, data.y_train, data.X_val, epsilon=0.05, ax=right
)

if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else "plot_worst_case_curve.png"
    figure.savefig(output, dpi=150)
