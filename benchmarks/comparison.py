"""Times of a solver and of ours on the same instances, and their ratios.

Two limits may differ, so both times are cut at the smaller one: whoever has not proved a right
answer by then counts as that limit. Limits are on the clock, times are on the processor; so a
solver stopped at its limit was given what it had used by then. Where neither has proved anything,
there is nothing to compare; where the solver's claim is wrong, its time means nothing. Such
instances have no ratio.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from instances import Instance
from rows import LIMIT, OURS, PROVED, TOO_LARGE, Row
from verdicts import Wrong, wrong_claims

Group = Mapping[Instance, Mapping[str, Row]]


@dataclass(frozen=True)
class Summary:
    """One solver on a group of instances; seconds over all of them, cut at the limit."""

    solver: str
    instances: int
    proved: int
    wrong: int
    too_large: int
    median: float
    worst: float
    unproved: int
    ratio_of_medians: float | None
    median_ratio: float | None
    compared: int


@dataclass(frozen=True)
class Pair:
    """A solver's time and ours on one instance, cut at the smaller limit."""

    row: Row
    ours: Row
    seconds: float
    our_seconds: float

    @property
    def ratio(self) -> float:
        """How many times longer the solver took."""
        return self.seconds / self.our_seconds


def solvers_of(group: Group) -> list[str]:
    """Return the solvers with a row, ours first, then by name."""
    found = {solver for rows in group.values() for solver in rows}
    return sorted(found, key=lambda solver: (solver != OURS, solver))


def summarise(group: Group, solver: str) -> Summary | None:
    """Summarise one solver; None if it ran on none of the instances."""
    ran = [rows[solver] for rows in group.values() if solver in rows]
    fit = [row for row in ran if row.status != TOO_LARGE]
    if not ran:
        return None
    wrong = {claim.row for claim in all_wrong_claims(group)}
    proved = [row for row in fit if row.status == PROVED and row not in wrong]
    seconds = [row.seconds if row.seconds is not None else row.limit for row in fit]
    pairs = comparable(group, solver)
    return Summary(
        solver=solver,
        instances=len(ran),
        proved=len(proved),
        wrong=len([row for row in fit if row in wrong]),
        too_large=len(ran) - len(fit),
        median=statistics.median(seconds) if seconds else math.nan,
        worst=max(seconds, default=math.nan),
        unproved=len([row for row in fit if row.status != PROVED]),
        ratio_of_medians=_ratio_of_medians(pairs),
        median_ratio=statistics.median(pair.ratio for pair in pairs) if pairs else None,
        compared=len(pairs),
    )


def comparable(group: Group, solver: str) -> list[Pair]:
    """Return the instances on which the times of a solver and ours can be compared."""
    pairs = []
    for rows in group.values():
        if solver == OURS or solver not in rows or OURS not in rows:
            continue
        row, ours = rows[solver], rows[OURS]
        if row.status == TOO_LARGE or {row, ours} & {claim.row for claim in wrong_claims(rows)}:
            continue
        limit = min(time_given(row), time_given(ours))
        if min(_time_to_proof(row), _time_to_proof(ours)) > limit:
            continue
        pairs.append(
            Pair(row, ours, min(_time_to_proof(row), limit), min(_time_to_proof(ours), limit))
        )
    return pairs


def losses(group: Group) -> list[Pair]:
    """Return where a solver proved its answer sooner than ours, the worst for us first."""
    pairs = [pair for solver in solvers_of(group) for pair in comparable(group, solver)]
    return sorted((pair for pair in pairs if pair.ratio < 1.0), key=lambda pair: pair.ratio)


def all_wrong_claims(group: Group) -> list[Wrong]:
    """Return the wrong claims on all instances of a group."""
    return [claim for rows in group.values() for claim in wrong_claims(rows)]


def proof_times(group: Group, solver: str) -> list[float]:
    """Return the seconds to a right proof, ascending, infinite where there is none."""
    wrong = {claim.row for claim in all_wrong_claims(group)}
    rows = [rows[solver] for rows in group.values() if solver in rows]
    return sorted(math.inf if row in wrong else _time_to_proof(row) for row in rows)


def time_given(row: Row) -> float:
    """Return the seconds on the processor that a solver could have used, at least."""
    if row.status == LIMIT and row.seconds is not None:
        return min(row.limit, row.seconds)
    return row.limit


def _time_to_proof(row: Row) -> float:
    return row.seconds if row.status == PROVED and row.seconds is not None else math.inf


def _ratio_of_medians(pairs: Sequence[Pair]) -> float | None:
    if not pairs:
        return None
    theirs = statistics.median(pair.seconds for pair in pairs)
    return theirs / statistics.median(pair.our_seconds for pair in pairs)
