"""Whole numbers that the compiled modules of the search share; each keeps them as C constants."""

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
