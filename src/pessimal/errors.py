"""Exceptions of the package: one for each thing a user can do about it."""

from __future__ import annotations

import importlib
from types import ModuleType


class PessimalError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidInputError(PessimalError, ValueError):
    """An argument cannot be used; the message names it, its value and the remedy."""


class MissingExtraError(PessimalError, ImportError):
    """An optional dependency is absent; the message names the extra that brings it."""


class StorageError(PessimalError, OSError):
    """A file could not be written; the message says what is safe and what to do."""


class SolverError(PessimalError, RuntimeError):
    """A solver failed in a way that leaves no usable answer."""


def shortened(value: object) -> str:
    """Return a value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def import_extra(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module} is not installed; it comes with the extra '{extra}': "
            f"pip install 'pessimal[{extra}]'"
        ) from error


class LearntByHeartWarning(UserWarning):
    """An estimator fits wrong labels at no cost, so its training loss means little."""
