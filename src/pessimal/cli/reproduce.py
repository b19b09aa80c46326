"""``pessimal reproduce`` and ``report``: run the paper's studies, or go on; show their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pessimal.cli.console import FAILED, STOPPED, complain, say, tell


def reproduce(
    study: Annotated[
        str,
        typer.Argument(
            help="Which to run: limited-data, perturbed, transfer, quality, selection, or all."
        ),
    ] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Run a small version.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Processes on this machine.", show_default="one per core"
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on the Dask cluster whose scheduler is at this tcp:// address.",
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="Training and validation rows of perturbed and quality, 40 by default.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with the images of the study transfer, in fashion-mnist and mnist.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder of results, made if need be.")
    ] = Path("results"),
) -> None:
    """Run the paper's studies and report them.

    Results are stored as they come. After Ctrl-C, a crash or a failure, the same command goes on
    where it stopped. The exit code is 3 after Ctrl-C and 1 when part of a study failed.

    Example: pessimal reproduce quality --quick --out results
    """
    from pessimal.reproduction import STUDIES, show_progress
    from pessimal.reproduction import reproduce as run_studies
    from pessimal.reproduction.report import write_report

    chosen = tuple(STUDIES) if study == "all" else (study,)
    options: dict[str, dict[str, Any]] = {}
    if size is not None:
        options = {"perturbed": {"size": size}, "quality": {"size": size}}
    if data is not None:
        options["transfer"] = {"data": data}
    try:
        with show_progress() as progress:
            result = run_studies(
                chosen,
                out,
                quick=quick,
                jobs=jobs,
                cluster=cluster,
                options=options,
                progress=progress,
            )
    except KeyboardInterrupt:
        tell(f"Interrupted. What was done is stored in {out}; the same command goes on from there.")
        raise typer.Exit(STOPPED) from None
    for run in result.runs:
        for failure in run.failures:
            complain(f"{run.tally.study} {dict(failure.configuration)}: {failure.error}")
    say(f"Report written to {write_report(out)}.")
    if not result.complete:
        raise typer.Exit(FAILED)


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder given to pessimal reproduce.")
    ],
) -> None:
    """Make tables, figures and a page of stored results.

    Example: pessimal report results
    """
    from pessimal.reproduction.report import write_report

    say(f"Report written to {write_report(folder)}.")
