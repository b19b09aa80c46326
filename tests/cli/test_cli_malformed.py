"""Whatever is wrong with a file, a model or an option: exit code 2 and one clear line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Ended, messy_table, run_command

WHOLE_MODEL = json.dumps(
    {
        "format": "pessimal model",
        "version": 1,
        "target": "class",
        "classes": ["benign", "malignant"],
        "columns": [{"name": "mitoses", "categories": None, "fill": None}],
        "coef": [1.0],
        "intercept": -2.0,
        "box": [1.0],
        "guarantee": "",
        "facts": {},
    }
)


WRONG_VALUES: list[Any] = [None, True, [[]], {"a": [1]}, 1e400]


def one_clear_line(ended: Ended) -> bool:
    lines = ended.err.splitlines()
    return (
        ended.code == 2
        and ended.out == ""
        and len(lines) == 1
        and lines[0].startswith("Error: ")
        and not any(leak in ended.err for leak in ("Traceback", "Value error"))
    )


def broken_tables() -> Iterator[tuple[str, bytes]]:
    """Yield tables that cannot be tuned on, each with its target."""
    rng = np.random.default_rng(0)
    whole = messy_table(40)
    text = whole.to_csv(index=False)
    for _ in range(20):
        yield "diagnosis", rng.bytes(int(rng.integers(1, 400)))
    for cut in range(1, 21):  # the header, cut off
        yield "diagnosis", text[:cut].encode()
    for name in whole.columns:
        yield name, text.replace("ill", "well").encode()  # never two classes
        yield "diagnosis", text.replace(name, "age" if name != "age" else "clinic").encode()
        yield (
            "diagnosis",
            whole.drop(columns=name)
            .rename(columns={name: "x"})
            .assign(diagnosis="same")
            .to_csv(index=False)
            .encode(),
        )
        yield f"{name} ", text.encode()
    for row in range(1, 11):  # a cell too many, an open quote, a cell of nonsense
        lines = text.splitlines()
        lines[row] += ",more"
        yield "diagnosis", "\n".join(lines).encode()
        lines = text.splitlines()
        lines[row] = '"' + lines[row]
        yield "diagnosis", "\n".join(lines).encode()
        nonsense = whole.astype({"age": object})
        nonsense.loc[row, "age"] = ("inf", "-Infinity", "abc", "1.2.3.4", "[red]")[row % 5]
        yield "diagnosis", nonsense.to_csv(index=False).encode()
    for n_rows in range(4):
        yield "diagnosis", whole.head(n_rows).to_csv(index=False).encode()
    yield "diagnosis", whole[["diagnosis"]].to_csv(index=False).encode()
    yield "diagnosis", whole.assign(age=np.nan).dropna(how="any").to_csv(index=False).encode()
    yield "diagnosis", whole[["clinic", "visit date", "diagnosis"]].to_csv(index=False).encode()


def broken_models() -> Iterator[bytes]:
    """Yield model files with something missing, of another type, cut off or scrambled."""
    rng = np.random.default_rng(0)
    content: dict[str, Any] = json.loads(WHOLE_MODEL)
    for name in content:
        yield json.dumps({key: value for key, value in content.items() if key != name}).encode()
        for wrong in WRONG_VALUES:
            yield json.dumps(content | {name: wrong}).encode()
    for length in rng.integers(0, len(WHOLE_MODEL) - 1, 10):
        yield WHOLE_MODEL[:length].encode()
    for _ in range(10):
        yield rng.bytes(100)


def broken_options() -> Iterator[tuple[str, ...]]:
    """Yield arguments that no command takes."""
    for command in ("tune", "audit"):
        for option in ("--epsilon", "--delta", "--time-limit", "--seed"):
            for value in ("-1", "nan", "abc", "1e999", ""):
                yield command, "cancer", option, value
        for option in ("--missing", "--text"):
            yield command, "cancer", option, "maybe"
        for arguments in ((), ("cancer", "diabetes"), ("cancer", "--nope"), ("cancer", "--drop")):
            yield command, *arguments
        yield command, "cancer", "--target", "nope"
        yield command, "cancer", "--drop", "[red]"
        yield command, "\x1b[31m.csv", "--target", "x"
        yield command, "no\nsuch\nfile.csv", "--target", "x"
    for share in ("-0.1", "1", "nan", "0.999", "half"):
        yield "tune", "cancer", "--test-size", share
    for option in ("--view", "--inner", "--groups"):
        yield "tune", "cancer", option, "sideways"
    for value in ("0", "-1", "inf"):
        yield "audit", "cancer", "--box", value
    for study in ("everything", "", "quality,all", "[red]"):
        yield "reproduce", study
    yield "reproduce", "quality", "--jobs", "0"
    yield ("report",)
    yield "predict", "cancer"
    yield ("nonsense",)
    yield ("--nonsense",)


TABLES = list(broken_tables())
MODELS = list(broken_models())
OPTIONS = list(broken_options())


def test_there_are_hundreds_of_them() -> None:
    assert len(TABLES) + len(MODELS) + len(OPTIONS) >= 200


def test_broken_tables_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    wrong = []
    for target, content in TABLES:
        path.write_bytes(content)
        ended = run_command("tune", path, "--target", target, "--time-limit", "0.5")
        wrong += [] if one_clear_line(ended) else [(target, content, ended)]
    assert wrong == []


def test_broken_models_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    wrong = []
    for content in MODELS:
        path.write_bytes(content)
        ended = run_command("predict", path, "cancer")
        wrong += [] if one_clear_line(ended) else [(content, ended)]
    assert wrong == []


def test_broken_options_are_refused_in_one_line() -> None:
    answers = [(arguments, run_command(*arguments)) for arguments in OPTIONS]
    assert [answer for answer in answers if not one_clear_line(answer[1])] == []


def test_scrambled_tables_end_in_an_answer_or_in_one_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    whole = messy_table(30).to_csv(index=False).encode()
    path = tmp_path / "scrambled.csv"
    for _ in range(40):
        content = bytearray(whole)
        for place in rng.integers(0, len(content), 3):
            content[place] = rng.integers(0, 256)
        path.write_bytes(bytes(content))
        ended = run_command("tune", path, "--target", "diagnosis", "--time-limit", "0.05", "--json")
        assert one_clear_line(ended) or ended.code in (0, 3), (bytes(content), ended)


@pytest.mark.parametrize(
    "arguments",
    [("tune", "nowhere.csv"), ("predict", "nowhere.json", "cancer"), ("tune", "cancer", "--nope")],
)
def test_the_program_itself_ends_the_same_way(arguments: tuple[str, ...]) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pessimal", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert one_clear_line(Ended(ended.returncode, ended.stdout, ended.stderr))


def test_the_model_that_is_broken_here_was_whole(tmp_path: Path) -> None:
    (tmp_path / "whole.json").write_text(WHOLE_MODEL, "utf-8")
    assert run_command("predict", tmp_path / "whole.json", "cancer").code == 0
