"""What of a time limit is left for the answer when a page is to be drawn after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pessimal.cli.options import seconds_before


@pytest.mark.parametrize(
    ("page", "limit", "left"),
    [(None, 3.0, 3.0), (Path("page.html"), 60.0, 59.0), (Path("page.html"), 2.0, 1.2)],
)
def test_a_second_is_kept_for_a_page_and_less_of_a_short_limit(
    page: Path | None, limit: float, left: float
) -> None:
    assert seconds_before(page, limit) == pytest.approx(left)
