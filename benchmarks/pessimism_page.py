"""The page on true pessimism, written from the stored measurements and nothing else."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pessimism_accuracy as accuracy
import pessimism_boxes as boxes
import pessimism_checks as checks
import pessimism_scores as scores
import pessimism_worst as worst
from grouping import split_by
from machine import Machine
from pessimism_plot import budget_of
from wording import seconds, table, times

from pessimal.tolerances import OPTIMAL_GAP

FIGURE = "true_pessimism"
COMMAND = "python benchmarks/true_pessimism.py"


@dataclass(frozen=True)
class Evidence:
    """All that the page is written from: the rows of every task, part by part."""

    machine: Machine
    boxes: Mapping[boxes.Cell, Sequence[boxes.Answer]]
    accuracy: Mapping[accuracy.Draw, Sequence[accuracy.Score]]
    reach: Mapping[worst.Size, Sequence[worst.Evaluation]]
    jumps: Mapping[worst.Line, Sequence[worst.Jump]]


def write(evidence: Evidence) -> str:
    """Return the page in Markdown; a part without rows is left out."""
    sections = [
        "# True pessimism, measured",
        "How much is gained when the exact worst case itself is made small, "
        '`solve_pessimistic(inner="exact")`, instead of the paper\'s stand-in for it; what it '
        "costs; and whether it generalises. Every figure and every sentence with a number is "
        "computed from stored measurements.",
        _machine(evidence.machine),
    ]
    if evidence.boxes:
        sections += _boxes(checks.by_method(evidence.boxes))
    if evidence.accuracy:
        sections += scores.section(evidence.accuracy)
    if evidence.reach:
        sections += _reach(evidence.reach)
    if evidence.jumps:
        sections += _jumps(evidence.jumps)
    return "\n\n".join(sections) + "\n"


def _machine(machine: Machine) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in machine.packages.items())
    return (
        f"Machine: {machine.cpu}, {machine.cores} cores, {machine.memory_gb:g} GB, "
        f"{machine.system}, {machine.python}; {packages}. One thread. Times are CPU seconds, for "
        "others used the machine too; time limits are on the clock.\n\n"
        f"Command:\n\n    {COMMAND}"
    )


def _boxes(answers: checks.Answers) -> list[str]:
    seeds = sorted({cell.seed for cell in answers})
    findings = "\n".join(f"- {finding}" for finding in checks.findings(answers))
    full = [
        f"### {data}, by size\n\n{_answers_table(part, _size_of)}"
        for data, part in split_by(answers, lambda cell: cell.data).items()
    ]
    return [
        "## How bad the worst model of a box is",
        f"Cancer and Diabetes, |T| and |V| of {', '.join(map(str, boxes.SIZES))} rows, seeds "
        f"{seeds[0]} to {seeds[-1]}, on which nothing was tuned: {len(answers):,} cells. A cell is "
        "a draw with a budget. Four boxes are compared by their *exact* worst case, the largest "
        "validation loss of all models that train within (1 + ε) times the least training loss, "
        "plus δ:",
        "- the optimistic view's, and the paper's pessimistic view's with all labels flipped "
        f"({boxes.PAPER_NODES:,} nodes of the search, proved or not), both as small as their "
        "model allows;\n"
        f'- ours with `groups="one"`, one limit for all features; and with `groups="each"`, one '
        f"limit a feature, within {boxes.EACH_LIMIT:g} s.",
        _answers_table(answers, lambda cell: f"{cell.data}, {budget_of(cell)}"),
        "Means over all sizes and seeds; *bound*: no box has a smaller worst case than this, on "
        "average; seconds: median, and the longest in brackets.",
        f"![Mean exact worst case by budget](images/{FIGURE}.svg)",
        findings,
        *full,
    ]


def _size_of(cell: boxes.Cell) -> str:
    return f"{cell.n_train}, {cell.n_val}, {budget_of(cell)}"


def _answers_table(answers: checks.Answers, label: Callable[[boxes.Cell], str]) -> str:
    lines = []
    for name, part in split_by(answers, label).items():
        of = {m: checks.summarise(part.values(), m) for m in next(iter(part.values()))}
        one, each = of[boxes.ONE], of[boxes.EACH]
        lines.append(
            [
                name,
                f"{of[boxes.OPTIMISTIC].value:.3f}",
                f"{of[boxes.PAPER].value:.3f}",
                f"{one.value:.3f}",
                f"{each.value:.3f}",
                f"{each.lower_bound:.3f}",
                *(f"{of[m].proved:.0%}" for m in (boxes.PAPER, boxes.ONE, boxes.EACH)),
                *(f"{summary.median:.2f} ({summary.worst:.2f})" for summary in (one, each)),
            ]
        )
    values = ["optimistic box", "paper's box", "ours, one", "ours, each", "bound"]
    shares = ["paper's proved", "one proved", "each proved"]
    return table(["", *values, *shares, "seconds, one", "seconds, each"], lines)


def _reach(found: Mapping[worst.Size, Sequence[worst.Evaluation]]) -> list[str]:
    pairs = {size: {row.method: row for row in rows} for size, rows in found.items()}
    lines = []
    for (n_val, epsilon, delta), part in split_by(
        pairs, lambda size: (size.n_val, size.epsilon, size.delta)
    ).items():
        ours = [rows[worst.OURS] for rows in part.values()]
        highs = [rows[worst.HIGHS] for rows in part.values()]
        ratio = statistics.median(h.seconds / o.seconds for o, h in zip(ours, highs, strict=True))
        lines.append(
            [
                f"{n_val}",
                f"{epsilon:g}",
                f"{delta:g}",
                f"{len(part)}",
                f"{statistics.fmean(_exact(row) for row in ours):.0%}",
                seconds(statistics.median(row.seconds for row in ours)),
                seconds(max(row.seconds for row in ours)),
                f"{statistics.median(row.nodes or 0 for row in ours):,.0f}",
                f"{max(row.nodes or 0 for row in ours):,}",
                f"{statistics.fmean(_exact(row) for row in highs):.0%}",
                seconds(statistics.median(row.seconds for row in highs)),
                times(ratio),
            ]
        )
    both = [rows for rows in pairs.values() if all(_exact(row) for row in rows.values())]
    largest = max(
        (abs(rows[worst.OURS].value - rows[worst.HIGHS].value) for rows in both), default=0.0
    )
    ours_head = ["exact", "median", "worst", "nodes, median", "nodes, most"]
    highs_head = ["HiGHS exact", "HiGHS median", "median ratio"]
    return [
        "## How many validation rows an exact worst case bears",
        f"One worst case in the widest box, Cancer and Diabetes, |T| = {worst.N_TRAIN}, by the "
        "package's branch and bound and by a mixed-integer program with the tightest constants on "
        f"HiGHS; {worst.TIME_LIMIT:g} s on the clock for each; *exact*: share of draws on which "
        "value and bound met. Ratios are HiGHS's time over ours, a limit counting as the time "
        "used until then.",
        table(["rows of V", "ε", "δ", "draws", *ours_head, *highs_head], lines),
        f"On the {len(both)} draws that both solved, their values differ by at most {largest:.1g}.",
    ]


def _jumps(found: Mapping[worst.Line, Sequence[worst.Jump]]) -> list[str]:
    rows = [row for jumps in found.values() for row in jumps]
    lines = [
        [f"{step:g}", f"{change:.2g}", f"{change / step:.2g}"]
        for step in sorted({row.step for row in rows}, reverse=True)
        for change in [max(row.change for row in rows if row.step == step)]
    ]
    n_points = sum(jumps[0].breakpoints for jumps in found.values())
    return [
        "## Is the least worst case attained?",
        "It is, also without a tolerance. The models within a training limit and a box are a "
        "polyhedron that moves with its right-hand sides, and so at most proportionally to them "
        "(Hoffman; Walkup and Wets), and the least training loss of a box is piecewise linear in "
        "it: the worst case is a continuous function on the compact set of boxes. With one limit "
        f"h for all features and ε = δ = 0, the largest change within a step of the {n_points:,} "
        f"breakpoints of the least training loss in {len(found)} draws was, step by step:",
        table(["step", "largest change of the worst case", "per unit"], lines),
    ]


def _exact(row: worst.Evaluation) -> bool:
    return row.upper_bound <= row.value + OPTIMAL_GAP
