"""One Hypothesis profile for every test: the same examples on every run, no clock.

This file also makes pytest put `tests/` on the import path, so that any test, in any folder below,
can write ``from oracles import ...``.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deterministic")
