"""Mixed-integer linear programs as MPS files.

Fields are separated by blanks, as in free MPS; files in fixed columns are read too, as long as no
name holds a blank. The first N row is the objective and the others are left out. An integer column
without bounds is binary, as for most solvers. A bound of at least 1e30 is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from scipy.sparse import coo_array, csr_array

from pessimal.errors import InvalidInputError, shortened
from pessimal.problem import Mask, Vector

_INFINITE = 1e30
_SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")
_TITLED = ("NAME", "OBJSENSE")  # sections with a word of their own in their first line
_SENSES = {"MAX": True, "MAXIMIZE": True, "MIN": False, "MINIMIZE": False}
_NO_VALUE = ("FR", "MI", "PL", "BV")


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Optimise ``cost·z + constant`` subject to ``row_lower ≤ A z ≤ row_upper`` and bounds."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cost: Vector
    constant: float
    A: csr_array
    row_lower: Vector
    row_upper: Vector
    lower: Vector
    upper: Vector
    integer: Mask
    maximise: bool = False
    name: str = ""


class Source:
    """The lines of a text file, and errors that say where in it they are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{path} is not a text file in UTF-8") from error
        self._lines = text.splitlines()

    def lines(self, comment: str) -> Iterator[str]:
        """Yield the lines that hold anything but a comment."""
        for number, line in enumerate(self._lines, 1):
            self.number = number
            if line.strip() and not line.startswith(comment):
                yield line

    def fail(self, reason: str, line: int | None = None) -> NoReturn:
        """Refuse the file for what stands in the present line, or in another."""
        raise InvalidInputError(f"{self.path}, line {line or self.number}: {reason}")

    def parse(self, text: str, infinite: bool = False) -> float:
        """Return a number; a bound may be infinite."""
        try:
            value = float(text.replace("_", "?"))
        except ValueError:
            self.fail(f"{shortened(text)} is not a number")
        if infinite and abs(value) >= _INFINITE:
            return math.copysign(math.inf, value)
        if not math.isfinite(value):
            self.fail(f"{shortened(text)} is not a finite number")
        return value

    def find(self, text: str, places: Mapping[str, int], kind: str) -> int:
        """Return the place of a name."""
        if text not in places:
            self.fail(f"there is no {kind} {shortened(text)}")
        return places[text]


def read_mps(path: Path) -> LinearModel:
    """Read an MPS file, or say in which line it is wrong."""
    return _Reader(Source(path)).read()


class _Reader:
    """One pass over the sections of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.name, self.maximise, self.constant = "", False, 0.0
        self.objective: str | None = None
        self.free_rows: set[str] = set()
        self.rows: dict[str, int] = {}
        self.kinds: list[str] = []
        self.columns: dict[str, int] = {}
        self.cost: dict[int, float] = {}
        self.entries: dict[tuple[int, int], float] = {}
        self.integer: list[bool] = []
        self.in_integers = False
        self.rhs: dict[str, float] = {}
        self.ranges: dict[int, float] = {}
        self.bounds: dict[int, list[float | None]] = {}
        self.bounded_at: dict[int, int] = {}

    def read(self) -> LinearModel:
        read_line: dict[str, Callable[[list[str]], None]] = {
            "OBJSENSE": self._sense,
            "ROWS": self._row,
            "COLUMNS": self._column,
            "RHS": self._rhs,
            "RANGES": self._range,
            "BOUNDS": self._bound,
        }
        section, seen = "", set[str]()
        for line in self.source.lines("*"):
            fields = line.split()
            heads = not line[0].isspace() and (len(fields) == 1 or fields[0].upper() in _TITLED)
            if heads:
                section = self._opens(fields[0].upper(), seen)
                if section == "ENDATA":
                    return self._model()
                if section == "NAME":
                    self.name = " ".join(fields[1:])
                elif section == "OBJSENSE" and len(fields) > 1:
                    self._sense(fields[1:])
            elif section not in read_line:
                self.source.fail("data before the first section that takes any")
            else:
                read_line[section](fields)
        self.source.fail("the file ends without ENDATA; it may be cut")

    def _opens(self, section: str, seen: set[str]) -> str:
        if section not in _SECTIONS:
            self.source.fail(f"section {shortened(section)}; known: {', '.join(_SECTIONS)}")
        if section in seen:
            self.source.fail(f"section {section} again")
        if section == "COLUMNS" and self.objective is None:
            self.source.fail("no row of kind N before the columns: there is no objective")
        seen.add(section)
        return section

    def _sense(self, fields: list[str]) -> None:
        if len(fields) != 1 or fields[0].upper() not in _SENSES:
            self.source.fail(f"objective sense {shortened(' '.join(fields))}; known: MIN, MAX")
        self.maximise = _SENSES[fields[0].upper()]

    def _row(self, fields: list[str]) -> None:
        if len(fields) != 2 or fields[0].upper() not in "NLGE" or len(fields[0]) != 1:
            self.source.fail("a row is its kind, one of N, L, G, E, and its name")
        kind, name = fields[0].upper(), fields[1]
        if name in self.rows or name in self.free_rows or name == self.objective:
            self.source.fail(f"row {shortened(name)} twice")
        if kind != "N":
            self.rows[name] = len(self.kinds)
            self.kinds.append(kind)
        elif self.objective is None:
            self.objective = name
        else:
            self.free_rows.add(name)

    def _column(self, fields: list[str]) -> None:
        if len(fields) == 3 and fields[1].strip("'\"") == "MARKER":
            marker = fields[2].strip("'\"")
            if marker not in ("INTORG", "INTEND"):
                self.source.fail(f"marker {shortened(marker)}; known: INTORG, INTEND")
            self.in_integers = marker == "INTORG"
            return
        if len(fields) not in (3, 5):
            self.source.fail("a column is its name and one or two pairs of a row and a number")
        name = fields[0]
        if name not in self.columns:
            self.columns[name] = len(self.columns)
            self.integer.append(self.in_integers)
        column = self.columns[name]
        if column != len(self.columns) - 1:
            self.source.fail(f"column {shortened(name)} again, after others")
        for row, value in self._pairs(fields[1:]):
            if row == self.objective:
                if column in self.cost:
                    self.source.fail(f"two entries in row {row!r} of column {name!r}")
                self.cost[column] = value
            elif row not in self.free_rows:
                place = self.source.find(row, self.rows, "row"), column
                if place in self.entries:
                    self.source.fail(f"two entries in row {row!r} of column {name!r}")
                self.entries[place] = value

    def _pairs(self, fields: Sequence[str]) -> Iterator[tuple[str, float]]:
        for row, value in zip(fields[::2], fields[1::2], strict=True):
            yield row, self.source.parse(value)

    def _per_row(self, fields: list[str]) -> Iterator[tuple[str, float]]:
        # The name of the vector comes first, or is left out.
        if not 2 <= len(fields) <= 5:
            self.source.fail("expected one or two pairs of a row and a number")
        yield from self._pairs(fields[len(fields) % 2 :])

    def _rhs(self, fields: list[str]) -> None:
        for row, value in self._per_row(fields):
            if row in self.rhs:
                self.source.fail(f"two right-hand sides of row {row!r}")
            if row == self.objective:
                self.constant = -value
            elif row not in self.free_rows:
                self.source.find(row, self.rows, "row")
            self.rhs[row] = value

    def _range(self, fields: list[str]) -> None:
        for row, value in self._per_row(fields):
            place = self.source.find(row, self.rows, "row")
            if place in self.ranges:
                self.source.fail(f"two ranges of row {row!r}")
            self.ranges[place] = value

    def _bound(self, fields: list[str]) -> None:
        kind, rest = fields[0].upper(), fields[1:]
        needed = 1 if kind in _NO_VALUE else 2
        if (
            needed == 1
            and len(rest) > 1
            and rest[0] in self.columns
            and rest[1] not in self.columns
        ):
            rest = rest[:1]  # a number that means nothing, and no name of the vector
        elif len(rest) > needed:
            rest = rest[1 : needed + 1]  # the name of the vector comes first, or is left out
        if len(rest) != needed:
            self.source.fail("a bound is its kind, a column and, for most kinds, a number")
        column = self.source.find(rest[0], self.columns, "column")
        value = self.source.parse(rest[1], infinite=True) if needed == 2 else 0.0
        own = self.bounds.setdefault(column, [None, None])
        self.bounded_at[column] = self.source.number
        if kind in ("LI", "UI", "BV"):
            self.integer[column] = True
        match kind:
            case "LO" | "LI":
                own[0] = value
            case "UP" | "UI":
                own[1] = value
            case "FX":
                own[:] = [value, value]
            case "FR":
                own[:] = [-math.inf, math.inf]
            case "MI":
                own[0] = -math.inf
            case "PL":
                own[1] = math.inf
            case "BV":
                own[:] = [0.0, 1.0]
            case _:
                self.source.fail(
                    f"bound of kind {shortened(kind)}; known: LO, UP, FX, FR, MI, PL, BV, LI, UI"
                )

    def _model(self) -> LinearModel:
        if self.objective is None or not self.columns:
            self.source.fail("the file has no rows or no columns")
        lower, upper = np.zeros(len(self.columns)), np.full(len(self.columns), math.inf)
        for column in range(len(self.columns)):
            low, high = self.bounds.get(column, [0.0, 1.0 if self.integer[column] else math.inf])
            lower[column] = 0.0 if low is None else low
            upper[column] = math.inf if high is None else high
            if not lower[column] <= upper[column] or lower[column] == math.inf:
                self.source.fail(
                    f"column {list(self.columns)[column]!r} has the bounds {lower[column]:g} and "
                    f"{upper[column]:g}; a lower bound that is not given is 0",
                    self.bounded_at[column],
                )
        names = tuple(self.rows)
        limits = [
            _limits(kind, self.rhs.get(name, 0.0), self.ranges.get(place))
            for place, (name, kind) in enumerate(zip(names, self.kinds, strict=True))
        ]
        cost = np.zeros(len(self.columns))
        cost[list(self.cost)] = list(self.cost.values())
        places = np.array(list(self.entries), dtype=int).reshape(-1, 2)
        shape = len(self.rows), len(self.columns)
        entries = np.array(list(self.entries.values()), dtype=float)
        return LinearModel(
            rows=names,
            columns=tuple(self.columns),
            cost=cost,
            constant=self.constant,
            A=csr_array(coo_array((entries, (places[:, 0], places[:, 1])), shape=shape)),
            row_lower=np.array([low for low, _ in limits]),
            row_upper=np.array([high for _, high in limits]),
            lower=lower,
            upper=upper,
            integer=np.array(self.integer, dtype=np.bool_),
            maximise=self.maximise,
            name=self.name,
        )


def _limits(kind: str, rhs: float, width: float | None) -> tuple[float, float]:
    """Return the limits of a row; a range widens it, for an equation to the side of its sign."""
    if kind == "E":
        below, above = (rhs, rhs) if width is None else (rhs + min(width, 0), rhs + max(width, 0))
    elif kind == "L":
        below, above = -math.inf if width is None else rhs - abs(width), rhs
    else:
        below, above = rhs, math.inf if width is None else rhs + abs(width)
    return below, above


def mps_text(model: LinearModel) -> str:
    """Return the text of an MPS file; numbers are written so that they read back unchanged."""
    lines = [f"NAME {model.name}".rstrip()]
    if model.maximise:
        lines += ["OBJSENSE", " MAX"]
    objective = _new_name("objective", model.rows)
    lines += ["ROWS", f" N {objective}"]
    kinds = [_kind(*of) for of in zip(model.row_lower, model.row_upper, strict=True)]
    lines += [f" {kind} {name}" for kind, name in zip(kinds, model.rows, strict=True)]
    lines.append("COLUMNS")
    by_column = model.A.tocsc()
    in_integers = False
    for column, name in enumerate(model.columns):
        if model.integer[column] != in_integers:
            in_integers = not in_integers
            lines.append(f" MARKER 'MARKER' '{'INTORG' if in_integers else 'INTEND'}'")
        lines.append(f" {name} {objective} {model.cost[column].item()!r}")
        own = slice(by_column.indptr[column], by_column.indptr[column + 1])
        for row, value in zip(by_column.indices[own], by_column.data[own], strict=True):
            lines.append(f" {name} {model.rows[row]} {value.item()!r}")
    if in_integers:
        lines.append(" MARKER 'MARKER' 'INTEND'")
    lines.append("RHS")
    if model.constant:
        lines.append(f" rhs {objective} {-float(model.constant)!r}")
    ranges = []
    for name, kind, low, high in zip(
        model.rows, kinds, model.row_lower.tolist(), model.row_upper.tolist(), strict=True
    ):
        if kind != "N":
            lines.append(f" rhs {name} {high if kind == 'L' else low!r}")
        if kind == "G" and math.isfinite(high):
            ranges.append(f" range {name} {high - low!r}")
    lines += ["RANGES", *ranges] if ranges else []
    lines.append("BOUNDS")
    for name, low, high in zip(
        model.columns, model.lower.tolist(), model.upper.tolist(), strict=True
    ):
        lines.append(f" LO bound {name} {low!r}" if math.isfinite(low) else f" MI bound {name}")
        lines.append(f" UP bound {name} {high!r}" if math.isfinite(high) else f" PL bound {name}")
    return "\n".join([*lines, "ENDATA", ""])


def _kind(lower: float, upper: float) -> str:
    if lower == upper:
        return "E"
    if math.isfinite(lower):
        return "G"
    return "L" if math.isfinite(upper) else "N"


def _new_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
