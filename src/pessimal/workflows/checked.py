"""Content of a model file, held against its JSON schema: what is not as stated is refused in words.

The words are the schema's own. Only what is read is checked, so that a file may say more.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from typing import Any

from pessimal.errors import shortened

SCHEMA = "model_file.schema.json"

_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character: JSON can name one, but a file of predictions cannot hold it."""


class WrongContent(Exception):  # noqa: N818 (becomes an error of the package, with the path)
    """What is wrong with the content of a file."""


def check(content: Any) -> None:
    """Refuse content that is not as the schema says, by the first place that is not."""
    try:
        error = next(_validator().iter_errors(content), None)
    except RecursionError:
        raise WrongContent("its lists and objects are nested too deeply") from None
    if error is None:
        return
    place = _place(error.absolute_path)
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        raise WrongContent(f"{place} has no {missing!r}")
    words = "{place} is {value} instead of {description}"
    if error.validator != "type":
        words = error.schema.get("errorMessage", words)
    description = error.schema["description"]
    raise WrongContent(
        words.format(place=place, value=shortened(error.instance), description=description)
    )


def numbers(name: str, values: list[float], length: int) -> tuple[float, ...]:
    """Return so many numbers."""
    if len(values) != length:
        raise WrongContent(f"{name} has {len(values)} numbers instead of {length}")
    return tuple(map(float, values))


@cache
def _validator() -> Any:
    # Imported here: whoever reads no model file need not wait for it.
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415

    def items(validator: Any, of: Any, values: Any, schema: Any) -> Iterator[Any]:
        # Of numbers there may be 10⁵, and each takes the checker 35 µs.
        if of != {"$ref": "#/$defs/number"} or not all(map(_is_finite, values)):
            yield from Draft202012Validator.VALIDATORS["items"](validator, of, values, schema)

    kinds = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "number": lambda _, value: _is_finite(value),
            "integer": lambda _, value: type(value) is int,
            "string": lambda _, value: isinstance(value, str) and not _SURROGATE.search(value),
        }
    )
    made = validators.extend(Draft202012Validator, {"items": items}, type_checker=kinds)
    return made(json.loads(resources.files(__package__).joinpath(SCHEMA).read_text("utf-8")))


def _is_finite(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # a whole number above all floats
        return False


def _place(path: Iterable[str | int]) -> str:
    """Return where something stands, such as ``columns[0].name``."""
    steps = (f".{step}" if str(step).isidentifier() else f"[{shortened(step)}]" for step in path)
    return "".join(steps).lstrip(".") or "the file"
