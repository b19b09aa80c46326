"""Two classes of any kind as −1 and +1.

Inside the package labels are −1 and +1; a user has "benign" and "malignant", 0 and 1, True and
False. The class that sorts last is +1, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pessimal.errors import InvalidInputError
from pessimal.problem import Vector

Classes: TypeAlias = tuple[Any, Any]
"""The two labels, that of −1 first."""


def two_classes(name: str, y: ArrayLike) -> Classes:
    """Return the two classes that `y` holds, in sorted order; errors call it by `name`."""
    labels = column(name, y)
    try:
        classes = sorted(set(labels.tolist()))
    except TypeError:
        raise InvalidInputError(
            f"{name} mixes labels that cannot be sorted; pass two classes of one type"
        ) from None
    if len(classes) != 2:
        raise InvalidInputError(
            f"{name} holds {len(classes)} class(es), {listed(classes)}; pass labels of two classes"
        )
    return classes[0], classes[1]


def signs(name: str, y: ArrayLike, classes: Classes) -> Vector:
    """Recode labels, of one class or of both, as −1 and +1."""
    labels = column(name, y).tolist()
    sign = {classes[0]: -1.0, classes[1]: 1.0}
    unknown = [label for label in labels if label not in sign]
    if unknown:
        raise InvalidInputError(
            f"{name} contains the label {unknown[0]!r}; the classes are {listed(classes)}"
        )
    return np.array([sign[label] for label in labels])


def column(name: str, y: ArrayLike) -> NDArray[Any]:
    """Return labels as a one-dimensional array without gaps."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidInputError(
            f"{name} has shape {labels.shape}; pass one label per row, in one dimension"
        )
    import pandas as pd  # noqa: PLC0415 (slow to import)

    missing = np.asarray(pd.isna(labels))
    if missing.any():
        raise InvalidInputError(
            f"{name} has no label at position {int(missing.argmax())}; drop the rows without one"
        )
    return labels


def spoken(classes: Sequence[Any]) -> tuple[str, ...]:
    """Return what to call classes in a sentence: "no" and "yes" where they are 0 and 1.

    Examples
    --------
    >>> spoken((0, 1)), spoken((False, True)), spoken(("benign", "malignant"))
    (('no', 'yes'), ('no', 'yes'), ('benign', 'malignant'))
    """
    if tuple(classes) in ((0, 1), ("0", "1")):
        return "no", "yes"
    return tuple(str(label) for label in classes)


def called(label: Any, classes: Sequence[Any]) -> str:
    """Return what to call one of the classes in a sentence.

    Examples
    --------
    >>> called(1, (0, 1)), called("benign", ("benign", "malignant"))
    ('yes', 'benign')
    """
    return spoken(classes)[list(classes).index(label)]


def both_names(label: Any, classes: Sequence[Any]) -> str:
    """Return a class as it is in the table, with what sentences call it where that differs.

    Examples
    --------
    >>> both_names(1, (0, 1)), both_names("benign", ("benign", "malignant"))
    ('1 (“yes”)', '“benign”')
    """
    name = called(label, classes)
    return f"“{name}”" if name == str(label) else f"{label!s} (“{name}”)"


def listed(names: Sequence[Any], most: int = 5) -> str:
    """List the first names, for a message."""
    shown = [repr(name) for name in names[:most]]
    return ", ".join([*shown, "..."] if len(names) > most else shown) or "none"
