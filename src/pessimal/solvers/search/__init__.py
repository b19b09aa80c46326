"""The exact search: global optima of both views with no big-M and no solver but its own."""
