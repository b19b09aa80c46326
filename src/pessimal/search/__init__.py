"""The exact search: global optima of both views with no big-M and no solver but its own."""

from pessimal.search.driver import Limits, Progress, search_optimistic, search_pessimistic

__all__ = ["Limits", "Progress", "search_optimistic", "search_pessimistic"]
