"""One Hypothesis profile for every test: the same examples on every run, no clock.

This file also makes pytest put `tests/` on the import path, so that any test, in any folder below,
can write ``from oracles import ...``.
"""

import signal

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
