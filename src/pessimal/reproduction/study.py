"""A study is a declaration: configurations, and one pure function from one of them to its rows.

Configurations and rows are flat records of plain values, so they can be stored, compared and sent
to another machine. The function must give the same rows for the same configuration wherever and
whenever it runs: what depends on the clock (limits in seconds, time taken) has no place in it. Only
benchmarks, which measure time, set that aside, and name the machine in their version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import product

from pessimal.environment import code_version

Value = str | int | float | bool | None
Configuration = Mapping[str, Value]
Row = Mapping[str, Value]


@dataclass(frozen=True)
class Study:
    """What to run.

    Attributes
    ----------
    name : str
        As on the command line, such as ``"limited-data"``.
    configurations : tuple of Configuration
        One combination of factors each, the seed among them.
    run : callable
        From a configuration to its rows; a function at the top of a module, so that it can be sent
        to another process by name.
    version : callable, optional
        What the rows depend on besides their configuration: by default the sources; a benchmark
        adds the machine. Rows of two versions are never mixed.
    """

    name: str
    configurations: tuple[Configuration, ...]
    run: Callable[[Configuration], Sequence[Row]]
    version: Callable[[], str] = code_version


def full_factorial(factors: Mapping[str, Iterable[Value]]) -> tuple[Configuration, ...]:
    """Return every combination of the values of factors, those of the last changing fastest."""
    return tuple(dict(zip(factors, values, strict=True)) for values in product(*factors.values()))


def of_factors(function: Callable[..., Sequence[Row]]) -> Callable[[Configuration], Sequence[Row]]:
    """Let a function of the factors of a study, by name, be called with a configuration."""

    @wraps(function)
    def run(configuration: Configuration) -> Sequence[Row]:
        return function(**configuration)

    return run
