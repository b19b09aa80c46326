"""Whole numbers that the compiled modules share; each keeps them as C constants."""

# How a run of the dual simplex ended.
OPTIMAL = 0
INFEASIBLE = 1
CUT_OFF = 2
STALLED = 3

# Sides of an item.
BELOW = 0
ABOVE = 1

# What a search for a conflict found, when not its size.
NO_CONFLICT = -1
UNKNOWN = -2

# Where the rows of a budget condition are loosest.
NOTHING = 0
SIDE = 1
PULL = 2

# Rows that P keeps for a budget condition.
N_CUTS = 16
