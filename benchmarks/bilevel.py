"""Bilevel programs: published ones on every route, random ones against enumeration, time.

Four measurements, stored as they come, so that a run that was stopped goes on where it was; the
page is written from the stored rows.

Examples
--------
::

    python benchmarks/bilevel.py --quick
    python benchmarks/bilevel.py
    python benchmarks/bilevel.py --parts random --report
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measuring import command_line, measure_parts, opened, render, write
from scipy.optimize import linprog
from scipy.sparse import csr_array

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "bilevel"))

from bilevel_rivals import Claim, fortuny_amat, sos1_gurobi
from catalogue import CATALOGUE, Published
from enumeration import optimistic
from random_programs import AGREES, NOT_PROVED, WRONG, draw, judge

from pessimal.bilevel.program import BilevelProgram, FollowerProgram, Rows
from pessimal.bilevel.response import respond
from pessimal.bilevel.routes import METHODS
from pessimal.bilevel.solve_program import solve_program
from pessimal.errors import InvalidInputError, PessimalError
from pessimal.reproduction.study import full_factorial

PAGE = "bilevel_measured"
COMMAND = "python benchmarks/bilevel.py"
BIG_M = 1e5
SAME = 1e-5
REFUSED = "refused"
OURS = "search"
RIVALS: dict[str, Callable[..., Claim]] = {
    "Fortuny-Amat, M = 1e5, HiGHS": partial(fortuny_amat, big=BIG_M),
    "SOS1, Gurobi": sos1_gurobi,
}
ROUTES = (*METHODS, *RIVALS)
VIEWS = ("optimistic", "pessimistic")
N_RANDOM = 1000
N_RIVALS = 200
SIZES = (10, 20, 40, 60)
LIMIT = 20.0
"""Seconds on the clock."""

Found = list[dict[str, Any]]


def factors(part: str, quick: bool) -> tuple[Mapping[str, Any], ...]:
    """Return the configurations of a part."""
    names = [published.name for published in CATALOGUE]
    grids: dict[str, dict[str, Any]] = {
        "published": {"problem": names[:4] if quick else names},
        "random": {"seed": range(5 if quick else N_RANDOM)},
        "rivals": {"seed": range(5 if quick else N_RIVALS)},
        "speed": {"size": SIZES[:1] if quick else SIZES, "seed": range(1 if quick else 10)},
    }
    grid = grids[part]
    return full_factorial(grid)


def published(at: Mapping[str, Any]) -> Found:
    """Solve a published problem in every view it is known in, on every route."""
    one = next(p for p in CATALOGUE if p.name == at["problem"])
    rows = []
    for view in VIEWS:
        if getattr(one, view) is None:
            continue
        for route in ROUTES:
            if route in METHODS or view == "optimistic":
                rows.append({"view": view, "route": route, **_published(one, view, route)})
    return rows


def _published(one: Published, view: str, route: str) -> dict[str, Any]:
    problem: Any = one.build()
    truth = getattr(one, view)
    started = time.process_time()
    if route in RIVALS:
        program = problem.program()
        if not _linear(program):
            return {"verdict": REFUSED, "value": None, "seconds": None}
        claim = RIVALS[route](program, time_limit=LIMIT)
        seconds = time.process_time() - started
        return {"verdict": _verdict(claim, truth), "value": _finite(claim.value)} | {
            "seconds": seconds
        }
    tolerance = {"epsilon": one.epsilon, "delta": one.delta} if view == "pessimistic" else {}
    try:
        problem.solve(view, method=route, time_limit=LIMIT, **tolerance)
    except PessimalError:
        return {"verdict": REFUSED, "value": None, "seconds": None}
    seconds = time.process_time() - started
    status, unattained = problem.status.value, view == "pessimistic" and one.unattained
    if unattained or status == "not attained":
        right = unattained and status == "not attained" and _same(problem.bound, truth)
        verdict = AGREES if right else WRONG
    else:
        verdict = _verdict(Claim(status, problem.value), truth)
    return {"verdict": verdict, "value": _finite(problem.bound), "seconds": seconds}


def _verdict(claim: Claim, truth: float) -> str:
    """Judge a claim of optimality or infeasibility by the true value."""
    if "infeasible" in claim.status or claim.status == "unbounded":
        told = [word for word in claim.status.split() if word in ("infeasible", "unbounded")]
        truths = {"infeasible": math.inf, "unbounded": -math.inf}
        return AGREES if truth in [truths[word] for word in told] else WRONG
    if claim.status != "optimal":
        return NOT_PROVED
    return AGREES if _same(claim.value, truth) else WRONG


def _same(value: float, truth: float) -> bool:
    return abs(value - truth) <= SAME * max(1.0, abs(truth))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _linear(program: BilevelProgram) -> bool:
    curved = abs(program.outer_curvature).sum() + abs(program.inner_curvature).sum()
    followers = any(follower.curved for follower in program.followers)
    return not (curved or followers or abs(program.price).sum())


def random(at: Mapping[str, Any]) -> Found:
    """Solve a random program in both views, and judge the answers by enumeration."""
    rows = []
    for view in VIEWS:
        drawn = draw(at["seed"])
        expected = drawn.enumerate(view)
        started = time.process_time()
        try:
            drawn.solve(view, time_limit=LIMIT)
            verdict, told = judge(drawn, view, expected)
        except InvalidInputError as error:
            verdict, told = REFUSED, str(error)
        truth = "not enumerated" if expected is None else expected.status
        row = {"view": view, "verdict": verdict, "truth": truth, "told": told}
        rows.append(row | {"seconds": time.process_time() - started})
    return rows


def rivals(at: Mapping[str, Any]) -> Found:
    """Give the rivals a random program, if it is linear, and judge them by enumeration."""
    drawn = draw(at["seed"])
    program = drawn.problem.program()
    if not _linear(program):
        return []
    expected = optimistic(drawn.arrays)
    rows = []
    for route, rival in RIVALS.items():
        started = time.process_time()
        claim = rival(program, time_limit=LIMIT)
        seconds = time.process_time() - started
        told = {"verdict": _verdict(claim, expected.value), "claimed": claim.status}
        rows.append({"route": route, "view": "optimistic", "seconds": seconds, **told})
    return rows


def speed(at: Mapping[str, Any]) -> Found:
    """Solve one larger linear program by the search and by the rivals, in turn."""
    program = large(at["size"], at["seed"])
    started = time.process_time()
    ours = solve_program(program, time_limit=LIMIT)
    seconds = time.process_time() - started
    rows = [_row(OURS, Claim(ours.status.value, ours.value, ours.x), seconds)]
    for route, rival in RIVALS.items():
        started = time.process_time()
        claim = rival(program, time_limit=LIMIT)
        rows.append(_row(route, claim, time.process_time() - started))
    for row in rows:
        x = row.pop("x")
        row["attained"] = None if x is None else _finite(_attained(program, x))
    return rows


def _row(route: str, claim: Claim, seconds: float) -> dict[str, Any]:
    told = {"status": claim.status, "value": _finite(claim.value), "x": claim.x}
    return {"route": route, "seconds": seconds, **told}


def large(size: int, seed: int) -> BilevelProgram:
    """Draw a program like those of Bard & Moore (1990): sparse whole numbers, few ties."""
    rng = np.random.default_rng([seed, size])

    def matrix() -> csr_array:
        return csr_array(rng.integers(-15, 46, (size, size)) * (rng.random((size, size)) < 0.4))

    costs = [rng.integers(-20, 21, size).astype(float) for _ in range(3)]
    nothing = csr_array((size, size))
    inner = Rows(
        matrix(), matrix(), np.full(size, -np.inf), rng.integers(10, 51, size).astype(float)
    )
    follower = FollowerProgram(
        cost=costs[2],
        price=nothing,
        curvature=nothing,
        rows=inner,
        lower=np.zeros(size),
        upper=np.full(size, 10.0),
        columns=slice(0, size),
    )
    outer = Rows(csr_array((0, size)), csr_array((0, size)), np.zeros(0), np.zeros(0))
    return BilevelProgram(
        outer_cost=costs[0],
        inner_cost=costs[1],
        outer_curvature=nothing,
        inner_curvature=nothing,
        price=nothing,
        constant=0.0,
        rows=outer,
        lower=np.zeros(size),
        upper=np.full(size, 10.0),
        integer=np.zeros(size, dtype=np.bool_),
        followers=(follower,),
    )


def _attained(program: BilevelProgram, x: Any) -> float:
    """Return the least outer objective over the follower's optimal responses to x."""
    follower, x = program.followers[0], np.asarray(x)
    response = respond(follower, x)
    if response is None:
        return math.inf
    within = response.value + 1e-9 * max(1.0, abs(response.value))
    best = linprog(
        program.inner_cost,
        np.vstack([follower.rows.inner.toarray(), follower.cost]),
        np.append(follower.rows.upper - follower.rows.outer @ x, within),
        bounds=np.column_stack([follower.lower, follower.upper]),
    )
    return float(program.outer_cost @ x + best.fun) if best.status == 0 else math.inf


def judged(rows: pd.DataFrame) -> pd.DataFrame:
    """Say which claims of optimality are wrong: not attained, or above what another attains."""
    rows = rows.astype({"value": float, "attained": float})
    best = rows.groupby(["size", "seed"])["attained"].transform("min")
    scale = SAME * best.abs().clip(lower=1.0)
    claimed = rows["status"] == "optimal"
    missed = (rows["attained"] - rows["value"]).abs() > scale
    wrong = claimed & (missed | (rows["value"] > best + scale))
    wrong |= rows["status"].str.contains("infeasible|unbounded") & best.notna()
    return rows.assign(wrong=wrong, proved=claimed & ~wrong)


def text(found: Mapping[str, pd.DataFrame], measured: Mapping[str, Any]) -> str:
    """Return the page in Markdown; a part without rows is left out."""
    parts: dict[str, Any] = dict.fromkeys(SECTIONS)
    if "published" in found:
        parts["published"] = _counts(found["published"], ["view", "route"])
    if "random" in found:
        rows = found["random"]
        parts["random"] = {
            "seeds": rows["seed"].nunique(),
            "verdicts": _counts(rows, ["view"]),
            "truths": rows.groupby(["view", "truth"]).size().reset_index(name="count"),
        }
    if "rivals" in found:
        rows = found["rivals"]
        table = {"count": rows["seed"].nunique(), "verdicts": _counts(rows, ["route"])}
        parts["rivals"] = table
    if "speed" in found:
        lines = judged(found["speed"]).groupby(["size", "route"], sort=False)
        parts["speed"] = lines.agg(
            count=("seed", "size"),
            proved=("proved", "sum"),
            wrong=("wrong", "sum"),
            median=("seconds", "median"),
            longest=("seconds", "max"),
        ).reset_index()
    return render(PAGE, command=COMMAND, limit=LIMIT, **measured, **parts)


def _counts(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    kinds = pd.CategoricalDtype([AGREES, NOT_PROVED, REFUSED, WRONG])
    table = pd.crosstab(
        [rows[name] for name in by], rows["verdict"].astype(kinds), dropna=False
    ).reindex(columns=kinds.categories, fill_value=0)
    table = table[table.sum(axis=1) > 0]
    medians = rows.astype({"seconds": float}).groupby(by)["seconds"].median()
    return table.join(medians).reset_index()


SECTIONS = {"published": published, "random": random, "rivals": rivals, "speed": speed}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_line(__doc__, f"results/{PAGE}", SECTIONS)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # of CVXPY, on products that are not convex
    with opened(options) as (store, docs):
        found = measure_parts(options, store, factors, SECTIONS, COMMAND, parallel=SECTIONS)
        write(docs, PAGE, text(*found))


if __name__ == "__main__":
    main()
