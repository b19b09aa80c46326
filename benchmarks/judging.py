"""Rows of solvers on the same instances: who is right when two disagree, and who was faster.

A certified point is a fact: no optimum lies above its value. So a solver is wrong when it claims a
lower bound above a certified value, whoever found that; and when it claims a value below what
another one, not refuted in this way, has proved to be a lower bound, with a point that fails the
certificate.

Two limits may differ, so both times are cut at the smaller one: whoever has not proved a right
answer by then counts as that limit. Limits are on the clock, times are on the processor; so a
solver stopped at its limit was given what it had used by then. Where neither has proved anything,
there is nothing to compare; where the solver's claim is wrong, its time means nothing. Such
instances have no ratio.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, TypeVar

from instances import Instance

from pessimal.tolerances import OPTIMAL_GAP

OURS = "pessimal"
PROVED, LIMIT, NOT_PROVED, FAILED = "proved", "limit", "not proved", "failed"
TOO_LARGE = "too large for the licence"


@dataclass(frozen=True)
class Row:
    """One solver on one instance; whether its claims hold is for this module to say.

    `seconds` are CPU seconds: ours the whole call without its certificate, a MILP solver's its run
    alone. `certified` is the validation loss of its point if the certificate holds, if need be
    after the binaries are rounded; `inner_gap` says how far the point as returned is from solving
    its inner problem; `multiplier_cap` is the largest λ the MILP allows where that is not proved to
    suffice. Memory is that of the solver's process in MB.
    """

    instance: Instance
    solver: str
    version: str
    limit: float
    status: str
    seconds: float | None = None
    objective: float | None = None
    bound: float | None = None
    certified: float | None = None
    inner_gap: float | None = None
    certificate_seconds: float | None = None
    build_seconds: float | None = None
    multiplier_cap: float | None = None
    nodes: int | None = None
    columns: int | None = None
    memory_before: float | None = None
    memory_peak: float | None = None
    message: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """The row as it is stored: configuration and findings side by side."""
        found = asdict(self)
        return {**found.pop("instance"), **found}


def from_record(record: Mapping[str, Any]) -> Row:
    """Return the row that was stored."""
    own = {field.name: record[field.name] for field in fields(Instance)}
    return Row(Instance(**own), **{k: v for k, v in record.items() if k not in own})


Group = Mapping[Instance, Mapping[str, Row]]
Label = TypeVar("Label", bound=Hashable)


def by_instance(rows: Iterable[Row]) -> dict[Instance, dict[str, Row]]:
    """Group rows by instance, then by solver; of two rows the later one counts."""
    groups: dict[Instance, dict[str, Row]] = {}
    for row in rows:
        groups.setdefault(row.instance, {})[row.solver] = row
    return groups


def split_by(
    group: Group, label: Callable[[Instance], Label]
) -> dict[Label, dict[Instance, Mapping[str, Row]]]:
    """Split a group by a label of its instances, in order of appearance."""
    parts: dict[Label, dict[Instance, Mapping[str, Row]]] = {}
    for instance, rows in group.items():
        parts.setdefault(label(instance), {})[instance] = rows
    return parts


class Wrong(NamedTuple):
    """A claim that does not hold, the value that it should have been near, and why."""

    row: Row
    reference: float
    reason: str


def wrong_claims(rows: Mapping[str, Row]) -> list[Wrong]:
    """Return the wrong claims among the rows of one instance."""
    certified = {row.solver: row.certified for row in rows.values() if row.certified is not None}
    best = min(certified, key=lambda solver: certified[solver], default=None)
    too_high = {
        row.solver: Wrong(row, certified[best], _missed(row, best, rows[best].inner_gap))
        for row in rows.values()
        if best is not None and _claimed_bound(row) > certified[best] + OPTIMAL_GAP
    }
    bounds = {s: _claimed_bound(row) for s, row in rows.items() if row.solver not in too_high}
    too_low = []
    for row in rows.values():
        floor = max((b for solver, b in bounds.items() if solver != row.solver), default=0.0)
        if row.status == PROVED and row.objective is not None:
            below = row.objective < floor - OPTIMAL_GAP
            if below and (row.certified is None or row.certified > row.objective + OPTIMAL_GAP):
                reason = f"its point fails the certificate: inner gap {row.inner_gap or 0.0:.1e}"
                too_low.append(Wrong(row, floor, reason))
    return [*too_high.values(), *too_low]


def all_wrong_claims(group: Group) -> list[Wrong]:
    """Return the wrong claims on all instances of a group."""
    return [claim for rows in group.values() for claim in wrong_claims(rows)]


def _claimed_bound(row: Row) -> float:
    if row.status == PROVED and row.objective is not None:
        # A solver stops as soon as its bound is near enough; its claim is the value.
        return row.objective
    return 0.0 if row.bound is None else row.bound


def _missed(row: Row, finder: str, inner_gap: float | None) -> str:
    reason = f"the point of {finder} is better and certified, inner gap {inner_gap or 0.0:.1e}"
    if row.multiplier_cap is None:
        return reason
    return f"{reason}; this program caps λ at {row.multiplier_cap:g}, unproved"


class Summary(NamedTuple):
    """One solver on a group of instances; seconds over all of them, cut at the limit."""

    fit: int
    proved: int
    wrong: int
    median: float
    worst: float
    unproved: int
    ratio_of_medians: float | None
    median_ratio: float | None


class Pair(NamedTuple):
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


def summarise(group: Group, solver: str) -> Summary:
    """Summarise one solver over the instances that its licence allows."""
    ran = [rows[solver] for rows in group.values() if solver in rows]
    fit = [row for row in ran if row.status != TOO_LARGE]
    wrong = {claim.row for claim in all_wrong_claims(group)}
    seconds = [row.seconds if row.seconds is not None else row.limit for row in fit]
    pairs = comparable(group, solver)
    medians = [statistics.median(side) for side in zip(*(p[2:] for p in pairs), strict=True)]
    return Summary(
        fit=len(fit),
        proved=len([row for row in fit if row.status == PROVED and row not in wrong]),
        wrong=len([row for row in fit if row in wrong]),
        median=statistics.median(seconds) if seconds else math.nan,
        worst=max(seconds, default=math.nan),
        unproved=len([row for row in fit if row.status != PROVED]),
        ratio_of_medians=medians[0] / medians[1] if pairs else None,
        median_ratio=statistics.median(pair.ratio for pair in pairs) if pairs else None,
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
        theirs, own = time_to_proof(row), time_to_proof(ours)
        if min(theirs, own) <= limit:
            pairs.append(Pair(row, ours, min(theirs, limit), min(own, limit)))
    return pairs


def losses(group: Group) -> list[Pair]:
    """Return where a solver proved its answer sooner than ours, the worst for us first."""
    pairs = [pair for solver in solvers_of(group) for pair in comparable(group, solver)]
    return sorted((pair for pair in pairs if pair.ratio < 1.0), key=lambda pair: pair.ratio)


def time_given(row: Row) -> float:
    """Return the seconds on the processor that a solver could have used, at least."""
    if row.status == LIMIT and row.seconds is not None:
        return min(row.limit, row.seconds)
    return row.limit


def time_to_proof(row: Row) -> float:
    """Return the seconds until the proof, infinite where there is none."""
    return row.seconds if row.status == PROVED and row.seconds is not None else math.inf
