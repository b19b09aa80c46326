"""What an audit does in its time: the searches, the most important first, and how they ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from pessimal.auditing.clock import Clock
from pessimal.auditing.extremes import Extremes
from pessimal.errors import SolverError
from pessimal.interrupts import Interrupts, deferred_interrupts
from pessimal.limits import Deadline

Search: TypeAlias = tuple[str, Callable[[Deadline], None]]
"""Its name, and what to do until a deadline."""


@dataclass
class Ended:
    """How an audit ended: whether time or Ctrl-C cut something short, and what to say of it."""

    early: bool = False
    notes: tuple[str, ...] = ()


def refine(known: Extremes, clock: Clock, before: Interrupts, errors: bool) -> Ended:
    """Improve what is known, the most important first, until all is known or time is up.

    Nothing is improved if Ctrl-C came before.
    """
    ended = Ended()
    others = [k for k in range(len(known.sets)) if k != known.here]
    searches: list[Search] = [
        ("worst loss", partial(known.find_worst_loss, known.here)),
        ("worst error", partial(known.find_worst_error, known.here)),
        ("best error", known.find_best_error),
        ("discrepancy", known.find_discrepancy),
        ("worst sensitivity", partial(known.find_worst_in_class, 1)),
        ("worst specificity", partial(known.find_worst_in_class, 0)),
    ]
    for k in others:
        at = f"at epsilon {known.sets[k].budget.epsilon:g}"
        searches += [
            (f"worst loss {at}", partial(known.find_worst_loss, k)),
            (f"worst error {at}", partial(known.find_worst_error, k)),
        ]
    if not errors:
        searches = [search for search in searches if search[0].startswith("worst loss")]
    cause = "Time ran out"
    try:
        before.deliver()
        with deferred_interrupts() as interrupts:
            clock.interrupts = interrupts

            def begin(step: str) -> bool:
                interrupts.deliver()
                return clock.begin(step)

            for k in (known.here, *others):
                if begin("best loss"):
                    end = clock.after(0.2)
                    _attempt(ended, "The best loss", partial(known.find_best_loss, k, end))
                ended.early |= clock.over or known.out_of_time(clock.after(1.0))
            _find_ranges(ended, known, begin, clock)
            begin("coefficients")  # coarse ranges cost nothing, so there are some without time, too
            coefficients = partial(known.find_coefficients, clock.after(0.1))
            _attempt(ended, "The ranges of coefficients", coefficients)
            cut = _search(known, ended, searches, begin, clock)
            ranges = partial(known.find_ranges, begin, clock.after(1.0), all_points=True)
            _attempt(ended, "The score ranges", ranges)
            # What the others left of their time may be enough for those that were cut short.
            ended.early |= bool(_search(known, ended, cut, begin, clock))
    except KeyboardInterrupt:
        cause = "Ctrl-C came"
        ended.early = True
    known.finish()
    if not known.members.proves:
        if ended.early:
            ended.notes += (f"{cause} before every search had ended; a longer one may find more.",)
        return ended
    n, unasked = len(known.y), int(np.sum(~known.asked))
    bounded = int(np.sum(known.asked & ~known.reached))
    ended.early |= unasked > 0
    if unasked:
        ended.notes += (
            f"{cause} before the score ranges of {unasked} of {n} validation "
            "rows were found. Of their scores there are those of models that were found, and "
            "bounds that no model passes.",
        )
    elif ended.early:
        ended.notes += (
            f"{cause} before every search had ended. Where found and proved differ, the truth lies "
            "between them.",
        )
    if bounded:
        ended.notes += (
            f"The score ranges of {bounded} of {n} validation rows are bounds that no model "
            "passes; the models that were found do not reach both ends. The true ends lie between "
            "found and proved.",
        )
    return ended


def _search(
    known: Extremes,
    ended: Ended,
    searches: list[Search],
    begin: Callable[[str], bool],
    clock: Clock,
) -> list[Search]:
    """Share what is left of the time among searches; return those that it was too short for."""
    cut: list[Search] = []
    for k, (name, search) in enumerate(searches):
        if not begin(name):
            return cut + searches[k:]
        end = clock.after(1.0 / (len(searches) - k))
        _attempt(ended, f"The {name}", partial(search, end))
        if known.out_of_time(end):
            cut.append((name, search))
    return cut


def _find_ranges(ended: Ended, known: Extremes, begin: Callable[[str], bool], clock: Clock) -> None:
    """Find who is ambiguous, in half of the time if need be, then other ranges if it is quick."""
    half = clock.after(0.5)
    if begin("score ranges"):
        rough = partial(known.find_rough_ranges, clock.after(0.2))
        _attempt(ended, "The score ranges", rough)
    if begin("training ranges"):
        _attempt(ended, "The score ranges", partial(known.prepare_searches, clock.after(0.3)))
    ranges = partial(known.find_ranges, _until(begin, half), half, all_points=False)
    _attempt(ended, "The score ranges", ranges)
    soon = clock.after(0.2)
    ranges = partial(known.find_ranges, _until(begin, soon), soon, all_points=True)
    _attempt(ended, "The score ranges", ranges)


def _until(begin: Callable[[str], bool], end: Deadline) -> Callable[[str], bool]:
    """Return what says whether there is time for a step before an end."""
    return lambda step: begin(step) and not end.over


def _attempt(ended: Ended, name: str, step: Callable[[], None]) -> None:
    """Take a step; if its program fails, what was known before still holds."""
    try:
        step()
    except SolverError as failure:
        ended.early = True
        note = f"{name} could not be computed, so its bound is a coarse one: {failure}."
        ended.notes += (note,) if note not in ended.notes else ()
