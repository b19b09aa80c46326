"""The page of results, written from the stored rows and nothing else."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from comparison import Group, all_wrong_claims, losses, solvers_of, summarise
from grouping import split_by
from instances import Instance
from machine import Machine, StartUp
from rows import FAILED, LIMIT, NOT_PROVED, OURS, TOO_LARGE, Row, by_instance
from wording import seconds, table, times

FIGURE = "solvers"
BOTH = "both data sets"
LOSSES_LISTED = 15

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


@dataclass(frozen=True)
class Evidence:
    """All that a page is written from."""

    rows: Sequence[Row]
    machine: Machine
    start_ups: Sequence[StartUp]
    commands: Sequence[str]


def write(evidence: Evidence) -> str:
    """Return the page in Markdown."""
    group = by_instance(evidence.rows)
    sections = [
        "# Benchmarks",
        "The exact search of this package against the paper's mixed-integer program on four "
        "solvers. This page is generated from the stored measurements by "
        "`python benchmarks/solvers.py --report`.",
        _RULES.rstrip(),
        _machine(evidence),
    ]
    for suite, title, label in _SUITES:
        chosen = {inst: rows for inst, rows in group.items() if inst.suite == suite}
        if chosen:
            sections += [f"## {title}", _summary_table(chosen, label, totals=suite == "grid")]
            if suite == "grid":
                sections.append(
                    f"![Share of instances proved within a given time](images/{FIGURE}.svg)\n\n"
                    "Share of instances proved within a given time, over the instances that every "
                    "solver ran on (their number in brackets)."
                )
    sections += ["## Where ours is slower", _losses(group)]
    sections += ["## Wrong answers", _wrong(group)]
    sections += ["## Failures", _failures(group)]
    sections += ["## Start-up, certificate and memory", _overheads(evidence)]
    return "\n\n".join(sections) + "\n"


def view_of(instance: Instance) -> str:
    """Name the view of an instance as the page does."""
    if instance.view == "optimistic":
        return "optimistic"
    return f"pessimistic, ε = {instance.epsilon:g}"


def _size(instance: Instance) -> str:
    return f"{instance.data}, {instance.n_train}"


_SUITES: tuple[tuple[str, str, Callable[[Instance], str]], ...] = (
    ("grid", "The paper's sizes: |T| and |V| from 5 to 20", lambda instance: instance.data),
    ("large", "More rows: |T| = |V| = 30, 50, 100", _size),
    ("wide", "More features: 20, 50, 100, with |T| = |V| = 50", lambda instance: instance.data),
)


def _machine(evidence: Evidence) -> str:
    machine = evidence.machine
    versions = sorted({row.version for row in evidence.rows if row.version and row.solver != OURS})
    packages = [f"{name} {number}" for name, number in machine.packages.items()]
    seeds = sorted({row.instance.seed for row in evidence.rows})
    commands = "\n".join(f"    {command}" for command in evidence.commands)
    return (
        f"Machine: {machine.cpu}, {machine.cores} cores, {machine.memory_gb:g} GB, "
        f"{machine.system}, {machine.python}. Versions: {', '.join([*packages, *versions])}. "
        f"Seeds: {', '.join(map(str, seeds))}.\n\n"
        f"Commands:\n\n{commands}"
    )


def _summary_table(group: Group, label: Callable[[Instance], str], totals: bool) -> str:
    lines = []
    for view, of_view in split_by(group, view_of).items():
        parts = split_by(of_view, label)
        if totals and len(parts) > 1:
            parts[BOTH] = of_view
        for name, part in parts.items():
            for solver in solvers_of(part):
                summary = summarise(part, solver)
                if summary is None:
                    continue
                fit = summary.instances - summary.too_large
                if not fit:
                    lines.append([view, name, solver, str(summary.instances), TOO_LARGE, *[""] * 5])
                    continue
                over = "≥ " if summary.unproved else ""
                lines.append(
                    [
                        view,
                        name,
                        solver,
                        str(fit),
                        f"{100 * summary.proved / fit:.0f} %",
                        str(summary.wrong),
                        ("≥ " if summary.unproved > fit / 2 else "") + seconds(summary.median),
                        over + seconds(summary.worst),
                        times(summary.ratio_of_medians),
                        times(summary.median_ratio),
                    ]
                )
    head = ["view", "data", "solver", "instances", "proved", "wrong", "median", "worst"]
    return table([*head, "ratio of medians", "median of ratios"], lines)


def _losses(group: Group) -> str:
    found = losses(group)
    if not found:
        return "On no instance did another solver prove its answer sooner than ours."
    counts = {
        solver: sum(pair.row.solver == solver for pair in found)
        for solver in sorted({pair.row.solver for pair in found})
    }
    counted = ", ".join(f"{solver} {count}" for solver, count in counts.items())
    listed = "" if len(found) <= LOSSES_LISTED else f" The {LOSSES_LISTED} worst for ours:"
    lines = [
        [
            pair.row.instance.key,
            pair.row.solver,
            seconds(pair.seconds),
            ("≥ " if pair.ours.status == LIMIT else "") + seconds(pair.our_seconds),
        ]
        for pair in found[:LOSSES_LISTED]
    ]
    listing = table(["instance", "solver", "its time", "ours"], lines)
    return f"Instances on which another solver was faster: {counted}.{listed}\n\n{listing}"


def _wrong(group: Group) -> str:
    claims = all_wrong_claims(group)
    if not claims:
        return "No two solvers disagree by more than 1e-6."
    lines = [
        [
            claim.row.instance.key,
            claim.row.solver,
            "none" if claim.row.objective is None else f"{claim.row.objective:.7f}",
            f"{claim.reference:.7f}",
            claim.reason,
        ]
        for claim in claims
    ]
    listing = table(["instance", "solver", "its value", "reference", "why"], lines)
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
        if row.status in (FAILED, NOT_PROVED) or (row.status == LIMIT and row.message)
    ]
    if not lines:
        return "No solver failed, stopped without a proof before its limit or ran far beyond it."
    listing = table(["instance", "solver", "status", "message"], lines)
    return f"These count as not proved, at the limit, in the tables above.\n\n{listing}"


def _overheads(evidence: Evidence) -> str:
    parts = []
    if evidence.start_ups:
        lines = [
            [
                "optimistic" if s.view == "optimistic" else f"{s.view}, ε = {s.epsilon:g}",
                seconds(s.import_seconds),
                seconds(s.first_seconds),
                seconds(s.later_seconds),
                "" if s.memory_peak is None else f"{s.memory_peak:.0f} MB",
            ]
            for s in evidence.start_ups
        ]
        parts.append(
            "A fresh process that solves Cancer with |T| = |V| = 20, checks included, and "
            "imports nothing else:\n\n"
            + table(["view", "import", "first solve", "later solves", "peak memory"], lines)
        )
    lines = []
    for solver in solvers_of(by_instance(evidence.rows)):
        rows = [row for row in evidence.rows if row.solver == solver]
        checks = [r.certificate_seconds for r in rows if r.certificate_seconds is not None]
        largest = max(
            (r.certificate_seconds or 0.0 for r in rows if r.instance.suite == "grid"), default=0.0
        )
        builds = [r.build_seconds for r in rows if r.build_seconds is not None]
        peaks = [r.memory_peak for r in rows if r.memory_peak is not None]
        grown = [
            r.memory_peak - r.memory_before
            for r in rows
            if r.memory_peak is not None and r.memory_before is not None
        ]
        lines.append(
            [
                solver,
                seconds(statistics.median(checks)) if checks else "",
                seconds(largest) if largest else "",
                seconds(statistics.median(builds)) if builds else "in its time",
                f"{max(peaks):.0f} MB" if peaks else "",
                f"{max(grown):.0f} MB" if grown else "",
            ]
        )
    checked = ["certificate (median)", "certificate (longest, the paper's sizes)"]
    head = ["solver", *checked, "building (median)", "peak memory", "largest growth"]
    parts.append(
        "Not part of the times above: checking an answer, and for the others writing the program. "
        "Memory is resident memory of the solver's process, interpreter and libraries included, "
        "and its largest growth in one call, building and checking included; memory that a "
        "process reuses from an earlier call does not count as growth.\n\n" + table(head, lines)
    )
    return "\n\n".join(parts)
