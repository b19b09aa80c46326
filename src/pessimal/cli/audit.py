"""``pessimal audit``: how much worse a model could be that trains as well as yours."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pessimal.cli import options
from pessimal.cli.console import STOPPED, say, say_json, unbroken

if TYPE_CHECKING:
    from pessimal.auditing import AuditReport
    from pessimal.near_optimal import Extreme


def audit(
    data: options.Data,
    target: options.Target = None,
    model: Annotated[
        options.Model | None,
        typer.Option(
            help="What to fit to the training rows and audit; svc-box: all models of --box.",
            show_default="logistic; svc-box with --box",
        ),
    ] = None,
    box: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            callback=options.positive,
            show_default="1 with --model svc-box",
            help="Audit all models with weights of standardised features up to this size, by hinge "
            "loss, instead of those that train like a fitted model.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        options.tolerance(
            "A model trains well when its training objective is at most (1 + epsilon) times the "
            "least, plus delta.",
            default="0.05, and 0 with --box",
        ),
    ] = None,
    delta: options.Delta = 0.0,
    coef: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Judge a model of yours, too: a CSV file of feature names and coefficients, and "
            "a row called intercept.",
        ),
    ] = None,
    model_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The same from a linear model in a .skops or .onnx file."
        ),
    ] = None,
    class_weight: options.ClassWeight = "none",
    missing: options.Missing = "drop",
    text: options.Text = "refuse",
    drop: options.Drop = None,
    time_limit: options.TimeLimit = 60.0,
    seed: options.Seed = 0,
    report: options.Page = None,
    json: options.Json = False,
) -> None:
    """Find the worst model that trains as well as yours.

    Half of the rows train, the other half validates. Without --box a logistic regression, or what
    --model says, is fitted to the training rows and audited together with all linear models that
    train about as well, by what it minimises: log loss and penalty for logistic regression. Forest
    and boosting are trained again and again: what that finds is said, and nothing is proved.
    Ctrl-C ends the audit and keeps what was found by then. The exit code is 3 when the time limit
    or Ctrl-C left something unknown.

    Example: pessimal audit patients.csv --target outcome --report audit.html
    """
    from pessimal.atomic import require_writable
    from pessimal.limits import AT_ONCE, Deadline
    from pessimal.tabular import read_source, with_labels
    from pessimal.workflows import audit_table
    from pessimal.workflows.given import GivenSource

    if model == "svc-box" and box is None:
        box = 1.0
    if box is not None and model not in (None, "svc-box"):
        raise typer.BadParameter("--box belongs to --model svc-box.")
    if delta > 0.0 and box is None:
        raise typer.BadParameter("--delta needs --box; other models bring their own.")
    given = coef or model_file
    if coef is not None and model_file is not None:
        raise typer.BadParameter("--coef and --model-file are both given; pass one of them.")
    if given is not None and (box is not None or model in ("forest", "boosting")):
        option = "--coef" if coef else "--model-file"
        raise typer.BadParameter(f"{option} is judged by --model logistic, linear-svc or ridge.")
    if box is not None and class_weight != "none":
        raise typer.BadParameter("--class-weight belongs to other models than svc-box.")
    require_writable(report)
    deadline = Deadline.after(options.seconds_before(report, time_limit))
    table = with_labels(read_source(data), target, drop or ())
    audited = audit_table(
        table,
        model="logistic" if model is None or model == "svc-box" else model,
        box=box,
        epsilon=epsilon,
        delta=delta,
        missing=missing,
        text=text,
        time_limit=max(deadline.left, AT_ONCE),
        seed=seed,
        curve=report is not None,
        verbose=True,
        class_weight=class_weight,
        given=GivenSource(given) if given else None,
    )

    def give() -> None:
        if report is not None:
            from pessimal.report.audit_page import write_audit_page

            write_audit_page(audited, report, data, table.columns, table.target)
        if json:
            say_json(_content(audited))
            return
        for paragraph in audited.summary().split("\n"):
            say(paragraph)
        if report is not None:
            say()
            say(f"Report written to {report}.")

    if unbroken(give) or audited.stopped:
        raise typer.Exit(STOPPED)


IN_CLASS = ("worst_sensitivity", "worst_specificity")


def _share(end: Extreme | None, proves: bool) -> dict[str, float | None] | None:
    if end is None or math.isnan(end.value):
        return None
    return {"value": end.value, "bound": end.lower_bound if proves else None}


def _content(report: AuditReport) -> dict[str, Any]:
    names = ("best_loss", "worst_loss", "best_error", "worst_error", "discrepancy")
    ends = {name: getattr(report, name) for name in names}
    found = {"found_low": report.found_low, "found_high": report.found_high}
    points = report.to_frame().assign(**found).rename_axis("row").reset_index()
    unknown = ["ambiguous"] if report.proves else ["ambiguous", "low", "high"]
    for name in unknown:
        known = points[name].notna() & (report.proves | (name == "ambiguous"))
        points[name] = points[name].astype(object).where(known, None)
    proved = {name: end.bound if report.proves else None for name, end in ends.items()}
    return {
        "guarantee": report.guarantee,
        "proves": report.proves,
        **{name: {"value": end.value, "bound": proved[name]} for name, end in ends.items()},
        "stopped": report.stopped,
        **{name: _share(getattr(report, name), report.proves) for name in IN_CLASS},
        "constant": asdict(report.constant) if report.constant else None,
        "given": asdict(report.given) if report.given else None,
        "ambiguity": report.ambiguity,
        "ambiguity_bound": report.ambiguity_bound if report.proves else None,
        "n_train": report.n_train,
        "n_val": report.n_val,
        "least_train_loss": report.least_train_loss,
        "train_limit": report.train_limit,
        "loss": report.loss,
        "chosen": {
            "name": report.reference.name,
            "loss": report.reference.loss,
            "error": report.reference.error,
            "sensitivity": report.reference.sensitivity,
            "specificity": report.reference.specificity,
            "only_class": report.only_class,
        },
        "classes": report.classes,
        "rows": points.to_dict("records"),
        "notes": list(report.notes),
    }
