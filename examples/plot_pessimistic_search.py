"""
Choosing a penalty by the worst model it allows
===============================================

A table as they come: free text, a category, numbers with missing cells. Preprocessing is part of
the pipeline and stays as fitted on each training fold. For every penalty, `PessimisticSearchCV`
takes all logistic regressions together that train within 2 % of the best, and finds the worst of
them on the test fold. The penalty whose worst model does best is chosen.
"""

import sys

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pessimal import PessimisticSearchCV

rng = np.random.default_rng(0)
n = 120
late = rng.random(n) < 0.4
words = [f"word{k}" for k in range(12)]


def note(is_late: bool) -> str:
    """Return chatter, and now and then a word that tells."""
    telling = "wet" if rng.random() < 0.2 + 0.3 * is_late else "fine"
    return " ".join([telling, *rng.choice(words, size=3)])


orders = pd.DataFrame(
    {
        "note": [note(is_late) for is_late in late],
        "carrier": np.where(rng.random(n) < 0.3 + 0.3 * late, "A", "B"),
        "distance": 100.0 + 40.0 * late + 60.0 * rng.standard_normal(n),
        "weight": rng.lognormal(0.0, 0.5, n),
    }
)
orders.loc[rng.random(n) < 0.15, "distance"] = np.nan

columns = make_column_transformer(
    (TfidfVectorizer(), "note"),
    (OneHotEncoder(), ["carrier"]),
    (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["distance", "weight"]),
)
search = PessimisticSearchCV(
    make_pipeline(columns, LogisticRegression()),
    {"logisticregression__C": [0.03, 0.1, 0.3, 1.0, 3.0]},
    epsilon=0.02,
    scoring="neg_log_loss",
    cv=3,
).fit(orders, np.where(late, "late", "in time"))

shown = ["param_logisticregression__C", "mean_test_score", "mean_worst_found", "mean_worst_bound"]
print(pd.DataFrame(search.cv_results_)[shown].round(3).to_string(index=False))
print("chosen:", search.best_params_)

# %%
# To the right: better on average. To the top: better at worst. A weak penalty wins on average by a
# hair, and allows models that are much worse.
axes = search.plot()

if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else "plot_pessimistic_search.png"
    axes.figure.savefig(output, dpi=150)
