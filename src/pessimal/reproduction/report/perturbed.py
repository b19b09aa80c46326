"""The report of the study of perturbed data: Figs. 4 and 5, Tables A2 and A3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from pessimal.report import Plot, Section, Table
from pessimal.reproduction.candidates import PLAIN
from pessimal.reproduction.report.figures import draw_bars
from pessimal.reproduction.report.readings import (
    SYMBOLS,
    PaperTable,
    Reading,
    beside_paper,
    compare,
    mean_by_data,
    mean_difference,
    of_readings,
    paper_table,
    readings,
    share,
    share_by_data,
)
from pessimal.reproduction.studies import FLIPS

OWN_FLIP, OTHER_FLIP = FLIPS
PESSIMISTIC, *EVALUATED, UNEVALUATED = readings(OWN_FLIP)
ALL_FLIPPED = tuple(
    replace(reading, name=f"{reading.name}, all labels flipped", flip=OTHER_FLIP)
    for reading in EVALUATED
)
KEYS = ("data", "rho_test")
EPSILON = 0.2
"""The paper prints tables for this ε only."""

_SETTING = ["data", "rho_val", "epsilon"]
_KINDS: tuple[tuple[float, str, int, PaperTable], ...] = (
    (0.0, "clean", 4, "a2"),
    (0.3, "attacked", 5, "a3"),
)
"""ρ of the validation rows, what that makes them, and the paper's figure and table."""


def sections(rows: pd.DataFrame) -> Sequence[Section]:
    """Make the report from the rows of the study, each with the columns of its configuration."""
    # A run that was stopped may have one kind of validation rows only.
    there = [kind for kind in _KINDS if (rows["rho_val"] == kind[0]).any()]
    return [*(_beside_the_paper(rows, *kind) for kind in there), _what_it_depends_on(rows)]


def _beside_the_paper(
    rows: pd.DataFrame, rho_val: float, state: str, figure: int, table: PaperTable
) -> Section:
    here = rows[rows["rho_val"] == rho_val]
    at_epsilon = here[here["epsilon"] == EPSILON]
    kinds = (PESSIMISTIC, *EVALUATED, *ALL_FLIPPED, UNEVALUATED)
    compared = compare(at_epsilon, paper_table(table), KEYS, kinds)
    means = compared["difference"].abs().groupby(compared["reading"], sort=False).mean()
    searched = PESSIMISTIC.rows(here)[lambda own: own["rho_test"] == 0.0].set_index("data")
    proved = searched[searched["epsilon"] == EPSILON]["proved"]
    n_rows, n_draws = here["n_train"].max(), here["seed"].nunique()
    title = f"Table {table.upper()}"

    def near(*kinds: Reading) -> str:
        lines = of_readings(compared, *kinds)
        return share(lines["difference"].abs() <= 2.0 * lines["standard_error"])

    text = (
        f"{n_rows} rows to train and {n_rows} to validate on, {n_draws} draws; validation rows "
        f"{state} (ρ = {rho_val:g}). The labels of misclassified and marginal validation rows are "
        f"flipped. {share(searched['proved'])} pessimistic optima are proved; with ε = {EPSILON:g} "
        f"alone, {share_by_data(proved)}. The others are the best model after "
        f"{here['node_limit'].max():,} nodes of the search.",
        f"Mean absolute difference from {title} over both data sets: "
        f"{'; '.join(f'{name} {value:.3f}' for name, value in means.items())}. By data set, "
        f"pessimistic: {mean_difference(compared, PESSIMISTIC)}. Within two standard errors of the "
        f"paper's accuracy are {near(PESSIMISTIC)} pessimistic lines and {near(*EVALUATED)} "
        "evaluated optimistic ones; the lines of a data set share their draws and err together.",
    )
    bars = Plot(
        f"figure-{figure}",
        f"Fig. {figure} of the paper: mean accuracy against ε and the radius of the attack on the "
        "test rows.",
        partial(draw_bars, here, (PESSIMISTIC, EVALUATED[0])),
    )
    tables = beside_paper(compared, table, KEYS, setting=f", ε = {EPSILON:g}")
    return Section(f"Perturbed data, {state} validation rows", text, (bars, *tables))


def _what_it_depends_on(rows: pd.DataFrame) -> Section:
    def accuracy(own: pd.DataFrame, keys: list[str]) -> pd.Series:
        # Radii share a draw, so they are averaged first: a standard error is one over draws.
        return own.groupby([*keys, "seed"])["test_accuracy"].mean()

    pessimistic = accuracy(PESSIMISTIC.rows(rows), _SETTING)
    optimistic = [accuracy(reading.rows(rows), _SETTING) for reading in EVALUATED]
    plain = accuracy(rows[rows["model"] == PLAIN], _SETTING[:2])
    ahead, behind = pessimistic - optimistic[0], pessimistic - plain
    tie = optimistic[1] - optimistic[0]
    searched = PESSIMISTIC.rows(rows).set_index(_SETTING)
    table = pd.DataFrame(
        {
            "pessimistic": pessimistic.groupby(_SETTING).mean(),
            f"less {EVALUATED[0].name}": ahead.groupby(_SETTING).mean(),
            "standard error": ahead.groupby(_SETTING).sem(),
            f"less {PLAIN}": behind.groupby(_SETTING).mean(),
            "standard error of that": behind.groupby(_SETTING).sem(),
            "share proved": searched["proved"].astype(float).groupby(level=_SETTING).mean(),
        }
    ).reset_index()
    lead = table[f"less {EVALUATED[0].name}"]
    clear = lead.abs() > 2.0 * table["standard error"]
    text = (
        f"Averaged over the radii of the attack, the pessimistic model is ahead of the evaluated "
        f"optimistic one (largest box) in {share(lead > 0.0)} settings of data set, validation "
        f"radius and ε, by more than two standard errors in {int((clear & (lead > 0.0)).sum())}, "
        f"and behind by as much in {int((clear & (lead < 0.0)).sum())}.",
        "The evaluated accuracy in the smallest box less that in the largest, over all settings: "
        f"{mean_by_data(tie)}. The pessimistic model less {PLAIN} on T and V: "
        f"{mean_by_data(behind)}.",
        "What the paper leaves open and these numbers depend on: the numbers of rows of T and V; "
        "which of the boxes that share the optimum is evaluated; whether that evaluation flips "
        "the labels that the pessimistic problem flips or all of them; whether a validation "
        "attack changes which test rows count as inside the margin (here it does: the hyperplane "
        "is the optimistic one tuned on the attacked rows); and, where the optimum is not proved, "
        "when its solver stopped.",
    )
    settings = Table(
        "settings",
        "Mean accuracy over all radii of the attack on the test rows, and paired differences with "
        "their standard errors over draws.",
        table.rename(columns=SYMBOLS),
    )
    return Section("Perturbed data: what it depends on", text, (settings,))
