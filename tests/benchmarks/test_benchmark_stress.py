"""The hunt for wrong answers: its judges see a wrong number, its cases repeat, it ends clean."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

for module in ("gurobipy", "pyscipopt", "cplex"):
    pytest.importorskip(module, reason=f"{module}, of the extra 'solvers', is missing")

import stress  # noqa: E402
from stress_boxes import judge_count, judge_maximum  # noqa: E402
from stress_findings import Findings, Verdict  # noqa: E402


def maximum(value: float, bound: float) -> Verdict:
    findings = Findings()
    judge_maximum(findings, "loss", value, bound, Fraction(1, 2))
    return findings.verdict


def count(value: float, bound: float) -> Verdict:
    """Judge a count of which the truth is 1/4, or 1/2 with a tie."""
    findings = Findings()
    judge_count(findings, "errors", (value, bound), (value, value), (0.25, 0.5))
    return findings.verdict


class TestJudges:
    def test_a_value_that_meets_the_truth_is_the_same(self) -> None:
        assert maximum(0.5, 0.5) == Verdict.SAME

    def test_a_bound_below_the_truth_is_wrong(self) -> None:
        assert maximum(0.4, 0.4) == Verdict.WRONG

    def test_a_value_above_the_truth_is_wrong(self) -> None:
        assert maximum(0.6, 0.6) == Verdict.WRONG

    def test_not_a_number_is_wrong(self) -> None:
        assert maximum(float("nan"), 0.5) == Verdict.WRONG

    def test_a_low_value_under_a_valid_bound_is_weak_unless_a_limit_was_set(self) -> None:
        assert maximum(0.4, 0.6) == Verdict.WEAK
        findings = Findings()
        with findings.limited():
            judge_maximum(findings, "loss", 0.4, 0.6, Fraction(1, 2))
        assert findings.verdict == Verdict.SAME

    def test_a_tie_may_be_counted_or_not(self) -> None:
        assert count(0.25, 0.25) == count(0.25, 0.5) == count(0.5, 0.5) == Verdict.SAME
        assert count(0.0, 0.0) == count(0.75, 0.75) == Verdict.WRONG
        assert count(0.25, 0.75) == Verdict.OPEN


def test_a_case_is_the_same_each_time() -> None:
    first, second = (stress.judge(1, "units", 5)[2] for _ in range(2))
    assert first.source == second.source != ""


@pytest.mark.parametrize("number", range(9))
def test_every_question_can_be_asked(number: int) -> None:
    _, _, findings, _ = stress.judge(1, "one_feature", number)
    assert findings.verdict < Verdict.REFUSED, str(findings)


def test_a_run_prints_a_table_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert stress.main(["--family", "base", "empty_flip", "relation", "rival", "--count", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "family", "base", "empty_flip", "relation", "rival", "total",
    ]  # fmt: skip
