"""Files that are whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pessimal.errors import InvalidInputError


def require_writable(path: Path | None) -> None:
    """Refuse a path that cannot be written, before hours of work end in an error."""
    if path is None:
        return
    if not path.parent.is_dir():
        fault = f"there is no folder {str(path.parent)!r}; make it first, or pass another path"
    elif path.is_dir() or not os.access(path.parent, os.W_OK):
        fault = "it is a folder, or lies in one that is write-protected; pass another path"
    else:
        return
    raise InvalidInputError(f"{path} cannot be written: {fault}")


def write_text(path: Path, text: str) -> None:
    """Write a text file so that a reader never sees half of it."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write any file so that a reader never sees half of it."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as draft:
        try:
            draft.write(data)
            draft.flush()
            os.fsync(draft.fileno())
            # Temporary files are for their owner alone; this one is to have the usual rights.
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(draft.name, 0o666 & ~umask)
            os.replace(draft.name, path)
        except BaseException:
            os.unlink(draft.name)
            raise
