"""True pessimism: the box whose exact worst case is smallest, with a lower bound."""

from pessimal.solvers.minimax.driver import minimise_worst_case

__all__ = ["minimise_worst_case"]
