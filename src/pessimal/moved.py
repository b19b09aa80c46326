"""Former names, which still work and warn."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Former:
    """The ``__getattr__`` of a module with former names.

    Attributes
    ----------
    module : str
    names : mapping
        Where some of them are now, as dotted names.
    rest : str
        The module that has all others; none if empty.
    """

    module: str
    names: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""

    def __call__(self, name: str) -> object:
        """Return what has a former name, and warn."""
        place = self.place(name)
        module, _, last = place.rpartition(".")
        value: object = getattr(importlib.import_module(module), last)
        warnings.warn(f"{self.module}.{name} is now {place}", FutureWarning, stacklevel=2)
        return value

    def place(self, name: str) -> str:
        """Return where a name is now, however often it has moved."""
        if name in self.names:
            place = self.names[name]
        elif self.rest and not name.startswith("__"):
            place = f"{self.rest}.{name}"
        else:
            raise AttributeError(f"module {self.module!r} has no attribute {name!r}")
        module, _, last = place.rpartition(".")
        later = vars(importlib.import_module(module)).get("__getattr__")
        return later.place(last) if isinstance(later, Former) and last in later.names else place


def forward(old: str, new: str) -> Former:
    """Return the ``__getattr__`` of a module that has moved."""
    return Former(old, rest=new)


def renamed(module: str, names: Mapping[str, str]) -> Former:
    """Return the ``__getattr__`` of a module some of whose names have changed, to dotted ones."""
    return Former(module, names)
