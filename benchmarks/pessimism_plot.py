"""Mean exact worst cases by budget, a panel a data set, a bar a method."""

from __future__ import annotations

from grouping import split_by
from matplotlib.figure import Figure
from pessimism_boxes import EACH, ONE, OPTIMISTIC, PAPER, Cell
from pessimism_checks import Answers, summarise

# Colours that the colour-blind tell apart (Okabe and Ito).
_BARS = {
    OPTIMISTIC: ("the optimistic box", "#999999"),
    PAPER: ("the paper's box", "#e69f00"),
    ONE: ("ours, one limit for all", "#56b4e9"),
    EACH: ("ours, one limit a feature", "#0072b2"),
}
_WIDTH = 0.2


def budget_of(cell: Cell) -> str:
    """Name the budget of a cell."""
    return f"ε = {cell.epsilon:g}, δ = {cell.delta:g}"


def bars(answers: Answers) -> Figure:
    """Draw the means over all sizes and draws, with the bound of one limit a feature.

    Examples
    --------
    >>> len(bars({}).axes)
    0
    """
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    panels = split_by(answers, lambda cell: cell.data)
    for number, (data, part) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(1, len(panels), number)
        budgets = split_by(part, budget_of)
        for place, (method, (label, colour)) in enumerate(_BARS.items()):
            heights = [summarise(cells.values(), method).value for cells in budgets.values()]
            at = [k + (place - 1.5) * _WIDTH for k in range(len(budgets))]
            axes.bar(at, heights, _WIDTH, color=colour, label=label)
            if method == EACH:
                bounds = [summarise(cells.values(), EACH).lower_bound for cells in budgets.values()]
                axes.plot(at, bounds, "k_", markersize=9, label="its lower bound")
        axes.set_xticks(range(len(budgets)), [name.replace(", ", "\n") for name in budgets])
        axes.tick_params(labelsize=8)
        axes.set_title(data, fontsize=9)
        axes.set_ylabel("mean exact worst case", fontsize=9)
        axes.grid(axis="y", alpha=0.3)
    if panels:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels))
    return figure
