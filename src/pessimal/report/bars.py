"""What the picture of a first screen is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

BY_CHANCE = 0.05
"""Of two models one is called better when luck gives such a difference less often than this."""

Kind: TypeAlias = Literal["model", "worst", "other", "disagree"]


@dataclass(frozen=True)
class Bar:
    """One bar of the picture.

    Attributes
    ----------
    name : str
    value : float
        Its length, as a share of the longest.
    words : str
        The number it stands for.
    kind : {"model", "worst", "other", "disagree"}
        Which colour it has.
    bound : float or None
        Where a green line stands: what is proved, as a share of the longest bar.
    more : str
        What else there is to say of the number: what is proved of it, where something is.
    """

    name: str
    value: float
    words: str
    kind: Kind
    bound: float | None = None
    more: str = ""


@dataclass(frozen=True)
class Group:
    """Bars about the same rows, under a title that says which."""

    title: str
    bars: tuple[Bar, ...]
