"""Former names of modules, which still work and warn."""

import importlib
import warnings
from collections.abc import Callable


def forward(old: str, new: str) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a module that has moved."""

    def find(name: str) -> object:
        value: object = getattr(importlib.import_module(new), name)
        warnings.warn(f"{old}.{name} is now {new}.{name}", FutureWarning, stacklevel=2)
        return value

    return find
