"""What `OptimisticSVC` and `PessimisticSVC` promise about their answers."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from titanic import titanic

from pessimal import Budget, TuningProblem, solve_optimistic, solve_pessimistic, worst_case
from pessimal.errors import InvalidInputError
from pessimal.estimators import OptimisticSVC, PessimisticSVC, base
from pessimal.estimators.split_classifier import progress_lines
from pessimal.limits import Progress
from pessimal.problem import Matrix, Vector
from pessimal.solution import Status

BOTH = pytest.mark.parametrize("Estimator", [OptimisticSVC, PessimisticSVC])


def overlapping(n: int = 24, p: int = 3, seed: int = 0) -> tuple[Matrix, Vector]:
    """Two classes that cannot be separated, −1 and +1 in turns."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, -1.0, 1.0)
    return random.standard_normal((n, p)) + 0.6 * y[:, None], y


def problem_of(X: Matrix, y: Vector, val: Any) -> TuningProblem:
    scaled = StandardScaler().fit_transform(X)
    return TuningProblem(scaled[~val], y[~val], scaled[val], y[val])


class TestTheAnswerIsThatOfTheViews:
    def test_pessimistic(self) -> None:
        X, y = overlapping()
        val = np.arange(len(y)) % 3 == 0
        model = PessimisticSVC(epsilon=0.1, delta=0.05, flip="margin").fit(X, y, validation=val)
        problem, budget = problem_of(X, y, val), Budget(0.1, 0.05)
        expected = solve_pessimistic(problem, budget, flip="margin")
        assert model.result_.proved
        assert model.certificate_.ok
        assert model.result_.objective == pytest.approx(expected.objective, abs=1e-6)
        worst = worst_case(problem, model.box_, budget)
        assert model.worst_case_loss_ == pytest.approx(worst.value, abs=1e-6)

    @pytest.mark.parametrize("groups", ["one", [[0, 2], [1]]], ids=str)
    def test_true_pessimism(self, groups: Any) -> None:
        X, y = overlapping()
        val = np.arange(len(y)) % 3 == 0
        model = PessimisticSVC(
            epsilon=0.1, delta=0.05, inner="exact", groups=groups, time_limit=None
        ).fit(X, y, validation=val)
        problem, budget = problem_of(X, y, val), Budget(0.1, 0.05)
        expected = solve_pessimistic(problem, budget, inner="exact", groups=groups)
        assert model.result_.proved
        assert model.result_.objective == pytest.approx(expected.objective, abs=1e-6)
        assert model.worst_case_loss_ == pytest.approx(model.result_.objective, abs=1e-6)

    def test_one_limit_per_feature_is_no_worse_than_the_paper_s_box(self) -> None:
        X, y = overlapping()
        with pytest.warns(ConvergenceWarning, match="not proved optimal"):
            exact = PessimisticSVC(inner="exact", node_limit=300, random_state=0).fit(X, y)
        paper = PessimisticSVC(random_state=0).fit(X, y)
        assert exact.result_.objective <= paper.worst_case_loss_ + 1e-6

    def test_optimistic(self) -> None:
        X, y = overlapping()
        val = np.arange(len(y)) % 3 == 0
        model = OptimisticSVC(epsilon=0.1).fit(X, y, validation=val)
        problem = problem_of(X, y, val)
        assert model.result_.proved
        expected = solve_optimistic(problem).objective
        assert model.result_.objective == pytest.approx(expected, abs=1e-6)
        worst = worst_case(problem, model.box_, Budget(0.1))
        assert model.worst_case_loss_ == pytest.approx(worst.value, abs=1e-6)

    @BOTH
    def test_the_paper_s_program_agrees_with_the_search(self, Estimator: Any) -> None:
        X, y = overlapping(12, 2)
        kinds = [Estimator(method=m, epsilon=0.0, random_state=0) for m in ("search", "milp")]
        search, milp = (kind.fit(X, y).result_.objective for kind in kinds)
        assert search == pytest.approx(milp, abs=1e-5)

    @pytest.mark.parametrize(
        "model",
        [PessimisticSVC(final="worst_case"), OptimisticSVC(final="best_case")],
        ids=["pessimistic", "optimistic"],
    )
    def test_the_tuned_model_itself_can_predict(self, model: Any) -> None:
        X, y = overlapping()
        model.set_params(random_state=0).fit(X, y)
        scores = StandardScaler().fit_transform(X) @ model.result_.coef + model.result_.intercept
        np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)
        mean_hinge = np.maximum(0.0, 1.0 - y * model.decision_function(X))[model.validation_].mean()
        assert mean_hinge == pytest.approx(model.result_.objective, abs=1e-9)


def test_out_of_time_the_worst_case_loss_is_a_guarantee_all_the_same() -> None:
    X, y = overlapping(40, 4)
    with pytest.warns(ConvergenceWarning):
        tuned = PessimisticSVC(epsilon=0.3, delta=0.1, time_limit=1e-9, random_state=0).fit(X, y)
    result = tuned.result_
    exact = worst_case(result.problem, result.box, result.budget)
    assert exact.value <= tuned.worst_case_loss_ < np.inf


class TestTheValidationRows:
    @BOTH
    def test_mask_indices_and_rows_of_their_own_are_the_same(self, Estimator: Any) -> None:
        X, y = overlapping()
        val = np.arange(len(y)) % 3 == 0
        by_mask = Estimator(random_state=0).fit(X, y, validation=val)
        by_index = Estimator(random_state=0).fit(X, y, validation=np.flatnonzero(val))
        apart = Estimator(random_state=0).fit(X[~val], y[~val], X_val=X[val], y_val=y[val])
        np.testing.assert_array_equal(by_index.coef_, by_mask.coef_)
        np.testing.assert_array_equal(apart.coef_, by_mask.coef_)
        np.testing.assert_array_equal(by_mask.validation_, val)
        assert not apart.validation_.any()

    @pytest.mark.parametrize("size", [0.2, 0.5, 0.8])
    def test_the_draw_is_stratified_and_of_the_size_asked_for(self, size: float) -> None:
        X, y = overlapping(40)
        drawn = OptimisticSVC(validation_size=size, random_state=0).fit(X, y).validation_
        assert drawn.sum() == round(40 * size)
        assert y[drawn].sum() == 0.0

    def test_the_draw_follows_the_random_state(self) -> None:
        X, y = overlapping()
        draws = [OptimisticSVC(random_state=seed).fit(X, y).validation_ for seed in (0, 0, 1)]
        np.testing.assert_array_equal(draws[0], draws[1])
        assert (draws[0] != draws[2]).any()

    def test_a_repeated_row_is_on_one_side_only(self) -> None:
        X, y = overlapping(10)
        X, y = np.tile(X, (3, 1)), np.tile(y, 3)
        drawn = OptimisticSVC(random_state=0).fit(X, y).validation_.reshape(3, 10)
        assert (drawn == drawn[0]).all()

    @pytest.mark.parametrize("seed", range(5))
    def test_on_repeated_rows_the_draw_serves_as_well_as_a_plain_stratified_one(
        self, seed: int
    ) -> None:
        X, y = titanic()
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
        _, val = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
        drawn = OptimisticSVC(random_state=seed).fit(X, y)
        plain = OptimisticSVC(random_state=seed).fit(X, y, validation=val)
        assert drawn.score(X_test, y_test) >= plain.score(X_test, y_test)

    @BOTH
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_copies_and_weights_are_the_same_where_rows_are_divided(self, Estimator: Any) -> None:
        X, y = titanic()
        both = np.column_stack([X, y])
        distinct, weight = np.unique(both, axis=0, return_counts=True)
        copies = Estimator(random_state=0, node_limit=50).fit(X, y)
        counts = Estimator(random_state=0, node_limit=50).fit(
            distinct[:, :-1], distinct[:, -1], sample_weight=weight
        )
        np.testing.assert_array_equal(copies.coef_, counts.coef_)

    @BOTH
    def test_the_order_of_rows_does_not_matter(self, Estimator: Any) -> None:
        X, y = overlapping()
        order = np.random.default_rng(1).permutation(len(y))
        plain = Estimator(random_state=0).fit(X, y)
        shuffled = Estimator(random_state=0).fit(X[order], y[order])
        np.testing.assert_array_equal(plain.coef_, shuffled.coef_)

    @BOTH
    def test_a_validation_set_of_one_class_will_do(self, Estimator: Any) -> None:
        X, y = overlapping()
        model = Estimator(random_state=0).fit(X, y, validation=np.flatnonzero(y > 0.0)[:4])
        assert model.certificate_.ok

    def test_rows_of_weight_zero_are_in_neither_set(self) -> None:
        X, y = overlapping()
        weight = np.ones(len(y))
        weight[:4] = 0.0
        model = PessimisticSVC(random_state=0).fit(X, y, sample_weight=weight)
        assert not model.validation_[:4].any()
        n_used = model.result_.problem.n_train + model.result_.problem.n_val
        assert n_used == len(y) - 4


class TestUnitsAndLabels:
    @BOTH
    @pytest.mark.parametrize("scale", [1e-9, 1e9])
    def test_units_do_not_matter(self, Estimator: Any, scale: float) -> None:
        X, y = overlapping()
        units = np.array([scale, 1.0, 1.0 / scale])
        plain = Estimator(random_state=0).fit(X, y)
        scaled = Estimator(random_state=0).fit((X + 3.0) * units, y)
        assert scaled.result_.proved
        assert scaled.result_.objective == pytest.approx(plain.result_.objective, abs=1e-6)
        np.testing.assert_allclose(scaled.box_, plain.box_, atol=1e-6)

    @BOTH
    @pytest.mark.parametrize("labels", [("b", "a"), (7, 3), (True, False), (2.0, 1.0)])
    def test_labels_of_any_kind_come_back(self, Estimator: Any, labels: tuple[Any, Any]) -> None:
        X, y = overlapping()
        named = np.where(y > 0.0, labels[0], labels[1])
        model = Estimator(random_state=0).fit(X, named)
        assert model.classes_.tolist() == sorted(labels)
        assert set(model.predict(X)) <= set(named)
        assert model.score(X, named) > 0.5
        assert model.classes_.dtype == named.dtype

    def test_without_standardisation_the_box_limits_the_coefficients(self) -> None:
        X, y = overlapping()
        model = PessimisticSVC(standardize=False, upper=0.3, random_state=0).fit(X, y)
        assert (np.abs(model.coef_[0]) <= model.box_ + 1e-9).all()
        assert (model.box_ <= 0.3).all()

    def test_limits_may_differ_by_feature(self) -> None:
        X, y = overlapping()
        model = PessimisticSVC(lower=[0.1, 0.0, 0.0], upper=[0.2, 0.0, 1.0], random_state=0)
        box = model.fit(X, y).box_
        assert 0.1 <= box[0] <= 0.2
        assert box[1] == 0.0
        assert model.coef_[0, 1] == 0.0

    def test_a_constant_column_gets_no_weight(self) -> None:
        X, y = overlapping()
        X[:, 1] = 0.1 + 0.2
        model = PessimisticSVC(lower=0.2, random_state=0).fit(X, y)
        assert model.coef_[0, 1] == 0.0

    def test_class_weights_are_those_of_the_rows(self) -> None:
        X, y = overlapping()
        by_class = PessimisticSVC(class_weight={-1.0: 3.0, 1.0: 1.0}, random_state=0).fit(X, y)
        problem = by_class.result_.problem
        ratio = problem.train_weight[problem.y_train < 0.0].max() / problem.train_weight.min()
        assert ratio == pytest.approx(3.0)

    def test_balanced_gives_both_classes_the_same_total(self) -> None:
        X, y = overlapping(30)
        keep = (y < 0.0) | (np.arange(30) < 10)
        model = OptimisticSVC(class_weight="balanced", final="refit", random_state=0)
        problem = model.fit(X[keep], y[keep]).result_.problem
        # The draw is stratified, so the halves are balanced but for rounding.
        assert problem.train_weight[problem.y_train > 0.0].sum() == pytest.approx(0.5, abs=0.1)


class TestInputsOfOtherKinds:
    def test_a_sparse_table_is_the_same_as_a_dense_one(self) -> None:
        X, y = overlapping()
        dense = PessimisticSVC(random_state=0).fit(X, y)
        thin = PessimisticSVC(random_state=0).fit(sparse.csr_array(X), y)
        np.testing.assert_array_equal(thin.coef_, dense.coef_)
        np.testing.assert_allclose(
            thin.decision_function(sparse.coo_array(X)), dense.decision_function(X)
        )

    def test_a_sparse_table_beyond_the_limit_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(base, "DENSE_LIMIT", 10)
        X, y = overlapping()
        with pytest.raises(InvalidInputError, match=r"sparse with shape \(24, 3\).*TruncatedSVD"):
            OptimisticSVC().fit(sparse.csr_array(X), y)

    def test_too_many_rows_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(base, "ROW_LIMIT", 20)
        with pytest.raises(InvalidInputError, match="24 distinct rows"):
            OptimisticSVC().fit(*overlapping())

    def test_a_frame_of_mixed_number_types(self) -> None:
        X, y = overlapping()
        frame = pd.DataFrame(
            {
                "real": X[:, 0],
                "count": pd.array(np.round(5 * X[:, 1]).astype(int), dtype="Int64"),
                "flag": X[:, 2] > 0.0,
                "digits": np.round(X[:, 2], 1).astype(str).astype(object),
            },
            index=np.arange(100, 124),
        )
        labels = pd.Series(np.where(y > 0.0, "ill", "well"), index=frame.index, dtype="category")
        model = PessimisticSVC(random_state=0).fit(frame, labels)
        assert model.feature_names_in_.tolist() == ["real", "count", "flag", "digits"]
        assert set(model.predict(frame)) <= {"ill", "well"}

    def test_text_is_named_with_a_remedy(self) -> None:
        frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue"] * 2})
        with pytest.raises(InvalidInputError, match=r"X holds text .*'red'.*OneHotEncoder"):
            OptimisticSVC().fit(frame, [0, 1, 0, 1])

    def test_missing_values_are_named(self) -> None:
        X, y = overlapping()
        frame = pd.DataFrame(X).astype(object)
        frame.iloc[3, 1] = None
        with pytest.raises(ValueError, match="X contains NaN"):
            OptimisticSVC().fit(frame, y)


class TestTinyData:
    @BOTH
    def test_three_rows(self, Estimator: Any) -> None:
        model = Estimator(random_state=0).fit([[0.0], [1.0], [3.0]], ["a", "a", "b"])
        assert model.result_.proved
        assert model.validation_.sum() == 1

    @BOTH
    def test_features_that_tell_nothing(self, Estimator: Any) -> None:
        X, y = np.ones((5, 2)), [0, 0, 1, 1, 1]
        model = Estimator(random_state=0).fit(X, y, validation=[0, 2])
        assert not model.coef_.any()
        assert model.predict(X).tolist() == [1] * 5

    @BOTH
    def test_the_same_features_in_both_classes(self, Estimator: Any) -> None:
        X = [[0.0], [0.0], [1.0], [1.0], [2.0]]
        model = Estimator(random_state=0).fit(X, [0, 1, 0, 1, 1])
        assert model.certificate_.ok

    def test_separable_data_end_at_loss_zero(self) -> None:
        X = np.array([[-3.0], [-2.0], [-1.9], [1.9], [2.0], [3.0]])
        y = np.array([0, 0, 0, 1, 1, 1])
        model = OptimisticSVC(upper=2.0, random_state=0).fit(X, y)
        assert model.result_.objective == pytest.approx(0.0, abs=1e-6)
        assert model.score(X, y) == 1.0


class TestErrors:
    @BOTH
    @pytest.mark.parametrize(
        ("X", "y", "options", "message"),
        [
            ([[0.0], [1.0]], [0, 1], {}, "2 distinct rows.*at least 3"),
            ([[0.0], [1.0], [1.0]], [0, 1, 1], {}, "2 distinct rows.*X_val"),
            ([[0.0], [1.0], [2.0]], [1, 1, 1], {}, "1 class"),
            ([[0.0], [1.0], [2.0]], [0, 1, 2], {}, "OneVsRestClassifier"),
            (
                [[0.0], [1.0], [2.0]],
                ["u", "u", "v"],
                {"validation": [2]},
                "no row of class 'v'.*training needs both",
            ),
            ([[0.0], [1.0], [2.0]], [0, 1, 1], {"validation": [3]}, "index 3.*0 to 2"),
            ([[0.0], [1.0], [2.0]], [0, 1, 1], {"validation": []}, "validation"),
            ([[0.0], [1.0], [2.0]], [0, 1, 1], {"validation": [True]}, "3 booleans"),
            ([[0.0], [1.0], [2.0]], [0, 1, 1], {"validation": [False] * 3}, "selects no row"),
            ([[0.0], [1.0], [2.0]], [0, 1, 1], {"X_val": [[1.0]]}, "without y_val"),
            ([[0.0], [1.0], [2.0]], [0, 1, 1], {"y_val": [1]}, "without X_val"),
            (
                [[0.0], [1.0], [2.0]],
                [0, 1, 1],
                {"X_val": [[1.0]], "y_val": [1, 0]},
                "2 labels but X_val has 1 rows",
            ),
            (
                [[0.0], [1.0], [2.0]],
                [0, 1, 1],
                {"X_val": [[1.0]], "y_val": [1], "validation": [0]},
                "both given",
            ),
            ([[0.0], [1.0], [2.0]], [0, 1, 1], {"sample_weight_val": [1]}, "without X_val"),
            ([[0.0], [1.0], [2.0]], [0, 1, 1], {"sample_weight": [1, 1, -1]}, "contains -1"),
            (
                [[0.0], [1.0], [2.0], [3.0]],
                [0, 1, 1, 0],
                {"sample_weight": [1, 1, 1, 0], "validation": [3]},
                "every validation row has weight 0",
            ),
        ],
    )
    def test_say_what_is_wrong_and_what_to_do(
        self, Estimator: Any, X: Any, y: Any, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            Estimator(random_state=0).fit(X, y, **options)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"upper": [1.0, 2.0]}, "upper has shape"),
            ({"lower": 2.0}, "lower exceeds upper"),
            ({"class_weight": {-1.0: 0.0, 1.0: 1.0}}, "class_weight"),
            ({"final": "best_case"}, "final"),
            ({"flip": "none"}, "flip"),
            ({"inner": "worst"}, "inner"),
            ({"inner": "exact", "groups": "two"}, "groups"),
            ({"inner": "exact", "groups": [[0], [1]]}, "groups leaves out feature 2"),
            ({"groups": "one"}, "with inner='flip' it can only be 'each'"),
            ({"epsilon": -0.1}, "epsilon"),
            ({"time_limit": 0.0}, "time_limit"),
            ({"standardize": False, "upper": 1.0}, "X holds 1e\\+09.*standardize=True"),
        ],
    )
    def test_parameters(self, parameters: dict[str, Any], message: str) -> None:
        X, y = overlapping()
        X[0, 0] = 1e9
        with pytest.raises(ValueError, match=message):
            PessimisticSVC(**parameters).fit(X, y)

    def test_an_answer_without_proof_is_announced(self) -> None:
        X, y = overlapping(60, 6)
        with pytest.warns(ConvergenceWarning, match="not proved optimal .node limit"):
            model = PessimisticSVC(node_limit=1, random_state=0).fit(X, y)
        assert not model.result_.proved
        assert model.result_.lower_bound < model.result_.objective

    def test_nothing_is_known_before_fit(self) -> None:
        with pytest.raises(NotFittedError):
            _ = PessimisticSVC().worst_case_loss_


def test_progress_goes_to_standard_error_when_asked_for(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pessimal.estimators.split_classifier.SECONDS_BETWEEN_LINES", 0.0)
    X, y = overlapping()
    PessimisticSVC(random_state=0).fit(X, y)
    assert capfd.readouterr().err == ""
    PessimisticSVC(random_state=0, verbose=1).fit(X, y)
    assert "validation loss" in capfd.readouterr().err


def test_progress_without_a_box_to_show_says_so(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pessimal.estimators.split_classifier.SECONDS_BETWEEN_LINES", 0.0)
    progress_lines("SVC")(Progress(incumbent=np.inf, bound=0.25, nodes=3, seconds=2.0))
    said = capfd.readouterr().err
    assert said == "SVC: no limits judged yet, bound 0.250000, 3 nodes, 2 s\n"


def test_a_search_that_ends_without_a_proof_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = overlapping()
    model = OptimisticSVC(random_state=0).fit(X, y)
    unproved = replace(model.result_, status=Status.NOT_PROVED, lower_bound=0.0)
    monkeypatch.setattr("pessimal.estimators.svc.solve_optimistic", lambda *_, **__: unproved)
    with pytest.warns(ConvergenceWarning, match=r"optimal \(the search ended without a proof\)"):
        model.fit(X, y)


class TestGroupsByName:
    @staticmethod
    def frame() -> tuple[pd.DataFrame, Vector]:
        X, y = overlapping(16, 3)
        return pd.DataFrame(X, columns=["age", "height", "weight"]), y

    def fitted(self, groups: Any) -> PessimisticSVC:
        X, y = self.frame()
        model = PessimisticSVC(
            inner="exact", groups=groups, delta=0.1, node_limit=50, random_state=0
        )
        model.fit(X, y)
        return model

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_they_are_the_columns_of_that_name(self) -> None:
        by_name = self.fitted([["weight", "age"], ["height"]])
        by_index = self.fitted([[0, 2], [1]])
        assert by_name.box_[0] == by_name.box_[2]
        np.testing.assert_array_equal(by_name.box_, by_index.box_)

    def test_an_unknown_name_is_refused_with_those_there_are(self) -> None:
        with pytest.raises(ValueError, match="'size', but X has age, height, weight"):
            self.fitted([["age", "size"], ["height"]])

    def test_names_need_a_table_that_has_them(self) -> None:
        X, y = self.frame()
        model = PessimisticSVC(inner="exact", groups=[["age"], ["height", "weight"]])
        with pytest.raises(ValueError, match="'age', but X has no column names"):
            model.fit(X.to_numpy(), y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"inner": "exact", "flip": "margin"}, "flip is 'margin' but inner is 'exact'"),
        ({"inner": "exact", "method": "milp"}, "method is 'milp' but inner is 'exact'"),
        ({"inner": "exact", "tie_break": "largest_box"}, "tie_break is 'largest_box' but"),
        ({"groups": "one"}, "groups is 'one'; with inner='flip'"),
        ({"solver": "scip"}, "solver is 'scip' but method is 'search'"),
    ],
    ids=str,
)
def test_a_parameter_without_effect_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PessimisticSVC(**parameters).fit(*overlapping())


def test_importing_an_estimator_loads_neither_solvers_of_cones_nor_matplotlib() -> None:
    script = (
        "import sys; from pessimal import PessimisticSVC, PessimisticSVCCV; "
        "assert not {'clarabel', 'cvxpy', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
