"""The documentation does what it says: examples print what they show, commands exist and run.

Every page is found by itself, and its blocks are taken in their order, in one scratch folder:

* ``python`` runs, each page in one namespace; a ``text`` block that follows is what it prints;
* ``console`` is checked command by command. The package's own commands run, beside two tables for
  them to read, and a ``text`` block that follows is part of what they print; ``tests/cli`` runs
  them in a terminal. Other programs have a rule each, and a program without one fails the test.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import bilevel_files, run_command

from pessimal import load_cancer

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+).*?\n(?P<body>.*?)^(?P=indent)```$", re.M | re.S
)

PUBLIC = (
    "pessimal",
    "pessimal.datasets",
    "pessimal.near_optimal",
    "pessimal.auditing",
    "pessimal.workflows",
)
"""Packages whose every public name has an entry in the reference."""


NEEDS = {"optuna": "optuna", "dask": "dask.array"}
"""Packages that the examples of a page need and the package does not."""

USABLE = (0, 3)
"""Exit codes with a result: done, or stopped at a limit, as a slow machine may be."""


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Return a folder with the tables and programs that the pages speak of."""
    cancer = load_cancer()
    patients = pd.DataFrame(cancer.X, columns=list(cancer.feature_names))
    patients[60:80].to_csv(tmp_path / "new_patients.csv", index=False)
    patients["outcome"] = np.where(cancer.y > 0, "malignant", "benign")
    patients[:60].to_csv(tmp_path / "patients.csv", index=False)
    bilevel_files(tmp_path)
    return tmp_path


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    shown: str | None
    """What the page says it prints."""


def blocks(page: Path) -> list[Block]:
    found = [
        (match["language"], textwrap.dedent(match["body"]))
        for match in FENCE.finditer(page.read_text("utf-8"))
    ]
    return [
        Block(language, text, output if kind == "text" else None)
        for (language, text), (kind, output) in pairwise([*found, ("", "")])
    ]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if any(block.language == language for block in blocks(page))]


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(text: str) -> Iterator[list[str]]:
    """Commands of a console block, a trailing comment left out."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


def has_target(words: list[str]) -> None:
    subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, check=True, capture_output=True)


def names_known_extras(words: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for word in words:
        if extras := re.search(r"\[(.+)\]", word):
            assert set(extras[1].split(",")) <= set(project["optional-dependencies"]), words


def is_a_script_with_these_options(words: list[str]) -> None:
    script = ROOT / words[1]
    assert script.is_file(), words
    options = {word for word in words[2:] if word.startswith("--")}
    if options:
        answer = subprocess.run(
            [sys.executable, script, "--help"], check=True, capture_output=True, text=True
        )
        assert options <= set(re.findall(r"--[\w-]+", answer.stdout)), words


def is_executable(words: list[str]) -> None:
    assert os.access(ROOT / words[0], os.X_OK), words


def has_these_options(words: list[str]) -> None:
    assert run_command(*words[1:], "--help").code == 0, words


def is_not_checked(words: list[str]) -> None:
    """Leave a command alone that would change the repository or the machine."""


RULES: dict[str, Callable[[list[str]], None]] = {
    "make": has_target,
    "pip": names_known_extras,
    "python": is_a_script_with_these_options,
    ".ci/run": is_executable,
    "pessimal": has_these_options,
    "git": is_not_checked,
    ".venv/bin/pre-commit": is_not_checked,
}


@pytest.mark.parametrize("page", pages_with("python"), ids=page_name)
def test_the_examples_of_a_page_print_what_it_shows(
    page: Path, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if package := NEEDS.get(page.stem):
        pytest.importorskip(package, reason=f"{package} is not installed (pip install {package})")
    monkeypatch.chdir(tables)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace: dict[str, object] = {}
    for block in blocks(page):
        if block.language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, page_name(page), "exec"), namespace)
        if block.shown is not None:
            assert printed.getvalue().rstrip() == block.shown.rstrip()


@pytest.mark.parametrize("page", pages_with("console"), ids=page_name)
def test_the_commands_of_a_page_are_right(page: Path) -> None:
    for block in blocks(page):
        if block.language == "console":
            for words in commands(block.text):
                assert words[0] in RULES, f"no rule says how to check {shlex.join(words)!r}"
                RULES[words[0]](words)


def words_of(text: str) -> str:
    """Return the text in one line, as a page may fold it elsewhere, and without its times."""
    return re.sub(r"\d+\.\d+ s\b", "… s", " ".join(text.split()))


def run_as_shown(block: Block) -> None:
    """Run the package's commands of a block, in this process: a new one imports for seconds."""
    for program, *arguments in commands(block.text):
        if program == "pessimal":
            ended = run_command(*arguments)
            assert ended.code in USABLE, (arguments, ended.err)
            if block.shown is not None:
                assert words_of(block.shown) in words_of(ended.out), arguments


@pytest.mark.parametrize("page", pages_with("console"), ids=page_name)
def test_the_commands_of_a_page_run(
    page: Path, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tables)
    for block in blocks(page):
        if block.language == "console":
            run_as_shown(block)


@pytest.mark.parametrize(
    "command", ["", "tune", "predict", "audit", "solve", "reproduce", "report", "info"]
)
def test_the_example_of_a_help_text_is_one_of_the_page_and_so_is_run(command: str) -> None:
    consoles = [block for block in blocks(ROOT / "docs/cli.md") if block.language == "console"]
    shown = run_command(*command.split(), "--help").out
    (example,) = re.findall(r"Example: (pessimal .+?)\n\n", shown, re.S)
    assert shlex.split(example) in [words for block in consoles for words in commands(block.text)]


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_commands_within_sentences_exist(page: Path) -> None:
    for command in re.findall(r"`(pessimal [a-z][^`]*)`", page.read_text("utf-8")):
        has_these_options(shlex.split(command))


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_in_the_reference(package: str) -> None:
    text = "".join(page.read_text("utf-8") for page in ROOT.glob("docs/reference/*.md"))
    described = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)", text, re.M)}
    assert set(importlib.import_module(package).__all__) <= described


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=page_name)
def test_links_into_the_repository_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_map_of_the_package_has_the_layers_that_are_checked() -> None:
    table = re.findall(r"^\| (`[^|]+) \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M)
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract, _ = config["tool"]["importlinter"]["contracts"]
    assert [set(re.findall(r"\w+", line)) for line in table] == [
        set(re.findall(r"\w+", line)) for line in contract["layers"]
    ]
    assert contract["exhaustive"]


def test_the_map_of_the_package_names_every_part_of_it() -> None:
    layers = re.findall(r"^\| (`[^|]+) \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M)
    named = re.findall(r"`(\w+)`", " ".join(layers))
    paths = (ROOT / "src" / "pessimal").iterdir()
    there = {path.stem for path in paths if path.is_dir() or path.suffix == ".py"}
    assert {part for part in there if not part.startswith("_")} == set(named)
    assert len(named) == len(set(named))
