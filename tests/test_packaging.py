"""What a user installs is complete: names, data, types, version, licence."""

import importlib.metadata
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

import pessimal

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "name",
    [
        "Budget",
        "AuditReport",
        "OptimisticSVC",
        "PessimisticSVC",
        "PessimisticSVCCV",
        "TuningProblem",
        "TuningSolution",
        "audit",
        "audit_estimator",
        "best_case",
        "load_cancer",
        "load_diabetes",
        "solve_optimistic",
        "solve_pessimistic",
        "worst_case",
    ],
)
def test_public_names_are_importable_and_documented(name: str) -> None:
    assert name in pessimal.__all__
    assert getattr(pessimal, name).__doc__


@pytest.mark.parametrize(
    "file",
    [
        "py.typed",
        "datasets/data/breast_cancer_wisconsin_original.csv",
        "datasets/data/pima_indians_diabetes.csv",
        "datasets/data/TERMS.md",
        "report/page.css",
    ],
)
def test_files_that_are_not_code_are_in_the_package(file: str) -> None:
    assert resources.files("pessimal").joinpath(file).is_file()


def test_the_version_is_that_of_the_installed_distribution() -> None:
    assert pessimal.__version__ == importlib.metadata.version("pessimal")
    assert re.match(r"\d+\.\d+", pessimal.__version__)


def test_every_compiled_module_is_left_out_of_doctest_collection() -> None:
    setup = (ROOT / "setup.py").read_text("utf-8")
    names = re.search(r"^COMPILED = \((.*?)\)", setup, re.M | re.S)
    assert names is not None
    modules = [name.replace(".", "/") for name in re.findall(r'"([\w.]+)"', names[1])]
    compiled = {f"src/pessimal/{module}.py" for module in modules}
    options = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    arguments = options["tool"]["pytest"]["ini_options"]["addopts"]
    ignored = {item.removeprefix("--ignore=") for item in arguments if item.startswith("--ignore=")}
    assert ignored == compiled
    assert all((ROOT / path).is_file() for path in compiled)


def test_nothing_refers_to_folders_outside_the_repository() -> None:
    # Assembled from parts, or this file would find itself.
    outside = re.compile("|".join([r"\.\./" + "shared", "/" + r"work\b", "/" + r"root\b"]))
    texts = {
        path.relative_to(ROOT): path.read_text("utf-8")
        for folder in ("src", "tests")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".pxd", ".md", ".csv", ".json", ".jsonl"}
    }
    assert texts
    assert [path for path, text in texts.items() if outside.search(text)] == []
