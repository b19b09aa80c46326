"""A file with one JSON object a line, written as the objects come."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Lines:
    """Objects in a file, flushed one by one.

    A run that was killed in the middle of a line loses that line and nothing else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.read_bytes().endswith(b"\n"):
            path.write_text("".join(f"{line}\n" for line in self._whole()), encoding="utf-8")

    def add(self, fields: Mapping[str, Any]) -> None:
        """Append an object."""
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(fields) + "\n")

    def read(self) -> list[dict[str, Any]]:
        """Return all objects so far."""
        return [json.loads(line) for line in self._whole()] if self._path.exists() else []

    def _whole(self) -> list[str]:
        return self._path.read_text(encoding="utf-8").split("\n")[:-1]
