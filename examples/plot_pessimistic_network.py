"""
A small PyTorch network, chosen by the worst it allows
======================================================

Through skorch a network of PyTorch is an estimator like any other. It takes no weights of rows, so
rows are repeated instead, and its seed is one of the things that are varied. Weight decay is
chosen by the worst network found that trains within 10 % of the best.

Needs skorch and PyTorch, ``pip install skorch torch``.
"""

import sys

import numpy as np
import pandas as pd
import torch
from skorch import NeuralNetClassifier

from pessimal import PessimisticSearchCV, load_cancer
from pessimal.datasets import split, standardize_on_tuning_rows

torch.set_num_threads(1)
torch.manual_seed(0)
cancer = load_cancer()
data = standardize_on_tuning_rows(split(cancer.X, cancer.y, n_train=60, n_val=40, seed=0))
X, y = data.X_train.astype(np.float32), (data.y_train > 0).astype(np.int64)


class Network(torch.nn.Module):
    """One hidden layer of four units."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(9, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)
        )

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return the log-odds of both classes."""
        return self.layers(X)


class SeededNetwork(NeuralNetClassifier):
    """A network that begins from a seed, so that training can be repeated."""

    def __init__(self, *arguments: object, random_state: int = 0, **options: object) -> None:
        self.random_state = random_state
        super().__init__(*arguments, **options)

    def fit(self, X: object, y: object) -> "SeededNetwork":
        """Train from the seed."""
        torch.manual_seed(self.random_state)
        return super().fit(X, y)


network = SeededNetwork(
    Network,
    criterion=torch.nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    lr=0.05,
    max_epochs=60,
    batch_size=-1,
    train_split=None,
    verbose=0,
)
search = PessimisticSearchCV(
    network,
    {"optimizer__weight_decay": [0.003, 0.03]},
    epsilon=0.1,
    scoring="neg_log_loss",
    cv=2,
    node_limit=4,
).fit(X, y)

shown = ["param_optimizer__weight_decay", "mean_test_score", "mean_worst_found"]
print(pd.DataFrame(search.cv_results_)[shown].round(3).to_string(index=False))
print("chosen:", search.best_params_)

axes = search.plot()

if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else "plot_pessimistic_network.png"
    axes.figure.savefig(output, dpi=150)
