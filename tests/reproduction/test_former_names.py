"""Names that the package had before still work, and say where they went."""

import pytest

import pessimal.experiments
import pessimal.report
from pessimal import reproduction
from pessimal.reproduction.report import write_report


def test_the_package_of_the_studies_answers_to_its_former_name() -> None:
    with pytest.warns(FutureWarning, match=r"pessimal\.reproduction\.reproduce"):
        assert pessimal.experiments.reproduce is reproduction.reproduce
    with pytest.raises(AttributeError), pytest.warns(FutureWarning):
        pessimal.experiments.nothing_of_this_name  # noqa: B018


def test_the_report_of_the_studies_answers_to_its_former_name() -> None:
    with pytest.warns(FutureWarning, match=r"pessimal\.reproduction\.report\.write_report"):
        assert pessimal.report.write_report is write_report
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        pessimal.report.other  # noqa: B018
