"""The report of the study of limited data: Figs. 1, 2, 3 and A2, Tables 1 and A1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from pessimal.datasets import load_cancer, load_diabetes, split
from pessimal.report import Plot, Section, Table
from pessimal.reproduction.candidates import PLAIN, SEARCHED
from pessimal.reproduction.report.figures import Panel, draw_lines, draw_surfaces
from pessimal.reproduction.report.readings import (
    LARGEST,
    SMALLEST,
    Reading,
    beside_paper,
    by_data,
    compare,
    evaluated,
    mean_by_data,
    mean_difference,
    of_readings,
    paper_table,
    readings,
    share,
)
from pessimal.tolerances import OPTIMAL_GAP

FLIP = "paper"
READINGS = readings(FLIP)
PESSIMISTIC, *EVALUATED, UNEVALUATED = READINGS
ALIKE = tuple(evaluated(box, FLIP, view="pessimistic") for box in (LARGEST, SMALLEST))
"""The pessimistic box evaluated as the paper evaluates the optimistic one alone."""
KEYS = ("data", "n_val", "n_train")

_FOUR_PANELS: tuple[Panel, ...] = (("n_val", 5), ("n_val", 20), ("n_train", 5), ("n_train", 20))
_FIGURES: Mapping[str, tuple[str, str, tuple[Panel, ...]]] = {
    "figure-1": ("Fig. 1", "cancer", (("n_val", 10),)),
    "figure-3": ("Fig. 3", "cancer", _FOUR_PANELS),
    "figure-a2": ("Fig. A2", "diabetes", _FOUR_PANELS),
}


def sections(rows: pd.DataFrame) -> Sequence[Section]:
    """Make the report from the rows of the study, each with the columns of its configuration."""
    return (_beside_the_paper(rows), _ties_and_worst_cases(rows), _baselines(rows))


def _beside_the_paper(rows: pd.DataFrame) -> Section:
    paper = paper_table("a1")
    compared = compare(rows, paper, KEYS, READINGS)
    of = partial(mean_difference, compared)
    n_draws = rows.groupby(list(KEYS))["seed"].nunique().max()
    largest = of_readings(compared, EVALUATED[0])
    fewest = largest["n_train"].min()
    off = largest["difference"].abs().groupby(largest["n_train"] == fewest).mean()
    few, more = off.get(True, np.nan), off.get(False, np.nan)
    text = (
        f"Cancer and Diabetes with 5 to 20 rows each to train and to validate on, ε = 0, "
        f"{n_draws} draws of each size, the paper's flip rule, accuracy on the half of the rows "
        f"that no tuning sees. {share(PESSIMISTIC.rows(rows)['proved'])} pessimistic optima are "
        "proved.",
        "Mean absolute difference from the accuracies of Table A1: pessimistic "
        f"{of(PESSIMISTIC)}; optimistic, evaluated in the worst case, {of(EVALUATED[0])} "
        f"with the largest box that shares the optimum and {of(EVALUATED[1])} with the "
        f"smallest; the optimistic model without that evaluation, {of(UNEVALUATED)}.",
        "Where we differ: the draws are ours, for the paper does not publish its seeds, and a draw "
        "has the same test half for all sizes, so the lines of a data set err together. With "
        f"{fewest} training rows the evaluated optimistic accuracy "
        f"(largest box) is off by {few:.3f}, with more by {more:.3f}.",
    )
    lines = [
        Plot(
            name,
            f"{title} of the paper: mean accuracy, bars of one standard deviation; hollow markers "
            "are the paper's means.",
            partial(draw_lines, rows, paper, data, panels, (PESSIMISTIC, *EVALUATED), PLAIN),
        )
        for name, (title, data, panels) in _FIGURES.items()
    ]
    surfaces = Plot(
        "figure-2",
        "Fig. 2 of the paper: mean accuracy over total size and split ratio with fitted quadratic "
        "surfaces; optimistic blue, pessimistic black. The paper's figure has further sizes that "
        "it does not list; ours are those of Table A1.",
        partial(draw_surfaces, rows, PESSIMISTIC, EVALUATED),
    )
    sizes = Table("table-1", "Table 1: sizes of the data sets, paper and ours.", _sizes())
    tables = beside_paper(compared, "a1", KEYS, extent=" over its 16 lines per data set,")
    return Section("Limited data, beside the paper", text, (*lines, surfaces, sizes, *tables))


def _sizes() -> pd.DataFrame:
    """Return Table 1 beside what the package ships and draws."""
    paper = paper_table("1").set_index("data")
    ours = pd.DataFrame(
        {
            dataset.name: {
                "n_rows": len(dataset.y),
                "n_test": len(split(dataset.X, dataset.y, 5, 5, seed=0).y_test),
                "n_features": dataset.X.shape[1],
            }
            for dataset in (load_cancer(), load_diabetes())
        }
    ).T.reindex(paper.index)
    columns = {
        f"{size} {kind}": table[size]
        for size in paper.columns
        for kind, table in (("paper", paper), ("ours", ours), ("difference", ours - paper))
    }
    return pd.DataFrame(columns).reset_index()


def _ties_and_worst_cases(rows: pd.DataFrame) -> Section:
    one_box = rows[(rows["model"] == "optimistic") & (rows["tie_break"] == SMALLEST)]
    accuracy = _accuracies(rows)

    def lead(first: Reading, second: Reading) -> str:
        return mean_by_data(accuracy[first.name] - accuracy[second.name])

    boxes = rows[rows["model"].isin(["optimistic", "pessimistic"])]
    worst_cases = boxes.assign(
        share_proved=boxes["proved"].astype(float),
        share_exact=boxes["worst_exact_bound"] - boxes["worst_exact"] <= OPTIMAL_GAP,
    ).groupby(["data", "model", "tie_break"])
    columns = ["objective", "worst_flip", "worst_exact", "worst_exact_bound"]
    text = (
        f"The optimistic optimum is a validation loss of 0 in "
        f"{share(one_box['objective'] <= OPTIMAL_GAP)} draws: many boxes and "
        "models share it, and which of them a solver returns is chance. The evaluated accuracy "
        f"with the smallest box less that with the largest is {lead(*reversed(EVALUATED))}"
        ": that much of the optimistic column depends on the tie alone.",
        "The lead of the pessimistic model, paired over the same draws, is "
        f"{lead(PESSIMISTIC, EVALUATED[0])} over the evaluated optimistic model in the "
        f"largest box, {lead(PESSIMISTIC, EVALUATED[1])} in the smallest, and "
        f"{lead(PESSIMISTIC, UNEVALUATED)} over the optimistic model itself. Evaluated alike, in "
        f"the largest box, the pessimistic view leads by {lead(ALIKE[0], EVALUATED[0])}.",
        "The flipped worst case is a lower bound on the exact one. The table has both, as means "
        "over all draws, with the share of optima proved and of worst cases that meet their bound.",
    )
    table = Table(
        "worst-cases",
        "Mean validation loss: objective of the view, and worst case of its box by flipping and "
        "exactly.",
        worst_cases[[*columns, "share_proved", "share_exact"]].mean().reset_index(),
    )
    return Section("Limited data: ties and exact worst cases", text, (table,))


def _baselines(rows: pd.DataFrame) -> Section:
    # Sizes share the test half of a seed, so they are averaged first: errors are over draws.
    accuracy = _accuracies(rows).groupby(["data", "seed"]).mean()
    gain = accuracy.sub(accuracy[PLAIN], axis=0)
    by_method = pd.DataFrame(
        {
            "accuracy": accuracy.groupby("data").mean().stack(),
            f"difference to {PLAIN}": gain.groupby("data").mean().stack(),
            "standard error": gain.groupby("data").sem().stack(),
        }
    )
    table = (
        by_method.rename_axis(["data", "method"])
        .reset_index()
        .sort_values(["data", "accuracy"], ascending=[True, False], ignore_index=True)
    )
    best = table.groupby("data")["method"].first()
    text = (
        f"What a practitioner would do instead: {PLAIN} on all rows of T and V, and logistic "
        "regression and a linear SVM with C chosen by cross-validation on them. Over all sizes "
        f"the most accurate is {by_data(best.items())}. The pessimistic model less {PLAIN}, paired "
        f"over the same draws: {mean_by_data(gain[PESSIMISTIC.name])}.",
    )
    shown = Table("baselines", "Mean test accuracy over all sizes and draws.", table)
    return Section("Limited data: baselines", text, (shown,))


def _accuracies(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one line per draw and one column per method."""
    tuned = {reading.name: reading.rows(rows) for reading in (*READINGS, *ALIKE)}
    plain = {name: rows[rows["model"] == name] for name in (PLAIN, *SEARCHED)}
    draw = [*KEYS, "seed"]
    return pd.DataFrame(
        {name: own.set_index(draw)["test_accuracy"] for name, own in (tuned | plain).items()}
    )
