"""Who is right when two solvers disagree.

A certified point is a fact: no optimum lies above its value. So a solver is wrong when it claims a
lower bound above a certified value, whoever found that; and when it claims a value below what
another one, not refuted in this way, has proved to be a lower bound, with a point that fails the
certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rows import PROVED, Row

from pessimal.tolerances import OPTIMAL_GAP


@dataclass(frozen=True)
class Wrong:
    """A claim that does not hold, the value that it should have been near, and why."""

    row: Row
    reference: float
    reason: str


def wrong_claims(rows: Mapping[str, Row]) -> list[Wrong]:
    """Return the wrong claims among the rows of one instance."""
    certified = {row.solver: row.certified for row in rows.values() if row.certified is not None}
    best = min(certified, key=lambda solver: certified[solver], default=None)
    too_high: dict[str, Wrong] = {}
    if best is not None:
        value = certified[best]
        for row in rows.values():
            if _claimed_bound(row) > value + OPTIMAL_GAP:
                too_high[row.solver] = Wrong(row, value, _missed(row, best, rows[best].inner_gap))
    bounds = {
        row.solver: _claimed_bound(row) for row in rows.values() if row.solver not in too_high
    }
    too_low = []
    for row in rows.values():
        floor = max((b for solver, b in bounds.items() if solver != row.solver), default=0.0)
        if row.status == PROVED and row.objective is not None:
            below = row.objective < floor - OPTIMAL_GAP
            if below and (row.certified is None or row.certified > row.objective + OPTIMAL_GAP):
                reason = f"its point fails the certificate: inner gap {row.inner_gap or 0.0:.1e}"
                too_low.append(Wrong(row, floor, reason))
    return [*too_high.values(), *too_low]


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
