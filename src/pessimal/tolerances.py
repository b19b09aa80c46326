"""Every numerical tolerance of the package, named, in one place.

Data are assumed to be of order one (standardised features), so all of them are absolute.
"""

LP_FEASIBILITY = 1e-9
"""Primal and dual feasibility asked of every linear program, ours or HiGHS's."""

BUDGET_SLACK = 1e-9
"""Added to a training budget that is itself an optimum, so that an LP can meet it.

In `TuningProblem.loss_unit`, so that points of small weight do not amplify it.
"""

MEMBER = 5e-9
"""How far, in the units of `BUDGET_SLACK`, a model of the near-optimal set may miss the budget."""

ROUNDING = 1e-14
"""Relative error of a sum of products that is far more than rounding makes."""

AT_BREAKPOINT = 1e-7
"""A weight this close to 0, or a margin this close to 1 or -1, sits on its breakpoint."""

CUTOFF = 1e-7
"""A branch that cannot improve the incumbent by more than this is closed."""

OPTIMAL_GAP = 1e-6
"""Objective and bound that differ by no more than this have met."""

CERTIFICATE = 1e-6
"""Largest inner gap, budget, box or objective error that a certificate lets pass."""

INTEGRALITY = 1e-9
"""Integrality tolerance asked of Gurobi and CPLEX; a loose one leaks through every big M.

HiGHS and SCIP keep their own: at 1e-9 HiGHS 1.15 has been seen to prune optima.
"""

STRICT = 1e-6
"""How far below a threshold a margin must be for a strict inequality to be counted."""

PIVOT = 1e-9
"""Entries of a simplex dictionary no larger than this are zeros that rounding made."""

REDUCED_COST = 1e-9
"""A reduced cost or a multiplier this close to its bound is on it."""

BUDGET = 1e-8
"""A training loss short of its budget by no more than this uses it up."""

SLACK_OF_BOUNDS = 1e-8
"""What the slack of a budget adds to a bound on losses of ordinary size, and no more."""

LARGEST_ENTRY = 1e100
"""Squares and products of larger entries overflow, and no unit makes numbers so large."""

WEIGHT_SPREAD = 1e7
"""Largest ratio of training weights at which the search, or true pessimism, can prove anything."""

WEIGHT_SPREAD_OF_PROGRAMS = 1e3
"""The same for mixed-integer programs, whose solvers have tolerances of 1e-6 to 1e-9."""

LARGEST_WEIGHT_RATIO = 1e9
"""Largest ratio of training weights that arithmetic and linear programs can tell apart."""
