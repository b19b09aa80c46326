"""
Tolls on a network
==================

A bilevel problem that has nothing to do with learning, written in CVXPY. The leader sets tolls on
some roads; each follower drives a shortest path, tolls included. The leader wants the largest
revenue, a *product* of tolls and flows. The same product stands in the drivers' objective, and so
strong duality makes it linear (see the page on bilevel problems).

High tolls earn nothing when drivers take the detour. The answer is a certified global optimum: no
tolls earn more.
"""

import sys

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

from pessimal.bilevel import BilevelProblem, Follower

PLACES = {"A": (0, 1), "B": (0, 0), "C": (1, 0.5), "D": (2, 0.5), "E": (3, 1), "F": (3, 0)}
FREE_ROADS = [
    ("A", "C", 2),
    ("B", "C", 2),
    ("D", "E", 2),
    ("D", "F", 2),
    ("A", "E", 18),
    ("B", "F", 12),
]
FREE_ROADS += [("C", "D", 10)]
TOLL_ROADS = [("C", "D", 2), ("A", "D", 5), ("C", "F", 3)]
TRIPS = [("A", "E", 3.0), ("B", "F", 2.0), ("B", "E", 1.0)]

roads = FREE_ROADS + TOLL_ROADS
minutes = np.array([length for *_, length in roads], dtype=float)
names = list(PLACES)
leaves = np.array([[start == name for start, *_ in roads] for name in names], dtype=float)
arrives = np.array([[end == name for _, end, _ in roads] for name in names], dtype=float)

# %%
# One follower per trip.
tolls = cp.Variable(len(TOLL_ROADS), nonneg=True, name="tolls")
flows, followers, revenue = [], [], 0
for start, end, demand in TRIPS:
    flow = cp.Variable(len(roads), nonneg=True, name=f"{start} to {end}")
    supply = np.array([(name == start) - (name == end) for name in names], dtype=float)
    paid = tolls @ flow[len(FREE_ROADS) :]
    followers.append(
        Follower(
            cp.Minimize(minutes @ flow + paid),
            [(leaves - arrives) @ flow == supply],
            variables=[flow],
        )
    )
    flows.append(flow)
    revenue += demand * paid
problem = BilevelProblem(cp.Maximize(revenue), [], followers)
problem.solve()
print(f"revenue {problem.value:.4f}, at most {problem.bound:.4f}: {problem.status.value}")
print("tolls", tolls.value.round(4).tolist())

# %%
# Widths are drivers; numbers are minutes and, on the toll roads, tolls.
cars = sum(demand * flow.value for flow, (*_, demand) in zip(flows, TRIPS, strict=True))
figure, axes = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
for number, ((start, end, length), n) in enumerate(zip(roads, cars, strict=True)):
    toll = number - len(FREE_ROADS)
    color = "#999999" if toll < 0 else "#D55E00"
    bend = {("C", "D"): 0.25 if toll >= 0 else -0.25, ("A", "D"): 0.1}.get((start, end), 0.0)
    axes.annotate(
        "",
        PLACES[end],
        PLACES[start],
        arrowprops={
            "arrowstyle": "-|>",
            "color": color,
            "linewidth": 0.8 + 1.2 * n,
            "shrinkA": 12,
            "shrinkB": 12,
            "connectionstyle": f"arc3,rad={-bend}",
            "linestyle": "-" if n > 1e-6 else ":",
        },
    )
    (x0, y0), (x1, y1) = PLACES[start], PLACES[end]
    text = f"{length}" if toll < 0 else f"{length} + {tolls.value[toll]:.3g}"
    middle = 0.45 * x0 + 0.55 * x1, 0.45 * y0 + 0.55 * y1 + 0.5 * bend
    axes.text(*middle, text, color=color, ha="center", bbox={"color": "white", "pad": 1})
for name, place in PLACES.items():
    axes.plot(*place, "o", color="black", markersize=18)
    axes.text(*place, name, color="white", ha="center", va="center")
axes.set_axis_off()
axes.set_title(f"Tolls that earn most: {problem.value:.4g} of at most {problem.bound:.4g}")
axes.margins(0.08)

if __name__ == "__main__":
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "plot_bilevel_tolls.png", dpi=150)
