"""Models that people have, read from files and judged beside those that train as well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import run_command
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pessimal.errors import InvalidInputError
from pessimal.workflows.given import GivenSource

NAMES = ["radius", "texture", "area"]
DATA = load_breast_cancer()
X = pd.DataFrame(DATA.data[:160, [0, 1, 3]], columns=NAMES)
Y = np.where(DATA.target[:160] == 1, "benign", "malign")
CLASSES = ("benign", "malign")
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(X.to_numpy(), Y)
COEF = MODEL[1].coef_[0] / MODEL[0].scale_
INTERCEPT = float(MODEL[1].intercept_[0] - COEF @ MODEL[0].mean_)


def coefficients(folder: Path, rows: list[tuple[str, Any]] | None = None) -> Path:
    path = folder / "coefficients.csv"
    whole = [*zip(NAMES, COEF.tolist(), strict=True), ("(Intercept)", INTERCEPT)]
    pd.DataFrame(rows or whole, columns=["term", "estimate"]).to_csv(path, index=False)
    return path


class TestCoefficients:
    def test_they_are_read_by_name_in_any_order(self, tmp_path: Path) -> None:
        rows = [("area", 3.0), ("intercept", 4.0), ("radius", 1.0), ("texture", 2.0)]
        given = GivenSource(coefficients(tmp_path, rows)).read(X, CLASSES)
        assert (given.coef.tolist(), given.intercept) == ([1.0, 2.0, 3.0], 4.0)

    def test_without_an_intercept_it_is_0_and_told(self, tmp_path: Path) -> None:
        rows = [("area", 3.0), ("radius", 1.0), ("texture", 2.0)]
        given = GivenSource(coefficients(tmp_path, rows)).read(X, CLASSES)
        assert given.intercept == 0.0
        assert "no row called intercept" in given.notes[0]

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([("radius", 1.0), ("texture", 2.0)], "has no coefficient of 'area'"),
            ([(n, 1.0) for n in (*NAMES, "weight")], "has no feature called 'weight'"),
            ([(n, "many") for n in NAMES], "has no number for 'radius'"),
            ([(n, 1.0) for n in (*NAMES, "area")], "names 'area' twice"),
            ([(n, "inf") for n in NAMES], "not finite"),
        ],
    )
    def test_what_does_not_fit_is_named(
        self, rows: list[tuple[str, Any]], message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(InvalidInputError, match=message):
            GivenSource(coefficients(tmp_path, rows)).read(X, CLASSES)


@pytest.mark.parametrize(
    ("name", "message"),
    [("model.joblib", "pickles are refused"), ("nowhere.csv", "is not a file")],
)
def test_other_files_are_refused(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "model.joblib").write_bytes(b"\x80")
    with pytest.raises(InvalidInputError, match=message):
        GivenSource(tmp_path / name).read(X, CLASSES)


class TestSkops:
    @pytest.fixture(autouse=True)
    def io(self) -> Any:
        return pytest.importorskip("skops.io")

    def written(self, io: Any, model: Any, folder: Path) -> GivenSource:
        io.dump(model, folder / "model.skops")
        return GivenSource(folder / "model.skops")

    def test_a_pipeline_is_its_coefficients_in_the_units_of_the_table(
        self, io: Any, tmp_path: Path
    ) -> None:
        given = self.written(io, MODEL, tmp_path).read(X, CLASSES)
        np.testing.assert_allclose(given.coef, COEF, rtol=1e-6)
        assert given.intercept == pytest.approx(INTERCEPT, rel=1e-6)
        turned = self.written(io, MODEL, tmp_path).read(X, CLASSES[::-1])
        np.testing.assert_allclose(turned.coef, -COEF, rtol=1e-6)

    def test_trees_other_classes_and_broken_files_are_refused(
        self, io: Any, tmp_path: Path
    ) -> None:
        forest = RandomForestClassifier(2, random_state=0).fit(X.to_numpy(), Y)
        with pytest.raises(InvalidInputError, match="audit trees with audit_estimator"):
            self.written(io, forest, tmp_path).read(X, CLASSES)
        curved = make_pipeline(StandardScaler(), PolynomialFeatures(), LogisticRegression())
        with pytest.raises(InvalidInputError, match="not linear in the features"):
            self.written(io, curved.fit(X.to_numpy(), Y), tmp_path).read(X, CLASSES)
        with pytest.raises(InvalidInputError, match="tells apart 'benign', 'malign'"):
            self.written(io, MODEL, tmp_path).read(X, ("no", "yes"))
        with pytest.raises(InvalidInputError, match="model of 3 features"):
            self.written(io, MODEL, tmp_path).read(X[NAMES[:2]], CLASSES)
        (tmp_path / "model.skops").write_bytes(b"PK but no archive")
        with pytest.raises(InvalidInputError, match="is not a model that skops can read"):
            GivenSource(tmp_path / "model.skops").read(X, CLASSES)

    def test_types_of_others_are_not_loaded(self, io: Any, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="which is not loaded"):
            self.written(io, {"model": GivenSource(tmp_path)}, tmp_path).read(X, CLASSES)


class TestOnnx:
    @pytest.fixture(autouse=True)
    def onnx(self) -> Any:
        return pytest.importorskip("onnx")

    def written(self, onnx: Any, folder: Path, *kinds: str, **changed: Any) -> GivenSource:
        make, number = onnx.helper, onnx.TensorProto.FLOAT
        scaler, linear = MODEL
        rows = linear.coef_[0]
        attributes = {
            "coefficients": [*(-rows), *rows],
            "intercepts": [-linear.intercept_[0], linear.intercept_[0]],
            "classlabels_strings": list(CLASSES),
            "post_transform": "LOGISTIC",
        } | changed
        of = {
            "Scaler": {"offset": scaler.mean_.tolist(), "scale": (1.0 / scaler.scale_).tolist()},
            "LinearClassifier": attributes,
        }
        nodes = [
            make.make_node(kind, [f"x{k}"], [f"x{k + 1}"], domain="ai.onnx.ml", **of.get(kind, {}))
            for k, kind in enumerate(kinds)
        ]
        ends = [
            make.make_tensor_value_info(name, number, [None, 3])
            for name in ("x0", f"x{len(kinds)}")
        ]
        graph = make.make_graph(nodes, "model", ends[:1], ends[1:])
        path = folder / "model.onnx"
        path.write_bytes(make.make_model(graph).SerializeToString())
        return GivenSource(path)

    def test_a_scaler_and_a_classifier_are_one_set_of_coefficients(
        self, onnx: Any, tmp_path: Path
    ) -> None:
        given = self.written(onnx, tmp_path, "Scaler", "LinearClassifier").read(X, CLASSES)
        np.testing.assert_allclose(given.coef, COEF, rtol=1e-5)  # stored as 32-bit numbers
        assert given.intercept == pytest.approx(INTERCEPT, rel=1e-5)

    def test_trees_and_broken_files_are_refused(self, onnx: Any, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="holds TreeEnsembleClassifier"):
            self.written(onnx, tmp_path, "TreeEnsembleClassifier").read(X, CLASSES)
        short = self.written(onnx, tmp_path, "LinearClassifier", coefficients=[1.0, 2.0])
        with pytest.raises(InvalidInputError, match="do not fit the 3 features"):
            short.read(X, CLASSES)
        (tmp_path / "model.onnx").write_bytes(b"\xff\xff no model")
        with pytest.raises(InvalidInputError, match=r"ONNX|linear"):
            GivenSource(tmp_path / "model.onnx").read(X, CLASSES)


class TestCommand:
    @pytest.fixture
    def data(self, tmp_path: Path) -> Path:
        X.assign(kind=Y).to_csv(tmp_path / "tumours.csv", index=False)
        return tmp_path / "tumours.csv"

    def audited(self, data: Path, *options: Any) -> Any:
        words = ("audit", data, "--target", "kind", "--time-limit", 1, "--json", *options)
        ended = run_command(*words)
        assert ended.code in (0, 3), ended.err
        return json.loads(ended.out)

    def test_its_numbers_are_those_of_the_model_on_the_same_rows(self, data: Path) -> None:
        given = self.audited(data, "--coef", coefficients(data.parent))["given"]
        signs = np.where(Y == "malign", 1.0, -1.0)
        train, val, y_train, y_val = train_test_split(
            X, signs, test_size=0.5, stratify=signs, random_state=0
        )
        scores = val.to_numpy() @ COEF + INTERCEPT
        assert given["loss"] == pytest.approx(log_loss(y_val, 1.0 / (1.0 + np.exp(-scores))))
        assert given["error"] == pytest.approx(np.mean(y_val * scores < 0.0))
        assert given["sensitivity"] == pytest.approx(np.mean(scores[y_val > 0.0] > 0.0))
        # Its objective is the mean loss and, with C = 1, half of the squares by the rows.
        scaled = COEF * train.to_numpy().std(axis=0)
        margins = y_train * (train.to_numpy() @ COEF + INTERCEPT)
        objective = np.logaddexp(0.0, -margins).mean() + 0.5 * scaled @ scaled / len(train)
        assert given["train_loss"] == pytest.approx(objective)

    def test_a_model_that_trains_badly_is_no_member(self, data: Path) -> None:
        rows = [(name, 0.0) for name in NAMES]
        content = self.audited(data, "--coef", coefficients(data.parent, rows))
        assert content["given"]["member"] is False
        assert content["given"]["train_loss"] > content["train_limit"]
        assert content["given"]["loss"] == pytest.approx(np.log(2.0))

    def test_it_is_told_in_words(self, data: Path) -> None:
        ended = run_command(
            *("audit", data, "--target", "kind", "--time-limit", 1),
            *("--coef", coefficients(data.parent)),
        )
        assert "The model you gave, coefficients.csv, has a training" in ended.out
        assert "a positive score is taken for class malign" in " ".join(ended.out.split())

    def test_it_needs_a_linear_model_to_be_judged_by(self, data: Path) -> None:
        given = coefficients(data.parent)
        refused = run_command(
            "audit", data, "--target", "kind", "--model", "forest", "--coef", given
        )
        assert refused.code == 2
        assert "--coef is judged by" in " ".join(refused.err.split())
