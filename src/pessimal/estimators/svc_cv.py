"""`PessimisticSVCCV`: one box for several folds, and one linear model."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from pessimal.estimators.base import FLIP, BoxClassifier, read_weights
from pessimal.estimators.shared_box import tune_shared_box
from pessimal.estimators.split import Distinct, Rows, distinct
from pessimal.problem import Mask, TuningProblem, distinct_rows


@dataclass(kw_only=True, eq=False, repr=False)
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
        Seconds for `fit`, the last quarter of them for certificate and `final` model. When they
        run out the best box found is kept, with a valid bound in `result_` and a warning.
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

    cv: Any = 5
    flip: str = "all"
    time_limit: float | None = 30.0
    max_boxes: int | None = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoxClassifier._parameter_constraints,
        "cv": ["cv_object"],
        "flip": FLIP,
        "max_boxes": [None, Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    }

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
        deadline = self._deadline()
        random = check_random_state(self.random_state)
        features, labels = self._training(X, y)
        weight = read_weights("sample_weight", sample_weight, features)
        merged = self._folds(self._rows(features, labels, weight), random)
        rows = self._scaled(merged.rows)
        train, val = merged.sets.T[::2], merged.sets.T[1::2]
        self.result_ = tune_shared_box(
            [self._fold(rows, *sets) for sets in zip(train, val, strict=True)],
            self._budget(),
            flip=self.flip,
            time_limit=self._tuning_seconds(deadline, rows),
            node_limit=self.node_limit,
            max_boxes=self.max_boxes,
            seed=int(random.randint(2**31 - 1)),
            n_jobs=self.n_jobs,
            tell=Console(stderr=True, highlight=False).print if self.verbose else None,
        )
        self.box_ = self.result_.box
        self._set_final(rows, random, deadline, self.result_.status)
        found = f"mean worst case {self.result_.value:.6g}"
        self._warn_unless_proved(self.result_, found, "time_limit, node_limit or max_boxes")
        return self

    @property
    def worst_case_loss_(self) -> float:
        """Mean over the folds of the largest validation loss of any near-optimal model."""
        check_is_fitted(self)
        return self.result_.value

    def _folds(self, rows: Rows, random: np.random.RandomState) -> Distinct:
        """Merge equal rows; their sets are T and V of the first fold, of the second, and so on."""
        if isinstance(self.cv, Integral):
            merged = distinct(rows, np.empty((len(rows.y), 0), dtype=np.bool_))
            _, features = distinct_rows(merged.rows.X)
            # Rows equal in their features stay together whatever their labels; apart, a fold
            # would validate on one label of what it has memorised with the other.
            alone = features.max() + 1 == len(merged.rows.y)
            kind = StratifiedKFold if alone else StratifiedGroupKFold
            splitter = kind(int(self.cv), shuffle=True, random_state=random)
            groups = None if alone else features
            return replace(merged, sets=_sets(splitter, merged.rows, groups))
        return distinct(rows, _sets(check_cv(self.cv, rows.y, classifier=True), rows))

    def _fold(self, rows: Rows, train: Mask, val: Mask) -> TuningProblem:
        absent = self._absent_class(rows.y[train])
        if absent is not None:
            raise InvalidInputError(
                f"the training rows of a fold hold no row of class {absent!r}; training needs "
                "both classes, so pass more distinct rows of that class, or other folds in cv"
            )
        if not val.any():
            raise InvalidInputError(
                "a fold has no validation row of positive weight; pass other folds in cv"
            )
        return self._problem(rows, train, val)


def _sets(splitter: Any, rows: Rows, groups: NDArray[np.intp] | None = None) -> Mask:
    """Columns T, V of the first fold, T, V of the second, and so on."""
    members = [half for fold in splitter.split(rows.X, rows.y, groups) for half in fold]
    sets = np.zeros((len(rows.y), len(members)), dtype=np.bool_)
    for k, half in enumerate(members):
        sets[half, k] = True
    return sets
