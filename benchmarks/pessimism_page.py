"""The page on true pessimism, written from the stored measurements and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pessimism as measured
from matplotlib.figure import Figure
from measuring import machine, seconds, times, write
from pessimism import EACH, HIGHS, ONE, OPTIMISTIC, OURS, PAPER, PAPER_SVC, REFERENCE, TRUE

from pessimal.report.frames import markdown
from pessimal.reproduction import Store
from pessimal.tolerances import AT_BREAKPOINT, OPTIMAL_GAP

FIGURE = "true_pessimism"
COMMAND = "python benchmarks/true_pessimism.py"

# Colours that the colour-blind tell apart (Okabe and Ito).
_BARS = {
    OPTIMISTIC: ("the optimistic box", "#999999"),
    PAPER: ("the paper's box", "#e69f00"),
    ONE: ("ours, one limit for all", "#56b4e9"),
    EACH: ("ours, one limit a feature", "#0072b2"),
}
_WIDTH = 0.2
_BOX_KEYS = ["data", "n_train", "n_val", "epsilon", "delta", "seed"]
_SCORE_KEYS = ["data", "n_rows", "seed"]


def write_page(store: Store, docs: Path) -> None:
    """Write the page and its figure; a part without rows is left out."""
    parts = {"boxes": boxes, "accuracy": accuracy, "reach": reach, "jumps": jumps}
    found = {name: store.frame(name) for name in parts if name in store.studies()}
    words, versions = machine(store, next(iter(found)), "numpy", "scipy", "cvxpy")
    sections = [
        "# True pessimism, measured",
        "How much is gained when the exact worst case itself is made small, "
        '`solve_pessimistic(inner="exact")`, instead of the paper\'s stand-in for it; what it '
        "costs; and whether it generalises. Every figure and every sentence with a number is "
        "computed from stored measurements.",
        f"{words}; {', '.join(versions)}. One thread. Times are CPU seconds, for others used the "
        f"machine too; time limits are on the clock.\n\nCommand:\n\n    {COMMAND}",
        *(text for name, rows in found.items() if len(rows) for text in parts[name](rows)),
    ]
    write(docs, FIGURE, sections, bars(found["boxes"]) if "boxes" in found else None)


def boxes(rows: pd.DataFrame) -> list[str]:
    """Compare the exact worst cases of four boxes."""
    rows = rows.assign(budget=_budget(rows))
    by_size = rows["n_train"].astype(str) + ", " + rows["n_val"].astype(str) + ", " + rows["budget"]
    return [
        "## How bad the worst model of a box is",
        f"Cancer and Diabetes, |T| and |V| of {', '.join(map(str, measured.SIZES))} rows, seeds "
        f"{rows['seed'].min()} to {rows['seed'].max()}, on which nothing was tuned: "
        f"{_n(rows):,} configurations. A configuration is an instance with a budget. Four boxes "
        "are compared by their *exact* worst case, the largest validation loss of all models that "
        "train within (1 + ε) times the least training loss, plus δ:",
        "- the optimistic view's, and the paper's pessimistic view's with all labels flipped "
        f"({measured.PAPER_NODES:,} nodes of the search, proved or not), both as small as their "
        "model allows;\n"
        f'- ours with `groups="one"`, one limit for all features; and with `groups="each"`, one '
        f"limit a feature, within {measured.EACH_LIMIT:g} s.",
        _boxes_table(rows, rows["data"] + ", " + rows["budget"]),
        "Means over all sizes and seeds; *bound*: no box has a smaller worst case than this, on "
        "average; seconds: median, and the longest in brackets.",
        f"![Mean exact worst case by budget](images/{FIGURE}.svg)",
        "\n".join(f"- {finding}" for finding in findings(rows)),
        *(
            f"### {data}, by size\n\n{_boxes_table(part, by_size[part.index])}"
            for data, part in rows.groupby("data", sort=False)
        ),
    ]


def _n(rows: pd.DataFrame) -> int:
    return int((rows["method"] == EACH).sum())


def _budget(rows: pd.DataFrame) -> pd.Series:
    return rows.apply(lambda row: f"ε = {row['epsilon']:g}, δ = {row['delta']:g}", axis=1)


def _boxes_table(rows: pd.DataFrame, label: pd.Series) -> str:
    lines = []
    for name, part in rows.groupby(label, sort=False):
        by = part.groupby("method")
        value, proved = by["value"].mean(), by["proved"].mean()
        median, longest = by["seconds"].median(), by["seconds"].max()
        bound = by["lower_bound"].mean()[EACH]
        lines.append(
            [
                str(name),
                *(f"{value[method]:.3f}" for method in (OPTIMISTIC, PAPER, ONE, EACH)),
                f"{bound:.3f}",
                *(f"{proved[method]:.0%}" for method in (PAPER, ONE, EACH)),
                *(f"{median[method]:.2f} ({longest[method]:.2f})" for method in (ONE, EACH)),
            ]
        )
    values = ["optimistic box", "paper's box", "ours, one", "ours, each", "bound"]
    shares = ["paper's proved", "one proved", "each proved"]
    return markdown(["", *values, *shares, "seconds, one", "seconds, each"], lines)


def excess(rows: pd.DataFrame, method: str, other: str) -> str:
    """Say how often a method's worst case is above another's by more than a proof allows."""
    values = rows.pivot(index=_BOX_KEYS, columns="method", values="value")
    above = (values[method] - values[other])[lambda gaps: gaps > OPTIMAL_GAP]
    share = _share(above, values)
    return f"{share}, by up to {above.max():.2g}" if len(above) else share


def findings(rows: pd.DataFrame) -> list[str]:
    """Say what holds and what does not, with the numbers that say so."""
    of = {str(method): part for method, part in rows.groupby("method")}
    one, each = of[ONE], of[EACH]
    kind = one["delta"].gt(0.0).map({True: "δ > 0", False: ""})
    kind = kind.where(kind != "", one["epsilon"].gt(0.0).map({True: "ε > 0 alone", False: ""}))
    proofs = (
        f"{name or 'no tolerance'}: {part.sum()} of {len(part)}"
        for name, part in one["proved"].groupby(kind, sort=False)
    )
    empty = {name: (of[name]["width"] < AT_BREAKPOINT).mean() for name in (ONE, EACH)}
    open_ends = (rows["upper_bound"] > rows["value"] + OPTIMAL_GAP).sum()
    checks = pd.concat([one, each])["check_seconds"]
    return [
        f"Ours, one limit a feature, was above the optimistic box "
        f"{excess(rows, EACH, OPTIMISTIC)}; above the paper's "
        f"{excess(rows, EACH, PAPER)}; above ours with one limit for all "
        f"{excess(rows, EACH, ONE)}. Differences of up to 10⁻⁶ do not count.",
        f"It was below both boxes of the views {_below(rows)}.",
        f"One limit for all was proved with {'; '.join(proofs)}. It took a median of "
        f"{one['seconds'].median():.2f} s and at most {one['seconds'].max():.2f} s.",
        f"One limit a feature was proved in {each['proved'].mean():.0%} and stopped by its time "
        f"limit in {(each['status'] == 'time limit').mean():.0%}; it took a median of "
        f"{each['seconds'].median():.2f} s. Where it is not proved, "
        "nothing says that no better box exists; the gap to the bound is what is known.",
        f"The best single limit was 0 in {empty[ONE]:.0%}: a model without any weight, which "
        "predicts one class, has the least worst case. With one limit a feature that happened in "
        f"{empty[EACH]:.0%}.",
        f"Of all worst cases on this page, {open_ends} of {len(rows):,} are not known "
        "exactly. The check of our answers by a mixed-integer program took a median of "
        f"{checks.median():.2f} s and at most {checks.max():.1f} s more.",
    ]


def _below(rows: pd.DataFrame) -> str:
    values = rows.pivot(index=_BOX_KEYS, columns="method", values="value")
    gains = values[[OPTIMISTIC, PAPER]].min(axis=1) - values[EACH]
    gains = gains[gains > OPTIMAL_GAP]
    share = _share(gains, values)
    return f"{share}, there by a median of {gains.median():.2f}" if len(gains) else share


def _share(some: pd.Series, every: pd.DataFrame) -> str:
    return f"in {f'{len(some):,}' if len(some) else 'none'} of {len(every):,} configurations"


def bars(rows: pd.DataFrame) -> Figure:
    """Draw mean exact worst cases by budget: a panel a data set, a bar a method, its bound."""
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    figure.set_label(FIGURE)
    panels = list(rows.assign(budget=_budget(rows)).groupby("data", sort=False))
    for number, (data, part) in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), number)
        means = part.groupby(["method", "budget"], sort=False)[["value", "lower_bound"]].mean()
        budgets = list(dict.fromkeys(part["budget"]))
        for place, (method, (label, colour)) in enumerate(_BARS.items()):
            at = [k + (place - 1.5) * _WIDTH for k in range(len(budgets))]
            axes.bar(at, means["value"][method][budgets], _WIDTH, color=colour, label=label)
        bounds = means["lower_bound"][EACH][budgets]
        axes.plot(at, bounds, "k_", markersize=9, label="its lower bound")
        axes.set_xticks(range(len(budgets)), [name.replace(", ", "\n") for name in budgets])
        axes.tick_params(labelsize=8)
        axes.set_title(str(data), fontsize=9)
        axes.set_ylabel("mean exact worst case", fontsize=9)
        axes.grid(axis="y", alpha=0.3)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels))
    return figure


def accuracy(rows: pd.DataFrame) -> list[str]:
    """Compare accuracies on rows as they are and attacked, paired over the same instances."""
    return [
        "## Does it generalise better?",
        f"Half of the rows train and half validate, ε = {measured.EPSILON:g} and δ = "
        f"{measured.DELTA:g} together, {rows['seed'].nunique()} seeds; the final model of our "
        "estimators is the default, the mean of the near-optimal ones; tuning has "
        f"{measured.TUNING_LIMIT:g} s. Accuracy in per cent on half of the data "
        "set, which tuning has not seen, as it is and *attacked*: every row moved against its "
        f"label by the strongest step of length {measured.RADIUS:g} (features scaled) against the "
        f"model at hand. Differences to plain `{REFERENCE}` on all tuning rows, in points, are "
        "paired; ± is their standard error.",
        _scores_table(rows),
        "\n".join(_verdict(rows, m, other) for m in TRUE for other in (REFERENCE, PAPER_SVC)),
        *(
            f"### {data}, {n_rows} rows\n\n{_scores_table(part)}"
            for (data, n_rows), part in rows.groupby(["data", "n_rows"], sort=False)
        ),
    ]


def _difference(rows: pd.DataFrame, method: str, other: str, column: str) -> tuple[str, str]:
    """Return the mean of the paired differences in points with its standard error, and a word."""
    scores = rows.pivot(index=_SCORE_KEYS, columns="method", values=column)
    points = 100.0 * (scores[method] - scores[other])
    mean, error = points.mean(), points.sem()
    clear = abs(mean) > 2.0 * error
    word = ("better" if mean > 0.0 else "worse") if clear else "no clear difference"
    return f"{mean:+.1f} ± {error:.1f}", word


def _verdict(rows: pd.DataFrame, method: str, other: str) -> str:
    plain, attacked = (_difference(rows, method, other, c) for c in ("accuracy", "attacked"))
    return (
        f"- {method}, against {other}: {plain[1]} as rows are ({plain[0]} points), "
        f"{attacked[1]} attacked ({attacked[0]})."
    )


def _scores_table(rows: pd.DataFrame) -> str:
    lines = []
    for method, own in rows.groupby("method", sort=False):
        scores = [
            word
            for column in ("accuracy", "attacked")
            for word in (
                f"{100.0 * own[column].mean():.1f}",
                _difference(rows, str(method), REFERENCE, column)[0],
            )
        ]
        proofs = own["proved"].dropna().astype(float)
        proved = f"{proofs.mean():.0%}" if len(proofs) else ""
        lines.append([str(method), *scores, seconds(own["seconds"].median()), proved])
    head = ["method", "accuracy", "difference", "attacked", "difference", "seconds", "proved"]
    return markdown(head, lines)


def reach(rows: pd.DataFrame) -> list[str]:
    """Say how many validation rows an exact worst case bears."""
    rows = rows.assign(exact=rows["upper_bound"] <= rows["value"] + OPTIMAL_GAP)
    keys = ["n_val", "epsilon", "delta"]
    wide = rows.pivot(index=[*keys, "data", "seed"], columns="method")
    lines = []
    for (n_val, epsilon, delta), part in wide.groupby(keys, sort=False):
        ours, highs = part.xs(OURS, axis=1, level=1), part.xs(HIGHS, axis=1, level=1)
        lines.append(
            [
                *(f"{value:g}" for value in (n_val, epsilon, delta, len(part))),
                f"{ours['exact'].mean():.0%}",
                seconds(ours["seconds"].median()),
                seconds(ours["seconds"].max()),
                f"{ours['nodes'].median():,.0f}",
                f"{ours['nodes'].max():,.0f}",
                f"{highs['exact'].mean():.0%}",
                seconds(highs["seconds"].median()),
                times((highs["seconds"] / ours["seconds"]).median()),
            ]
        )
    both = wide["value"][wide["exact"].all(axis=1)]
    largest = (both[OURS] - both[HIGHS]).abs().max() if len(both) else 0.0
    ours_head = ["exact", "median", "worst", "nodes, median", "nodes, most"]
    highs_head = ["HiGHS exact", "HiGHS median", "median ratio"]
    return [
        "## How many validation rows an exact worst case bears",
        f"One worst case in the widest box, Cancer and Diabetes, |T| = {measured.N_TRAIN}, by the "
        "package's branch and bound and by a mixed-integer program with the tightest constants on "
        f"HiGHS; {measured.REACH_LIMIT:g} s on the clock for each; *exact*: share of draws on "
        "which value and bound met. Ratios are HiGHS's time over ours, a limit counting as the "
        "time used until then.",
        markdown(["rows of V", "ε", "δ", "draws", *ours_head, *highs_head], lines),
        f"On the {len(both)} draws that both solved, their values differ by at most {largest:.1g}.",
    ]


def jumps(rows: pd.DataFrame) -> Sequence[str]:
    """Say whether the worst case jumps as the box moves."""
    changes = rows.groupby("step")["change"].max().sort_index(ascending=False)
    lines = [[f"{s:g}", f"{change:.2g}", f"{change / s:.2g}"] for s, change in changes.items()]
    instances = rows.drop_duplicates(["n_rows", "data", "seed"])
    return [
        "## Is the least worst case attained?",
        "It is, also without a tolerance. The models within a training limit and a box are a "
        "polyhedron that moves with its right-hand sides, and so at most proportionally to them "
        "(Hoffman; Walkup and Wets), and the least training loss of a box is piecewise linear in "
        "it: the worst case is a continuous function on the compact set of boxes. With one limit "
        "h for all features and ε = δ = 0, the largest change within a step of the "
        f"{instances['breakpoints'].sum():,} breakpoints of the least training loss in "
        f"{len(instances)} draws was, step by step:",
        markdown(["step", "largest change of the worst case", "per unit"], lines),
    ]
