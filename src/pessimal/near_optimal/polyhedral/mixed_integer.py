"""The largest hinge loss over the near-optimal set Ψ by HiGHS's own branch and bound: a rival.

As a mixed-integer program, the largest validation loss has one binary ``z_k`` per validation point,
which says whether its loss is active. With ``m_k`` the margin and ``low_k ≤ m_k ≤ high_k`` its
range over Ψ (two linear programs), the hinge ``h_k`` obeys

    ``h_k ≤ (1 − low_k)·z_k``  and  ``h_k ≤ 1 − m_k + (high_k − 1)·(1 − z_k)``.

The ranges are the big-M constants, so they are as small as a constant can be, and a point whose
range lies on one side of the threshold needs no binary.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack

from pessimal.limits import Deadline
from pessimal.losses import HINGE
from pessimal.lp.highs import solve_integer
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, row_ranges
from pessimal.problem import margin_rows


def largest_hinge(models: BoxModels, deadline: Deadline) -> float:
    """Bound the mean hinge loss on V over Ψ, exactly if there is time, by HiGHS."""
    problem = models.problem
    rows, weight = margin_rows(problem.X_val, problem.y_val), problem.val_weight
    low, high, _ = row_ranges(models, rows, deadline)
    coarse = float(weight @ HINGE.value(low))
    if deadline.over:
        return coarse
    always = high <= 1.0
    free = (low < 1.0) & ~always & (weight > 0.0)
    linear = (weight * always) @ rows
    if not free.any():
        return min(coarse, float(weight[always].sum()) - models.least(linear, deadline=deadline)[1])
    n, n_columns = int(free.sum()), len(models.program.cost)
    # Columns h and z after those of Ψ; minimise −Σ weight·hinge.
    above, ceiling = high[free] - 1.0, 1.0 - low[free]
    margins = hstack([csr_array(rows[free]), csr_array((n, n_columns - rows.shape[1]))])
    cost = np.concatenate([np.zeros(n_columns), -weight[free], np.zeros(n)])
    cost[: rows.shape[1]] = linear
    program = models.program.extended(
        cost=cost,
        rows=vstack(
            [
                hstack([csr_array((n, n_columns)), eye_array(n), -diags_array(ceiling)]),
                hstack([margins, eye_array(n), diags_array(above)]),
            ],
            format="csr",
        ),
        row_upper=np.concatenate([np.zeros(n), 1.0 + above]),
        lower=np.zeros(2 * n),
        upper=np.concatenate([ceiling, np.ones(n)]),
        integer=np.repeat([False, True], n),
    )
    answer = solve_integer(program, deadline.left)
    return min(coarse, float(weight[always].sum()) - answer.bound)
