"""Searches stopped by a signal at a random moment: what they return must still hold."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import FrameType
from typing import Any

from stress_cases import Rng
from stress_findings import Findings, Verdict, at_most

from pessimal import (
    AuditReport,
    Budget,
    TuningProblem,
    audit,
    load_diabetes,
    solve_optimistic,
    solve_pessimistic,
    worst_case,
)
from pessimal.datasets import paper_split
from pessimal.near_optimal import Extreme
from pessimal.solution import TuningSolution

ROWS = 15
DRAWS = 8
LONGEST = (0.005, 0.03, 0.3)
"""Seconds after which the signal comes, at most: while a search begins, or anywhere in it."""


@cache
def problem(seed: int) -> TuningProblem:
    split = paper_split(load_diabetes(), ROWS, ROWS, seed)
    return TuningProblem(split.X_train, split.y_train, split.X_val, split.y_val)


def _audit(problem: TuningProblem) -> AuditReport:
    return audit(
        problem.X_train, problem.y_train, problem.X_val, problem.y_val, 1.0, 0.1, epsilons=(0.05,)
    )


CALLS: dict[str, Callable[[TuningProblem], Any]] = {
    "optimistic": solve_optimistic,
    "flip": partial(solve_pessimistic, budget=Budget()),
    "flip with a budget": partial(solve_pessimistic, budget=Budget(0.2)),
    "exact, one limit": partial(
        solve_pessimistic, budget=Budget(0.05), inner="exact", groups="one"
    ),
    "exact": partial(solve_pessimistic, budget=Budget(), inner="exact"),
    "hinge": partial(worst_case, box=1.0, budget=Budget(0.2)),
    "zero_one": partial(worst_case, box=1.0, budget=Budget(0.2), loss="zero_one"),
    "audit": _audit,
}

Ranges = dict[str, tuple[float, float]]


def ranges(answer: Any) -> Ranges:
    """Interval in which an answer says that each of its numbers lies."""
    match answer:
        case TuningSolution():
            # Of true pessimism what counts is the worst case of its box, perhaps only bounded.
            bound = answer.worst_case_bound
            upper = max(answer.objective, bound) if bound < math.inf else answer.objective
            return {"objective": (answer.lower_bound, upper)}
        case Extreme():
            return {"worst case": (answer.value, answer.upper_bound)}
        case AuditReport():
            ends = {
                name: getattr(answer, name)
                for name in ("best_loss", "worst_loss", "best_error", "worst_error", "discrepancy")
            }
            return {
                name: (min(end.value, end.bound), max(end.value, end.bound))
                for name, end in ends.items()
            }
    raise TypeError(type(answer))


@cache
def known(call: str, seed: int) -> Ranges:
    return ranges(CALLS[call](problem(seed)))


def interrupt(rng: Rng, number: int, findings: Findings) -> None:
    """Stop a call, by Ctrl-C from a thread or by an alarm; compare with the call left alone."""
    name = list(CALLS)[number % len(CALLS)]
    seed = number // len(CALLS) % DRAWS
    after = float(rng.uniform(1e-4, rng.choice(LONGEST)))
    by_thread = bool(rng.integers(2))
    truth = known(name, seed)
    findings.subject = f"{name}, Diabetes {seed}, {'SIGINT' if by_thread else 'SIGALRM'}"
    findings.source = f"after {after:.6f} s"
    try:
        with (ctrl_c if by_thread else alarm)(after):
            found = ranges(CALLS[name](problem(seed)))
    except KeyboardInterrupt:
        findings.add(Verdict.REFUSED, f"KeyboardInterrupt after {after:.6f} s")
        return
    for key, (low, high) in found.items():
        least, most = truth[key]
        text = f"{key} [{low:.9g}, {high:.9g}], left alone [{least:.9g}, {most:.9g}]"
        findings.require(at_most(low, most) and at_most(least, high), f"{text} after {after:.6f} s")
        findings.require(at_most(high, low), text, Verdict.OPEN)


@contextmanager
def alarm(after: float) -> Iterator[None]:
    """Raise KeyboardInterrupt from the handler of a timer."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def ctrl_c(after: float) -> Iterator[None]:
    """Send this process what a terminal sends on Ctrl-C."""
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
