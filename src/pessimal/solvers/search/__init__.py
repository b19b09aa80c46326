"""The exact search: global optima of both views with no big-M and no solver but its own."""

from pessimal.solvers.search.driver import search_optimistic, search_pessimistic

__all__ = ["search_optimistic", "search_pessimistic"]
