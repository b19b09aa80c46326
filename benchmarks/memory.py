"""Resident memory of this process now, and its peak since it was last reset (Linux)."""

from __future__ import annotations

from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def reset_peak() -> float | None:
    """Start the peak anew; return the memory in use in MB, or None where Linux does not tell."""
    try:
        _CLEAR.write_text("5", encoding="ascii")
    except OSError:
        return None
    return _megabytes("VmRSS")


def peak() -> float | None:
    """Return the peak in MB since `reset_peak`, or since the process began."""
    return _megabytes("VmHWM")


def _megabytes(field: str) -> float | None:
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))
