"""CPU seconds of an answer and of its check, apart.

On a machine that others use too, the clock charges a run of many milliseconds for their turns on
the processor, and one of less than a millisecond hardly ever.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from pessimal import views
from pessimal.certificate import Certificate


@contextmanager
def certificates_timed(check: str = "certify") -> Iterator[list[float]]:
    """Collect the CPU seconds of the checks at the end of each view, by the name of the check."""
    checks: list[float] = []
    certify = getattr(views, check)

    def timed(*arguments: Any) -> Certificate:
        started = time.process_time()
        certificate: Certificate = certify(*arguments)
        checks.append(time.process_time() - started)
        return certificate

    with mock.patch.object(views, check, timed):
        yield checks
