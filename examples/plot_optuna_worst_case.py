"""
Optuna: the worst case as an objective, or beside the usual one
===============================================================

`worst_case_of` is a plain function of an estimator and its rows, so any optimiser can make it
small. Once alone, over a continuous C; then as one of two objectives, the validation loss of the
fitted model being the other: the Pareto front shows what safety costs.

Needs Optuna, ``pip install optuna``.
"""

import sys

import numpy as np
import optuna
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pessimal import load_diabetes, worst_case_of
from pessimal.datasets import split

optuna.logging.set_verbosity(optuna.logging.WARNING)
diabetes = load_diabetes()
data = split(diabetes.X, diabetes.y, n_train=60, n_val=60, seed=0)


def model(trial: optuna.Trial) -> object:
    """Return logistic regression with the C of a trial."""
    C = trial.suggest_float("C", 1e-3, 1e2, log=True)
    return make_pipeline(StandardScaler(), LogisticRegression(C=C))


def worst(estimator: object) -> float:
    """Return the largest validation loss found of a model that trains within 5 % of the best."""
    rows = data.X_train, data.y_train, data.X_val, data.y_val
    return worst_case_of(estimator, *rows, epsilon=0.05, node_limit=1).value


# %%
# One objective: the worst case.
single = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
single.optimize(lambda trial: worst(model(trial)), n_trials=12)
print(f"least worst case {single.best_value:.3f} at C = {single.best_params['C']:.3g}")


# %%
# Two objectives: the loss of the fitted model, and the worst case.
def both(trial: optuna.Trial) -> tuple[float, float]:
    """Return validation loss and worst case."""
    estimator = model(trial)
    fitted = estimator.fit(data.X_train, data.y_train)
    return log_loss(data.y_val, fitted.predict_proba(data.X_val)), worst(estimator)


double = optuna.create_study(
    directions=["minimize", "minimize"], sampler=optuna.samplers.TPESampler(seed=0)
)
double.optimize(both, n_trials=18)
front = sorted(double.best_trials, key=lambda trial: trial.values)
for trial in front:
    print(f"C = {trial.params['C']:8.3g}: loss {trial.values[0]:.3f}, worst {trial.values[1]:.3f}")

# %%
# To the left: better if training goes as hoped. To the bottom: better if it does not.
axes = Figure(figsize=(6.0, 4.2), layout="constrained").subplots()
every = np.array([trial.values for trial in double.trials])
axes.plot(*every.T, "o", color="#999999", label="trials")
axes.plot(*np.array([trial.values for trial in front]).T, "s-", color="#0072B2", label="front")
axes.set_xlabel("validation loss of the fitted model")
axes.set_ylabel("worst validation loss found")
axes.legend()

if __name__ == "__main__":
    output = sys.argv[1] if len(sys.argv) > 1 else "plot_optuna_worst_case.png"
    axes.figure.savefig(output, dpi=150)
