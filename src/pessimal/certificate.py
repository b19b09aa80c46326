"""Check an answer by solving its inner problem again, from the data alone.

Optimistic view: ``(box, u)`` is feasible when ``u`` trains best in the box.

Pessimistic view, the paper's eq. (A-RPBL-hyper): ``u`` must minimise the flipped loss ``F`` over
the models of the box with ``L_T ≤ τ``, where ``τ = (1 + ε)·L_T(û) + δ`` for a copy ``û`` that the
outer level picks in the box. The copy may be a poor one, so τ can be anything from
``(1 + ε)·L_T* + δ`` upwards. Hence two conditions: ``u`` minimises ``F`` subject to
``L_T ≤ L_T(u)``; and ``L_T(u)`` is itself such a τ, unless ``u`` minimises ``F`` over the whole
box, where the budget does not bind.

True pessimism: ``u`` must have the largest validation loss of all near-optimal models of the box.
All that lose more are excluded, begun anew from the data, though a search that took long may have
ended that way itself. HiGHS trains for it; bounds follow from the data and multipliers, whatever
these are.

What cannot be excluded in the time given counts as a gap, so that no answer passes unchecked.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from pessimal.limits import NEVER, Deadline
from pessimal.near_optimal.polyhedral.exclusion import largest_hinge
from pessimal.near_optimal.polyhedral.linear_program import BoxModels, Trained
from pessimal.near_optimal.polyhedral.program import pulled_back
from pessimal.problem import Budget, Mask, TuningProblem, Vector, margin_rows
from pessimal.tolerances import CERTIFICATE, LP_FEASIBILITY

WORST_CASE_SECONDS = 20.0
"""How long the check of a worst case may take that has no limit, or as long as its search took."""


@dataclass(frozen=True)
class Certificate:
    """How far an answer is from feasible, and its objective recomputed from the data.

    Attributes
    ----------
    inner_gap : float
        How much the model could still improve the inner objective.
    budget_violation : float
        How far the model's training loss is below the least budget of the paper's pessimistic
        view, or above the budget of a worst case. Differences of training losses are in
        `TuningProblem.loss_unit`: with points of small weight a small loss means much.
    box_violation : float
        Largest excess of ``|w|`` over the box, or of the box over its limits.
    objective : float
        Mean hinge loss of the model on the validation set.
    objective_error : float
        Distance from the objective that was claimed.
    seconds : float
        Wall-clock time the check took.
    """

    inner_gap: float
    budget_violation: float
    box_violation: float
    objective: float
    objective_error: float
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether gap, violations and error are all within `tolerances.CERTIFICATE`."""
        return all(
            error <= CERTIFICATE
            for error in (
                self.inner_gap,
                self.budget_violation,
                self.box_violation,
                self.objective_error,
            )
        )


def certify(
    problem: TuningProblem,
    budget: Budget,
    flipped: Mask | None,
    box: Vector,
    w: Vector,
    b: float,
    claimed_objective: float,
    deadline: Deadline = NEVER,
) -> Certificate:
    """Check that ``(w, b)`` solves the inner problem of `box` and has the claimed objective.

    The view is pessimistic, within the budget, where points are `flipped`; without them it is the
    optimistic one, which trains to the optimum. What cannot be checked before the deadline is a
    gap.
    """
    started = time.perf_counter()
    if deadline.over:  # no loss is negative, which is all that is known
        loss = problem.train_loss(w, b) if flipped is None else problem.flipped_loss(w, b, flipped)
        inner = loss, 0.0
    elif flipped is None:
        inner = _optimistic(problem, box, w, b, deadline)
    else:
        inner = _pessimistic(problem, budget, flipped, box, w, b, deadline)
    return _certificate(problem, box, w, b, claimed_objective, inner, started)


def certify_worst_case(
    problem: TuningProblem,
    budget: Budget,
    box: Vector,
    w: Vector,
    b: float,
    claimed_objective: float,
    time_limit: float = WORST_CASE_SECONDS,
) -> Certificate:
    """Check that ``(w, b)`` is the worst near-optimal model of `box` and has the claimed loss.

    What cannot be excluded within the seconds is a gap.
    """
    started = time.perf_counter()
    deadline = Deadline(started + time_limit)
    trained = BoxModels(problem, box).least_loss(deadline, at_least=0.0)
    limit = problem.training_limit(budget, trained.value)
    unit = problem.loss_unit(limit)
    violation = max(0.0, problem.train_loss(w, b) - limit) / unit
    unknown = (limit - problem.training_limit(budget, _least(trained))) / unit
    loss = problem.val_loss(w, b)
    inside = np.append(np.clip(trained.w, -box, box), trained.b)
    excess = largest_hinge(problem, box, limit, inside, lambda _: loss, deadline) - loss
    inner = max(0.0, excess, unknown), violation
    return _certificate(problem, box, w, b, claimed_objective, inner, started)


def near_optimal_model(
    problem: TuningProblem, budget: Budget, box: Vector, w: Vector, b: float, deadline: Deadline
) -> tuple[Vector, float]:
    """Pull a model into the near-optimal set of its box, unless training there takes too long."""
    trained = BoxModels(problem, box).least_loss(deadline, at_least=0.0)
    if not trained.optimal:
        return w, b
    inner = np.append(np.clip(trained.w, -box, box), trained.b)
    limit = problem.training_limit(budget, trained.value)
    u = pulled_back(problem, np.append(w, b), inner, limit)
    return u[:-1], float(u[-1])


def _certificate(
    problem: TuningProblem,
    box: Vector,
    w: Vector,
    b: float,
    claimed_objective: float,
    inner: tuple[float, float],
    started: float,
) -> Certificate:
    outside = (np.abs(w) - box, problem.lower - box, box - problem.upper)
    objective = problem.val_loss(w, b)
    inner_gap, budget_violation = inner
    return Certificate(
        inner_gap=inner_gap,
        budget_violation=budget_violation,
        box_violation=float(np.maximum(0.0, np.max(outside))),
        objective=objective,
        objective_error=abs(objective - claimed_objective),
        seconds=time.perf_counter() - started,
    )


def _least(trained: Trained) -> float:
    """Return the least training loss, or what bounds it where training was cut short."""
    return trained.value if trained.optimal else trained.lower_bound


def _optimistic(
    problem: TuningProblem, box: Vector, w: Vector, b: float, deadline: Deadline
) -> tuple[float, float]:
    least = _least(BoxModels(problem, box).least_loss(deadline, at_least=0.0))
    return max(0.0, problem.train_loss(w, b) - least) / problem.loss_unit(least), 0.0


def _pessimistic(
    problem: TuningProblem,
    budget: Budget,
    flipped: Mask,
    box: Vector,
    w: Vector,
    b: float,
    deadline: Deadline,
) -> tuple[float, float]:
    weight = problem.flipped_weight(flipped)
    models = BoxModels(problem, box, margin_rows(problem.X_val[flipped], -problem.y_val[flipped]))

    def least_flipped() -> float:
        u, bound = models.least(hinge_cost=weight, deadline=deadline)
        if u is None:
            return max(0.0, bound)
        return problem.flipped_loss(u[:-1], float(u[-1]), flipped)

    # Too large if cut short, which only adds to the gap.
    least = models.least_loss(deadline, at_least=0.0).value
    trained = problem.train_loss(w, b)
    attained = problem.flipped_loss(w, b, flipped)
    limit = budget.limit(least)
    violation = max(0.0, limit - trained) / problem.loss_unit(limit)
    if violation > LP_FEASIBILITY and attained <= least_flipped() + LP_FEASIBILITY:
        # Optimal in the whole box: the multiplier of the budget is 0.
        return 0.0, 0.0
    # A model a rounding error outside the box can train better than any inside it.
    models.limit_training(max(trained, least))
    return max(0.0, attained - least_flipped()), violation
