"""``pessimal tune``: from a table to a tuned model, with what it guarantees."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pessimal.cli import options
from pessimal.cli.console import STOPPED, say, say_json, say_table

if TYPE_CHECKING:
    from pessimal.workflows import TuningRun


def tune(
    data: options.Data,
    target: options.Target = None,
    view: Annotated[
        Literal["pessimistic", "optimistic"],
        typer.Option(help="Guard against equally good models, or trust training."),
    ] = "pessimistic",
    inner: Annotated[
        Literal["exact", "flip"] | None,
        typer.Option(
            help="Pessimistic view: make the exact worst case small, or the paper's stand-in for "
            "it, which flips labels.",
            show_default="flip",
        ),
    ] = None,
    groups: Annotated[
        Literal["each", "one"] | None,
        typer.Option(
            help="With --inner exact: one limit for each feature, or one for all, which is "
            "solved to proved optimality.",
            show_default="each",
        ),
    ] = None,
    epsilon: options.Epsilon = 0.2,
    delta: options.Delta = 0.0,
    test_size: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.0,
            max=0.99,
            help="Share of the rows to hold out for the comparison.",
        ),
    ] = 0.25,
    missing: options.Missing = "drop",
    text: options.Text = "refuse",
    drop: options.Drop = None,
    time_limit: options.TimeLimit = 60.0,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="MODEL.json", help="Write the model to this file.")
    ] = None,
    report: options.Page = None,
    json: options.Json = False,
) -> None:
    """Tune a linear classifier and say what it guarantees.

    Half of the rows that are not held out train, the other half validates. Tuning has two thirds
    of the time limit, the check of the guarantee what is left. Ctrl-C ends tuning and keeps the
    best model found. The exit code is 3 when a limit or Ctrl-C ended it.

    Example: pessimal tune patients.csv --target outcome --out model.json --report report.html
    """
    from pessimal.atomic import require_writable
    from pessimal.tabular import read_source, with_labels
    from pessimal.workflows import Settings, tune_table, write_model

    if view == "optimistic" and (inner or groups):
        option = "--inner" if inner else "--groups"
        raise typer.BadParameter(f"{option} belongs to the pessimistic view.")
    if groups == "one" and inner != "exact":
        raise typer.BadParameter("--groups one needs --inner exact.")
    require_writable(out)
    require_writable(report)
    table = with_labels(read_source(data), target, drop or ())
    run = tune_table(
        table,
        Settings(
            view=view,
            inner=inner or "flip",
            groups=groups or "each",
            epsilon=epsilon,
            delta=delta,
            test_size=test_size,
            missing=missing,
            text=text,
            time_limit=time_limit,
            seed=seed,
            curve=report is not None,
            verbose=True,
        ),
    )
    if out is not None:
        write_model(run.model, out)
    if report is not None:
        from pessimal.report.tuning import write_tuning_page

        write_tuning_page(run, report, data)
    if json:
        say_json(_content(run, out, report))
    else:
        _say(run, data, out, report)
    if run.stopped:
        raise typer.Exit(STOPPED)


def _say(run: TuningRun, data: str, out: Path | None, report: Path | None) -> None:
    from pessimal.workflows import words

    say(f"{data}: {words.rows_used(run)}")
    for note in run.notes:
        say(f"- {note}")
    say()
    say_table("What was tuned", words.feature_table(run))
    say(words.UNITS)
    say(words.search_ended(run))
    say()
    say_table("What the tuned limits guarantee", words.guarantee_table(run))
    say(run.model.guarantee, style="bold")
    say(words.trains_well(run))
    for note in run.audit.notes:
        say(f"Note: {note}")
    if run.comparison is not None:
        say()
        say_table("Accuracy, beside a plain baseline", words.comparison_table(run.comparison))
    say()
    say(f"Model written to {out}." if out else "Add --out model.json to keep the model.")
    if report:
        say(f"Report written to {report}.")


def _content(run: TuningRun, out: Path | None, report: Path | None) -> dict[str, Any]:
    model = run.model
    features = zip(model.encoder.feature_names, model.box, model.coef, strict=True)
    return {
        "guarantee": model.guarantee,
        "stopped": run.stopped,
        **model.facts,
        "target": model.target,
        "classes": model.classes,
        "features": [{"name": name, "box": box, "coef": coef} for name, box, coef in features],
        "intercept": model.intercept,
        "held_out": asdict(run.comparison) if run.comparison else None,
        "notes": [*run.notes, *run.audit.notes],
        "model_file": str(out) if out else None,
        "report": str(report) if report else None,
    }
