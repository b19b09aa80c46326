"""Nodes of the tree, and those of them that are open.

Small problems are searched depth first, which costs least and finds incumbents. If that is not
enough, the search turns to the open node with the lowest bound, dives from there for a few nodes,
and turns again, so that the bound of the whole tree grows from then on.

A node keeps its own P and D, so that a child starts from the dictionaries of its parent. The memory
for that is limited: when most of it is in use the search stays depth first, which needs little.
"""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

import numpy as np

from pessimal.lp.simplex import Simplex
from pessimal.lp.watch import Watch
from pessimal.problem import Vector
from pessimal.solvers.search.complementarities import ABOVE, BELOW, Conditions

INF = np.inf
BYTES = 2**30  # memory for the dictionaries of open nodes
FIRST_DIVE = 2e6  # entries of dictionaries at the start of a search that is depth first
DIVE = 30  # nodes, at least, from one that has the lowest bound to the next
BEST_FIRST_SHARE = 0.5  # of that memory; the rest is for going on depth first


class OpenNode(NamedTuple):
    """What tells an open node from the root, as data: another process can go on from it.

    Attributes
    ----------
    bound : float
    decided : ndarray
        The bounds of P's rows, but for local ones, and of D's, and what is binding.
    """

    bound: float
    decided: Vector


class Node:
    """P and D as they stand at a node, and the children that wait, lowest bound last."""

    def __init__(self, conditions: Conditions, watch: Watch) -> None:
        n_features = len(conditions.upper)
        self.pairs = conditions.pairs
        self.reduced_cost_row = conditions.reduced_cost_row
        self.primal = Simplex(conditions.primal, watch)
        self.dual = Simplex(conditions.dual, watch)
        self.binding = np.zeros(n_features, np.intp)
        self.number = 0
        self.n_children = 0
        n_elements = conditions.pairs.n_pairs + n_features + 2
        self.pair = np.zeros(n_elements, np.intp)
        self.side = np.zeros(n_elements, np.intp)
        self.bound = np.zeros(n_elements)

    def copy_from(self, other: Node) -> None:
        """Take over the programs of `other`, not its children."""
        self.primal.copy_from(other.primal)
        self.dual.copy_from(other.dual)
        self.binding[:] = other.binding
        self.n_children = 0

    def fix(self, pair: int, side: int) -> None:
        """Restrict P to a side, and D to what it implies."""
        if pair < self.pairs.n_pairs:
            self.pairs.bound_primal(self.primal, pair, side)
            self.pairs.bound_dual(self.dual, pair, side)
        elif side == ABOVE:
            self.binding[pair - self.pairs.n_pairs] = 1

    def cross(self, pair: int, side: int) -> None:
        """Restrict P to the other side."""
        if pair < self.pairs.n_pairs:
            self.pairs.bound_primal(self.primal, pair, 1 - side)
        elif side == ABOVE:
            self.dual.set_bounds(self.reduced_cost_row + pair - self.pairs.n_pairs, 0.0, 0.0)

    def branch(self, pair: int, side: int) -> None:
        """Have two children, one that fixes a pair and one that crosses it.

        Written as a conflict of the pair and its opposite: the child that fixes the first and
        crosses the second stays on the pair's side.
        """
        for c in range(2):
            self.pair[c] = pair
            self.side[c] = side if c == 0 else 1 - side
            self.bound[c] = self.primal.objective
        self.n_children = 2

    def next_bound(self) -> float:
        """Lowest bound of the children."""
        return self.bound[self.n_children - 1]

    def has_children(self, cutoff: float) -> bool:
        """Whether a child is left below the cutoff; forget those that are not."""
        if self.n_children > 0 and self.bound[self.n_children - 1] >= cutoff:
            self.n_children = 0
        return self.n_children > 0

    def become_child(self, parent: Node, number: int) -> None:
        """Become a child of another node, by its place in the list."""
        self.copy_from(parent)
        for c in range(number):
            self.fix(parent.pair[c], parent.side[c])
        self.cross(parent.pair[number], parent.side[number])
        self.primal.objective = parent.bound[number]

    def decided(self) -> Vector:
        """Return the bounds of P and D, and what is binding, in one array."""
        end = self.primal.size - self.primal.n_local
        low, high = self.primal.bounds()
        return np.concatenate([low[:end], high[:end], *self.dual.bounds(), self.binding])

    def wait(self, root: Simplex, bound: float, decided: Vector) -> None:
        """Become what another node was, with itself as the only child."""
        self.primal.copy_from(root)
        end = self.primal.size - self.primal.n_local
        for k in range(end):
            self.primal.set_bounds(k, decided[k], decided[end + k])
        start = 2 * end
        for k in range(self.dual.size):
            self.dual.set_bounds(k, decided[start + k], decided[start + self.dual.size + k])
        start += 2 * self.dual.size
        for j in range(len(self.binding)):
            self.binding[j] = int(decided[start + j])
        # A feature's own pair, crossed below: that restricts nothing.
        self.pair[0] = self.pairs.n_pairs
        self.side[0] = BELOW
        self.bound[0] = bound
        self.n_children = 1


class OpenNodes:
    """Nodes with children that wait, and closed ones to be used again."""

    def __init__(self, conditions: Conditions, watch: Watch) -> None:
        self.conditions = conditions
        self.watch = watch
        n_entries = conditions.primal.A.size + conditions.dual.A.size
        self.capacity = BYTES // (8 * n_entries)
        self.n_made = 0
        self.n_taken = 0
        self.dive_end = int(FIRST_DIVE / n_entries)
        self.spare: list[Node] = []
        # Both hold nodes that were closed since, and may be in use again by another number. Bounds
        # of children only grow, so that the one noted here may be too low, never too high.
        self.by_bound: list[tuple[float, int, Node]] = []
        self.by_number: list[tuple[int, Node]] = []

    def take(self) -> Node | None:
        """Return a node to be written; None: there is no memory for it."""
        if self.spare:
            node = self.spare.pop()
        elif self.n_made < self.capacity:
            node = Node(self.conditions, self.watch)
            self.n_made += 1
        else:
            return None
        self.n_taken += 1
        node.number = self.n_taken
        return node

    def release(self, node: Node) -> None:
        """Close a node."""
        node.number = 0
        self.spare.append(node)

    def add(self, node: Node) -> None:
        """Open a node that has children."""
        heappush(self.by_bound, (node.next_bound(), -node.number, node))
        self.by_number.append((node.number, node))
        if len(self.by_number) > 2 * self.n_made + 100:
            self.by_number = [entry for entry in self.by_number if entry[1].number == entry[0]]

    def children(self) -> list[OpenNode]:
        """Return all children that wait, as data."""
        child = Node(self.conditions, self.watch)
        children = []
        for _, number, node in self.by_bound:
            if node.number == -number:
                for c in range(node.n_children):
                    child.become_child(node, c)
                    children.append(OpenNode(node.bound[c], child.decided()))
        return children

    def next(self, cutoff: float) -> Node | None:
        """Return the open node to go on with; None: none is left below the cutoff."""
        if self.bound() >= cutoff:
            return None
        room = self.n_made - len(self.spare) <= BEST_FIRST_SHARE * self.capacity
        if room and self.n_taken >= self.dive_end:
            self.dive_end = self.n_taken + DIVE
            return self.by_bound[0][2]
        while True:
            number, node = self.by_number[len(self.by_number) - 1]
            if node.number == number:
                if node.has_children(cutoff):
                    return node
                self.release(node)
            self.by_number.pop()

    def bound(self) -> float:
        """Lowest bound of a child that waits."""
        while self.by_bound:
            bound, number, node = self.by_bound[0]
            if node.number != -number:
                heappop(self.by_bound)
            elif node.next_bound() > bound:
                heapreplace(self.by_bound, (node.next_bound(), number, node))
            else:
                return bound
        return INF
