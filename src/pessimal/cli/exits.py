"""Exit codes of the program."""

FAILED = 1
"""Part of the work failed; what there is is kept."""

BAD_INPUT = 2
"""Bad usage or input."""

STOPPED = 3
"""Stopped at a limit or by Ctrl-C, with a usable result."""

INTERRUPTED = 130
"""Stopped by Ctrl-C with nothing to show; the number shells use."""
