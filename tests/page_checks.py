"""Sections that every page with an audit has, each number of them against one computed otherwise.

Where a number can be computed exactly, it must be that. A count of errors of logistic models
cannot: then the model behind it must be a member and have it, a search here must find none beyond
it, and what is proved must not contradict either.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
from oracles.equally_good import ON_A_SIDE, EquallyGood, LogisticModels, with_ones
from page_text import COLUMNS, Page
from scipy.stats import beta

from pessimal.auditing import AuditReport
from pessimal.near_optimal import Extreme

BLUE, ORANGE, VERMILION, GREEN, GREY, BLACK = (
    "#0072b2", "#e69f00", "#d55e00", "#009e73", "#666666", "#000000",
)  # fmt: skip

CLOSE = 2e-3
"""How well convex programs and positions in a picture are known."""


@dataclass(frozen=True)
class Audited:
    """A page, the report it shows, its validation rows, and the models computed otherwise.

    The report is asked for models and for the training optimum it chose, of which there may be
    many; what they do is computed from their coefficients.
    """

    page: Page
    report: AuditReport
    models: EquallyGood
    rows: pd.DataFrame

    @property
    def chosen(self) -> np.ndarray:
        if isinstance(self.models, LogisticModels):
            return self.models.fitted
        u = coefficients(self.report.reference)
        assert self.models.trained(u) == pytest.approx(self.models.least, abs=1e-6)
        return u

    @property
    def scores(self) -> np.ndarray:
        return np.asarray(with_ones(self.models.V) @ self.chosen)

    @property
    def loss(self) -> str:
        return "log" if isinstance(self.models, LogisticModels) else "hinge"

    @property
    def differ(self) -> np.ndarray:
        """Rows whose range of scores has both signs."""
        low, high = self.models.ends(with_ones(self.models.V))
        return np.asarray((low < -ON_A_SIDE) & (high > ON_A_SIDE))

    def counted(
        self, extreme: Extreme, found: int, bound: int, Z: np.ndarray, at: float = -ON_A_SIDE
    ) -> None:
        """Check a largest number of rows of ``Z @ u`` below 0, as found and as proved."""
        u = coefficients(extreme)
        assert self.models.trained(u) <= self.models.limit * (1.0 + 1e-6)
        assert found == int(np.sum(Z @ u < max(at, 0.0) + (at > 0.0) * ON_A_SIDE))
        least, most = self.models.most_below(Z, at)
        assert least <= found <= bound
        if least == most:
            assert found == bound == most


def coefficients(model: object) -> np.ndarray:
    return np.append(model.coef, model.intercept)  # type: ignore[attr-defined]


def constant_loss(audited: Audited) -> float:
    """Return the mean loss of the constant score that trains best."""
    y, labels = audited.models.y, audited.models.labels
    share = float(np.mean(y > 0.0))
    if audited.loss == "log":
        return float(np.logaddexp(0.0, -labels * np.log(share / (1.0 - share))).mean())
    return float(np.maximum(0.0, 1.0 - labels * np.sign(share - 0.5)).mean())


def rows_right(audited: Audited, model: str) -> int:
    """Check the bars about the validation rows; return how many rows the worst model has right."""
    page, models, n = audited.page, audited.models, len(audited.rows)
    positive, says = models.labels > 0.0, 1.0 if models.y.sum() > 0.0 else -1.0
    drawn, n_differ = page.bars(), int(audited.differ.sum())
    page.read(rf"Rows right, of the {n} [a-z-]+ rows")
    for name, count in {
        model: int(np.sum((audited.scores > 0.0) == positive)),
        f"always “{'yes' if says > 0.0 else 'no'}”": int(np.sum(models.labels == says)),
        "rows on which equally good models disagree": n_differ,
    }.items():
        assert drawn[name].words == f"{count} of {n}", name
    assert drawn["rows on which equally good models disagree"].line == pytest.approx(
        100.0 * n_differ / n, abs=0.005
    )
    for bar in drawn.values():
        count, of = map(int, bar.words.split(" of "))
        assert bar.width == pytest.approx(100.0 * count / of, abs=0.005)
    name = "the worst equally good model found"
    worst = drawn[name]
    told = page.read(rf"{name}\s+\d+ of {n} (?:and none has fewer|none has fewer than (\d+))\b")
    found = int(worst.words.split()[0])
    least = int(told[1]) if told[1] else found
    assert worst.line == pytest.approx(100.0 * least / n, abs=0.005)
    audited.counted(audited.report.worst_error, n - found, n - least, models.margins)
    return found


def small_print(page: Page, right: int, n: int, rows: str, model: str) -> None:
    """Check what the classes are called, and how little so few rows tell of others."""
    page.read(r"What is predicted: whether “label” is 0 \(“no”\) or 1 \(“yes”\)\.")
    # A share is ruled out where so many rows right, or so few, had a chance below 2.5 %.
    low = np.floor(100.0 * beta.ppf(0.025, right, n - right + 1))
    high = np.ceil(100.0 * beta.ppf(0.975, right + 1, n - right))
    page.read(
        rf"{n} {rows} rows are few: of other rows like them {model} may have between {low:.0f}% "
        rf"and {high:.0f}% right \(95% confidence\)\."
    )


def guarantee(audited: Audited) -> None:
    """Check the sentences and the table of "What is guaranteed"."""
    page, models, report, n = audited.page, audited.models, audited.report, len(audited.rows)
    below, loss = "What is guaranteed", audited.loss
    largest, least = models.extreme_loss(1.0), models.extreme_loss(-1.0)
    said = page.read(rf"a mean {loss} loss of ([\d.]+) and (\d+) of {n} points wrong on", below)
    header, *lines = page.cells(below)
    assert header == ["on validation data", f"mean {loss} loss", "error"]
    low, best, chosen, worst, high = lines
    numbers = [float(line[1]) for line in lines]
    assert numbers[1] == pytest.approx(least, abs=1e-4)
    assert numbers[2] == pytest.approx(models.loss(audited.chosen), abs=1e-3)
    assert numbers[3] == pytest.approx(largest, abs=1e-4)
    assert numbers[0] <= least + 1e-9
    assert numbers[4] >= largest - 1e-9
    assert float(said[1]) == numbers[4]
    assert chosen[2] == f"{np.mean(models.margins @ audited.chosen < 0.0):.1%}"

    def count(shown: str) -> int:
        """Return how many rows a share is, which a bound is rounded away from."""
        rows = _nearest(shown, n)
        assert float(shown[:-1]) == pytest.approx(100.0 * rows / n, abs=0.11)
        return rows

    wrong = report.worst_error
    assert int(said[2]) == count(high[2])
    audited.counted(wrong, count(worst[2]), count(high[2]), models.margins)
    # A score of 0 is no error: as few are wrong as few are not on the right side of it or on it.
    not_wrong = n - count(best[2]), n - count(low[2])
    audited.counted(report.best_error, *not_wrong, -models.margins, at=ON_A_SIDE)
    exact = "The guarantee cannot be better: up to rounding, one of these models has this loss"
    if exact not in page.text:
        page.read(
            rf"the worst that was found is a mean {loss} loss of {worst[1]} and "
            rf"{count(worst[2])} of {n} rows wrong, and the truth lies between",
            below,
        )
    else:
        assert numbers[4] - largest <= 1.1e-4
        assert count(worst[2]) == count(high[2])
    _disagreement_and_discrepancy(audited, below)
    _in_each_class(audited, below)
    says = int(models.y.sum() > 0.0)
    page.read(
        rf"to say {'yes' if says else 'no'} of every point, the most frequent class in training, "
        "is wrong on "
        rf"{np.mean(models.labels != 2 * says - 1):.1%} of these points; the constant "
        rf"score that trains best has a mean {loss} loss of {constant_loss(audited):.4f} on these "
        "points",
        below,
    )
    told = {
        "log": "near 0 when that is near 1, 0.69 at even odds, 2.3 at one in ten",
        "hinge": "is 0 when its score is on the right side of 0 by at least 1, it is 1 at a score "
        "of 0,",
    }
    assert np.log([2.0, 10.0]) == pytest.approx([0.69, 2.3], abs=5e-3)
    page.read(told[loss], below)


def _nearest(shown: str, n: int) -> int:
    return round(float(shown[:-1]) * n / 100.0)


def _disagreement_and_discrepancy(audited: Audited, below: str) -> None:
    page, n = audited.page, len(audited.rows)
    differ = int(audited.differ.sum())
    page.read(
        rf"Ambiguity {differ / n:.1%}: for {differ} of {n} validation points some of these models "
        "say no and others yes",
        below,
    )
    told = page.read(
        rf"Discrepancy (?:at least )?([\d.]+)%(?:, at most ([\d.]+)%)?: one of these models labels "
        rf"(\d+) of {n} validation points differently from the chosen model",
        below,
    )
    changed = int(told[3])
    assert float(told[1]) == pytest.approx(100.0 * changed / n, abs=0.051)
    most = _nearest(f"{told[2]}%", n) if told[2] else changed
    assert most == round(audited.report.discrepancy.bound * n)  # a bound may be above the truth
    sides = np.where(audited.scores > 0.0, 1.0, -1.0)
    Z = sides[:, None] * with_ones(audited.models.V)
    audited.counted(audited.report.discrepancy, changed, most, Z)


def _in_each_class(audited: Audited, below: str) -> None:
    report, models = audited.report, audited.models
    for name, label, extreme in (
        ("Sensitivity", 1.0, report.worst_sensitivity),
        ("Specificity", -1.0, report.worst_specificity),
    ):
        Z = models.margins[models.labels == label]
        n, right = len(Z), int(np.sum(Z @ audited.chosen > 0.0))
        told = audited.page.read(
            rf"{name}: of the {n} validation points of class {'yes' if label > 0.0 else 'no'}, the "
            rf"chosen model has {right} right \({right / n:.1%}\), and the worst of these models "
            r"that was found (\d+) \(([\d.]+)%\)"
            r"(?:; none has fewer than (\d+)|; fewer are not ruled out)?\.",
            below,
        )
        assert extreme is not None
        audited.counted(extreme, n - int(told[1]), n - int(told[3] or 0), Z)
        assert float(told[2]) == pytest.approx(100.0 * int(told[1]) / n, abs=0.051)


def disagreeing_rows(audited: Audited) -> None:
    page, models = audited.page, audited.models
    below = "Rows on which equally good models disagree"
    low, high = models.ends(with_ones(models.V))
    header, *lines = page.cells(below)
    assert header[-3:] == COLUMNS
    page.read("Rows are counted from 1", below)
    listed = {int(name): cells for cells in lines for name in cells[0].split(", ")}
    assert set(listed) == set(audited.rows.index[audited.differ])
    for k in np.flatnonzero(audited.differ):
        row = audited.rows.iloc[k]
        _, true, said, least, most, *entries = listed[int(row.name)]
        assert true == ("yes" if models.labels[k] > 0.0 else "no")
        assert said == ("yes" if audited.scores[k] > 0.0 else "no")
        for shown, score in ((least, low[k]), (most, high[k])):
            if audited.loss == "log":
                assert int(shown[:-1]) == pytest.approx(100.0 / (1.0 + np.exp(-score)), abs=0.6)
            else:
                assert float(shown) == pytest.approx(score, abs=6e-3)
        assert [float(entry) for entry in entries] == row[COLUMNS].tolist()


def every_row(audited: Audited) -> None:
    """Check the picture of the ranges, in which places from left to right have no numbers."""
    models, picture = audited.models, audited.page.pictures[0]
    audited.page.read("A score above 0 says yes, one below 0 no", "Every row")
    picture.read(rf"Ambiguity {audited.differ.mean():.0%}, marks: .*")
    for label in ("no", "yes"):
        picture.read(f"true class {label}")
    low, high = models.ends(with_ones(models.V))
    across = np.full(len(low), np.nan)
    for which, colour in ((~audited.differ, BLUE), (audited.differ, ORANGE)):
        if which.any():
            ends = picture.take("lines", colour).reshape(-1, 2, 2)
            across[which] = ends[:, 0, 0]
            np.testing.assert_allclose(ends[:, 0, 1], low[which], atol=5 * CLOSE)
            np.testing.assert_allclose(ends[:, 1, 1], high[which], atol=5 * CLOSE)
    for side in (-1.0, 1.0):
        of, marks = models.labels == side, picture.take("marks", BLACK)
        np.testing.assert_allclose(marks[:, 0], across[of], atol=1e-3)
        np.testing.assert_allclose(marks[:, 1], audited.scores[of], atol=5 * CLOSE)
    np.testing.assert_allclose(picture.take("lines", GREY)[:, 1], 0.0, atol=CLOSE)
    middles = (low + high)[np.argsort(across)]
    assert np.all(np.diff(middles) >= -4 * CLOSE)


def against_epsilon(audited: Audited) -> None:
    """Check the curve, in numbers and drawn."""
    models, picture = audited.models, audited.page.pictures[1]
    header, *lines = audited.page.cells("If training may be worse")
    assert header == ["ε", "best loss", "worst loss", "at most", "most rows wrong"]
    epsilons = np.array([float(line[0]) for line in lines])
    assert models.epsilon in epsilons
    sets = [models.at(max(epsilon, 1e-9)) for epsilon in epsilons]  # at 0 a point, if that
    best, worst = (np.array([s.extreme_loss(side) for s in sets]) for side in (-1.0, 1.0))
    bound = np.array([float(line[3]) for line in lines])
    np.testing.assert_allclose([float(line[1]) for line in lines], best, atol=CLOSE)
    np.testing.assert_allclose([float(line[2]) for line in lines], worst, atol=CLOSE)
    assert np.all(bound >= worst - 6e-4)
    curve, n = audited.report.curve, len(audited.rows)
    told = np.rint(n * np.column_stack([curve.worst_error, curve.worst_error_bound])).tolist()
    for epsilon, members, of_curve, (*_, wrong) in zip(epsilons, sets, told, lines, strict=True):
        found, _, bound_of = wrong.partition(" to ")
        most = int(bound_of or found)
        least = above = int(np.sum(models.margins @ audited.chosen < 0.0))
        if epsilon > 0.0:
            least, above = members.most_below(models.margins)
        assert least <= int(found) <= min(most, above)
        # Between both nothing here knows better than the report.
        assert [int(found), most] == ([above, above] if least == above else of_curve)
    for kind in ("lines", "marks"):
        for colour, expected in ((VERMILION, worst), (BLUE, best)):
            points = picture.take(kind, colour)
            np.testing.assert_allclose(points[:, 0], epsilons, atol=1e-3)
            np.testing.assert_allclose(points[:, 1], expected, atol=2 * CLOSE)
    drawn = picture.take("lines", GREEN)
    np.testing.assert_allclose(drawn, np.column_stack([epsilons, bound]), atol=CLOSE)
    np.testing.assert_allclose(picture.take("lines", GREY)[:, 0], models.epsilon, atol=1e-3)
    level = models.loss(audited.chosen)
    np.testing.assert_allclose(picture.take("lines", BLACK)[:, 1], level, atol=2 * CLOSE)
    shaded = picture.take("area", GREY)
    edges = np.vstack([np.column_stack([epsilons, edge]) for edge in (best, worst)])
    for these, those in ((edges, shaded), (shaded, edges)):
        apart = np.abs(these[:, None] - those[None]).max(axis=2).min(axis=1)
        np.testing.assert_allclose(apart, 0.0, atol=2 * CLOSE)


def directions(audited: Audited, predicts: np.ndarray, limits: np.ndarray | None = None) -> None:
    """Check the ranges of the coefficients, in numbers and drawn, beside those of a model."""
    page, picture, below = audited.page, audited.page.pictures[2], "Which way each column points"
    low, high = audited.models.ends(np.eye(4)[:3])
    undetermined = (low < -ON_A_SIDE) & (high > ON_A_SIDE)
    if n := int(undetermined.sum()):
        page.read(rf"Of 3 columns, {n} points? one way in one equally good model", below)
    _, *lines = page.cells(below)
    assert [line[0] for line in lines] == COLUMNS
    for k, (_, coef, least, most, so, *limit) in enumerate(lines):
        assert float(coef) == pytest.approx(predicts[k], abs=CLOSE)
        assert float(least) == pytest.approx(low[k], abs=2 * CLOSE)
        assert float(most) == pytest.approx(high[k], abs=2 * CLOSE)
        assert (so == "its direction is not determined by your data") == undetermined[k]
        assert ("speaks for “yes”" in so) == (low[k] > ON_A_SIDE)
        assert ("speaks against “yes”" in so) == (high[k] < -ON_A_SIDE)
        if limits is not None:
            assert float(limit[0]) == pytest.approx(limits[k], abs=6e-4)
            assert (so == "not used") == (limits[k] == 0.0)
    assert picture.labels.pop("y") == COLUMNS
    for which, colour in ((~undetermined, BLUE), (undetermined, ORANGE)):
        if which.any():
            ends = picture.take("lines", colour).reshape(-1, 2, 2)
            np.testing.assert_allclose(ends[:, 0, 0], low[which], atol=2 * CLOSE)
            np.testing.assert_allclose(ends[:, 1, 0], high[which], atol=2 * CLOSE)
            np.testing.assert_allclose(ends[:, 0, 1], np.flatnonzero(which), atol=1e-3)
    points = picture.take("marks", BLACK)
    expected = np.column_stack([predicts[:3], np.arange(3)])
    np.testing.assert_allclose(points, expected, atol=2 * CLOSE)
    np.testing.assert_allclose(picture.take("lines", GREY)[:, 0], 0.0, atol=CLOSE)


def beside_logistic_regression(page: Page, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Check the table of held-out rows, by which of them two models have right."""
    n = len(ours)
    header, right, accuracy, only = page.cells("Beside logistic regression")
    assert header == [f"on the {n} held-out rows", "tuned model", "logistic regression"]
    assert right[1:] == [f"{ours.sum()} of {n}", f"{theirs.sum()} of {n}"]
    assert accuracy[1:] == [f"{ours.mean():.1%}", f"{theirs.mean():.1%}"]
    assert only[1:] == [str((ours & ~theirs).sum()), str((theirs & ~ours).sum())]


def how_it_was_computed(page: Page, facts: dict[str, object]) -> None:
    """Check settings, results and versions: numbers to three digits, other things whole."""
    _, *lines = page.cells("How it was computed")
    shown = dict(lines)
    assert shown.pop("data") == "patients.csv"
    machine = shown.pop("machine")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    assert machine.endswith(f", {os.cpu_count()} cores, {memory:.1f} GB")
    assert shown.pop("system") == f"{platform.system()} {platform.machine()}"
    assert shown.pop("Python") == platform.python_version()
    for name in [name for name in shown if name not in facts]:
        assert shown.pop(name) == version(name)
    assert set(shown) == set(facts)
    for name, expected in facts.items():
        if isinstance(expected, float):
            assert float(shown[name]) == pytest.approx(expected, abs=CLOSE), name
        else:
            assert shown[name] == str(expected), name
