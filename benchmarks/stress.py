"""Hunt for wrong answers: random cases of many families, judged by exact oracles.

Run ``python benchmarks/stress.py --count 100 --seed 1``. Every family of small problems is asked
each question in turn (worst cases, counts, audits, both views by the search and by mixed-integer
programs, true pessimism), and `tests/oracles` answers in fractions. Larger problems are compared
with themselves in another form or with Gurobi, and searches are interrupted.

A case is named by its family and a number; ``--only FAMILY:NUMBER`` runs it again and prints the
Python that makes it. One line for each wrong case; the exit code is 1 if there was any. The table
counts cases by their worst finding:

same        every number is what the oracle says, or meets that of the other form
not proved  bounds hold, but a value and its bound have not met
weak        bounds hold, but a member attains more than the value, and no limit was set
refused     an error of the package instead of an answer
wrong       a value that nothing attains, a bound that something passes, a crash
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from stress_boxes import ask_audit, ask_audit_estimator, ask_counts, ask_hinge, ask_linear_programs
from stress_cases import DRAWS, Case, Rng
from stress_findings import Findings, Verdict
from stress_interrupts import interrupt
from stress_relations import relation
from stress_rival import rival
from stress_tuning import ask_exact, ask_flip, ask_milp, ask_optimistic, empty_flip

from pessimal.errors import PessimalError

QUESTIONS: dict[str, tuple[Callable[[Case, Findings], None], bool]] = {
    "hinge": (ask_hinge, False),
    "counts": (ask_counts, False),
    "linear programs": (ask_linear_programs, False),
    "audit": (ask_audit, False),
    "audit of an estimator": (ask_audit_estimator, False),
    "optimistic": (ask_optimistic, True),
    "flip": (ask_flip, True),
    "exact": (ask_exact, True),
    "milp": (ask_milp, True),
}
"""What families of small problems are asked in turn, and whether its oracle needs tiny ones."""

Family = Callable[[Rng, int, Findings], None]
"""Draws the case of a number and judges it."""


def examine(draw: Callable[[Rng, bool], Case], rng: Rng, number: int, findings: Findings) -> None:
    """Ask a small case the question whose turn it is."""
    name = list(QUESTIONS)[number % len(QUESTIONS)]
    ask, small = QUESTIONS[name]
    case = draw(rng, small)
    findings.subject, findings.source = name, case.source()
    ask(case, findings)


FAMILIES: dict[str, Family] = {
    **{name: partial(examine, draw) for name, draw in DRAWS.items()},
    **{family.__name__: family for family in (empty_flip, relation, rival, interrupt)},
}


def judge(seed: int, family: str, number: int) -> tuple[str, int, Findings, float]:
    """Run one case; the same three always give the same one."""
    findings = Findings()
    rng = np.random.default_rng([seed, number, *family.encode()])
    started = time.perf_counter()
    try:
        FAMILIES[family](rng, number, findings)
    except PessimalError as error:
        findings.add(Verdict.REFUSED, f"{type(error).__name__}: {error}")
    except Exception as error:  # A crash is a finding too.
        findings.add(Verdict.WRONG, f"{type(error).__name__}: {error}")
    return family, number, findings, time.perf_counter() - started


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    parser.add_argument("--count", type=int, default=20, help="cases of each family")
    parser.add_argument("--seed", type=int, default=1, help="names the sequence of cases")
    parser.add_argument("--first", type=int, default=0, help="number to start from")
    parser.add_argument("--family", nargs="+", choices=FAMILIES, help="these alone")
    parser.add_argument("--only", metavar="FAMILY:NUMBER", help="this case alone")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    asked = parser.parse_args(arguments)
    cases = [
        (family, number)
        for number in range(asked.first, asked.first + asked.count)
        for family in asked.family or FAMILIES
    ]
    if asked.only is not None:
        family, number = asked.only.split(":")
        cases = [(family, int(number))]

    verdicts: dict[str, Counter[Verdict]] = defaultdict(Counter)
    seconds: dict[str, float] = defaultdict(float)
    run = partial(judge, asked.seed)
    with ProcessPoolExecutor(asked.jobs) as pool:
        judged = (
            map(run, *zip(*cases, strict=True))
            if asked.jobs == 1
            else pool.map(run, *zip(*cases, strict=True), chunksize=4)
        )
        for family, number, findings, elapsed in judged:
            verdicts[family][findings.verdict] += 1
            seconds[family] += elapsed
            if findings.verdict >= Verdict.WEAK or asked.only is not None:
                print(
                    f"{findings.verdict.name.lower()}: --seed {asked.seed} --only "
                    f"{family}:{number}: {findings.subject}: {findings}",
                    flush=True,
                )
            if asked.only is not None:
                print(findings.source)
    print(table(verdicts, seconds))
    return int(any(counts[Verdict.WRONG] for counts in verdicts.values()))


def table(verdicts: dict[str, Counter[Verdict]], seconds: dict[str, float]) -> str:
    heads = ("family", "cases", "same", "not proved", "weak", "refused", "wrong", "seconds")
    rows = [
        (family, counts.total(), *(counts[verdict] for verdict in Verdict), round(seconds[family]))
        for family, counts in verdicts.items()
    ]
    sums = ("total", *(sum(column) for column in list(zip(*rows, strict=True))[1:]))
    lines = (heads, *rows, sums)
    return "\n".join(
        f"{line[0]:<14}" + "".join(f"{value:>12}" for value in line[1:]) for line in lines
    )


class _Raw(argparse.RawDescriptionHelpFormatter):
    """Keep the paragraphs of the module's docstring."""


if __name__ == "__main__":
    sys.exit(main())
