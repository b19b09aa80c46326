"""True pessimism: the box whose exact worst case is smallest, with a lower bound."""
