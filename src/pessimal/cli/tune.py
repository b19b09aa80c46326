"""``pessimal tune``: from a table to a tuned model, with what it guarantees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pessimal.cli import options
from pessimal.cli.console import STOPPED, say, say_json, say_table, unbroken

if TYPE_CHECKING:
    from pessimal.workflows import SearchRun, TunedModel, TuningRun


def tune(
    data: options.Data,
    target: options.Target = None,
    model: Annotated[
        options.Model | None,
        typer.Option(
            help="What to tune. svc-box is the paper's: limits on the weights of a linear SVM.",
            show_default="logistic; svc-box with --view, --inner or --groups",
        ),
    ] = None,
    view: Annotated[
        Literal["pessimistic", "optimistic"] | None,
        typer.Option(
            help="svc-box: guard against equally good models, or trust training.",
            show_default="pessimistic",
        ),
    ] = None,
    inner: Annotated[
        Literal["exact", "flip"] | None,
        typer.Option(
            help="svc-box, pessimistic view: make the exact worst case small, or the paper's "
            "stand-in for it, which flips labels.",
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
    epsilon: Annotated[
        float | None,
        options.tolerance(
            "A model trains well when what training minimises is at most (1 + epsilon) times the "
            "least, plus delta.",
            default="0.05; svc-box: 0.2",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        options.tolerance(
            "svc-box: see epsilon. Where the training rows can be fitted without loss, only delta "
            "counts.",
            default="0",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="svc-box: processes in which a search of more than a second or two goes on.",
            show_default="1",
        ),
    ] = None,
    test_size: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.0,
            max=0.99,
            help="Share of the rows to hold out for the comparison.",
        ),
    ] = 0.25,
    class_weight: options.ClassWeight = "none",
    missing: options.Missing = "drop",
    text: options.Text = "refuse",
    drop: options.Drop = None,
    time_limit: options.TimeLimit = 60.0,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="MODEL.json", help="Write the model to this file, if it is linear."),
    ] = None,
    report: options.Page = None,
    json: options.Json = False,
) -> None:
    """Tune a classifier against equally good models, and say what is proved of it.

    By default candidates of a logistic regression are compared by the worst model that trains as
    well, in cross-validation on the rows that are not held out; the result has the worst loss
    that was found and the one that is proved. Of forest and boosting nothing is proved. For
    svc-box half of these rows train, and the other half validates. Tuning has two thirds of the
    time limit, the check on other rows what is left. Ctrl-C ends tuning and keeps the best so far.
    The exit code is 3 when a limit or Ctrl-C ended it.

    Example: pessimal tune patients.csv --target outcome --out model.json --report report.html
    """
    from pessimal.atomic import require_writable
    from pessimal.limits import AT_ONCE, Deadline
    from pessimal.tabular import read_source, with_labels
    from pessimal.workflows import SearchSettings, Settings, search_table, tune_table

    deadline = Deadline.after(options.seconds_before(report, time_limit))
    of_the_box = {"view": view, "inner": inner, "groups": groups, "delta": delta, "jobs": jobs}
    given: dict[str, Any] = {name: x for name, x in of_the_box.items() if x is not None}
    model = model or ("svc-box" if view or inner or groups else "logistic")
    _require_options_of(model, given, out)
    if model == "svc-box" and class_weight != "none":
        raise typer.BadParameter("--class-weight belongs to other models than svc-box.")
    require_writable(out)
    require_writable(report)
    table = with_labels(read_source(data), target, drop or ())
    given |= {} if epsilon is None else {"epsilon": epsilon}
    given |= {"test_size": test_size, "missing": missing, "text": text}
    given |= {"time_limit": max(deadline.left, AT_ONCE)}
    given |= {"seed": seed, "curve": report is not None, "verbose": True}
    if model == "svc-box":
        answer = _of_box(tune_table(table, Settings(**given)), data)
    else:
        settings = SearchSettings(model=model, class_weight=class_weight, **given)
        answer = _of_search(search_table(table, settings), data)
    if unbroken(partial(_give, answer, out, report, json)) or answer.stopped:
        raise typer.Exit(STOPPED)


def _give(answer: _Answer, out: Path | None, report: Path | None, json: bool) -> None:
    """Write the files that are asked for, and say what was found."""
    from pessimal.workflows import write_model

    if out is not None and answer.model is not None:
        write_model(answer.model, out)
    if report is not None:
        answer.write_page(report)
    if json:
        files = {"model_file": str(out) if out else None, "report": str(report) if report else None}
        say_json({**answer.content, **files})
        return
    answer.say()
    say()
    if answer.model is not None:
        say(f"Model written to {out}." if out else "Add --out model.json to keep the model.")
    if report:
        say(f"Report written to {report}.")


def _require_options_of(model: str, given: dict[str, Any], out: Path | None) -> None:
    """Refuse options that belong to another model or view."""
    view, inner, groups = (given.get(name) for name in ("view", "inner", "groups"))
    if given and model != "svc-box":
        raise typer.BadParameter(f"--{next(iter(given))} belongs to --model svc-box.")
    if view == "optimistic" and (inner or groups):
        option = "--inner" if inner else "--groups"
        raise typer.BadParameter(f"{option} belongs to the pessimistic view.")
    if groups == "one" and inner != "exact":
        raise typer.BadParameter("--groups one needs --inner exact.")
    if out is not None and model in ("forest", "boosting"):
        raise typer.BadParameter(
            f"--out writes linear models. {model.capitalize()} is none, and the files that could "
            "hold it run code when they are read; leave --out out."
        )


@dataclass(frozen=True)
class _Answer:
    """What there is to show of a run, whatever was tuned."""

    model: TunedModel | None
    stopped: bool
    content: dict[str, Any]
    say: Callable[[], None]
    write_page: Callable[[Path], None]


def _of_box(run: TuningRun, data: str) -> _Answer:
    def write_page(path: Path) -> None:
        from pessimal.report.tuning import write_tuning_page

        write_tuning_page(run, path, data)

    return _Answer(run.model, run.stopped, _content(run), partial(_say, run, data), write_page)


def _of_search(run: SearchRun, data: str) -> _Answer:
    def write_page(path: Path) -> None:
        from pessimal.report.search_page import write_search_page

        write_search_page(run, path, data)

    say_run = partial(_say_search, run, data)
    return _Answer(run.model, run.stopped, _search_content(run), say_run, write_page)


def _say(run: TuningRun, data: str) -> None:
    from pessimal.workflows import words

    say(f"{data}: {words.rows_used(run)}")
    for note in run.notes:
        say(f"- {note}")
    say()
    say_table("What was tuned", words.feature_table(run))
    say(words.UNITS)
    say(words.search_ended(run))
    say()
    say_table("What the tuned limits guarantee", words.guarantee_table(run.audit))
    say(run.model.guarantee, style="bold")
    say(words.trains_well(run))
    for note in run.audit.notes:
        say(f"Note: {note}")
    if run.comparison is not None:
        say()
        say_table("Accuracy, beside a plain baseline", words.comparison_table(run.comparison))
        for sentence in words.majority(run):
            say(sentence)


def _say_search(run: SearchRun, data: str) -> None:
    from pessimal.auditing.text import scope
    from pessimal.workflows import search_words, words

    say(f"{data}: {search_words.rows_used(run)}")
    for note in run.notes:
        say(f"- {note}")
    say()
    say_table(search_words.candidates_title(run), search_words.candidates_table(run))
    for sentence in search_words.choice(run):
        say(sentence)
    say(run.over_folds, style="" if run.audit else "bold")
    for sentence in search_words.search_ended(run):
        say(sentence)
    if run.model is not None:
        say()
        say_table("The model that predicts", search_words.coefficient_table(run))
        say("Coefficients are in the units of the table.")
    if run.audit is not None:
        say()
        title = "What is guaranteed" if run.audit.proves else "What was found"
        rows = words.guarantee_table(run.audit, "held-out")
        say_table(f"{title} on rows that tuning has not seen", rows)
        say(run.audit.guarantee, style="bold")
        say(scope(run.audit))
        for note in run.audit.notes:
            say(f"Note: {note}")
    if run.comparison is not None:
        say()
        say_table("Accuracy, beside a plain baseline", words.comparison_table(run.comparison))
        for sentence in search_words.majority(run):
            say(sentence)
    if run.model is None:
        say()
        say(search_words.NOT_SAVED.format(title=run.kind.title))


def _content(run: TuningRun) -> dict[str, Any]:
    model = run.model
    features = zip(model.encoder.feature_names, model.box or (), model.coef, strict=True)
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
    }


def _search_content(run: SearchRun) -> dict[str, Any]:
    from pessimal.workflows.search_run import facts

    model = run.model
    features = zip(model.encoder.feature_names, model.coef, strict=True) if model else ()
    return {
        "guarantee": run.guarantee,
        "proves": run.chosen.worst_bound is not None,
        "stopped": run.stopped,
        **facts(run),
        "candidates": [asdict(candidate) for candidate in run.candidates],
        "classes": run.classes,
        "features": [{"name": name, "coef": coef} for name, coef in features],
        "intercept": model.intercept if model else None,
        "held_out": asdict(run.comparison) if run.comparison else None,
        "notes": [*run.notes, *(run.audit.notes if run.audit else ())],
    }
