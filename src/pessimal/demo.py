"""The two views side by side on one small instance: ``python -m pessimal.demo``.

The instance is the first draw (seed 0) at the largest size of the paper's study of limited data:
Cancer with 20 training and 20 validation rows, and the paper's tolerance of 20 % in training loss.
At smaller sizes most Cancer draws can be fitted without any loss, and the two views agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.box import ASCII2
from rich.console import Console
from rich.table import Table

from pessimal import (
    Budget,
    TuningProblem,
    TuningSolution,
    load_cancer,
    solve_optimistic,
    solve_pessimistic,
    worst_case,
)
from pessimal.datasets import paper_split

N_TRAIN = 20
N_VAL = 20
SEED = 0
BUDGET = Budget(epsilon=0.2)


@dataclass(frozen=True)
class Column:
    """One view's answer, with what it is worth on validation and on test data."""

    solution: TuningSolution
    worst_loss: float
    test_accuracy: float


def tune() -> tuple[Column, Column]:
    """Tune the instance optimistically and pessimistically; judge both by the same budget."""
    data = paper_split(load_cancer(), N_TRAIN, N_VAL, SEED)
    problem = TuningProblem(data.X_train, data.y_train, data.X_val, data.y_val)

    def judge(solution: TuningSolution) -> Column:
        scores = data.X_test @ solution.coef + solution.intercept
        return Column(
            solution,
            worst_loss=worst_case(problem, solution.box, BUDGET).value,
            test_accuracy=float(np.mean(np.where(scores > 0.0, 1.0, -1.0) == data.y_test)),
        )

    return (judge(solve_optimistic(problem)), judge(solve_pessimistic(problem, BUDGET, flip="all")))


def table(*columns: Column) -> Table:
    """Lay the answers out side by side: the optimistic column, then the pessimistic one."""
    grid = Table("", box=ASCII2, title=f"Cancer, {N_TRAIN} training and {N_VAL} validation rows")
    grid.add_column("optimistic", justify="right")
    grid.add_column("pessimistic", justify="right")
    for j, name in enumerate(load_cancer().feature_names):
        limits = (f"{column.solution.box[j]:.3f}" for column in columns)
        grid.add_row(f"limit on |weight| of {name}", *limits)
    grid.add_section()
    rows = {
        "validation loss of the model found": [f"{c.solution.objective:.4f}" for c in columns],
        "lower bound on that loss": [f"{c.solution.lower_bound:.4f}" for c in columns],
        "proved optimal": ["yes" if c.solution.proved else "no" for c in columns],
        "exact worst-case validation loss": [f"{c.worst_loss:.4f}" for c in columns],
        "test accuracy of the model found": [f"{c.test_accuracy:.1%}" for c in columns],
        "seconds": [f"{c.solution.seconds:.2f}" for c in columns],
    }
    for label, cells in rows.items():
        grid.add_row(label, *cells)
    return grid


def meaning(optimistic: Column, pessimistic: Column) -> str:
    """Say in words what the worst-case line of the table says."""
    return (
        f"Of all models that train within {BUDGET.epsilon:.0%} of the best, the worst has a "
        f"validation loss of {optimistic.worst_loss:.4f} under the optimistic limits and of "
        f"{pessimistic.worst_loss:.4f} under the pessimistic ones. The lower this number, the "
        "less it matters which of these models training happens to return. Losses are mean hinge "
        "losses: 0 is perfect, and scoring every row 0 gives 1. Accuracy on one small draw is "
        "mostly luck; it is printed so that nothing is hidden."
    )


def main() -> None:
    """Tune, print the table and what it means."""
    columns = tune()
    console = Console(highlight=False)
    console.print(table(*columns))
    console.print(meaning(*columns))


if __name__ == "__main__":
    main()
