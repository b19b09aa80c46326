"""Content of a JSON file, checked field by field: what is not as stated is refused in words."""

from __future__ import annotations

import math
from typing import Any, TypeVar

from pessimal.errors import shortened

_KINDS = {dict: "an object", list: "a list", str: "text"}
_T = TypeVar("_T", dict[str, Any], list[Any], str)


class WrongContent(Exception):  # noqa: N818 (becomes an error of the package, with the path)
    """What is wrong with the content of a file."""


def of_kind(kind: type[_T], name: str, value: Any) -> _T:
    """Return a value that is an object, a list or text."""
    if not isinstance(value, kind):
        raise WrongContent(f"{name} is {shortened(value)} instead of {_KINDS[kind]}")
    return value


def number(name: str, value: Any) -> float:
    """Return a finite number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            converted = float(value)
        except OverflowError:
            converted = math.inf
        if math.isfinite(converted):
            return converted
    raise WrongContent(f"{name} is {shortened(value)} instead of a finite number")


def numbers(name: str, value: Any, length: int) -> tuple[float, ...]:
    """Return so many finite numbers."""
    values = of_kind(list, name, value)
    if len(values) != length:
        raise WrongContent(f"{name} has {len(values)} numbers instead of {length}")
    return tuple(number(f"a number of {name}", item) for item in values)


def rows(name: str, value: Any, length: int) -> list[tuple[float, ...]]:
    """Return rows of so many finite numbers each, one row at least."""
    items = of_kind(list, name, value)
    if not items:
        raise WrongContent(f"{name} is empty")
    return [numbers(f"a row of {name}", item, length) for item in items]
