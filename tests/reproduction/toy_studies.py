"""Studies that take no time, fail on demand and leave a mark for every configuration they compute.

Workers import this module, so what steers them is in files and in the environment, not in memory.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import time
import uuid
from collections import Counter
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from pessimal.reproduction import Configuration, Row, Study

FOLDER = "TOY_STUDY_FOLDER"
TIMEOUT = 120.0
"""Seconds until a test gives up; nothing is measured by it."""


def toy_study(n_configurations: int = 12, **special: str) -> Study:
    """A study of random numbers; ``c3="die"`` makes configuration 3 do so."""
    configurations: list[Configuration] = [
        {"data": "toy <&>", "seed": seed, "what": special.get(f"c{seed}", "compute")}
        for seed in range(n_configurations)
    ]
    return Study("toy", tuple(configurations), compute)


def compute(configuration: Configuration) -> list[Row]:
    seed = int(str(configuration["seed"]))
    folder = Path(os.environ[FOLDER])
    earlier = times_computed(folder)[seed]
    (folder / f"mark-{seed}-{uuid.uuid4()}").touch()
    match configuration["what"]:
        case "fail":
            raise ValueError(f"configuration {seed} cannot be computed")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die once" if not earlier:
            os.kill(os.getpid(), signal.SIGKILL)
        case "wait":
            wait_for(folder / "go")
        case "contradict":
            return [{"seed": seed + 1}]
        case "numpy":
            return [{"value": np.int64(seed)}]  # type: ignore[dict-item]
        case "large":
            return [{"text": "x" * 20_000}]
        case "count threads":
            return [{"threads": max(int(pool["num_threads"]) for pool in threadpool_info())}]
    values = np.random.default_rng(seed).normal(size=(2, 50))
    return [
        {"model": name, "mean": float(row.mean()), "proved": seed % 3 != 0, "note": None}
        for name, row in zip(("first", "second"), values, strict=True)
    ]


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)


def times_computed(folder: Path) -> Counter[int]:
    return Counter(int(mark.name.split("-")[1]) for mark in folder.glob("mark-*"))


def contents(path: Path) -> list[tuple[str, ...]]:
    """All that a store holds of its configurations, but the time they took."""
    with sqlite3.connect(path) as connection:
        return list(connection.execute("SELECT study, version, cell, rows FROM cells ORDER BY 3"))
