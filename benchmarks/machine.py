"""The machine that the figures were measured on, and what starting Python adds to a solve."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from instances import Instance

import pessimal
from pessimal.experiments.environment import processor

_PACKAGES = ("pessimal", "numpy", "scipy", "cvxpy")


@dataclass(frozen=True)
class Machine:
    """What a reader must know to place the figures."""

    cpu: str
    cores: int
    memory_gb: float
    system: str
    python: str
    packages: dict[str, str]


def describe() -> Machine:
    """Describe this machine."""
    page, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    return Machine(
        cpu=processor(),
        cores=os.cpu_count() or 1,
        memory_gb=round(page * pages / 2**30, 1),
        system=f"{platform.system()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        # Without the mark of a commit: that of an installed tree may be old, the build is not.
        packages={name: version(name).partition("+")[0] for name in _PACKAGES}
        | {"build": _build()},
    )


def _build() -> str:
    """Return a fingerprint of the package's files, compiled ones included."""
    root = Path(next(iter(pessimal.__path__)))
    files = sorted(path for path in root.rglob("*") if path.suffix in (".py", ".so", ".pyd"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


@dataclass(frozen=True)
class StartUp:
    """CPU seconds of one view in a fresh process: the import, the first solve, a later one."""

    view: str
    epsilon: float
    import_seconds: float
    first_seconds: float
    later_seconds: float
    memory_peak: float | None


_FRESH_PROCESS = """
import json, statistics, sys, time
began = time.process_time()
from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic
imported = time.process_time() - began
view, epsilon, arrays = json.load(sys.stdin)
problem, seconds = TuningProblem(*arrays), []
for _ in range(6):
    began = time.process_time()
    if view == "optimistic":
        solution = solve_optimistic(problem)
    else:
        solution = solve_pessimistic(problem, Budget(relative=epsilon))
    seconds.append(time.process_time() - began)
sys.path.insert(0, sys.argv[1])  # only now, so that nothing of it counts
import memory
print(json.dumps([imported, seconds[0], statistics.median(seconds[1:]), memory.peak()]))
"""


def start_up(view: str, epsilon: float) -> StartUp:
    """Solve the same instance six times, checks included, in a process that imports no more."""
    problem = Instance("start-up", "cancer", 20, 20, 99, view, epsilon).problem()
    arrays = (problem.X_train, problem.y_train, problem.X_val, problem.y_val)
    done = subprocess.run(
        [sys.executable, "-c", _FRESH_PROCESS, str(Path(__file__).parent)],
        check=True,
        capture_output=True,
        text=True,
        input=json.dumps([view, epsilon, [array.tolist() for array in arrays]]),
    )
    return StartUp(view, epsilon, *json.loads(done.stdout))
