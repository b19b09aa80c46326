"""Former names, which still work and warn."""

import importlib
import warnings
from collections.abc import Callable, Mapping


def forward(old: str, new: str) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a module that has moved."""

    def find(name: str) -> object:
        value: object = getattr(importlib.import_module(new), name)
        warnings.warn(f"{old}.{name} is now {new}.{name}", FutureWarning, stacklevel=2)
        return value

    return find


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a module some of whose names have changed, to dotted ones."""

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, _, new = names[name].rpartition(".")
        value: object = getattr(importlib.import_module(place), new)
        warnings.warn(f"{module}.{name} is now {names[name]}", FutureWarning, stacklevel=2)
        return value

    return find
