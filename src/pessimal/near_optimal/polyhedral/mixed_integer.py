"""The worst of the near-optimal set Ψ: by branch and bound, and by HiGHS for a second opinion.

As a mixed-integer program, the largest validation loss has one binary ``z_k`` per validation point,
which says whether its loss is active. With ``m_k`` the margin and ``low_k ≤ m_k ≤ high_k`` its
range over Ψ (two linear programs), the hinge ``h_k`` obeys

    ``h_k ≤ (1 − low_k)·z_k``  and  ``h_k ≤ 1 − m_k + (high_k − 1)·(1 − z_k)``.

The ranges are the big-M constants, so they are as small as a constant can be, and a point whose
range lies on one side of the threshold needs no binary.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, hstack, vstack

from pessimal.limits import Deadline
from pessimal.lp.highs import WarmProgram, solve_integer
from pessimal.near_optimal.polyhedral.cases import Worst, WorstCases
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, row_ranges
from pessimal.problem import Budget, TuningProblem, Vector, hinge, margin_rows
from pessimal.tolerances import CUTOFF, LP_FEASIBILITY, STRICT


def largest_hinge(models: BoxModels, deadline: Deadline) -> float:
    """Bound the mean hinge loss on V over Ψ, exactly if there is time, by HiGHS."""
    problem = models.problem
    rows, weight = margin_rows(problem.X_val, problem.y_val), problem.val_weight
    low, high, _ = row_ranges(models, rows, deadline)
    coarse = float(weight @ hinge(low))
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


@dataclass(frozen=True, eq=False)
class Found:
    """Ψ, the worst of its models by branch and bound, and whether that is certainly one of Ψ.

    It is not if time ran out before the least training loss was known.
    """

    models: BoxModels
    worst: Worst
    certain: bool


def search_set(
    problem: TuningProblem,
    box: Vector,
    budget: Budget,
    threshold: float | None,
    deadline: Deadline,
    node_limit: int | None,
) -> Found:
    """Find the largest loss over Ψ, as far as limits and Ctrl-C allow; see `WorstCases`."""
    models = BoxModels(problem, box)
    trained = models.least_loss(deadline)
    limit = problem.training_limit(budget, trained.value)
    models.limit_training(limit)
    cases = WorstCases(problem, budget, threshold)
    cases.begin(box, limit, np.append(trained.w, trained.b))
    with suppress(KeyboardInterrupt):
        cases.run(deadline, node_limit)
    certain = trained.value <= budget.limit(trained.lower_bound) + CUTOFF
    return Found(models, cases.known(), certain)


def counted(problem: TuningProblem, u: Vector, threshold: float) -> float:
    """Weight of the validation points with margin below `threshold`; a tie is not below."""
    margins = problem.y_val * (problem.X_val @ u[:-1] - u[-1])
    return float(problem.val_weight[margins < threshold - STRICT].sum())


def deepest(models: BoxModels, u: Vector, threshold: float, deadline: Deadline) -> Vector:
    """Return a model of Ψ whose margins are further below `threshold` where those of `u` are.

    As far as can be, up to one unit. Out of time it is `u` itself.
    """
    problem = models.problem
    rows = margin_rows(problem.X_val, problem.y_val)
    rows = rows[rows @ u <= threshold + 2.0 * LP_FEASIBILITY]
    if not len(rows):
        return u
    n_columns = len(models.program.cost)
    others = csr_array((len(rows), n_columns - rows.shape[1]))
    program = models.program.extended(
        cost=np.append(np.zeros(n_columns), -1.0),
        rows=hstack([csr_array(rows), others, np.ones((len(rows), 1))], format="csr"),
        row_upper=np.full(len(rows), threshold),
        lower=np.array([-np.inf]),
        upper=np.ones(1),
    )
    simplex = WarmProgram(program)
    if not simplex.solve(deadline):
        return u
    x = simplex.point()[: rows.shape[1]]
    return np.append(np.clip(x[:-1], -models.box, models.box), x[-1])
