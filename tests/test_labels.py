"""What classes are called in sentences, and beside their entry in a table."""

from __future__ import annotations

import pytest

from pessimal.labels import both_names, called


@pytest.mark.parametrize("classes", [(0, 1), (0.0, 1.0), (False, True), ("0", "1")])
def test_classes_that_stand_for_no_and_yes_are_called_so(classes: tuple[object, object]) -> None:
    assert [called(label, classes) for label in classes] == ["no", "yes"]
    names = [both_names(label, classes) for label in classes]
    assert names == [f"{classes[0]} (“no”)", f"{classes[1]} (“yes”)"]


@pytest.mark.parametrize("classes", [("no", "yes"), (1, 2), (0, 1, 2), ("a", "b", "c")])
def test_other_classes_have_one_name(classes: tuple[object, ...]) -> None:
    for label in classes:
        assert called(label, classes) == str(label)
        assert both_names(label, classes) == f"“{label}”"
