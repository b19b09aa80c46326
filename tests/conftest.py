"""One Hypothesis profile for every test: the same examples on every run, no clock; and the site.

This file also makes pytest put `tests/` on the import path, so that any test, in any folder below,
can write ``from oracles import ...``.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A process started in the background may have Ctrl-C switched off; the tests of it need it on.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deterministic")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (make docs)")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed (make docs)")
    # The site is built once for all tests that look at it.
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    return folder
