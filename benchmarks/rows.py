"""What one solver did on one instance, and the file that keeps it as soon as it is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from instances import Instance
from lines import Lines

OURS = "pessimal"

PROVED = "proved"
LIMIT = "limit"
NOT_PROVED = "not proved"
TOO_LARGE = "too large for the licence"
FAILED = "failed"


@dataclass(frozen=True)
class Row:
    """One solver on one instance.

    Attributes
    ----------
    instance : Instance
    solver, version : str
    limit : float
        Time limit in seconds on the clock.
    status : str
        The solver's own claim; whether it holds is for the report to say.
    seconds : float or None
        CPU time. Ours: the whole call without its certificate. MILP: the solver's run alone.
    objective, bound : float or None
        The value and the lower bound that the solver claims.
    certified : float or None
        Validation loss of the solver's point if its certificate holds, if need be after its
        binaries are rounded and the linear program that is left is solved again.
    inner_gap : float or None
        How far the solver's point, as returned, is from solving its inner problem.
    certificate_seconds, build_seconds : float or None
        CPU time to check the point, and to write the MILP; not part of `seconds`.
    multiplier_cap : float or None
        Largest multiplier λ the MILP allows, where that is not proved to suffice.
    nodes, columns : int or None
        Branch-and-bound nodes; columns of the MILP.
    memory_before, memory_peak : float or None
        Resident memory of the solver's process in MB, before the solve and at its peak.
    message : str
        What went wrong.
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


class Store:
    """The rows in a file, written as they come."""

    def __init__(self, path: Path) -> None:
        self._lines = Lines(path)

    def add(self, row: Row) -> None:
        """Append a row."""
        self._lines.add(asdict(row))

    def rows(self) -> list[Row]:
        """Return all rows so far."""
        return [
            Row(**fields | {"instance": Instance(**fields["instance"])})
            for fields in self._lines.read()
        ]

    def done(self) -> set[tuple[str, str]]:
        """Return which (instance, solver) need not be run again; failures are tried again."""
        return {(row.instance.key, row.solver) for row in self.rows() if row.status != FAILED}


def by_instance(rows: Iterable[Row]) -> dict[Instance, dict[str, Row]]:
    """Group rows by instance, then by solver; of two rows the later one counts."""
    groups: dict[Instance, dict[str, Row]] = {}
    for row in rows:
        groups.setdefault(row.instance, {})[row.solver] = row
    return groups
