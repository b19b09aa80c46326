"""Linear bilevel programs as the pair of files that bilevel solvers exchange: MPS and AUX.

The MPS file holds the variables and constraints of both levels and the outer objective. The AUX
file says which columns and rows are the follower's, and its objective. Three dialects of AUX are
read, as MibS documents and uses them:

- by index: ``N``, ``M`` count the follower's columns and rows, ``LC``, ``LR`` name one each by its
  place, from 0 and without the objective, ``LO`` gives the follower's costs in the order of its
  columns and ``OS`` its sense, 1 to minimise and -1 to maximise;
- by name: the same, ``LC`` and ``LR`` with names;
- in sections: ``@VARSBEGIN`` with a name and a cost per column and ``@CONSTSBEGIN`` with the names
  of rows, counted by ``@NUMVARS`` and ``@NUMCONSTRS`` or by ``N`` and ``M``; minimised.

A follower's columns have their bounds in the MPS file, and those bind the follower. Products,
squares and several followers have no place in these files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from pessimal.atomic import write_text
from pessimal.bilevel.mps import LinearModel, Source, mps_text, read_mps
from pessimal.bilevel.program import BilevelProgram, FollowerProgram, Rows
from pessimal.errors import InvalidInputError, shortened

_VARIABLES_BEGIN, _VARIABLES_END = ("@VARSBEGIN",), ("@VARSEND",)
_ROWS_BEGIN = ("@CONSTSBEGIN", "@CONSTRBEGIN", "@CONSTRSBEGIN")
_ROWS_END = ("@CONSTSEND", "@CONSTREND", "@CONSTRSEND")
_COUNTS = {"N": "N", "@NUMVARS": "N", "M": "M", "@NUMCONSTRS": "M", "@NUMCONSTR": "M"}
_REMARKS = ("@NAME", "@MPS", "@LP")
_INTERDICTION = ("IC", "IB")


@dataclass(frozen=True, eq=False)
class ExchangedProgram:
    """A program that minimises, the names of its variables, and whether its file maximises."""

    program: BilevelProgram
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    maximise: bool = False
    name: str = ""

    @classmethod
    def of(cls, program: BilevelProgram) -> ExchangedProgram:
        """Name the variables of a program x0, x1, … and y0, y1, …; see `BilevelProblem.program`."""
        outer = tuple(f"x{i}" for i in range(program.n_outer))
        return cls(program, outer, tuple(f"y{i}" for i in range(program.n_inner)))


@dataclass
class _Lower:
    """The follower as an AUX file describes it, and the lines in which that stands."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    columns: list[tuple[str, int]] = field(default_factory=list)
    rows: list[tuple[str, int]] = field(default_factory=list)
    costs: list[tuple[float, int]] = field(default_factory=list)
    sense: float = 1.0


def read_pair(mps: str | Path, aux: str | Path) -> ExchangedProgram:
    """Read a bilevel program from its two files.

    Parameters
    ----------
    mps, aux : str or Path
        The files.

    Returns
    -------
    ExchangedProgram
        The program, and the names of its variables.

    Raises
    ------
    InvalidInputError
        With the file, the line and the reason, where one of the files is malformed, or has what
        the solver does not: integer columns of the follower, and interdiction costs.
    """
    model = read_mps(Path(mps))
    source = Source(Path(aux))
    lower = _read_lower(source)
    columns = _places(source, lower.columns, model.columns, "column")
    rows = _places(source, lower.rows, model.rows, "row")
    for key, found, kind in (("N", columns, "columns"), ("M", rows, "rows")):
        announced, line = lower.counts.get(key, (len(found), source.number))
        if announced != len(found):
            source.fail(f"{announced} {kind} are announced and {len(found)} given", line)
    if not columns:
        source.fail("the follower has no column")
    if len(lower.costs) != len(columns):
        source.fail(f"{len(columns)} columns of the follower and {len(lower.costs)} costs")
    for place, (_, line) in zip(columns, lower.columns, strict=True):
        if model.integer[place]:
            source.fail(
                f"column {model.columns[place]!r} of the follower is integer; "
                "only outer columns may be",
                line,
            )
    return _program(model, columns, rows, lower)


def _program(
    model: LinearModel, columns: list[int], rows: list[int], lower: _Lower
) -> ExchangedProgram:
    sign = -1.0 if model.maximise else 1.0
    outer = np.setdiff1d(np.arange(len(model.columns)), columns)
    upper_rows = np.setdiff1d(np.arange(len(model.rows)), rows)

    def part(of: list[int] | np.ndarray) -> Rows:
        own = csr_array(model.A[of])
        limits = model.row_lower[of], model.row_upper[of]
        return Rows(csr_array(own[:, outer]), csr_array(own[:, columns]), *limits)

    n, m = len(outer), len(columns)
    follower = FollowerProgram(
        cost=lower.sense * np.array([cost for cost, _ in lower.costs]),
        price=csr_array((m, n)),
        curvature=csr_array((m, m)),
        rows=part(rows),
        lower=model.lower[columns],
        upper=model.upper[columns],
        columns=slice(0, m),
    )
    program = BilevelProgram(
        outer_cost=sign * model.cost[outer],
        inner_cost=sign * model.cost[columns],
        outer_curvature=csr_array((n, n)),
        inner_curvature=csr_array((m, m)),
        price=csr_array((m, n)),
        constant=sign * model.constant,
        rows=part(upper_rows),
        lower=model.lower[outer],
        upper=model.upper[outer],
        integer=model.integer[outer],
        followers=(follower,),
    )
    names = tuple(model.columns[i] for i in outer), tuple(model.columns[i] for i in columns)
    return ExchangedProgram(program, *names, maximise=model.maximise, name=model.name)


def _read_lower(source: Source) -> _Lower:
    lower = _Lower()
    words = _Words(source)
    for key in words:
        if key in _COUNTS:
            lower.counts[_COUNTS[key]] = words.count(key), source.number
        elif key in ("LC", "LR"):
            given = lower.columns if key == "LC" else lower.rows
            given.append((words.after(key), source.number))
        elif key == "LO":
            lower.costs.append((source.parse(words.after(key)), source.number))
        elif key == "OS":
            lower.sense = words.sense(key)
        elif key in _VARIABLES_BEGIN:
            for name in words.until(_VARIABLES_END):
                lower.columns.append((name, source.number))
                lower.costs.append((source.parse(words.after(name)), source.number))
        elif key in _ROWS_BEGIN:
            lower.rows += [(name, source.number) for name in words.until(_ROWS_END)]
        elif key in _REMARKS:
            words.skip_line()
        elif key in _INTERDICTION:
            source.fail(f"{key}: interdiction costs; write the interdiction as columns and rows")
        else:
            source.fail(f"unknown keyword {shortened(key)}")
    return lower


class _Words:
    """The words of an AUX file one by one; the source knows the line of the last."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines: list[tuple[int, list[str]]] = []
        for line in source.lines("#"):
            self._lines.append((source.number, line.split()))
        if not self._lines:
            source.fail("the file is empty", 1)
        self._lines.reverse()

    def __iter__(self) -> Iterator[str]:
        while self._lines:
            yield self._next()

    def _next(self) -> str:
        self._source.number, words = self._lines[-1]
        word = words.pop(0)
        if not words:
            self._lines.pop()
        return word

    def after(self, key: str) -> str:
        if not self._lines:
            self._source.fail(f"the file ends after {shortened(key)}; it may be cut")
        return self._next()

    def count(self, key: str) -> int:
        word = self.after(key)
        if not word.isdecimal():
            self._source.fail(f"{key} is followed by {shortened(word)}, which is not a count")
        return int(word)

    def sense(self, key: str) -> float:
        sense = self._source.parse(self.after(key))
        if sense not in (1.0, -1.0):
            self._source.fail(f"{key} is 1 to minimise or -1 to maximise")
        return sense

    def until(self, ends: tuple[str, ...]) -> Iterator[str]:
        """Yield words up to the end of a section, which may be the next keyword or the file's."""
        while self._lines:
            word = self._lines[-1][1][0]
            if word in ends:
                self._next()
                return
            if word.startswith("@"):
                return
            yield self._next()

    def skip_line(self) -> None:
        """Skip the rest of the line, or the next one."""
        if self._lines:
            self._lines.pop()


def _places(
    source: Source, given: list[tuple[str, int]], names: tuple[str, ...], kind: str
) -> list[int]:
    """Return the places of columns or rows: by index if all are whole numbers, else by name."""
    by_index = all(word.isdecimal() for word, _ in given)
    known: Mapping[str, int] = {name: place for place, name in enumerate(names)}
    places = []
    for word, line in given:
        if by_index and int(word) >= len(names):
            source.fail(f"{kind} {word}, but the MPS file has {len(names)}, from 0", line)
        if not by_index and word not in known:
            source.fail(f"there is no {kind} {shortened(word)} in the MPS file", line)
        place = int(word) if by_index else known[word]
        if place in places:
            source.fail(f"{kind} {shortened(word)} twice", line)
        places.append(place)
    return places


def write_pair(
    exchanged: ExchangedProgram,
    mps: str | Path,
    aux: str | Path,
    *,
    dialect: Literal["names", "indices"] = "names",
) -> None:
    """Write a linear bilevel program of one follower as two files, each whole or not there.

    Parameters
    ----------
    exchanged : ExchangedProgram
        The program and the names of its variables.
    mps, aux : str or Path
        The files.
    dialect : {"names", "indices"}
        How the AUX file tells columns and rows: sections of names, or ``LC``, ``LR``, ``LO``.
    """
    program = exchanged.program
    _require_linear(program)
    follower = program.followers[0]
    sign = -1.0 if exchanged.maximise else 1.0
    n, k = program.n_outer, len(program.rows)
    both = [csr_array(hstack([part.outer, part.inner])) for part in (program.rows, follower.rows)]
    model = LinearModel(
        rows=tuple(f"upper{i}" for i in range(k))
        + tuple(f"lower{i}" for i in range(len(follower.rows))),
        columns=_names(exchanged.outer + exchanged.inner),
        cost=sign * np.concatenate([program.outer_cost, program.inner_cost]),
        constant=sign * program.constant,
        A=csr_array(vstack(both)),
        row_lower=np.concatenate([program.rows.lower, follower.rows.lower]),
        row_upper=np.concatenate([program.rows.upper, follower.rows.upper]),
        lower=np.concatenate([program.lower, follower.lower]),
        upper=np.concatenate([program.upper, follower.upper]),
        integer=np.concatenate([program.integer, np.zeros(program.n_inner, dtype=np.bool_)]),
        maximise=exchanged.maximise,
        name=exchanged.name,
    )
    costs = follower.cost.tolist()
    if dialect == "indices":
        lines = [f"N {program.n_inner}", f"M {len(follower.rows)}"]
        lines += [f"LC {n + i}" for i in range(program.n_inner)]
        lines += [f"LR {k + i}" for i in range(len(follower.rows))]
        lines += [f"LO {cost!r}" for cost in costs] + ["OS 1"]
    else:
        lines = ["@NUMVARS", f"{program.n_inner}", "@NUMCONSTRS", f"{len(follower.rows)}"]
        pairs = zip(model.columns[n:], costs, strict=True)
        lines += ["@VARSBEGIN", *(f"{name} {cost!r}" for name, cost in pairs), "@VARSEND"]
        lines += ["@CONSTSBEGIN", *model.rows[k:], "@CONSTSEND"]
        lines += ["@MPS", Path(mps).name]
    write_text(Path(mps), mps_text(model))
    write_text(Path(aux), "\n".join([*lines, ""]))


def _require_linear(program: BilevelProgram) -> None:
    fault = ""
    if len(program.followers) != 1:
        fault = f"{len(program.followers)} followers; the files hold one"
    elif any(abs(part).sum() for part in (program.outer_curvature, program.inner_curvature)):
        fault = "a quadratic outer objective"
    elif program.followers[0].curved:
        fault = "a quadratic inner objective"
    elif abs(program.price).sum() or program.followers[0].priced:
        fault = "products of outer and inner variables"
    elif program.followers[0].outer_cost.any() or program.followers[0].constant:
        fault = "outer variables or a constant in the inner objective"
    elif program.auxiliary.any():
        fault = "piecewise linear functions of the response in the outer level"
    if fault:
        raise InvalidInputError(
            f"the program has no place in MPS and AUX files, for it has {fault}"
        )


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not name or name.startswith("@") or len(name.split()) != 1 or name.split()[0] != name:
            raise InvalidInputError(f"{name!r} cannot be a name in these files: no blanks, no '@'")
    if len(set(names)) != len(names):
        raise InvalidInputError("two variables have one name; names tell them apart in these files")
    return names
