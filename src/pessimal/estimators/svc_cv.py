"""`PessimisticSVCCV`: one box tuned on the folds of a cross-validation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from sklearn.base import _fit_context
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from pessimal.errors import InvalidInputError
from pessimal.estimators.base import FLIP, BoxClassifier, Table
from pessimal.estimators.inputs import read_training, read_weights, two_classes
from pessimal.estimators.rows import Distinct, Rows, distinct
from pessimal.estimators.shared_box import SharedBox, tune_shared_box
from pessimal.problem import Mask, TuningProblem

TIME_LIMIT = 30.0
"""Seconds that tuning may take by default."""


class PessimisticSVCCV(BoxClassifier):
    """Linear classifier with one box for all folds, of least mean worst case over them.

    In each fold the worst case is the exact largest validation loss of any near-optimal model,
    so no flipping of labels stands between the box and its value. Boxes are proposed and judged;
    `result_` has the value of the best, a lower bound for every box, and whether they meet.

    Parameters
    ----------
    cv : int, cross-validation generator or iterable, default=5
        Number of stratified folds of the distinct rows, or a splitter of scikit-learn, or pairs
        of training and validation indices.
    epsilon : float, default=0.2
        A model is near-optimal when its training loss is at most ``(1 + epsilon)`` times the
        least, plus `delta`.
    delta : float, default=0.0
        The absolute part; on separable data, where the least loss is 0, the only one that counts.
    flip : {"all", "margin", "paper"}, default="all"
        Validation points flipped in tuning each fold for itself, which proposes a box.
    lower, upper : float or array-like of shape (p,), default=0.0, 1.0
        Limits on the box.
    time_limit : float or None, default=30.0
        Seconds for `fit`. When they run out the best box found is kept, with a valid bound in
        `result_` and a warning, and the `final` model is found soon after.
    node_limit : int or None, default=None
        Limit on the nodes of the search that tunes each fold for itself.
    max_boxes : int or None, default=None
        Limit on the number of boxes judged: unlike seconds, the same on every machine.
    class_weight : dict, "balanced" or None, default=None
        Factors of the row weights by class; "balanced" gives both classes the same total.
    final : {"mean", "centre", "refit"}, default="mean"
        The model that predicts: of the near-optimal models on all rows the mean or the centre, or
        the one of least loss.
    standardize : bool, default=True
        Scale features to mean 0 and variance 1 on all rows. `box_` and `result_` then refer to
        scaled features; `coef_` is in the units of X.
    random_state : int, RandomState instance or None, default=None
        Draws the folds, seeds the searches, and the directions of the mean.
    n_jobs : int or None, default=None
        Processes that judge boxes; the answer does not depend on their number.
    verbose : int, default=0
        Whether to write every better box's worst case to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (1, p)
        Weights, in the units of X.
    intercept_ : ndarray of shape (1,)
        The score is ``X @ coef_[0] + intercept_[0]``.
    classes_ : ndarray of shape (2,)
        The two labels.
    box_ : ndarray of shape (p,)
        The tuned limits on the weights of the (scaled) features.
    result_ : SharedBox
        Value (also as `objective`), lower bound, gap, the worst case of each fold.
    worst_case_loss_ : float
        Mean over the folds of the largest validation loss of any near-optimal model.
    mean_, scale_ : ndarray of shape (p,)
        Shift and scale of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (p,)
        Names of the features, when X has column names.

    See Also
    --------
    PessimisticSVC : Tunes on one validation set.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(24, centers=2, cluster_std=4.0, random_state=0)
    >>> model = PessimisticSVCCV(cv=3, random_state=0).fit(X, y)
    >>> model.result_.lower_bound <= model.worst_case_loss_
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoxClassifier._parameter_constraints,
        "cv": ["cv_object"],
        "flip": FLIP,
        "max_boxes": [None, Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        cv: Any = 5,
        epsilon: float = 0.2,
        delta: float = 0.0,
        flip: str = "all",
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 1.0,
        time_limit: float | None = TIME_LIMIT,
        node_limit: int | None = None,
        max_boxes: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        final: str = "mean",
        standardize: bool = True,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.cv = cv
        self.epsilon = epsilon
        self.delta = delta
        self.flip = flip
        self.lower = lower
        self.upper = upper
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.max_boxes = max_boxes
        self.class_weight = class_weight
        self.final = final
        self.standardize = standardize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Tune the box on all folds, then train the model that predicts on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, p)
            Features. A sparse X is made dense, up to a stated size.
        y : array-like of shape (n_rows,)
            Labels of two classes, of any type.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows in both losses; weight k is the same as k equal rows.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        random = check_random_state(self.random_state)
        features, labels = read_training(self, X, y)
        weight = read_weights("sample_weight", sample_weight, features)
        self.classes_ = two_classes(labels, weight)
        signs = np.where(labels == self.classes_[1], 1.0, -1.0)
        merged = self._folds(Rows(features, signs, weight), random)
        table = self._table(merged.rows)
        self.result_ = tune_shared_box(
            [self._fold(table, train, val) for train, val in _pairs(merged.sets)],
            self._budget(),
            flip=self.flip,
            time_limit=self.time_limit,
            node_limit=self.node_limit,
            max_boxes=self.max_boxes,
            seed=int(random.randint(2**31 - 1)),
            n_jobs=self.n_jobs,
            tell=Console(stderr=True, highlight=False).print if self.verbose else None,
        )
        self.box_ = self.result_.box
        deadline = self._deadline(started, self.result_.status)
        self._set_final(table, self.box_, random, deadline)
        self._warn_unless_proved(self.result_)
        return self

    @property
    def worst_case_loss_(self) -> float:
        """Mean over the folds of the largest validation loss of any near-optimal model."""
        check_is_fitted(self)
        return self.result_.value

    def _warn_unless_proved(self, shared: SharedBox) -> None:
        if not shared.proved:
            self._warn_unproved(
                shared.status,
                f"mean worst case {shared.value:.6g}, lower bound {shared.lower_bound:.6g}",
                "Raise time_limit, node_limit or max_boxes, or tune on fewer rows or features.",
            )

    def _folds(self, rows: Rows, random: np.random.RandomState) -> Distinct:
        """Merge equal rows; their sets are T and V of the first fold, of the second, and so on."""
        if isinstance(self.cv, Integral):
            merged = distinct(rows, np.empty((len(rows.y), 0), dtype=np.bool_))
            _, features = np.unique(merged.rows.X, axis=0, return_inverse=True)
            # Rows equal in their features stay together whatever their labels; apart, a fold
            # would validate on one label of what it has learnt by heart with the other.
            alone = features.max() + 1 == len(merged.rows.y)
            kind = StratifiedKFold if alone else StratifiedGroupKFold
            splitter = kind(int(self.cv), shuffle=True, random_state=random)
            groups = None if alone else features.reshape(-1)
            return replace(merged, sets=_sets(splitter, merged.rows, groups))
        return distinct(rows, _sets(check_cv(self.cv, rows.y, classifier=True), rows))

    def _fold(self, table: Table, train: Mask, val: Mask) -> TuningProblem:
        for sign, label in zip((-1.0, 1.0), self.classes_.tolist(), strict=True):
            if sign not in table.y[train]:
                raise InvalidInputError(
                    f"the training rows of a fold hold no row of class {label!r}; training needs "
                    "both classes, so pass more distinct rows of that class, or other folds in cv"
                )
        if not val.any():
            raise InvalidInputError(
                "a fold has no validation row of positive weight; pass other folds in cv"
            )
        return table.problem(train, val)


def _sets(splitter: Any, rows: Rows, groups: NDArray[np.intp] | None = None) -> Mask:
    """Columns T, V of the first fold, T, V of the second, and so on."""
    columns = []
    for pair in splitter.split(rows.X, rows.y, groups):
        for members in pair:
            column = np.zeros(len(rows.y), dtype=np.bool_)
            column[members] = True
            columns.append(column)
    return np.column_stack(columns)


def _pairs(sets: Mask) -> list[tuple[Mask, Mask]]:
    return [(sets[:, k], sets[:, k + 1]) for k in range(0, sets.shape[1], 2)]
