"""The former name of `pessimal.reproduction`; it still works, and says so."""

import warnings

from pessimal import reproduction


def __getattr__(name: str) -> object:
    warnings.warn(
        f"pessimal.experiments.{name} is now pessimal.reproduction.{name}",
        FutureWarning,
        stacklevel=2,
    )
    return getattr(reproduction, name)
