"""What a search over candidates found, in sentences and tables for a terminal or a page."""

from __future__ import annotations

import math

from pessimal.auditing.text import rounded
from pessimal.labels import spoken
from pessimal.workflows.search_run import INTERRUPTED, Candidate, SearchRun
from pessimal.workflows.words import MOST_FEATURES, Rows

NOT_SAVED = (
    "A {title} is not written to a file, since reading one back would mean to run what is in it; "
    "fit it with scikit-learn where it is needed."
)


def rows_used(run: SearchRun) -> str:
    """Say how many rows did what."""
    held_out = run.comparison.n_rows if run.comparison else 0
    return (
        f"{run.n_tuned} rows to tune on, in {run.search.cv.n_splits} folds, {held_out} held out; "
        f"{run.search.n_features_in_} features; classes {run.classes[0]!s} (negative score) and "
        f"{run.classes[1]!s} (positive score)."
    )


def candidates_title(run: SearchRun) -> str:
    """Say what the numbers of `candidates_table` are."""
    return (
        f"Candidates: mean {run.loss_name} on the rows left out of {run.folds}, "
        "of the model that training gives and of the worst one that trains as well"
    )


def candidates_table(run: SearchRun) -> Rows:
    """List the candidates by their value, with what was found and what is proved of each."""
    proves = any(candidate.worst_bound is not None for candidate in run.candidates)
    proved = ["worst, proved"] if proves else []
    rows: Rows = [(run.kind.parameter, "trained", "worst, found", *proved, "")]
    for candidate in sorted(run.candidates, key=lambda candidate: candidate.value):
        bound = candidate.worst_bound
        at_most = "" if bound is None else f"at most {rounded(bound, 4, 1.0):.4f}"
        found = (_number(candidate.loss), _number(candidate.worst_found))
        last = [at_most] if proves else []
        rows.append((f"{candidate.value:g}", *found, *last, _role(run, candidate)))
    return rows


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


def _role(run: SearchRun, candidate: Candidate) -> str:
    if candidate is run.chosen:
        return "chosen"
    if math.isnan(candidate.loss):
        return "not reached"
    return "ordinary tuning" if candidate is run.usual else ""


def before_and_after(run: SearchRun) -> Rows:
    """Put ordinary and pessimistic tuning side by side, each with its worst case."""
    proves = run.chosen.worst_bound is not None
    proved = ["worst equally good, proved"] if proves else []
    name = run.kind.parameter
    header = ("", name, "trained model", "worst equally good, found", *proved)
    rows: Rows = [header]
    both = [("ordinary tuning", run.usual), ("pessimistic tuning", run.chosen)]
    if run.usual is run.chosen:
        both = [("both", run.chosen)]
    for title, candidate in both:
        bound = candidate.worst_bound
        at_most = "" if bound is None else f"at most {rounded(bound, 4, 1.0):.4f}"
        numbers = (_number(candidate.loss), _number(candidate.worst_found))
        rows.append((title, f"{candidate.value:g}", *numbers, *([at_most] if proves else [])))
    return rows


def what_changed(run: SearchRun) -> tuple[str, ...]:
    """Say what pessimistic tuning gave up, and what it got for it."""
    name, usual, chosen = run.kind.parameter, run.usual, run.chosen
    if usual is chosen:
        return (
            f"Both take {name} = {chosen.value:g}: no other candidate has a better trained model, "
            "and none a better worst case as far as is known.",
        )
    told = (
        f"Ordinary tuning takes {name} = {usual.value:g}, by the model that training gives. "
        f"Pessimistic tuning takes {chosen.value:g}, by the worst one that trains as well."
    )
    if usual.worst_bound is None or chosen.worst_bound is None:
        return (told,)
    more = (
        "What is proved of its worst case is better, not what was found."
        if chosen.worst_found > usual.worst_found
        else "Its worst case is better, found and proved."
    )
    return (told, more)


def without_rows(run: SearchRun) -> str:
    """Say what to do where no row was held out."""
    return (
        f"Take {run.kind.parameter} = {run.chosen.value:g}. No row was held out, so nothing is "
        "known of rows that tuning has not seen."
    )


def choice(run: SearchRun) -> list[str]:
    """Say which candidate was chosen, why, and what ordinary tuning would take."""
    name, chosen, usual = run.kind.parameter, run.chosen, run.usual
    reached = [candidate for candidate in run.candidates if not math.isnan(candidate.loss)]
    model = f"{run.kind.title.capitalize()} with {name} = {chosen.value:g}"
    if len(reached) == 1 < len(run.candidates):
        return [f"{model} is kept, the only candidate that was looked at."]
    among = "" if len(reached) == len(run.candidates) else f" of {len(reached)} looked at"
    by = "its worst case is the least, as far as was found"
    if chosen.worst_bound is not None:
        by = "no other has a lower proved bound on its worst case"
    too = ", and ordinary tuning takes it, too." if usual is chosen else "."
    told = [f"{model} is chosen{among}: {by}{too}"]
    if usual is not chosen:
        told[0] += f" Ordinary tuning takes {usual.value:g}."
    if chosen.worst_bound is not None and not run.stopped_by:
        told.append("Bounds that could not change the choice are left coarse.")
    if any(candidate.worst_found < candidate.loss for candidate in run.candidates):
        told.append(
            "Where the worst that was found is below the trained one, the latter is not among the "
            "models that train this well: other seeds train better by more than epsilon."
        )
    return told


def search_ended(run: SearchRun) -> list[str]:
    """Say so if a limit or Ctrl-C ended the search."""
    if not run.stopped_by:
        return []
    by = "by Ctrl-C" if run.stopped_by == INTERRUPTED else "at the time limit"
    missing = sum(math.isnan(candidate.loss) for candidate in run.candidates)
    cut = "worst cases were not searched, or bounded, to the end"
    what = f"candidates not reached: {missing} of {len(run.candidates)}" if missing else cut
    told = [f"The search was stopped {by}, and the best so far is kept; {what}."]
    reached, n_folds = run.search.n_splits_, run.search.cv.n_splits
    if reached < n_folds:
        told.append(f"Means are over the folds it reached, {reached} of {n_folds}.")
    return told


def majority(run: SearchRun) -> list[str]:
    """Say what a constant would have right, and whether the tuned model is one."""
    if run.comparison is None or run.audit is None:
        return []
    n, right = run.comparison.n_rows, run.comparison.n_majority
    told = [f"To say the more frequent class of every row is right on {right} of {n}."]
    if run.comparison.balanced:
        told[0] = told[0][:-1] + ": on all of one class and none of the other, 50% on average."
    said = set((run.audit.reference.scores > 0.0).tolist())
    if len(said) == 1:
        label = spoken(run.classes)[said.pop()]
        told.append(f"The tuned model says {label} of each of these rows: it is a constant.")
    return told


def coefficient_table(run: SearchRun) -> Rows:
    """List the coefficients of the model that predicts, the largest if there are many."""
    model = run.model
    if model is None:
        return []
    features = list(zip(model.encoder.feature_names, model.coef, strict=True))
    listed = features
    if len(features) > MOST_FEATURES:
        scale = run.search.best_estimator_[0].scale_
        effects = [abs(coef) * size for (_, coef), size in zip(features, scale, strict=True)]
        least = sorted(effects)[-MOST_FEATURES]
        listed = [f for f, effect in zip(features, effects, strict=True) if effect >= least]
    others = len(features) - len(listed)
    return [
        ("feature", "coefficient"),
        *((name, f"{coef:.4g}") for name, coef in listed),
        *([(f"{others} other features, of less effect", "")] if others else []),
        ("intercept", f"{model.intercept:.4g}"),
    ]
