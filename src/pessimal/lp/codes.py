"""How a run of the dual simplex ends; compiled modules keep these as C constants."""

OPTIMAL = 0
INFEASIBLE = 1
CUT_OFF = 2
STALLED = 3
