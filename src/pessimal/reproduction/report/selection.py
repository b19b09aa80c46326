"""The report of the study of selection: every way to choose, compared on the same draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from pessimal.report.page import Plot, Section, Table
from pessimal.reproduction.report.paired import (
    CLEAR,
    COLUMNS,
    EVERYWHERE,
    PLACES,
    all_drawn,
    differences,
    draws_of,
    finished,
    over_tables,
    verdict,
    with_mean,
    written,
    written_mean,
)
from pessimal.reproduction.selection import LARGEST_TEST
from pessimal.reproduction.selection.choosing import (
    ACCURACY,
    EPSILONS,
    LOG_LOSS,
    METHODS,
    N_FOLDS,
    ONE_SE,
    REFITS,
    pessimistic,
)
from pessimal.reproduction.selection.measures import BOOTSTRAPS, CERTAIN, NOISE, RADIUS
from pessimal.reproduction.selection.models import KINDS
from pessimal.reproduction.tables import TABLES

USUAL = (ACCURACY, LOG_LOSS, *ONE_SE)
PESSIMISTIC = tuple(pessimistic(epsilon) for epsilon in EPSILONS)
IN_SHORT = (
    ("accuracy", "clean"),
    ("accuracy", "evasion"),
    ("log loss", "clean"),
    ("log loss", "noise"),
    ("changed", "bootstrap"),
)
"""What is shown where all measures would be too many."""

STYLES = dict(
    zip(
        METHODS,
        (
            ("#000000", "o"),
            ("#777777", "s"),
            ("#CC79A7", "D"),
            ("#E69F00", "d"),
            ("#56B4E9", "^"),
            ("#0072B2", "v"),
            ("#009E73", "*"),
        ),
        strict=True,
    )
)


def sections(rows: pd.DataFrame) -> Sequence[Section]:
    """Make the report from the rows of the study, each with the columns of its configuration."""
    rows, unfinished = finished(with_mean(rows))
    by_table = {usual: differences(rows, usual) for usual in USUAL}
    overall = {usual: over_tables(found, "model") for usual, found in by_table.items()}
    against = best_usual(overall)
    return [
        _in_short(rows, by_table[ACCURACY], overall[ACCURACY], against),
        _which_epsilon(by_table[ACCURACY], all_drawn(rows)),
        _against_usual(against),
        _by_size(rows),
        *(_differences(overall[ACCURACY], kind) for kind in PLACES),
        _by_table(rows, by_table[ACCURACY]),
        _compared(rows, unfinished),
    ]


def _models(found: pd.DataFrame) -> list[str]:
    there = found.index.get_level_values("model")
    return [model for model in KINDS if model in there]


@dataclass(frozen=True, eq=False)
class Against:
    """The pessimistic choices held against the best usual one, picked in hindsight."""

    model: str
    kind: str
    place: str
    usual: str
    found: pd.DataFrame  # by method: differences to it

    def verdict(self, method: str) -> str:
        """Say whether a method is ahead of it, behind it or level."""
        return verdict(self.found.loc[method], self.kind)


def best_usual(overall: dict[str, pd.DataFrame]) -> list[Against]:
    """Find the best usual choice for every model and measure."""
    means, found = overall[ACCURACY]["mean"], []
    for model in _models(overall[ACCURACY]):
        for (kind, place), column in COLUMNS.items():
            if (model, column, ACCURACY) in means.index:
                own = means.loc[(model, column)][list(USUAL)]
                usual = own.idxmax() if kind == "accuracy" else own.idxmin()
                found.append(
                    Against(model, kind, place, usual, overall[usual].loc[(model, column)])
                )
    return found


def recommended(found: pd.DataFrame) -> str | None:
    """Return the ε of most accuracy in all situations that costs none on clean rows, if any."""
    cost, gain = found.loc[COLUMNS["accuracy", "clean"]], found.loc[EVERYWHERE]
    allowed = [at for at in PESSIMISTIC if verdict(cost.loc[at], "accuracy") != "behind"]
    return max(allowed, key=lambda at: gain.loc[at, "difference"], default=None)


def _in_short(
    rows: pd.DataFrame,
    by_table: pd.DataFrame,
    overall: pd.DataFrame,
    against: Sequence[Against],
) -> Section:
    """Say what the recommended ε gains and costs, and where a usual choice is better."""
    measured = all_drawn(rows)
    found = over_tables(by_table.loc[measured])
    best = recommended(found)
    over = f"{draws_of(rows)}. Over {' and '.join(measured)}"
    text = [f"{over} the rule below recommends {best}."]
    if best is None:
        clean = found.loc[COLUMNS["accuracy", "clean"]].loc[list(PESSIMISTIC), "difference"]
        best = clean.idxmax()
        text = [
            f"{over} the rule below recommends no ε, for each costs clean accuracy; {best} costs "
            "least."
        ]
    for model in _models(overall):
        changes = (
            f"{kind}, {place} {written(overall.loc[(model, COLUMNS[kind, place], best)], kind)}"
            for kind, place in IN_SHORT
        )
        text.append(f"Against the choice by accuracy, {model}: {'; '.join(changes)}.")
    for place, words in (("ahead", "ahead of"), ("behind", "behind")):
        own = [each for each in against if each.verdict(best) == place]
        listed = "; ".join(
            f"{model}: " + ", ".join(f"{e.kind} {e.place}" for e in own if e.model == model)
            for model in _models(overall)
            if any(each.model == model for each in own)
        )
        text.append(f"Clearly {words} the best usual choice: {listed or 'nowhere'}.")
    return Section("In short", tuple(text))


def _which_epsilon(by_table: pd.DataFrame, measured: list[str]) -> Section:
    """Derive the recommended ε by a rule, for models with all draws."""
    parts = {model: by_table.loc[[model]] for model in _models(by_table)}
    if len(measured) > 1:
        parts[" and ".join(measured)] = by_table.loc[measured]
    lines, advice = [], []
    for name, part in parts.items():
        found = over_tables(part)
        cost, gain = found.loc[COLUMNS["accuracy", "clean"]], found.loc[EVERYWHERE]
        lines += [
            {
                "model": name,
                "chosen by": method,
                "clean": written(cost.loc[method], "accuracy"),
                "clean, noise, shift and evasion": written(gain.loc[method], "accuracy"),
            }
            for method in METHODS[1:]
        ]
        best = recommended(found) or "none, for every ε costs clean accuracy"
        few = name in KINDS and name not in measured
        advice.append(f"{name}: {'too few draws to say' if few else best}")
    text = (
        "The rule, fixed before the rows were seen: of the three ε the one with the best accuracy "
        "on average over clean rows, noise, shift and evasion, among those that do not cost clean "
        f"accuracy, by more than {CLEAR:g} standard errors, against the choice by accuracy. It "
        "gives, for "
        f"{'; '.join(advice)}.",
        "That a model with fewer draws than others gets no recommendation was added later: with "
        "few draws a cost is not clear, and the rule would take that for none.",
    )
    figure = Plot(
        "selection",
        "Accuracy less that of the choice by accuracy: on clean rows and on rows that evade, "
        "with one standard error. To the right and to the top is better.",
        partial(draw, over_tables(by_table, "model")),
    )
    caption = "Accuracy less that of the choice by accuracy, in points."
    table = Table("which-epsilon", caption, pd.DataFrame(lines))
    return Section("Which ε", text, (figure, table))


def _by_size(rows: pd.DataFrame) -> Section:
    """Show what depends on the number of tuning rows."""
    found = over_tables(differences(rows, ACCURACY, sizes=["n"]), "model", "n")
    lines = [
        {"model": model, "n": n, "chosen by": method}
        | {
            f"{kind}, {place}": written(found.loc[(model, n, COLUMNS[kind, place], method)], kind)
            for kind, place in IN_SHORT
        }
        for model in _models(found)
        for n in sorted(found.loc[model].index.unique("n"))
        for method in METHODS[1:]
    ]
    caption = "Differences to the choice by accuracy, by number of tuning rows."
    table = Table("by-size", caption, pd.DataFrame(lines))
    return Section("By number of tuning rows", (), (table,))


def _against_usual(against: Sequence[Against]) -> Section:
    verdicts = [each.verdict(method) for each in against for method in PESSIMISTIC]
    text = (
        "For every model and measure the best of the four usual choices, picked in hindsight, "
        "which favours it, and what the pessimistic choices add to it. Of "
        f"{len(verdicts)} comparisons {verdicts.count('ahead')} are clearly for the pessimistic "
        f"choice (more than {CLEAR:g} standard errors), {verdicts.count('behind')} clearly against "
        f"it, {verdicts.count('level')} neither.",
    )
    lines = [
        {"model": each.model, "measure": f"{each.kind}, {each.place}"}
        | {"best usual choice": each.usual}
        | {"its mean": written_mean(each.found.loc[each.usual], each.kind)}
        | {method: written(each.found.loc[method], each.kind) for method in PESSIMISTIC}
        for each in against
    ]
    caption = "Differences to the best usual choice. More accuracy is better; less of the others."
    table = Table("against-usual", caption, pd.DataFrame(lines))
    return Section("Against the best usual choice", text, (table,))


_CAPTIONS = {
    "accuracy": "Accuracy in per cent of the choice by accuracy; of others the difference to it, "
    "in points.",
    "log loss": "Log loss of the choice by accuracy; of others the difference to it. Less is "
    "better.",
    "changed": "Predictions that change when training is repeated, in per cent, of the choice by "
    "accuracy; of others the difference to it, in points. Less is better.",
}


def _differences(overall: pd.DataFrame, kind: str) -> Section:
    lines = []
    for model in _models(overall):
        for method in METHODS:
            line = {"model": model, "chosen by": method}
            for place in PLACES[kind]:
                at = (model, COLUMNS[kind, place], method)
                if at in overall.index:
                    write = written_mean if method == ACCURACY else written
                    line[place] = write(overall.loc[at], kind)
            lines.append(line)
    title = "Stability" if kind == "changed" else kind.capitalize()
    return Section(title, (), (Table(kind, _CAPTIONS[kind], pd.DataFrame(lines)),))


def _by_table(rows: pd.DataFrame, by_table: pd.DataFrame) -> Section:
    apart = differences(rows, ACCURACY, sizes=["n"])
    parts = [_table_by_table(apart, kind, place) for kind, place in IN_SHORT]
    won = Table(
        "tables-won",
        "Tables in which a choice is clearly ahead of that by accuracy : clearly behind it.",
        _won(by_table),
    )
    return Section("Table by table", (), (won, *parts))


def _table_by_table(apart: pd.DataFrame, kind: str, place: str) -> Table:
    own = apart.xs(COLUMNS[kind, place], level="measure")
    lines = []
    for (model, data, n), found in own.groupby(["model", "data", "n"], sort=False):
        entries = found.droplevel(["model", "data", "n"])
        line = {"model": model, "table": data, "n": n}
        line[ACCURACY] = written_mean(entries.loc[ACCURACY], kind)
        lines.append(line | {at: written(entries.loc[at], kind) for at in METHODS[1:]})
    frame = pd.DataFrame(lines)
    order = frame["model"].map(list(KINDS).index)
    caption = f"{kind.capitalize()}, {place}: the choice by accuracy, and differences to it."
    frame = frame.iloc[order.argsort(kind="stable")]
    return Table(f"by-table-{kind}-{place}", caption, frame)


def _won(by_table: pd.DataFrame) -> pd.DataFrame:
    lines = []
    for model in _models(by_table):
        for method in METHODS[1:]:
            line = {"model": model, "chosen by": method}
            own = by_table.loc[[model]].xs(method, level="method")
            measured = own.index.get_level_values("measure")
            for (kind, place), column in COLUMNS.items():
                found = [verdict(entry, kind) for _, entry in own[measured == column].iterrows()]
                if found:
                    line[f"{kind}, {place}"] = f"{found.count('ahead')} : {found.count('behind')}"
            lines.append(line)
    return pd.DataFrame(lines)


def _compared(rows: pd.DataFrame, unfinished: str) -> Section:
    """Say how it was done."""
    counts = "; ".join(
        f"{model}: {own['data'].nunique()} tables, n of "
        f"{', '.join(str(n) for n in sorted(own['n'].unique()))}"
        for model, own in rows.groupby("model", sort=False)
    )
    grids = "; ".join(
        f"{model}: {name} of {', '.join(f'{value:g}' for value in values)}"
        for model, kind in KINDS.items()
        for name, values in kind.grid.items()
    )
    text = (
        f"A draw is n tuning rows of a table, and at most {LARGEST_TEST:,} others to test on. "
        f"{counts}. {draws_of(rows)}. Candidates are compared on the tuning rows by {N_FOLDS} "
        "stratified folds, the same for every way to choose, and the chosen one is trained on all "
        "of them. Nothing was tuned on the seeds shown."
        + (f" Left out, with their draws so far: {unfinished}." if unfinished else ""),
        f"Candidates: {grids}. The forest has 6 trees, boosting 10 of depth 2: they are trained "
        "hundreds of times for a draw.",
        "The usual ways: best mean accuracy, which is what GridSearchCV does unless told "
        "otherwise, of several the first; best mean log loss; and for both the strongest penalty "
        "within one standard error of the best. The pessimistic ones: PessimisticSearchCV by what "
        f'it finds (criterion="found"), for trees with {REFITS} refits for a worst case instead '
        "of 60.",
        "Features are in units of their standard deviation on the tuning rows. Noise is normal, "
        f"{NOISE:g} for each feature. Shift weights the held-out rows by exp(±z), z their place "
        "along the first principal axis. Evasion moves each by "
        f"{RADIUS:g} in the 2-norm against its label, by an attacker who knows a "
        "LogisticRegression() of the tuning rows; attack by one who knows the model itself, where "
        "it is linear. The scores of the SVM are read as logits. For the log loss, probabilities "
        f"are kept {CERTAIN:g} away from 0 and 1.",
        "Training is repeated again, from another seed and for linear models by another solver "
        "(newton-cholesky after lbfgs, the dual SVM after the primal one, stopped where "
        f"scikit-learn stops them); in another order of rows; and on {BOOTSTRAPS} bootstrap draws.",
        "± is one standard error over draws, paired. Tables count alike and are taken as they are: "
        "it says nothing of tables that are not among these.",
    )
    names = pd.unique(rows["data"])
    terms = [(name, TABLES[name].package, TABLES[name].terms) for name in names if name in TABLES]
    caption = "Where the tables come from. Those of other packages are not shipped."
    frame = pd.DataFrame(terms, columns=["table", "package", "terms"])
    return Section("How it was measured", text, (Table("terms", caption, frame),))


def draw(overall: pd.DataFrame) -> Figure:
    """Draw what each choice changes: accuracy on clean rows, and on rows that evade."""
    models = _models(overall)
    figure = Figure(figsize=(3.2 * len(models), 3.6), layout="constrained")
    for axes, model in zip(figure.subplots(1, len(models), squeeze=False)[0], models, strict=True):
        for line in (axes.axhline, axes.axvline):
            line(0.0, color="#CCCCCC", linewidth=0.8)
        for method, (color, marker) in STYLES.items():
            clean, evaded = (
                100.0 * overall.loc[(model, COLUMNS["accuracy", place], method)]
                for place in ("clean", "evasion")
            )
            axes.errorbar(
                clean["difference"],
                evaded["difference"],
                xerr=clean["error"],
                yerr=evaded["error"],
                fmt=marker,
                color=color,
                capsize=2,
                label=method,
            )
        axes.set_title(model)
        axes.set_xlabel("clean, points")
    figure.axes[0].set_ylabel("evasion, points")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
