"""The audit's result: best and worst of all models that train equally well."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pessimal.auditing.coefficients import CoefficientRange
from pessimal.auditing.constant import ConstantModel
from pessimal.auditing.extremes import reached
from pessimal.auditing.text import as_text, bounds_errors, rounded
from pessimal.near_optimal.base import Extreme
from pessimal.problem import Budget, Mask, Vector
from pessimal.tolerances import STRICT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "pessimal.report.audit_page"
"""What shows a report to people; it is above this package, and imported when it is asked for."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Best and worst cases as the training budget grows with ε.

    Attributes
    ----------
    epsilons : ndarray of shape (n,)
        Increasing; δ is the same for all.
    best_loss, worst_loss, worst_loss_bound : ndarray of shape (n,)
        Mean loss on the validation data, attained, and the proved upper bound.
    worst_error, worst_error_bound : ndarray of shape (n,)
        Share of misclassified validation points, attained, and the proved upper bound.
    """

    epsilons: Vector
    best_loss: Vector
    worst_loss: Vector
    worst_loss_bound: Vector
    worst_error: Vector
    worst_error_bound: Vector


@dataclass(frozen=True, eq=False)
class ReferenceModel:
    """The model that was chosen, to which the others are compared.

    Attributes
    ----------
    name : str
        What it is.
    coef, intercept : ndarray of shape (p,), float
        The score is ``X @ coef + intercept``; empty and NaN for a model that is not linear.
    train_loss, loss : float
        What training minimises, on the training data, and the mean loss on the validation data.
    error : float
        Share of validation points with ``y·score < 0``; NaN for a regressor.
    scores : ndarray of shape (n_val,)
        Scores of the validation points.
    sensitivity, specificity : float
        Share of the points of the positive, and of the negative class, that are not misclassified;
        NaN without such points, or unless there are two classes.
    """

    name: str
    coef: Vector = field(repr=False)
    intercept: float = field(repr=False)
    train_loss: float
    loss: float
    error: float
    scores: Vector = field(repr=False)
    sensitivity: float = np.nan
    specificity: float = np.nan


@dataclass(frozen=True)
class GivenModel:
    """A linear model that was brought along, beside those that train well.

    Attributes
    ----------
    name : str
        What it is called.
    member : bool
        Whether it is one of the audited models: it trains well enough.
    train_loss : float
        What training minimises, for it.
    loss, error : float
        Mean loss, and share of misclassified points, on the validation data.
    sensitivity, specificity : float
        As in `ReferenceModel`.
    """

    name: str
    member: bool
    train_loss: float
    loss: float
    error: float
    sensitivity: float
    specificity: float


@dataclass(frozen=True, eq=False)
class AuditReport:
    """How far apart models can be that train equally well; see `audit`.

    Attributes
    ----------
    best_loss, worst_loss : Extreme
        Least and largest mean loss on the validation data over all near-optimal models.
    best_error, worst_error : Extreme
        The same for the share of validation points with ``y·score < 0``.
    discrepancy : Extreme
        Largest share of validation points that a near-optimal model labels differently from the
        reference model. This and errors are NaN for a regressor.
    score_low, score_high : ndarray of shape (n_val,)
        No near-optimal model gives a validation point a score beyond these. A score is that of the
        positive class of two, in log odds where refits have probabilities; of more classes, how far
        the true one is ahead; for a regressor, what is predicted.
    found_low, found_high : ndarray of shape (n_val,)
        Least and largest score among the near-optimal models that were found. In a box they equal
        the bounds unless the audit was stopped.
    curve : Curve
        Best and worst cases against ε.
    reference : ReferenceModel
        The model that was chosen: a training optimum, or the audited estimator.
    least_train_loss, train_limit : float
        Least of what training minimises, and the largest that counts as near-optimal: the mean
        loss in the box, or the mean loss and the penalty of the audited estimator.
    budget : Budget
        ε and δ.
    loss : str
        The loss that training minimises and validation counts: "hinge" in a box, or "log", "squared
        hinge", "squared" or "zero-one", as the audited estimator has it.
    box : ndarray of shape (p,) or None
        Limits on the sizes of the coefficients; None where the estimator's penalty limits them.
    n_train : int
        Number of training points.
    classes : tuple
        The class with negative scores and the class with positive scores; of an estimator with
        more classes all of them, of a regressor none.
    labels : ndarray of shape (n_val,)
        Labels of the validation points, as given.
    feature_names : tuple of str
        Columns of the data, as given or numbered.
    index : pandas.Index
        Names of the validation points, as given or numbered.
    stopped : bool
        Whether time, Ctrl-C or a failed program left something unknown: then found and proved
        numbers may differ, and points may be `undecided`. Outside a box they may without.
    proves : bool
        Whether anything is proved: bounds hold for all models that train this well. Of an estimator
        that is known by its refits alone, all is found, and bounds are infinite or trivial.
    said : ndarray of bool of shape (n_val, n_classes) or None
        Which classes refits were found to give to a point; None where scores say it.
    coefficients : CoefficientRange or None
        Ranges of the coefficients, found and proved; None for models without, or without time.
    worst_sensitivity, worst_specificity : Extreme or None
        Least share of the validation points of the positive, and of the negative class, that a
        near-optimal model gets right, and the bound below which none is; NaN where there are no
        such points, or more than two classes.
    constant : ConstantModel or None
        The model that trains best of those that say the same of every point.
    given : GivenModel or None
        A model that was brought along.
    balanced : bool
        Whether both classes weighed the same in training, of the chosen model and of the others.
    notes : tuple of str
        What a reader must know to read the numbers.

    Examples
    --------
    >>> from pessimal.auditing import audit
    >>> report = audit([[-1.0], [1.0]], ["no", "yes"], [[0.5], [-2.0]], ["yes", "no"], delta=0.5)
    >>> round(report.worst_loss.bound, 6), report.ambiguity
    (0.75, 0.5)
    >>> report.to_frame()
      label  low  high  ambiguous
    0   yes -0.5   1.5       True
    1    no -3.0  -0.5      False
    """

    best_loss: Extreme
    worst_loss: Extreme
    best_error: Extreme
    worst_error: Extreme
    discrepancy: Extreme
    score_low: Vector = field(repr=False)
    score_high: Vector = field(repr=False)
    found_low: Vector = field(repr=False)
    found_high: Vector = field(repr=False)
    curve: Curve = field(repr=False)
    reference: ReferenceModel
    least_train_loss: float
    train_limit: float
    budget: Budget
    loss: str
    box: Vector | None = field(repr=False)
    n_train: int
    classes: tuple[Any, ...]
    labels: NDArray[Any] = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    index: pd.Index = field(repr=False)
    stopped: bool
    notes: tuple[str, ...] = field(repr=False)
    proves: bool = True
    said: NDArray[np.bool_] | None = field(default=None, repr=False)
    coefficients: CoefficientRange | None = field(default=None, repr=False)
    worst_sensitivity: Extreme | None = None
    worst_specificity: Extreme | None = None
    constant: ConstantModel | None = None
    given: GivenModel | None = None
    balanced: bool = False

    @property
    def n_val(self) -> int:
        """Number of validation points."""
        return len(self.labels)

    @property
    def only_class(self) -> Any:
        """The class that the reference gives to every validation point; None if it gives two."""
        if len(self.classes) != 2:
            return None
        said = np.unique(self.reference.scores > 0.0)
        return self.classes[int(said[0])] if len(said) == 1 else None

    @property
    def ambiguous(self) -> Mask:
        """Points on whose class models were found to disagree; none for a regressor."""
        if self.said is not None:
            return np.asarray(self.said.sum(axis=1) > 1)
        if not self.classes:
            return np.zeros(self.n_val, dtype=np.bool_)
        return np.asarray((self.found_low < -STRICT) & (self.found_high > STRICT))

    @property
    def undecided(self) -> Mask:
        """Points of which it is not known whether they are ambiguous."""
        possible = (self.score_low < -STRICT) & (self.score_high > STRICT) & bool(self.classes)
        return np.asarray(possible & ~self.ambiguous)

    @property
    def reached(self) -> Mask:
        """Points whose bounds `score_low` and `score_high` are scores of models that were found."""
        low, high = (
            reached(self.score_low, self.found_low),
            reached(self.score_high, self.found_high),
        )
        return np.asarray(low & high)

    @property
    def ambiguity(self) -> float:
        """Share of the validation points on which near-optimal models were found to disagree.

        Refits that memorise points are judged on half of them at a time, and may be known to
        disagree on more points than `ambiguous` names.
        """
        return float(np.fmax(self.ambiguous.mean(), self.discrepancy.value))

    @property
    def ambiguity_bound(self) -> float:
        """No more than this share of the validation points is ambiguous."""
        return float((self.ambiguous | self.undecided).mean())

    @property
    def at_zero(self) -> int:
        """Number of validation points that every model scores 0, which counts as no error."""
        return int(((self.score_low >= -STRICT) & (self.score_high <= STRICT)).sum())

    @property
    def guarantee(self) -> str:
        """The audit in a sentence or two: what is proved, rounded upwards; else that nothing is."""
        n = self.n_val
        if not self.proves:
            errors = f" or {self.worst_error.value * n:.0f} of {n} points wrong"
            return (
                "Nothing is proved. Models were found that train this well and have a mean "
                f"{self.loss} loss of {self.worst_loss.value:.4f}{errors if self.classes else ''} "
                "on your validation data; there may be worse ones."
            )
        loss = rounded(self.worst_loss.bound, 4, 1.0)
        wrong = f" and {self.worst_error.bound * n:.0f} of {n} points wrong" if self.classes else ""
        if wrong and self.at_zero:
            wrong += f" (not counting {self.at_zero} that every one of them scores 0)"
        told = (
            f"No model that trains this well does worse than a mean {self.loss} loss of {loss:.4f}"
        )
        if wrong and not bounds_errors(self):
            return (
                f"{told} on your validation data. Nothing is proved of the number of points wrong: "
                "as far as is known, it may be all of them."
            )
        return f"{told}{wrong} on your validation data."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per validation point.

        Returns
        -------
        pandas.DataFrame
            Columns ``label``; ``low`` and ``high``, scores that no near-optimal model goes beyond;
            and ``ambiguous``, missing where it is not known.
        """
        ambiguous = pd.array(self.ambiguous, dtype="boolean")
        ambiguous[self.undecided] = pd.NA
        return pd.DataFrame(
            {
                "label": self.labels,
                "low": self.score_low,
                "high": self.score_high,
                "ambiguous": ambiguous,
            },
            index=self.index,
        )

    def plot(self) -> Figure:
        """Draw losses against ε, and the score range of every validation point."""
        # Here, because importing the package should not wait for matplotlib.
        from pessimal.auditing.plots import draw  # noqa: PLC0415

        return draw(self)

    def summary(self) -> str:
        """Return the report as text for a terminal."""
        return as_text(self)

    def __str__(self) -> str:
        return self.summary()

    def to_html(
        self, path: str | Path, rows: pd.DataFrame | None = None, title: str = "your data"
    ) -> None:
        """Write the report as one page that needs nothing else: no script, no network.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced.
        rows : pandas.DataFrame, optional
            The validation rows as a reader knows them, to be shown where models disagree; their
            index is that of `to_frame`.
        title : str, default="your data"
            What to call the data.
        """
        import_module(PAGE).write_audit_page(self, Path(path), title, rows)

    def _repr_html_(self) -> str:
        return str(import_module(PAGE).notebook(self))
