"""A bound on what all members of a smooth near-optimal set are judged to lose."""

from __future__ import annotations

import numpy as np

from pessimal.limits import LATE_SECONDS, Deadline
from pessimal.near_optimal.smooth.branching import branch
from pessimal.near_optimal.smooth.enclosure import Enclosure
from pessimal.near_optimal.smooth.judged import Counted, Judged
from pessimal.near_optimal.smooth.relaxation import ROUNDS, Relaxation, sketch_tightened
from pessimal.problem import Vector

GAP = 1e-6
"""Bound and member closer than this share of the loss have met."""

NODE_STEPS = 10.0
"""Steps, as long as those of the ellipsoids, that the first part of the set takes, at least."""

STARTS = 3
"""Models of the relaxation from which an ascent may begin anew."""


def bounded(
    enclosure: Enclosure,
    judged: Judged | Counted,
    u: Vector,
    value: float,
    nodes: int,
    deadline: Deadline,
) -> tuple[float, list[Vector]]:
    """Bound the mean loss of all members, of which u has the largest that was found.

    Return also models, not all of them members, from which to ascend again.
    """
    target = value + GAP * abs(value)
    training, known = enclosure.training, enclosure.narrowed(deadline)
    around, terms = known.around, known.rows
    rows = judged.rows.map(around)
    bound = judged.by_ranges(rows)
    late, seconds = deadline.not_within(LATE_SECONDS), training.step_seconds
    if terms is None or not late.affords(seconds):
        return bound, []
    for step in range(3):
        relaxation = Relaxation(
            enclosure.below(terms), judged.above(rows), enclosure.outer, around.regions[-1]
        )
        sketch = relaxation.sketched(training.optimum, judged.tangent)
        # First the certificate of the worst member alone, then all moments with the ranges at
        # hand, then with exact ones; of many rows some lead to the moments at once.
        rounds = 1 if step == 0 and sketch is None else ROUNDS
        before = deadline.left
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is no bound
            found = sketch_tightened(relaxation, sketch, u - training.u, target, deadline, rounds)
        bound = min(bound, found.bound)
        if bound <= target or deadline.over:
            return bound, []
        if sketch is not None:
            if deadline.left < 2.0 * (before - deadline.left):  # two halves would take longer
                return bound, []
            break
        if step == 1:
            part = deadline.share(0.5)
            terms = tuple(enclosure.exact_rows(of, part) for of in terms)
            rows = enclosure.exact_rows(rows, part)
    # Of a set within rounding of one model no part is smaller.
    divisible = relaxation.in_memory and training.value < enclosure.inner
    if divisible and nodes and deadline.affords(NODE_STEPS * seconds):
        with np.errstate(over="ignore", invalid="ignore"):
            branched, _ = branch(relaxation, sketch, found.moments, bound, target, nodes, deadline)
        bound = min(bound, branched)
    return bound, [training.u + d for d in found.models[-STARTS:]]
