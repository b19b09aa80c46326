"""Linear programs with one-kink costs, and a dual simplex that starts warm after any change."""
