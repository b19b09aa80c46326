"""The same commands in a terminal, in a pipe, and under Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from command import run_command

PROGRAM = [sys.executable, "-m", "pessimal"]
SECONDS = 120


def in_terminal(*arguments: str, columns: int = 80) -> tuple[int, str]:
    # A width in the environment would overrule that of the terminal.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    child = pexpect.spawn(
        PROGRAM[0],
        [*PROGRAM[1:], *arguments],
        timeout=SECONDS,
        dimensions=(40, columns),
        encoding="utf-8",
        env={**environment, "TERM": "xterm-256color"},
    )
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus, child.before


def plain(text: str) -> list[str]:
    """Return the lines without colour, and without progress, which a slow machine shows."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n").splitlines()
    return [line for line in lines if not line.startswith("PessimisticSVC: validation loss")]


@pytest.mark.parametrize(
    "options", [("--view", "optimistic"), ("--inner", "exact", "--groups", "one")]
)
def test_a_terminal_shows_what_a_pipe_shows_within_its_width(options: tuple[str, ...]) -> None:
    arguments = ("tune", "cancer", "--test-size", "0.95", *options)
    code, shown = in_terminal(*arguments)
    piped = subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert code == piped.returncode == 0
    assert "\x1b[1m" in shown  # the guarantee stands out
    assert max(map(len, plain(shown))) <= 80
    assert "\x1b" not in piped.stdout
    seconds = re.compile(r"proved in [0-9.]+ s")
    words = [
        seconds.sub("", " ".join(text.split())) for text in ("\n".join(plain(shown)), piped.stdout)
    ]
    assert words[0] == words[1]


def test_a_narrow_terminal_folds_and_loses_nothing() -> None:
    code, shown = in_terminal("info", columns=40)
    assert code == 0
    assert max(map(len, plain(shown))) <= 40
    joined = "".join(re.sub(r"[|\s]", "", line) for line in plain(shown))
    assert "breast_cancer_wisconsin_original.csv" in joined


def test_ctrl_c_keeps_the_best_model_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    # Too large to be proved before the first line of progress, a second after the start.
    box = ("--model", "svc-box", "--epsilon", "0.4")
    arguments = ("tune", "diabetes", "--test-size", "0.8", *box)
    with subprocess.Popen(
        [*PROGRAM, *arguments, "--time-limit", "600", "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        progress = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        shown, complaints = process.communicate(timeout=SECONDS)
    assert re.match(r"PessimisticSVC: validation loss [0-9.]+, bound [0-9.]+, \d+ nodes", progress)
    assert process.returncode == 3
    assert "Traceback" not in complaints
    assert "The search was stopped by Ctrl-C, and the best model found is kept" in shown
    facts = json.loads(out.read_text("utf-8"))["facts"]
    assert facts["status"] == "interrupted"
    assert facts["lower_bound"] <= facts["validation_loss"]
    assert run_command("predict", out, "diabetes").code == 0


def test_ctrl_c_before_there_is_a_model_is_said_in_one_line(tmp_path: Path) -> None:
    script = (
        "import sys; import pessimal.workflows.tune as tune\n"
        "def interrupted(*arguments): raise KeyboardInterrupt\n"
        "tune._fit = interrupted\n"
        "from pessimal.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    ended = subprocess.run(
        [
            *(sys.executable, "-c", script, "tune", "cancer", "--model", "svc-box"),
            *("--out", str(tmp_path / "model.json")),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert ended.returncode == 130
    assert ended.stderr == ("Error: interrupted before the end; no file is left half written\n")
    assert list(tmp_path.iterdir()) == []


def test_a_study_is_run_in_a_terminal_and_reported_from_a_pipe(tmp_path: Path) -> None:
    study = ("reproduce", "quality", "--quick", "--size", "5", "--out", str(tmp_path))
    code, shown = in_terminal(*study, columns=200)
    assert code == 0
    assert f"Report written to {tmp_path / 'index.html'}." in shown
    for arguments in (study, ("report", str(tmp_path))):  # all rows are stored by now
        piped = subprocess.run(
            [*PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=SECONDS
        )
        assert piped.returncode == 0
        assert "\x1b" not in piped.stdout
    assert "Solution quality" in (tmp_path / "index.html").read_text("utf-8")
