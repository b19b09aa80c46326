"""What the exact worst cases of many cells show, counted from the stored answers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grouping import split_by
from pessimism_boxes import EACH, ONE, OPTIMISTIC, PAPER, Answer, Cell

from pessimal.tolerances import AT_BREAKPOINT, OPTIMAL_GAP

Answers = Mapping[Cell, Mapping[str, Answer]]


def by_method(boxes: Mapping[Cell, Sequence[Answer]]) -> Answers:
    """Find the answers of a cell by the name of the method."""
    return {cell: {answer.method: answer for answer in found} for cell, found in boxes.items()}


@dataclass(frozen=True)
class Summary:
    """One method on several cells: means, shares from 0 to 1, CPU seconds."""

    value: float
    lower_bound: float
    proved: float
    stopped: float
    empty: float
    median: float
    worst: float


def summarise(answers: Iterable[Mapping[str, Answer]], method: str) -> Summary:
    """Take the means of a method; `empty` counts boxes that hold no weight but 0."""
    own = [found[method] for found in answers]
    bounds = [answer.lower_bound for answer in own if answer.lower_bound is not None]
    seconds = [answer.seconds for answer in own]
    return Summary(
        value=statistics.fmean(answer.value for answer in own),
        lower_bound=statistics.fmean(bounds) if bounds else math.nan,
        proved=statistics.fmean(answer.proved for answer in own),
        stopped=statistics.fmean(answer.status == "time limit" for answer in own),
        empty=statistics.fmean(answer.width < AT_BREAKPOINT for answer in own),
        median=statistics.median(seconds),
        worst=max(seconds),
    )


@dataclass(frozen=True)
class Excess:
    """In how many of the cells one method's worst case is above another's, and by how much."""

    cells: int
    of: int
    largest: float

    def __str__(self) -> str:
        if not self.cells:
            return f"in none of {self.of:,} cells"
        return f"in {self.cells:,} of {self.of:,} cells, by up to {self.largest:.2g}"


def excess(answers: Answers, method: str, other: str) -> Excess:
    """Count the cells in which a method is above another by more than a proof allows."""
    above = [found[method].value - found[other].value for found in answers.values()]
    counted = [difference for difference in above if difference > OPTIMAL_GAP]
    return Excess(len(counted), len(above), max(counted, default=0.0))


def findings(answers: Answers) -> list[str]:
    """Say what holds and what does not, with the numbers that say so."""
    budgets = split_by(answers, _kind)
    one = summarise(answers.values(), ONE)
    each = summarise(answers.values(), EACH)
    everything = [answer for found in answers.values() for answer in found.values()]
    open_ends = sum(a.upper_bound > a.value + OPTIMAL_GAP for a in everything)
    checks = sorted(found[m].check_seconds for found in answers.values() for m in (ONE, EACH))
    proofs = (
        f"{kind}: {sum(found[ONE].proved for found in part.values())} of {len(part)}"
        for kind, part in budgets.items()
    )
    return [
        f"Ours, one limit a feature, was above the optimistic box "
        f"{excess(answers, EACH, OPTIMISTIC)}; above the paper's "
        f"{excess(answers, EACH, PAPER)}; above ours with one limit for all "
        f"{excess(answers, EACH, ONE)}. Differences of up to 10⁻⁶ do not count.",
        f"It was below both boxes of the views {_below(answers)}.",
        f"One limit for all was proved with {'; '.join(proofs)}. It took a median of "
        f"{one.median:.2f} s and at most {one.worst:.2f} s.",
        f"One limit a feature was proved in {each.proved:.0%} and stopped by its time limit in "
        f"{each.stopped:.0%}; it took a median of {each.median:.2f} s. Where it is not proved, "
        "nothing says that no better box exists; the gap to the bound is what is known.",
        f"The best single limit was 0 in {one.empty:.0%}: a model without any weight, which "
        "predicts one class, has the least worst case. With one limit a feature that happened in "
        f"{each.empty:.0%}.",
        f"Of all worst cases on this page, {open_ends} of {len(everything):,} are not known "
        "exactly. The check of our answers by a mixed-integer program took a median of "
        f"{statistics.median(checks):.2f} s and at most {checks[-1]:.1f} s more.",
    ]


def _kind(cell: Cell) -> str:
    if cell.delta > 0.0:
        return "δ > 0"
    return "ε > 0 alone" if cell.epsilon > 0.0 else "no tolerance"


def _below(answers: Answers) -> str:
    views = (OPTIMISTIC, PAPER)
    pairs = [
        (found[EACH].value, min(found[view].value for view in views)) for found in answers.values()
    ]
    gains = [best - ours for ours, best in pairs if ours < best - OPTIMAL_GAP]
    if not gains:
        return f"in none of {len(pairs):,} cells"
    return (
        f"in {len(gains):,} of {len(pairs):,} cells, there by a median of "
        f"{statistics.median(gains):.2f}"
    )
