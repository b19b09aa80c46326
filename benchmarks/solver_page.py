"""The page and the figure of the benchmark of solvers, made from the stored rows alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from instances import Instance
from judging import (
    FAILED,
    LIMIT,
    NOT_PROVED,
    OURS,
    TOO_LARGE,
    Group,
    Row,
    all_wrong_claims,
    by_instance,
    losses,
    solvers_of,
    split_by,
    summarise,
    time_given,
    time_to_proof,
)
from matplotlib.figure import Figure
from measuring import machine, seconds, times, write

from pessimal.report.frames import markdown
from pessimal.reproduction import Store

STUDY, START_UP = "solvers", "start-up"
FIGURE = "solvers"
BOTH = "both data sets"
LOSSES_LISTED = 15

# Colours that the colour-blind tell apart (Okabe and Ito).
_COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")

_RULES = """\
How it was measured:

- Every solver gets the same instances, one at a time, on one thread, in a process of its own that \
has solved three small instances before.
- Times are CPU seconds of that process, which on an idle machine are seconds on the clock: others \
used this one too, and the clock charges long runs for their turns, but hardly ever a short one. \
Time limits are on the clock.
- `pessimal` is timed as a user calls it (`solve_optimistic`, `solve_pessimistic`), from problem \
to answer, without the certificate, whose time is given apart.
- The others get the paper's single-level MILP with every M proved and the multiplier λ of the \
training budget at most 1000 where the data prove no smaller bound. Only the solver's own run is \
timed: writing the program is free. Nothing of the package's own helps them: no start, no cuts.
- Gurobi and CPLEX run at tolerances of 1e-9, as in the package's own use of them; `-default` \
marks their own tolerances. HiGHS and SCIP keep theirs. The relative gap is 1e-7, with `-default` \
1e-6.
- *Proved* means that the solver claims the optimum and no certified point contradicts it. A time \
limit counts as the time used until then. Ratios are the solver's time over ours, both cut at the \
smaller limit, on instances that at least one of the two proved and on which both are right: above \
1, ours was faster.
"""


def write_page(store: Store, rows: Sequence[Row], docs: Path) -> None:
    """Write the page and its figure."""
    starts: list[Mapping[str, Any]] = []
    if START_UP in store.studies():
        starts = list(store.records(START_UP))
    words, versions = machine(store, STUDY, "numpy", "scipy", "cvxpy")
    versions += sorted({row.version for row in rows if row.version and row.solver != OURS})
    seeds = ", ".join(map(str, sorted({row.instance.seed for row in rows})))
    runs = store.summary(STUDY, all_runs=True).runs
    commands = "\n".join(dict.fromkeys(f"    {run.command}" for run in runs))
    measured = f"{words}. Versions: {', '.join(versions)}. Seeds: {seeds}."
    grid = {inst: found for inst, found in by_instance(rows).items() if inst.suite == "grid"}
    figure = profile(split_by(grid, view_of)) if grid else None
    write(
        docs, "benchmarks", sections(rows, starts, f"{measured}\n\nCommands:\n\n{commands}"), figure
    )


def sections(rows: Sequence[Row], starts: Sequence[Mapping[str, Any]], measured: str) -> list[str]:
    """Return the page in Markdown, section by section."""
    group = by_instance(rows)
    parts = [
        "# Benchmarks",
        "The exact search of this package against the paper's mixed-integer program on four "
        "solvers. This page is generated from the stored measurements by "
        "`python benchmarks/solvers.py --report`.",
        _RULES,
        measured,
    ]
    for suite, title, label in _SUITES:
        chosen = {inst: found for inst, found in group.items() if inst.suite == suite}
        if chosen:
            parts += [f"## {title}", _summary_table(chosen, label, totals=suite == "grid")]
            if suite == "grid":
                parts.append(
                    f"![Share of instances proved within a given time](images/{FIGURE}.svg)\n\n"
                    "Share of instances proved within a given time, over the instances that every "
                    "solver ran on (their number in brackets)."
                )
    parts += ["## Where ours is slower", _losses(group)]
    parts += ["## Wrong answers", _wrong(group)]
    parts += ["## Failures", _failures(group)]
    return [*parts, "## Start-up, certificate and memory", *_overheads(rows, starts)]


def view_of(instance: Instance) -> str:
    """Name the view of an instance as the page does."""
    return _view(instance.view, instance.epsilon)


def _view(view: str, epsilon: float) -> str:
    return view if view == "optimistic" else f"{view}, ε = {epsilon:g}"


def _size(instance: Instance) -> str:
    return f"{instance.data}, {instance.n_train}"


_SUITES: tuple[tuple[str, str, Callable[[Instance], str]], ...] = (
    ("grid", "The paper's sizes: |T| and |V| from 5 to 20", lambda instance: instance.data),
    ("large", "More rows: |T| = |V| = 30, 50, 100", _size),
    ("wide", "More features: 20, 50, 100, with |T| = |V| = 50", lambda instance: instance.data),
)


def _summary_table(group: Group, label: Callable[[Instance], str], totals: bool) -> str:
    lines = []
    for view, of_view in split_by(group, view_of).items():
        parts = split_by(of_view, label)
        if totals and len(parts) > 1:
            parts[BOTH] = of_view
        for name, part in parts.items():
            for solver in solvers_of(part):
                found = summarise(part, solver)
                if not found.fit:
                    ran = sum(solver in rows for rows in part.values())
                    lines.append([view, name, solver, str(ran), TOO_LARGE, *[""] * 5])
                    continue
                lines.append(
                    [
                        view,
                        name,
                        solver,
                        str(found.fit),
                        f"{100 * found.proved / found.fit:.0f} %",
                        str(found.wrong),
                        _over(found.unproved > found.fit / 2) + seconds(found.median),
                        _over(found.unproved > 0) + seconds(found.worst),
                        times(found.ratio_of_medians),
                        times(found.median_ratio),
                    ]
                )
    head = ["view", "data", "solver", "instances", "proved", "wrong", "median", "worst"]
    return markdown([*head, "ratio of medians", "median of ratios"], lines)


def _over(unproved: bool) -> str:
    return "≥ " if unproved else ""


def _losses(group: Group) -> str:
    found = losses(group)
    if not found:
        return "On no instance did another solver prove its answer sooner than ours."
    names = [pair.row.solver for pair in found]
    counted = ", ".join(f"{solver} {names.count(solver)}" for solver in sorted(set(names)))
    listed = "" if len(found) <= LOSSES_LISTED else f" The {LOSSES_LISTED} worst for ours:"
    lines = [
        [row.instance.key, row.solver, seconds(theirs), _over(ours.status == LIMIT) + seconds(own)]
        for row, ours, theirs, own in found[:LOSSES_LISTED]
    ]
    listing = markdown(["instance", "solver", "its time", "ours"], lines)
    return f"Instances on which another solver was faster: {counted}.{listed}\n\n{listing}"


def _wrong(group: Group) -> str:
    claims = all_wrong_claims(group)
    if not claims:
        return "No two solvers disagree by more than 1e-6."
    lines = [
        [
            row.instance.key,
            row.solver,
            "none" if row.objective is None else f"{row.objective:.7f}",
            f"{reference:.7f}",
            reason,
        ]
        for row, reference, reason in claims
    ]
    listing = markdown(["instance", "solver", "its value", "reference", "why"], lines)
    return (
        "Every claim that differs from another by more than 1e-6, and which of them the "
        f"certificate of the points refutes: {len(claims)} in all, of which {OURS} made "
        f"{sum(claim.row.solver == OURS for claim in claims)}.\n\n{listing}"
    )


def _failures(group: Group) -> str:
    lines = [
        [instance.key, row.solver, row.status, row.message or "stopped without a proof"]
        for instance, rows in group.items()
        for row in rows.values()
        if row.status in (FAILED, NOT_PROVED)
    ]
    if not lines:
        return "No solver failed, stopped without a proof before its limit or ran far beyond it."
    listing = markdown(["instance", "solver", "status", "message"], lines)
    return f"These count as not proved, at the limit, in the tables above.\n\n{listing}"


def _overheads(rows: Sequence[Row], starts: Sequence[Mapping[str, Any]]) -> list[str]:
    parts = []
    if starts:
        lines = [
            [
                _view(start["view"], start["epsilon"]),
                *(seconds(start[f"{name}_seconds"]) for name in ("import", "first", "later")),
                f"{start['memory_peak']:.0f} MB",
            ]
            for start in starts
        ]
        parts = [
            "A fresh process that solves Cancer with |T| = |V| = 20, checks included, and imports "
            "nothing else:",
            markdown(["view", "import", "first solve", "later solves", "peak memory"], lines),
        ]
    lines = []
    for solver in solvers_of(by_instance(rows)):
        own = [row for row in rows if row.solver == solver]
        checks = [r.certificate_seconds for r in own if r.certificate_seconds is not None]
        on_grid = [r.certificate_seconds or 0.0 for r in own if r.instance.suite == "grid"]
        builds = [r.build_seconds for r in own if r.build_seconds is not None]
        memory = [(r.memory_before, r.memory_peak) for r in own if r.memory_peak is not None]
        growth = [peak - before for before, peak in memory if before is not None]
        lines.append(
            [
                solver,
                seconds(statistics.median(checks)) if checks else "",
                seconds(max(on_grid, default=0.0) or None),
                seconds(statistics.median(builds)) if builds else "in its time",
                f"{max(peak for _, peak in memory):.0f} MB" if memory else "",
                f"{max(growth):.0f} MB" if growth else "",
            ]
        )
    checked = ["certificate (median)", "certificate (longest, the paper's sizes)"]
    head = ["solver", *checked, "building (median)", "peak memory", "largest growth"]
    return [
        *parts,
        "Not part of the times above: checking an answer, and for the others writing the program. "
        "Memory is resident memory of the solver's process, interpreter and libraries included, "
        "and its largest growth in one call, building and checking included; memory that a "
        "process reuses from an earlier call does not count as growth.",
        markdown(head, lines),
    ]


def profile(views: Mapping[str, Group]) -> Figure:
    """Draw the share of instances proved within a given time, over those that every solver ran on.

    Examples
    --------
    >>> profile({"optimistic": {}}).axes[0].get_title()
    'optimistic (0)'
    """
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    figure.set_label(FIGURE)
    panels = figure.subplots(1, len(views), sharey=True, squeeze=False)[0]
    solvers = sorted({name for group in views.values() for name in solvers_of(group)})
    colour = dict(zip([OURS, *(name for name in solvers if name != OURS)], _COLOURS, strict=False))
    for panel, (view, group) in zip(panels, views.items(), strict=True):
        names = solvers_of(group)
        common = {inst: rows for inst, rows in group.items() if len(rows) == len(names)}
        wrong = {claim.row for claim in all_wrong_claims(common)}
        for name in names:
            right = [rows[name] for rows in common.values() if rows[name] not in wrong]
            proofs = sorted(t for t in map(time_to_proof, right) if math.isfinite(t))
            # Beyond its limit nothing is known of a solver.
            end = max((time_given(rows[name]) for rows in common.values()), default=1.0)
            shares = [100.0 * k / len(common) for k in range(1, len(proofs) + 1)]
            panel.step(
                [*proofs, end],
                [*shares, *(shares[-1:] or [0.0])],
                where="post",
                color=colour[name],
                linewidth=2.2 if name == OURS else 1.2,
                label=name,
            )
        panel.set_xscale("log")
        panel.set_ylim(0.0, 102.0)
        panel.set_title(f"{view} ({len(common)})", fontsize=9)
        panel.set_xlabel("CPU seconds, one thread", fontsize=9)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("instances proved, %", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels))
    return figure
