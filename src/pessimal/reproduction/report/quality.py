"""The report of the study of solution quality: Fig. A1, by flipping and exactly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd

from pessimal.report import Plot, Section, Table
from pessimal.reproduction.report.figures import draw_losses
from pessimal.reproduction.report.readings import (
    LARGEST,
    SMALLEST,
    SYMBOLS,
    by_data,
    share,
    share_by_data,
)
from pessimal.tolerances import CERTIFICATE, OPTIMAL_GAP

_SETTING = ["data", "rho_val", "epsilon"]


def sections(rows: pd.DataFrame) -> Sequence[Section]:
    """Make the report from the rows of the study, each with the columns of its configuration."""
    optimistic, pessimistic = _view(rows, "optimistic", LARGEST), _view(rows, "pessimistic")
    smallest = _view(rows, "optimistic")
    table = pd.DataFrame(
        {
            "optimistic objective": optimistic["objective"],
            "optimistic, flipped, largest box": optimistic["worst_flip"],
            "optimistic, flipped, smallest box": smallest["worst_flip"],
            "optimistic, exact, largest box": optimistic["worst_exact"],
            "optimistic, exact, smallest box": smallest["worst_exact"],
            "pessimistic objective": pessimistic["objective"],
            "pessimistic, exact": pessimistic["worst_exact"],
            "share proved": pessimistic["proved"].astype(float),
        }
    )
    figure = Plot(
        "figure-a1",
        "Fig. A1 of the paper, and the same with exact worst cases: mean validation loss against "
        "ε. Dashed: optimistic box, the largest. Solid: pessimistic. Colours: ρ of the validation "
        "rows.",
        partial(draw_losses, optimistic, pessimistic),
    )
    losses = Table(
        "losses",
        "Mean validation loss over the draws: objective of each view, and worst case of its box by "
        "flipping and exactly.",
        table.groupby(_SETTING).mean().reset_index().rename(columns=SYMBOLS),
    )
    text = (*_claims(optimistic, pessimistic), _certified(rows, pessimistic))
    return (Section("Solution quality", text, (figure, losses)),)


def _view(rows: pd.DataFrame, model: str, tie_break: str = SMALLEST) -> pd.DataFrame:
    kept = rows[(rows["model"] == model) & (rows["tie_break"] == tie_break)]
    return kept.set_index([*_SETTING, "seed"])


def _claims(optimistic: pd.DataFrame, pessimistic: pd.DataFrame) -> tuple[str, str]:
    """Check what the paper reads from its figure, draw by draw."""

    def above(column: str, other: str) -> str:
        return share_by_data(optimistic[column] >= pessimistic[other] - CERTIFICATE)

    def excess(frame: pd.DataFrame, column: str) -> str:
        means = frame.groupby("data")[["worst_exact", column]].mean()
        ratio = means["worst_exact"] / means[column]
        return by_data((data, f"{value:.2f} times") for data, value in ratio.items())

    below = pessimistic["objective"] < optimistic["objective"] - CERTIFICATE
    return (
        "The paper expects the worst case at the optimistic box to be the larger in every draw. By "
        f"flipping it is in {above('worst_flip', 'objective')}; exactly in "
        f"{above('worst_exact', 'worst_exact')}.",
        "Flipping stands in for the worst case and falls short of it: the mean exact worst case is "
        f"{excess(optimistic, 'worst_flip')} the flipped one at the optimistic box, and "
        f"{excess(pessimistic, 'objective')} the pessimistic objective at the pessimistic box. In "
        f"{share(below)} draws the pessimistic objective is below the optimistic optimum, which no "
        "true worst case can be: the relaxation lets the outer level widen the budget by a poor "
        "copy of the model.",
    )


def _certified(rows: pd.DataFrame, pessimistic: pd.DataFrame) -> str:
    met = rows["worst_exact_bound"] - rows["worst_exact"] <= OPTIMAL_GAP
    return (
        f"Pessimistic optima proved: {share_by_data(pessimistic['proved'])}; the others are the "
        f"best after {rows['node_limit'].max():,} nodes. Exact worst cases that meet their bound: "
        f"{share(met)}. {rows['n_train'].max()} rows to train and {rows['n_val'].max()} to "
        f"validate on, draws: {rows['seed'].nunique()}; the paper names neither its sizes nor its "
        "three radii."
    )
