"""
Auditing a logistic regression
==============================

A logistic regression is one of many linear models that train about as well. How different are the
others? The audit looks at *all* models whose training objective, log loss and penalty, is within
5 % of the least, and bounds the best and the worst of them on the validation data. Rows on which
they disagree are *ambiguous*: the training data do not decide them.

Scaling is part of the pipeline, so scores are those of standardised features.
"""

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pessimal import audit_estimator, load_diabetes
from pessimal.datasets import split

diabetes = load_diabetes()
data = split(diabetes.X, diabetes.y, n_train=40, n_val=30, seed=0)
y_train, y_val = (np.where(y > 0.0, "positive", "negative") for y in (data.y_train, data.y_val))
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(data.X_train, y_train)

epsilons = (0.0, 0.01, 0.02, 0.05)
report = audit_estimator(model, data.X_train, y_train, data.X_val, y_val, epsilons=epsilons)
print(report)

# %%
# Left: how far validation losses part when models may train a share ε worse still. Right: every
# validation row with the range of scores these models give it.
figure = report.plot()

if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else "plot_audit_logistic_regression.png"
    figure.savefig(output, dpi=150)
