"""How rows came about: which commands, on what, in how much time, and what is missing or proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pandas as pd

from pessimal.report.page import Section, Table
from pessimal.reproduction.store import Summary


def provenance(studies: Mapping[str, tuple[pd.DataFrame, Summary]]) -> Section:
    """Say how the rows of some studies were computed.

    Parameters
    ----------
    studies : mapping
        Rows and summary by the name of the study.
    """
    return Section(
        "How this was computed",
        (
            "Every table and figure of this page is made from the stored rows alone. A "
            "configuration is one combination of a study's factors and seed. It is certified when "
            "every optimum in it was proved and checked by a second program. Computing time is "
            "summed over all workers; elapsed time is what a clock on the wall showed.",
        ),
        (
            Table("runs", "Configurations and times of each study.", _runs(studies)),
            Table("commands", "The commands that computed the rows.", _commands(studies)),
            Table("versions", "What they ran on.", _environments(studies)),
        ),
    )


def missing_configurations(name: str, summary: Summary) -> str:
    """Say how many configurations are missing, and how to get them; nothing when none is."""
    if not summary.missing:
        return ""
    return (
        f"Not complete: {summary.missing} of {summary.configurations} configurations of the study "
        f"{name} are missing. To compute them, run again: {summary.runs[-1].command}"
    )


def _runs(studies: Mapping[str, tuple[pd.DataFrame, Summary]]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "study": name,
            "configurations": summary.configurations,
            "missing": summary.missing,
            "certified": certified(rows, summary.factors),
            "computing time": _duration(summary.seconds),
            "elapsed time": _duration(sum(run.elapsed for run in summary.runs)),
            "begun": summary.runs[0].started,
            "code version": summary.version,
        }
        for name, (rows, summary) in studies.items()
    )


def certified(rows: pd.DataFrame, factors: Sequence[str]) -> str:
    """Count the configurations whose every answer that can be proved is proved.

    Examples
    --------
    >>> rows = pd.DataFrame({"seed": [0, 0, 1, 1], "proved": [True, None, True, False]})
    >>> certified(rows, ["seed"])
    '1 of 2 (50.0 %)'
    """
    if "proved" not in rows:
        return "–"
    answers = rows.dropna(subset="proved")
    flags = answers["proved"].astype(bool).groupby([answers[name] for name in factors]).all()
    return f"{flags.sum()} of {len(flags)} ({100 * flags.mean():.1f} %)" if len(flags) else "–"


def _commands(studies: Mapping[str, tuple[pd.DataFrame, Summary]]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"study": name, "command": command}
            for name, (_, summary) in studies.items()
            for command in dict.fromkeys(run.command for run in summary.runs)
        ]
    )


def _environments(studies: Mapping[str, tuple[pd.DataFrame, Summary]]) -> pd.DataFrame:
    """One line an item; several values when the runs were not made on the same."""
    found: dict[str, dict[str, None]] = {}
    for _, summary in studies.values():
        for run in summary.runs:
            for item, value in run.environment.items():
                found.setdefault(item, {})[value] = None
    return pd.DataFrame(
        [{"item": item, "value": "; ".join(values)} for item, values in found.items()]
    )


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
