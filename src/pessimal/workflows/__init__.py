"""From a table to an answer: tune, audit, keep the model on file, predict."""

from pessimal.workflows.audit import audit_table
from pessimal.workflows.model import TunedModel, read_model, write_model
from pessimal.workflows.search import search_table
from pessimal.workflows.search_run import Candidate, SearchRun, SearchSettings
from pessimal.workflows.table_tuning import Comparison
from pessimal.workflows.tune import Settings, TuningRun, tune_table

__all__ = [
    "Candidate",
    "Comparison",
    "SearchRun",
    "SearchSettings",
    "Settings",
    "TunedModel",
    "TuningRun",
    "audit_table",
    "read_model",
    "search_table",
    "tune_table",
    "write_model",
]
