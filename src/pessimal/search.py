"""The former place of what a callback of the search is told."""

from pessimal.moved import renamed

__getattr__ = renamed(__name__, {"Progress": "pessimal.limits.Progress"})
