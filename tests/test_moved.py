"""Names that the package had before still work, and say where they went."""

import warnings

import pytest

import pessimal.auditing
import pessimal.experiments
import pessimal.milp
import pessimal.report
import pessimal.search
import pessimal.training
from pessimal import PessimalError, TuningProblem, errors, near_optimal, reproduction, worst_case
from pessimal.bilevel import backends
from pessimal.limits import Progress
from pessimal.reproduction.report import write_report


def test_the_package_of_the_studies_answers_to_its_former_name() -> None:
    with pytest.warns(FutureWarning, match=r"pessimal\.reproduction\.reproduce"):
        assert pessimal.experiments.reproduce is reproduction.reproduce
    with pytest.raises(AttributeError):  # and nothing is said of what never was
        pessimal.experiments.nothing_of_this_name  # noqa: B018


def test_the_report_of_the_studies_answers_to_its_former_name() -> None:
    with pytest.warns(FutureWarning, match=r"pessimal\.reproduction\.report\.write_report"):
        assert pessimal.report.write_report is write_report
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        pessimal.report.other  # noqa: B018


def test_near_optimal_sets_answer_to_their_former_names() -> None:
    with pytest.warns(FutureWarning, match=r"pessimal\.near_optimal\.least_loss"):
        assert pessimal.training.least_loss is near_optimal.least_loss
    for module, name in ((near_optimal, "WorstCase"), (near_optimal, "BestCase")):
        with pytest.warns(FutureWarning, match=r"pessimal\.near_optimal\.Extreme"):
            assert getattr(module, name) is near_optimal.Extreme
    with pytest.warns(FutureWarning, match=r"pessimal\.near_optimal\.Extreme"):
        assert pessimal.auditing.ExtremeModel is near_optimal.Extreme
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        pessimal.auditing.other  # noqa: B018


def test_a_worst_case_takes_the_former_names_of_its_arguments() -> None:
    problem = TuningProblem([[-1.0], [1.0]], [-1, 1], [[0.5], [-2.0]], [1, -1])
    expected = worst_case(problem, 1.0, inner="flip", flip=[True, False])
    with pytest.warns(FutureWarning) as told:
        found = worst_case(problem, 1.0, method="flip", flipped=[True, False])
    assert found.value == expected.value
    words = [str(warning.message) for warning in told]
    assert words == ["method is now called inner", "flipped is now called flip"]


def test_what_a_callback_is_told_answers_to_its_former_name() -> None:
    with pytest.warns(FutureWarning, match=r"Progress is now pessimal\.limits\.Progress"):
        assert pessimal.search.Progress is Progress


def test_the_mixed_integer_programs_answer_to_their_former_name() -> None:
    with pytest.warns(FutureWarning, match=r"pessimal\.bilevel\.backends\.SOLVERS"):
        assert pessimal.milp.SOLVERS is backends.SOLVERS
    with pytest.warns(FutureWarning, match=r"pessimal\.bilevel\.MULTIPLIER_CAP"):
        assert pessimal.milp.MULTIPLIER_CAP == 1000.0


def test_a_name_that_moved_twice_is_told_once_and_to_its_last_place() -> None:
    with pytest.warns(FutureWarning) as told:
        assert pessimal.training.WorstCase is near_optimal.Extreme
    words = [str(warning.message) for warning in told]
    assert words == ["pessimal.training.WorstCase is now pessimal.near_optimal.Extreme"]


def test_importing_a_former_module_tells_nothing_of_names_that_python_asks_for() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(pessimal.experiments, "__path__")
        assert not hasattr(pessimal.training, "__wrapped__")


def test_every_error_can_be_imported_from_the_package() -> None:
    there = vars(errors).values()
    kinds = [kind for kind in there if isinstance(kind, type) and issubclass(kind, PessimalError)]
    assert len(kinds) > 3
    assert all(getattr(pessimal, kind.__name__) is kind for kind in kinds)
