"""The program around the commands: help, version, start-up, other commands, broken pipes."""

import errno
import importlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command import messy_file, run_command

import pessimal

COMMANDS = ("tune", "predict", "audit", "solve", "reproduce", "report", "info")
HEAVY = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "cvxpy", "highspy")


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_help_has_an_example_and_names_every_option(command: tuple[str, ...]) -> None:
    ended = run_command(*command, "--help")
    assert ended.code == 0
    assert f"Example: pessimal {' '.join(command)}" in ended.out
    assert ended.out.isascii()
    if not command:
        assert all(name in ended.out for name in COMMANDS)


def test_the_help_of_audit_says_what_delta_needs() -> None:
    _, told = " ".join(run_command("audit", "--help").out.split()).split("--delta")
    assert "With --box: see epsilon." in told.split("--coef")[0]


def test_the_version_is_the_packages() -> None:
    assert run_command("--version").out == f"pessimal {pessimal.__version__}\n"


def test_help_and_errors_of_usage_import_no_heavy_library() -> None:
    script = (
        "import sys; from pessimal.cli import main; "
        "assert main(['tune', '--help']) == 0; assert main(['tune']) == 2; "
        f"assert not {set(HEAVY)} & set(sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ended.stderr == "Error: Missing argument 'DATA'.\n"
    assert ended.returncode == 0


def test_info_says_what_was_found() -> None:
    found = json.loads(run_command("info", "--json").out)
    assert found["environment"]["pessimal"] == pessimal.__version__
    assert found["solvers"]["highs"] != "not installed"
    assert Path(found["data"]["cancer"]).is_file()
    text = run_command("info").out
    assert found["solvers"]["highs"] in text


def test_an_audit_answers_in_words_and_in_json(tmp_path: Path) -> None:
    data = messy_file(tmp_path)
    settings = ("audit", data, "--target", "diagnosis", "--time-limit", "5")
    words, content = run_command(*settings), json.loads(run_command(*settings, "--json").out)
    assert words.code in (0, 3)
    assert content["n_train"] + content["n_val"] == 184
    assert "No model that trains this well does worse than" in " ".join(words.out.split())
    assert "'clinic' has the same value in every row" in " ".join(words.out.split())
    assert content["best_loss"]["value"] <= content["chosen"]["loss"]
    assert len(content["rows"]) == content["n_val"]


def test_a_delta_without_a_box_is_refused() -> None:
    ended = run_command("audit", "cancer", "--delta", "0.1")
    assert ended.code == 2
    assert "--delta needs --box" in ended.err


def test_a_full_disk_is_an_error_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pessimal.workflows.write_model", full)
    ended = run_command(
        *("tune", "cancer", "--test-size", "0.95", "--view", "optimistic"),
        *("--out", tmp_path / "model.json"),
    )
    assert ended.code == 1
    assert ended.err == "Error: [Errno 28] No space left on device\n"


def test_a_reader_that_leaves_early_ends_the_program_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "pessimal", "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


def test_ctrl_c_outside_of_a_command_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pessimal.cli.app.app", interrupted)
    ended = run_command("info")
    assert ended.code == 130
    assert ended.err == "Error: interrupted before the end; no file is left half written\n"


@pytest.mark.parametrize("by", ["pessimal.workflows.model.write_text", "pessimal.cli.tune.say"])
def test_ctrl_c_while_a_result_is_written_loses_none_of_it(
    by: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = ("tune", "cancer", "--model", "ridge", "--test-size", 0.9)
    left_alone = run_command(*arguments, "--out", tmp_path / "a.json")
    press_ctrl_c_in(by, monkeypatch)
    ended = run_command(*arguments, "--out", tmp_path / "b.json")
    assert (left_alone.code, ended.code) == (0, 3)
    assert "Error" not in ended.err
    assert ended.out == left_alone.out.replace("a.json", "b.json")
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()


def test_ctrl_c_while_an_audit_is_said_loses_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("audit", "cancer", "--model", "ridge")
    left_alone = run_command(*arguments)
    press_ctrl_c_in("pessimal.cli.audit.say", monkeypatch)
    ended = run_command(*arguments)
    assert (left_alone.code, ended.code) == (0, 3)
    assert ended.out == left_alone.out


def press_ctrl_c_in(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Ctrl-C come just before a function does its work."""
    module, function = name.rsplit(".", 1)
    real = getattr(importlib.import_module(module), function)

    def interrupted(*arguments: object, **options: object) -> object:
        signal.raise_signal(signal.SIGINT)
        return real(*arguments, **options)

    monkeypatch.setattr(name, interrupted)
