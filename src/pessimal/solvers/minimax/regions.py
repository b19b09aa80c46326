"""Few hyperparameters: branch on regions ``[l, u]`` of h until the best is proved.

As on a line, ``φ_S`` is concave in the box and the training limit, and grows with the limit. The
least training loss lies above any of its tangent planes; with the limit of such a plane P in place
of the true one, every ``φ_S`` becomes a concave function ``φ_SP`` of h that lies below ``W``. So is
every average of them, and a concave function is least at a corner:

    ``W(h) ≥ max over averages λ of min over corners v of Σ λ_SP·φ_SP(v)``,

the value of a matrix game. The best h often lies where the least training loss bends; there an
average over the planes of either side is what makes ends meet.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from pessimal.lp.highs import LinearProgram, WarmProgram
from pessimal.lp.sparse_rows import SparseRows
from pessimal.problem import Mask, Matrix, Vector
from pessimal.solvers.minimax.groups import Groups
from pessimal.solvers.minimax.oracle import WorstCaseOracle
from pessimal.solvers.minimax.proof import Leaf, Plane, corners, distinct_planes
from pessimal.tolerances import CUTOFF

MOST_GROUPS = 4
"""With more groups a region has too many corners, and there are too many regions."""

MOST_SETS, MOST_PLANES = 8, 6
"""Sets of active hinges and planes, of its own and of the regions it lies in, used in a region."""

MOST_REGIONS = 10_000
"""Regions looked at before the bound is left as it is: without slack there is no end to them."""

SMALLEST = 1e-9
"""Regions that are no wider than this share of the limits are not cut any further."""


@dataclass(frozen=True, order=True)
class Region:
    """Hyperparameters between `low` and `high`, whose worst cases are all at least `bound`."""

    bound: float
    number: int
    low: Vector = field(compare=False)
    high: Vector = field(compare=False)
    sets: tuple[Mask, ...] = field(compare=False)
    planes: tuple[Plane, ...] = field(compare=False)
    proof: Leaf = field(compare=False)


def minimise_in_regions(oracle: WorstCaseOracle) -> list[Leaf]:
    """Branch until the best point is proved, if it can be; return the proof of the bound."""
    groups = oracle.groups
    width = groups.upper - groups.lower
    regions = [_everything(groups)]
    too_small: list[Region] = []
    count = 1
    while regions and regions[0].bound < oracle.best_value - CUTOFF and count < MOST_REGIONS:
        oracle.check()
        oracle.prove(min(region.bound for region in (regions[0], *too_small)))
        region = heapq.heappop(regions)
        edges = (region.high - region.low) / np.where(width > 0.0, width, 1.0)
        longest = int(np.argmax(edges))
        if edges[longest] < SMALLEST:
            too_small.append(region)
            continue
        middle = 0.5 * (region.low[longest] + region.high[longest])
        for side in (0, 1):
            low, high = region.low.copy(), region.high.copy()
            (high if side == 0 else low)[longest] = middle
            heapq.heappush(regions, _bounded(oracle, region, low, high, count))
            count += 1
            oracle.nodes += 1  # a region is a node, too
    leaves = regions + too_small
    oracle.prove(min((region.bound for region in leaves), default=oracle.best_value))
    return [region.proof for region in leaves]


def _everything(groups: Groups) -> Region:
    """Return the region of all h; of no hinges at all, the loss is 0."""
    plane = Plane(groups.lower, 0.0, np.zeros(len(groups)))
    proof = Leaf(groups.lower, groups.upper, (plane,), (), np.zeros((1, 0)))
    return Region(0.0, 0, groups.lower, groups.upper, (), (), proof)


def _bounded(
    oracle: WorstCaseOracle, parent: Region, low: Vector, high: Vector, number: int
) -> Region:
    """Evaluate the centre of a region, and bound its worst cases from below."""
    centre = oracle.settled(0.5 * (low + high), oracle.best_value)
    known = [mask for mask in parent.sets if not np.array_equal(mask, centre.active)]
    sets = (centre.active, *known)[:MOST_SETS]
    tangents = (oracle.tangent(h) for h in (centre.h, high, low))
    planes = tuple(distinct_planes((*tangents, *parent.planes))[:MOST_PLANES])
    losses = [_corner_losses(oracle, plane, low, high, sets) for plane in planes]
    bound, average = _game(np.vstack(losses), oracle.best_value)
    if bound > parent.bound:
        proof = Leaf(low, high, planes, sets, average.reshape(len(planes), len(sets)))
    else:
        bound, proof = parent.bound, parent.proof
    return Region(bound, number, low, high, sets, planes, proof)


def _corner_losses(
    oracle: WorstCaseOracle, training: Plane, low: Vector, high: Vector, sets: tuple[Mask, ...]
) -> Matrix:
    """``φ_S(v)`` by set and corner, with the training limit of a plane."""
    vertices = corners(low, high)
    losses = np.empty((len(sets), len(vertices)))
    for column, h in enumerate(vertices):
        limit = oracle.problem.training_limit(oracle.budget, training(h))
        for row, active in enumerate(sets):
            losses[row, column] = oracle.active_set_loss(h, limit, active)
    return losses


def _game(losses: Matrix, enough: float) -> tuple[float, Vector]:
    """Largest guaranteed average: max over λ of min over columns of λ·losses, and that λ."""
    best = int(np.argmax(losses.min(axis=1)))
    alone = float(losses[best].min())
    # One row will do if it bounds well enough, or if no average can do better.
    if alone >= enough or alone >= losses.max(axis=0).min() or alone == -np.inf:
        return alone, np.eye(len(losses))[best]
    finite = np.isfinite(losses).all(axis=1)
    value, average = _solve_game(losses[finite])
    return value, average @ np.eye(len(losses))[finite]


def _solve_game(losses: Matrix) -> tuple[float, Vector]:
    n_rows, n_corners = losses.shape
    game = LinearProgram(
        cost=np.append(np.zeros(n_rows), -1.0),
        matrix=SparseRows.of(
            np.vstack(
                [
                    np.column_stack([losses.T, -np.ones(n_corners)]),
                    np.append(np.ones(n_rows), 0.0),
                ]
            )
        ),
        row_lower=np.append(np.zeros(n_corners), 1.0),
        row_upper=np.append(np.full(n_corners, np.inf), 1.0),
        lower=np.append(np.zeros(n_rows), -np.inf),
        upper=np.full(n_rows + 1, np.inf),
    )
    average = np.clip(WarmProgram(game).minimise()[:-1], 0.0, None)
    average /= average.sum()
    # Recomputed from the weights: a valid bound whatever the solver's tolerances.
    return float((average @ losses).min()), average
