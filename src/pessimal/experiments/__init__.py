"""The paper's studies: declared, run on any executor, kept in one store that resumes."""

from pessimal.experiments.executors import Workers, open_workers
from pessimal.experiments.progress import show_progress
from pessimal.experiments.reproducing import STUDIES, ReproduceResult, reproduce
from pessimal.experiments.runner import Failure, RunResult, Tally, run
from pessimal.experiments.store import STORE_NAME, Store
from pessimal.experiments.study import Cell, Row, Study, Value
from pessimal.experiments.version import code_version

__all__ = [
    "STORE_NAME",
    "STUDIES",
    "Cell",
    "Failure",
    "ReproduceResult",
    "Row",
    "RunResult",
    "Store",
    "Study",
    "Tally",
    "Value",
    "Workers",
    "code_version",
    "open_workers",
    "reproduce",
    "run",
    "show_progress",
]
