"""What ``make run`` prints is what the solvers found, readable without a terminal."""

import re

import pytest

from pessimal import demo, load_cancer

# Certified optima of the instance that the demo shows.
OPTIMISTIC_OPTIMUM = 0.020107768
PESSIMISTIC_OPTIMUM = 0.078049694


@pytest.fixture(scope="module")
def columns() -> tuple[demo.Column, demo.Column]:
    return demo.tune()


@pytest.fixture
def printed(
    columns: tuple[demo.Column, demo.Column],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    monkeypatch.setattr(demo, "tune", lambda: columns)
    demo.main()
    return capsys.readouterr().out


def cells(printed: str, label: str) -> list[str]:
    """Return the cells of the line of the table that starts with `label`."""
    [line] = [
        line for line in printed.splitlines() if re.match(rf"\| {re.escape(label)} +\|", line)
    ]
    return [cell.strip() for cell in line.strip("| ").split("|")][-2:]


def test_the_two_views_stand_side_by_side(printed: str) -> None:
    header = next(line for line in printed.splitlines() if "optimistic" in line)
    assert [cell.strip() for cell in header.split("|")][-3:-1] == ["optimistic", "pessimistic"]


def test_the_table_shows_the_numbers_of_the_solutions(
    printed: str, columns: tuple[demo.Column, demo.Column]
) -> None:
    solutions = [column.solution for column in columns]
    for j, name in enumerate(load_cancer().feature_names):
        shown = cells(printed, f"limit on |weight| of {name}")
        assert shown == [f"{solution.box[j]:.3f}" for solution in solutions]
    for label, expected in (
        ("validation loss of the model found", [s.objective for s in solutions]),
        ("lower bound on that loss", [s.lower_bound for s in solutions]),
        ("exact worst-case validation loss", [c.worst_loss for c in columns]),
    ):
        assert [float(cell) for cell in cells(printed, label)] == pytest.approx(expected, abs=5e-5)
    assert cells(printed, "seconds") == [f"{s.seconds:.2f}" for s in solutions]


def test_both_optima_are_proved_and_are_the_certified_ones(
    printed: str, columns: tuple[demo.Column, demo.Column]
) -> None:
    optimistic, pessimistic = (column.solution for column in columns)
    assert cells(printed, "proved optimal") == ["yes", "yes"]
    assert optimistic.objective == pytest.approx(OPTIMISTIC_OPTIMUM, abs=1e-6)
    assert pessimistic.objective == pytest.approx(PESSIMISTIC_OPTIMUM, abs=1e-6)


def test_the_optimistic_model_is_no_worse_than_the_worst_case_of_its_limits(
    columns: tuple[demo.Column, demo.Column],
) -> None:
    optimistic, _ = columns
    assert optimistic.worst_loss >= optimistic.solution.objective - 1e-6


def test_the_pessimistic_worst_case_is_the_solutions_own(
    columns: tuple[demo.Column, demo.Column],
) -> None:
    _, pessimistic = columns
    exact = pessimistic.solution.exact_worst_case.value
    assert pessimistic.worst_loss == pytest.approx(exact, abs=1e-6)


def test_the_explanation_quotes_both_worst_cases(
    printed: str, columns: tuple[demo.Column, demo.Column]
) -> None:
    prose = " ".join(printed.split("\n"))
    for column in columns:
        assert f"{column.worst_loss:.4f}" in prose.rpartition("Of all models")[2]


def test_output_is_plain_text_within_80_columns(printed: str) -> None:
    assert printed.isascii()
    assert "\x1b" not in printed
    assert max(map(len, printed.splitlines())) <= 80
