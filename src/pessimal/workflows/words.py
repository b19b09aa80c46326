"""What a tuning run found, in sentences and tables for a terminal or a page."""

from __future__ import annotations

from pessimal.auditing import AuditReport
from pessimal.auditing.text import bounds_errors, rounded
from pessimal.labels import spoken
from pessimal.solution import Status
from pessimal.tolerances import OPTIMAL_GAP
from pessimal.workflows.table_tuning import Comparison
from pessimal.workflows.tune import TuningRun

Rows = list[tuple[str, ...]]

_ENDED_BY = {
    Status.TIME_LIMIT: "The search stopped at the time limit",
    Status.NODE_LIMIT: "The search stopped at its node limit",
    Status.INTERRUPTED: "The search was stopped by Ctrl-C, and the best model found is kept",
    Status.OPTIMAL: "The search ended, but the check of its answer failed",
    Status.NOT_PROVED: "The search ended without a proof",
}


def rows_used(run: TuningRun) -> str:
    """Say how many rows did what."""
    held_out = run.comparison.n_rows if run.comparison else 0
    return (
        f"{run.audit.n_train} rows trained, {run.audit.n_val} validated, {held_out} were held out; "
        f"{len(run.model.coef)} features; classes {run.model.classes[0]!s} (negative score) and "
        f"{run.model.classes[1]!s} (positive score)."
    )


def search_ended(run: TuningRun) -> str:
    """Say how good the limits are and whether that is proved."""
    solution = run.solution
    if solution.proved:
        return (
            f"No other limits do better: objective {solution.objective:.4f}, proved in "
            f"{solution.seconds:.1f} s (nodes: {solution.nodes}) and checked by a second program."
        )
    return (
        f"{_ENDED_BY[solution.status]}: objective {solution.objective:.4f}, and no limits can go "
        f"below {solution.lower_bound:.4f}. The model is usable; better limits may exist."
    )


def trains_well(run: TuningRun) -> str:
    """Say which models the guarantee is about."""
    report = run.audit
    return (
        "A model trains this well when its weights keep to the tuned limits and its mean hinge "
        f"loss on the training rows is at most {report.train_limit:.4f} (the least possible is "
        f"{report.least_train_loss:.4f})."
    )


def guarantee_table(report: AuditReport, rows: str = "validation") -> Rows:
    """Best and worst of these models on the rows of an audit, with what is proved."""
    n = report.n_val
    best, worst, errors = report.best_loss, report.worst_loss, report.worst_error
    largest = rounded(worst.bound, 4, 1.0)
    disagree, unknown = round(report.ambiguity * n), int(report.undecided.sum())
    exact = best.value - best.bound <= OPTIMAL_GAP
    least = "exact" if exact else f"at least {rounded(best.bound, 4, -1.0):.4f}"
    most = f"at most {disagree + unknown}" if unknown else "exact"
    if disagree < n <= disagree + unknown:
        most = "nothing"
    wrong = f"at most {errors.bound * n:.0f}" if bounds_errors(report) else "nothing"
    table: Rows = [
        (f"on the {n} {rows} rows", "found", "proved"),
        (f"least loss (mean {report.loss})", f"{best.value:.4f}", least),
        (f"largest loss (mean {report.loss})", f"{worst.value:.4f}", f"at most {largest:.4f}"),
        ("most rows wrong", f"{errors.value * n:.0f} of {n}", wrong),
        ("rows they disagree on", f"{disagree} of {n}", most),
    ]
    return table if report.proves else [row[:2] for row in table]


def before_and_after(run: TuningRun) -> Rows:
    """Put ordinary and pessimistic tuning side by side, each with its worst case."""
    rows: Rows = [
        ("", "best equally good", "worst equally good, found", "worst equally good, proved"),
    ]
    if run.ordinary is None:
        return rows
    report = run.audit
    for title, best, found, bound in (
        (
            "ordinary tuning",
            run.ordinary.best.value,
            run.ordinary.worst.value,
            run.ordinary.worst.upper_bound,
        ),
        (
            "pessimistic tuning",
            report.best_loss.value,
            report.worst_loss.value,
            report.worst_loss.bound,
        ),
    ):
        at_most = f"at most {rounded(bound, 4, 1.0):.4f}"
        rows.append((title, f"{best:.4f}", f"{found:.4f}", at_most))
    return rows


def what_changed(run: TuningRun) -> tuple[str, ...]:
    """Say what pessimistic tuning got against ordinary tuning, as far as it is known."""
    if run.ordinary is None:
        return ()
    how = "" if run.ordinary.proved else ", as far as its search got"
    told = (
        "Ordinary tuning takes the limits within which a model that trains best validates best"
        f"{how}. "
        "Pessimistic tuning takes those within which the worst model that trains well does best."
    )
    if run.settings.inner == "flip":
        told += " A model that fits flipped labels stands in for the worst one."
    theirs, ours = run.ordinary.worst, run.audit.worst_loss
    if ours.bound < theirs.value - OPTIMAL_GAP:
        return (told, "The worst case of pessimistic tuning is better, proved.")
    if ours.value >= theirs.upper_bound - OPTIMAL_GAP:
        return (
            told,
            "Here the worst case of ordinary tuning is no worse, proved: pessimistic tuning has "
            "gained nothing on these rows.",
        )
    return (told, "Which of the two worst cases is better is not settled: their ranges overlap.")


def comparison_table(comparison: Comparison) -> Rows:
    """Put the tuned model beside logistic regression, on rows that neither has seen."""
    n = comparison.n_rows
    by_class: Rows = []
    if comparison.balanced and all(c.n_rows for c in comparison.classes):
        both = (comparison.shares_right, comparison.shares_right_logistic)
        by_class = [("share right of each class, averaged", *(f"{sum(s) / 2.0:.1%}" for s in both))]
    return [
        (f"on the {n} held-out rows", "tuned model", "logistic regression"),
        ("rows right", f"{comparison.n_right} of {n}", f"{comparison.n_right_logistic} of {n}"),
        ("accuracy", f"{comparison.n_right / n:.1%}", f"{comparison.n_right_logistic / n:.1%}"),
        ("right where the other is wrong", str(comparison.n_only), str(comparison.n_only_logistic)),
        *by_class,
    ]


def majority(run: TuningRun) -> list[str]:
    """Say what a constant would have right, and whether the tuned model is one."""
    if run.comparison is None:
        return []
    n, right = run.comparison.n_rows, run.comparison.n_majority
    told = [f"To say the more frequent class of every row is right on {right} of {n}."]
    if not run.weights.any():
        label = spoken(run.model.classes)[int(run.model.intercept > 0.0)]
        told.append(f"The tuned model says {label} of every row: it is a constant.")
    return told


MOST_FEATURES = 30
"""With more features than this, those whose limit is 0 share a line."""


def feature_table(run: TuningRun) -> Rows:
    """List the tuned limits and the coefficients of the model that predicts."""
    model = run.model
    box = model.box or ()
    features = list(zip(model.encoder.feature_names, box, model.coef, strict=True))
    listed = [feature for feature in features if feature[1] > 0.0 or len(features) <= MOST_FEATURES]
    others = len(features) - len(listed)
    rest = f"{others} other features" if listed else f"all {others} features"
    return [
        ("feature", "limit on |weight|", "coefficient"),
        *((name, f"{limit:.4f}", f"{coef:.4g}") for name, limit, coef in listed),
        *([(rest, "0.0000", "0")] if others else []),
        ("intercept", "", f"{model.intercept:.4g}"),
    ]


UNITS = (
    "Limits are on weights of standardised features; coefficients are in the units of the table."
)
"""What the numbers of `feature_table` refer to."""
