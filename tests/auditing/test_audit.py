"""The audit against brute force over all near-optimal models, by scipy."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from clocks import LeapingClock
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import (
    brute_force_best_case,
    brute_force_worst_case,
    in_near_optimal_set,
    sign_patterns,
)
from strategies import boxes, budgets, problems

from pessimal.auditing import AuditReport, audit, clock
from pessimal.errors import InvalidInputError, SolverError
from pessimal.limits import Deadline
from pessimal.near_optimal import BoxSet, NearOptimalSet
from pessimal.problem import Budget, TuningProblem, Vector
from pessimal.report import Section
from pessimal.report.audit_page import audit_sections

TOLERANCE = 1e-6


def plain(problem: TuningProblem) -> TuningProblem:
    """Drop weights and lower limits, which an audit does not have."""
    return TuningProblem(
        problem.X_train, problem.y_train, problem.X_val, problem.y_val, upper=problem.upper
    )


def run(problem: TuningProblem, box: Vector, budget: Budget, **options: Any) -> AuditReport:
    return audit(
        problem.X_train,
        problem.y_train,
        problem.X_val,
        problem.y_val,
        box=box,
        epsilon=budget.epsilon,
        delta=budget.delta,
        **{"epsilons": (), **options},
    )


def random_problem(seed: int, n_train: int = 10, n_val: int = 8, p: int = 3) -> TuningProblem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_train + n_val, p))
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return TuningProblem(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


@settings(max_examples=30)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_both_ends_of_the_loss_are_the_enumerated_ones(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    problem, box = plain(problem), data.draw(boxes(problem))
    assume(box.any())
    report = run(problem, box, budget)
    best, worst = report.best_loss, report.worst_loss
    assert best.value == pytest.approx(brute_force_best_case(problem, box, budget), abs=TOLERANCE)
    largest = brute_force_worst_case(problem, box, budget)
    assert worst.value == pytest.approx(largest, abs=TOLERANCE)
    assert worst.bound == pytest.approx(largest, abs=TOLERANCE)
    for end in (best, worst):
        assert problem.val_loss(end.coef, -end.intercept) == end.value
        assert in_near_optimal_set(problem, end.coef, -end.intercept, box, budget)


@settings(max_examples=30)
@given(problem=problems(), budget=budgets(), data=st.data())
def test_errors_ambiguity_and_discrepancy_follow_from_the_signs_that_occur(
    problem: TuningProblem, budget: Budget, data: st.DataObject
) -> None:
    problem, box = plain(problem), data.draw(boxes(problem))
    assume(box.any())
    report = run(problem, box, budget)
    patterns = np.array(sign_patterns(problem, box, budget))

    most_wrong = (patterns < 0).mean(axis=1).max()
    assert report.worst_error.value == pytest.approx(most_wrong)
    assert report.worst_error.bound >= most_wrong - TOLERANCE

    # A score of 0 is no error, but models are sought that have the right sign.
    assert report.best_error.bound <= (patterns < 0).mean(axis=1).min() + TOLERANCE
    assert report.best_error.value >= (patterns < 0).mean(axis=1).min() - TOLERANCE
    assert report.best_error.value <= (patterns <= 0).mean(axis=1).min() + TOLERANCE

    both_signs = (patterns < 0).any(axis=0) & (patterns > 0).any(axis=0)
    assert report.ambiguous.tolist() == both_signs.tolist()
    assert report.ambiguity == pytest.approx(both_signs.mean())

    predicted = np.where(report.reference.scores > 0.0, 1.0, -1.0)
    opposite = -predicted * problem.y_val
    most_changed = (patterns == opposite).mean(axis=1).max()
    assert report.discrepancy.value == pytest.approx(most_changed)
    assert report.discrepancy.bound >= most_changed - TOLERANCE

    for end in (report.best_error, report.worst_error, report.discrepancy):
        assert in_near_optimal_set(problem, end.coef, -end.intercept, box, budget)


def test_the_reference_of_an_audit_trains_best() -> None:
    problem = random_problem(0)
    report = run(problem, np.full(3, 0.5), Budget(epsilon=0.1))
    chosen = report.reference
    assert chosen.train_loss == report.least_train_loss
    assert report.train_limit == pytest.approx(1.1 * report.least_train_loss)
    assert chosen.loss == problem.val_loss(chosen.coef, -chosen.intercept)
    assert report.best_loss.value <= chosen.loss + TOLERANCE
    assert chosen.loss <= report.worst_loss.value + TOLERANCE
    assert report.best_error.value <= chosen.error <= report.worst_error.value


@pytest.mark.parametrize("time_limit", [None, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_curves_open_as_epsilon_grows(seed: int, time_limit: float | None) -> None:
    report = run(
        random_problem(seed), np.ones(3), Budget(0.1, 0.02), epsilons=None, time_limit=time_limit
    )
    curve = report.curve
    assert curve.epsilons.tolist() == [0.0, 0.05, 0.1, 0.2, 0.4]
    assert (np.diff(curve.best_loss) <= 0.0).all()
    assert (np.diff(curve.worst_loss) >= 0.0).all()
    assert (np.diff(curve.worst_error) >= 0.0).all()
    assert (np.diff(curve.worst_loss_bound) >= 0.0).all()
    assert (np.diff(curve.worst_error_bound) >= 0.0).all()
    assert (curve.worst_loss <= curve.worst_loss_bound).all()
    assert (curve.worst_error <= curve.worst_error_bound).all()
    here = list(curve.epsilons).index(0.1)
    assert report.best_loss.value == curve.best_loss[here]
    assert report.worst_loss.value == curve.worst_loss[here]
    assert report.worst_error.value == curve.worst_error[here]


def test_the_curve_holds_the_audited_epsilon_among_those_asked_for() -> None:
    report = run(random_problem(0), np.ones(3), Budget(epsilon=0.3), epsilons=[0.4, 0.1, 0.4])
    assert report.curve.epsilons.tolist() == [0.1, 0.3, 0.4]


def test_out_of_time_the_bounds_still_hold() -> None:
    problem, box, budget = random_problem(3), np.ones(3), Budget(epsilon=0.3)
    exact = run(problem, box, budget)
    limited = run(problem, box, budget, time_limit=1e-6)
    for name in ("worst_loss", "worst_error", "discrepancy"):
        true, quick = getattr(exact, name), getattr(limited, name)
        assert quick.value <= true.value + TOLERANCE
        assert true.value <= quick.bound + TOLERANCE
    assert limited.best_error.bound <= exact.best_error.value <= limited.best_error.value
    assert limited.discrepancy.bound <= limited.ambiguity_bound + TOLERANCE
    assert (limited.score_low <= exact.score_low + TOLERANCE).all()
    assert (limited.score_high >= exact.score_high - TOLERANCE).all()
    assert exact.notes == ()
    assert limited.notes[0].startswith("Time ran out before the score ranges of 8 of 8 validation")
    assert (limited.stopped, exact.stopped) == (True, False)
    assert not (limited.ambiguous & ~exact.ambiguous).any()
    assert not (exact.ambiguous & ~limited.ambiguous & ~limited.undecided).any()


def test_a_point_of_unknown_range_may_be_right_with_a_score_of_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The only model is w = 1, b = 0: it puts the first point wrong and the other two at 0.
    data = [[-1.0], [1.0]], [-1, 1], [[1.0], [0.0], [0.0]], [-1, 1, -1]
    cut_short = 0
    for still_looks in range(1, 400):
        with monkeypatch.context() as patch:
            LeapingClock(patch, still_looks)
            report = audit(*data, epsilons=(), time_limit=1.0)
        cut_short += report.stopped
        assert report.best_error.value == pytest.approx(1 / 3)
        assert "gives 2 of 3 validation points a score of 0" in str(report)
        assert report.best_error.bound <= 1 / 3 + TOLERANCE
    assert 1 < cut_short < 399


def test_labels_may_be_any_two_classes_and_the_last_sorted_is_positive() -> None:
    problem = random_problem(1)
    signed = run(problem, np.ones(3), Budget(epsilon=0.2))
    named = audit(
        problem.X_train,
        np.where(problem.y_train > 0.0, "sick", "healthy"),
        problem.X_val,
        np.where(problem.y_val > 0.0, "sick", "healthy"),
        epsilon=0.2,
        epsilons=(),
    )
    assert named.classes == ("healthy", "sick")
    assert named.worst_loss.value == signed.worst_loss.value
    assert named.worst_loss.coef.tolist() == signed.worst_loss.coef.tolist()
    assert set(named.to_frame()["label"]) == {"healthy", "sick"}


def test_a_pandas_table_keeps_its_index_and_columns() -> None:
    problem = random_problem(2)
    names = ["age", "dose", "size"]
    patients = [f"patient {k}" for k in range(problem.n_val)]
    report = audit(
        pd.DataFrame(problem.X_train, columns=names),
        pd.Series(problem.y_train),
        pd.DataFrame(problem.X_val, columns=names, index=patients),
        pd.Series(problem.y_val, index=patients),
        epsilon=0.2,
        epsilons=(),
    )
    assert report.feature_names == tuple(names)
    frame = report.to_frame()
    assert list(frame.index) == patients
    assert list(frame.columns) == ["label", "low", "high", "ambiguous"]
    assert (frame["low"] <= frame["high"]).all()


@pytest.mark.parametrize(
    ("X_train", "y_train", "X_val", "y_val"),
    [
        pytest.param(
            [[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1], [[0.5], [0.5]], [0, 1], id="same rows"
        ),
        pytest.param(
            [[0.0, 1.0], [1.0, 1.0]], [0, 1], [[0.5, 1.0]], [1], id="constant column, one class"
        ),
        pytest.param([[0.0], [1.0], [2.0]], [0, 1, 0], [[5.0]], [0], id="three rows"),
        pytest.param([[0.0], [0.0]], [0, 1], [[0.0]], [1], id="nothing to learn"),
    ],
)
def test_small_and_degenerate_data_are_audited(
    X_train: list[list[float]], y_train: list[int], X_val: list[list[float]], y_val: list[int]
) -> None:
    report = audit(X_train, y_train, X_val, y_val, delta=0.1)
    y = np.where(np.array([*y_train, *y_val]) == 1, 1.0, -1.0)
    problem = TuningProblem(X_train, y[: len(y_train)], X_val, y[len(y_train) :])
    box, budget = np.ones(problem.n_features), Budget(delta=0.1)
    largest = brute_force_worst_case(problem, box, budget)
    assert report.worst_loss.bound == pytest.approx(largest, abs=TOLERANCE)
    least = brute_force_best_case(problem, box, budget)
    assert report.best_loss.value == pytest.approx(least, abs=TOLERANCE)


def test_a_box_of_zero_leaves_the_constant_models() -> None:
    # Constant score c on labels −, +, +: L_T is (3 − c)/3 up to c = 1, where it is least, and
    # (1 + c)/3 beyond. With a limit of 1 that leaves c from 0 to 2.
    report = audit([[0.0], [1.0], [2.0]], [0, 1, 1], [[7.0]], [1], box=0.0, delta=1.0 / 3.0)
    assert report.least_train_loss == pytest.approx(2.0 / 3.0)
    assert report.worst_loss.value == pytest.approx(1.0)
    assert (report.score_low[0], report.score_high[0]) == pytest.approx((0.0, 2.0), abs=1e-6)


def test_separable_data_are_told_that_epsilon_does_nothing() -> None:
    separable = audit([[-2.0], [2.0]], [0, 1], [[1.0]], [1], epsilon=0.2)
    assert any("delta" in note for note in separable.notes)
    assert run(random_problem(0), np.full(3, 0.1), Budget(epsilon=0.2)).notes == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_train": [0, 1, 2]}, r"y_train holds 3 class\(es\), 0, 1, 2; pass labels of two"),
        ({"y_train": [1, 1, 1]}, r"y_train holds 1 class\(es\), 1; pass labels of two"),
        ({"y_train": [0, 1]}, "y_train has shape"),
        ({"y_train": [0, None, 1]}, "y_train has no label at position 1; drop the rows"),
        ({"y_train": [[0], [1], [1]]}, "y_train has shape .3, 1.; pass one label per row"),
        ({"y_val": [5]}, "y_val contains the label 5; the classes are 0, 1"),
        ({"y_val": ["yes"]}, "y_val contains the label 'yes'; the classes are 0, 1"),
        ({"X_train": [[0.0], [np.nan], [1.0]]}, "X_train contains nan"),
        ({"X_train": [["a"], ["b"], ["c"]]}, "X_train cannot be read as numbers"),
        ({"X_val": [[1.0, 2.0]]}, "X_val has 2 features but X_train has 1"),
        ({"box": [1.0, 1.0]}, "box has shape"),
        ({"box": -1.0}, "box contains -1"),
        ({"epsilon": -0.1}, "epsilon is -0.1; pass a finite number that is not negative"),
        ({"delta": np.inf}, "delta is inf"),
        ({"epsilons": [0.1, "a"]}, "an entry of epsilons is 'a'"),
        ({"epsilons": 0.1}, "epsilons is 0.1; pass a list of numbers"),
        ({"time_limit": 0.0}, "time_limit is 0.0; pass a positive number"),
    ],
)
def test_unusable_arguments_are_named(change: dict[str, Any], message: str) -> None:
    usable: dict[str, Any] = {
        "X_train": [[0.0], [1.0], [2.0]],
        "y_train": [0, 1, 1],
        "X_val": [[1.0]],
        "y_val": [1],
    }
    with pytest.raises(InvalidInputError, match=message):
        audit(**(usable | change))


def test_columns_in_another_order_are_refused() -> None:
    train = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    with pytest.raises(InvalidInputError, match="X_val has column 'b' where X_train has 'a'"):
        audit(train, [0, 1], train[["b", "a"]], [0, 1])


def test_features_in_other_units_with_the_box_in_theirs_are_the_same_audit() -> None:
    problem, unit = random_problem(4), np.array([1e3, 1.0, 1e-3])
    plain_units = run(problem, np.ones(3), Budget(epsilon=0.2))
    other_units = audit(
        problem.X_train * unit,
        problem.y_train,
        problem.X_val * unit,
        problem.y_val,
        box=1.0 / unit,
        epsilon=0.2,
        epsilons=(),
    )
    assert other_units.worst_loss.value == pytest.approx(plain_units.worst_loss.value)
    assert other_units.best_loss.value == pytest.approx(plain_units.best_loss.value)
    assert other_units.worst_error.value == plain_units.worst_error.value
    assert other_units.ambiguous.tolist() == plain_units.ambiguous.tolist()


def stopped_after(monkeypatch: pytest.MonkeyPatch, n_ranges: int) -> AuditReport:
    """An audit of 8 points during which Ctrl-C comes after some score ranges."""
    real = BoxSet.score_range
    left = n_ranges

    def interrupted(members: BoxSet, X: Any, *, time_limit: Deadline) -> Any:
        nonlocal left
        if time_limit.over:  # coarse ranges, before all others
            return real(members, X, time_limit=time_limit)
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        return real(members, X, time_limit=time_limit)

    with monkeypatch.context() as patch:
        patch.setattr(BoxSet, "score_range", interrupted)
        return run(random_problem(3), np.ones(3), Budget(epsilon=0.3))


@pytest.mark.parametrize("n_ranges", [0, 1, 3, 7])
def test_ctrl_c_keeps_what_is_known_and_says_what_is_not(
    monkeypatch: pytest.MonkeyPatch, n_ranges: int
) -> None:
    exact = run(random_problem(3), np.ones(3), Budget(epsilon=0.3))
    report = stopped_after(monkeypatch, n_ranges)
    assert report.stopped
    assert f"Ctrl-C came before the score ranges of {8 - n_ranges} of 8" in report.notes[0]
    for name in ("worst_loss", "worst_error", "discrepancy"):
        known, true = getattr(report, name), getattr(exact, name)
        assert known.value <= true.value + TOLERANCE
        assert true.value <= known.bound + TOLERANCE < np.inf
    for name in ("best_loss", "best_error"):
        known, true = getattr(report, name), getattr(exact, name)
        assert known.bound >= 0.0
        assert known.bound - TOLERANCE <= true.value <= known.value + TOLERANCE
    assert not (report.ambiguous & ~exact.ambiguous).any()
    assert not (exact.ambiguous & ~report.ambiguous & ~report.undecided).any()
    assert report.ambiguity <= exact.ambiguity <= report.ambiguity_bound
    assert report.to_frame()["ambiguous"].isna().tolist() == report.undecided.tolist()


def section_named(title: str, report: AuditReport) -> Section:
    (section,) = [section for section in audit_sections(report, ()) if section.title == title]
    return section


def test_what_is_not_known_is_called_so_wherever_it_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BoxSet, "rough_score_range", NearOptimalSet.rough_score_range)
    report = stopped_after(monkeypatch, 1)
    found, unknown = int(report.ambiguous.sum()), int(report.undecided.sum())
    assert unknown > 0
    sentence = f"for {unknown} it is not known"
    shares = f"at least {found / 8:.1%}, at most {(found + unknown) / 8:.1%}"
    for shown in (report.summary(), report._repr_html_()):
        words = " ".join(shown.split())
        assert "inf" not in words
        assert sentence in words
        assert shares in words
    panel = report.plot().axes[1]
    bars = {bars.get_label(): len(bars.get_paths()) for bars in panel.collections}
    assert bars["not known"] == unknown
    assert f"{found / 8:.0%} to {(found + unknown) / 8:.0%}" in panel.get_title()
    section = section_named("Every row", report)
    assert f"Of {unknown} rows it is not known whether they are." in section.paragraphs[0]


def test_a_step_whose_program_fails_leaves_valid_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = run(random_problem(3), np.ones(3), Budget(epsilon=0.3))

    def fail(*_: Any, **__: Any) -> Any:
        raise SolverError("training stalled")

    monkeypatch.setattr(BoxSet, "worst", fail)
    report = run(random_problem(3), np.ones(3), Budget(epsilon=0.3))
    assert report.stopped
    assert "training stalled" in " ".join(report.notes)
    assert report.worst_loss.value <= exact.worst_loss.value + TOLERANCE
    assert exact.worst_loss.value <= report.worst_loss.bound + TOLERANCE
    assert report.ambiguous.tolist() == exact.ambiguous.tolist()


def test_progress_is_told_while_a_step_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    told = threading.Event()
    monkeypatch.setattr(clock, "SECONDS_BETWEEN_LINES", 1e-3)
    monkeypatch.setattr("sys.stderr", Listener(told))
    with clock.Clock(None, verbose=True) as ticking:
        ticking.begin("score ranges, 3 of 8 rows")
        assert told.wait(60.0)


def test_no_program_is_begun_that_is_larger_than_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    limited = clock.Clock(10.0)
    now = 4.0
    limited.trained()
    assert limited.begin("worst loss")
    now = 6.5
    assert not limited.begin("worst loss")


def test_a_search_that_was_cut_short_gets_what_the_others_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, shares = 0.0, []
    monkeypatch.setattr("time.perf_counter", lambda: now)
    real = BoxSet.worst

    def half_a_minute(members: BoxSet, X: Any, y: Any, loss: Any, *, time_limit: Deadline) -> Any:
        nonlocal now
        if loss is members.loss:  # the worst loss; all else takes no time
            shares.append(time_limit.left)
            now += min(30.0, time_limit.left + 1e-6)
        return real(members, X, y, loss, time_limit=time_limit)

    monkeypatch.setattr(BoxSet, "worst", half_a_minute)
    report = run(random_problem(3), np.ones(3), Budget(epsilon=0.3), time_limit=60.0)
    assert shares == pytest.approx([10.0, 50.0], abs=1e-3)  # one of six searches, then alone
    assert report.worst_loss.proved
    assert not report.stopped


class Listener(io.StringIO):
    """Standard error that knows when a line of progress has come."""

    def __init__(self, told: threading.Event) -> None:
        super().__init__()
        self.told = told

    def write(self, text: str) -> int:
        if text.startswith("audit: score ranges, 3 of 8 rows, "):
            self.told.set()
        return super().write(text)


def test_without_time_the_curve_is_bounded_by_its_largest_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, box = random_problem(3), np.ones(3)
    whole = run(problem, box, Budget(epsilon=0.1), epsilons=(0.0, 0.05, 0.2, 0.4))
    asked: list[float] = []
    real = BoxSet.coarse_score_range

    def coarse_score_range(members: BoxSet, X: Any, **options: Any) -> Any:
        asked.append(members.budget.epsilon)
        return real(members, X, **options)

    monkeypatch.setattr(BoxSet, "coarse_score_range", coarse_score_range)
    options = {"epsilons": (0.0, 0.05, 0.2, 0.4), "time_limit": 1e-9}
    curve = run(problem, box, Budget(epsilon=0.1), **options).curve
    assert set(asked) == {0.1, 0.4}
    assert (curve.worst_loss_bound >= whole.curve.worst_loss - TOLERANCE).all()
    assert (curve.worst_error_bound >= whole.curve.worst_error - TOLERANCE).all()
    assert np.isfinite(curve.worst_loss_bound).all()


def test_the_audit_of_a_box_does_not_load_scikit_learn() -> None:
    code = (
        "import sys\n"
        "from pessimal import audit\n"
        "audit([[-1.0], [1.0]], ['no', 'yes'], [[0.5], [-2.0]], ['yes', 'no'], delta=0.5)\n"
        "assert not {'sklearn', 'scipy.stats'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_equal_rows_are_ranged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(2)
    X, y, X_val, y_val = problem.X_train, problem.y_train, problem.X_val, problem.y_val
    options: dict[str, Any] = {"epsilon": 0.3, "epsilons": (), "time_limit": None}
    once = audit(X, y, X_val, y_val, **options)
    asked: list[bytes] = []
    real = BoxSet.score_range

    def score_range(members: BoxSet, rows: Any, **limits: Any) -> Any:
        found = real(members, rows, **limits)
        asked.extend(row.tobytes() for row in rows if row in X_val)
        return found

    monkeypatch.setattr(BoxSet, "score_range", score_range)
    often = audit(X, y, np.tile(X_val, (5, 1)), np.tile(y_val, 5), **options)
    assert len(asked) == len(set(asked)) == len(X_val)
    assert often.score_low == pytest.approx(np.tile(once.score_low, 5), abs=1e-6)
    assert often.score_high == pytest.approx(np.tile(once.score_high, 5), abs=1e-6)
    assert not often.stopped
