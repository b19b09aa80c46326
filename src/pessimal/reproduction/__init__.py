"""The paper's studies: declared, run on any executor, kept in one store that resumes."""

from pessimal.environment import code_version
from pessimal.reproduction.executors import Workers, open_workers
from pessimal.reproduction.paper import STUDIES, ReproduceResult, reproduce
from pessimal.reproduction.runner import Failure, RunResult, Tally, run, show_progress
from pessimal.reproduction.store import STORE_NAME, Store
from pessimal.reproduction.study import Configuration, Row, Study, Value

__all__ = [
    "STORE_NAME",
    "STUDIES",
    "Configuration",
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
