"""
Gradient boosting, trained again and again
==========================================

Of boosted trees nothing is proved: the models that train about as well as the best are explored by
training again, on rows with wrong labels added as far as the training loss allows, on bootstrap
weights, from other seeds. What is *found* is how bad an equally good model is at least.
"""

import sys

import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier

from pessimal import PessimisticSearchCV, load_diabetes
from pessimal.datasets import split

diabetes = load_diabetes()
data = split(diabetes.X, diabetes.y, n_train=90, n_val=60, seed=0)
search = PessimisticSearchCV(
    GradientBoostingClassifier(n_estimators=10, random_state=0),
    {"max_depth": [1, 2], "learning_rate": [0.1, 0.3]},
    epsilon=0.05,
    scoring="neg_log_loss",
    cv=3,
    node_limit=15,
).fit(data.X_train, data.y_train)

shown = ["param_max_depth", "param_learning_rate", "mean_test_score", "mean_worst_found"]
print(pd.DataFrame(search.cv_results_)[shown].round(3).to_string(index=False))
print("chosen:", search.best_params_)

# %%
# The bound of every candidate is minus infinity: a worse model may exist.
axes = search.plot()

if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else "plot_pessimistic_boosting.png"
    axes.figure.savefig(output, dpi=150)
