"""What a user installs is complete: names, data, types, version, licence."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
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
        "Certificate",
        "InvalidInputError",
        "OptimisticSVC",
        "PessimalError",
        "PessimisticSVC",
        "PessimisticSVCCV",
        "SolverError",
        "Status",
        "TuningProblem",
        "TuningSolution",
        "audit",
        "audit_estimator",
        "best_case",
        "evade",
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
        "report/notebook.css",
        "report/templates/notebook.html.j2",
        "report/templates/page.html.j2",
    ],
)
def test_files_that_are_not_code_are_in_the_package(file: str) -> None:
    assert resources.files("pessimal").joinpath(file).is_file()


def test_the_version_is_that_of_the_installed_distribution() -> None:
    assert pessimal.__version__ == importlib.metadata.version("pessimal")
    assert re.match(r"\d+\.\d+", pessimal.__version__)


def test_every_compiled_module_is_plain_python_with_its_types_beside_it() -> None:
    types = list((ROOT / "src").rglob("*.pxd"))
    assert len(types) > 5
    assert all(path.with_suffix(".py").is_file() for path in types)


def test_wheels_are_built_and_tests_run_for_the_pythons_that_the_package_names() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(settings["project"]["classifiers"]))
    built = re.findall(r"cp3(\d+)-\*", settings["tool"]["cibuildwheel"]["build"])
    checks = (ROOT / ".github" / "workflows" / "checks.yml").read_text("utf-8")
    tested = re.search(r"python: \[(.*)\]", checks)
    assert tested is not None
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    assert [f"3.{minor}" for minor in built] == named
    assert re.findall(r"3\.\d+", tested[1]) == named


def test_what_a_wheel_is_tested_with_is_in_the_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    compiled, doctests = settings["tool"]["cibuildwheel"]["test-command"]
    imported = re.search(r"from ([\w.]+) import (\w+)", compiled)
    assert imported is not None
    module = ROOT / "src" / Path(*imported[1].split("."), imported[2])
    assert module.with_suffix(".pxd").is_file()
    names = doctests.partition("--pyargs ")[2].split()
    assert names
    assert all(importlib.util.find_spec(name) for name in names)


def test_the_source_distribution_builds_a_wheel_that_is_complete(tmp_path: Path) -> None:
    sources = shutil.copytree(
        ROOT,
        tmp_path / "sources",
        # Neither git nor what an earlier build has left may say which files belong to it.
        ignore=shutil.ignore_patterns(".*", "build", "dist", "site", "*.egg-info", "*.so"),
    )
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", sources],
        check=True,
        capture_output=True,
        env=os.environ | {"PESSIMAL_PURE": "1", "SETUPTOOLS_SCM_PRETEND_VERSION": "1.2.3"},
    )
    (wheel,) = (tmp_path / "dist").glob("pessimal-1.2.3-*.whl")
    assert (tmp_path / "dist" / "pessimal-1.2.3.tar.gz").is_file()
    files_of = zipfile.ZipFile(wheel)
    packed = {name for name in files_of.namelist() if name.startswith("pessimal/")}
    package = ROOT / "src" / "pessimal"
    files = {f"pessimal/{path.relative_to(package)}" for path in package.rglob("*.*")}
    assert packed == {name for name in files if not name.endswith((".pyc", ".so"))}
    shown = files_of.read("pessimal-1.2.3.dist-info/METADATA").decode("utf-8")
    assert "# pessimal" in shown
    # PyPI has neither the pictures nor the pages of the repository.
    assert all(link.startswith("https://") for link in re.findall(r"\]\(([^)]*)\)", shown))


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
