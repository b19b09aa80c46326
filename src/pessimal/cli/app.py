"""The program: its commands, and what becomes of their errors: one line and an exit code."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from pessimal.cli.audit import audit
from pessimal.cli.console import BAD_INPUT, FAILED, INTERRUPTED, complain
from pessimal.cli.info import info
from pessimal.cli.predict import predict
from pessimal.cli.reproduce import report, reproduce
from pessimal.cli.solve import solve
from pessimal.cli.tune import tune
from pessimal.errors import InvalidInputError, MissingExtraError, PessimalError

# The base of Typer's usage errors. Newer versions keep it in a private module, older ones in Click.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    name="pessimal",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


for command in (tune, predict, audit, solve, reproduce, report, info):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        from pessimal import __version__

        typer.echo(f"pessimal {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Tune a classifier, and know how bad an equally good model could be.

    Example: pessimal tune cancer --test-size 0.9
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program, by default on the arguments of the process; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a letter of the data shows its code instead.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(arguments, prog_name="pessimal", standalone_mode=False)
    except KeyboardInterrupt:  # before or after the command itself, where Typer does not look
        code = INTERRUPTED
    except _UsageError as error:
        # Typer puts the words of a library before those of an option that is one of a list.
        complain(error.format_message().replace(" Value error, ", " "))  # type: ignore[attr-defined]
        return BAD_INPUT
    except (InvalidInputError, MissingExtraError) as error:
        complain(str(error))
        return BAD_INPUT
    except (PessimalError, OSError) as error:  # a solver that fails, a disk that is full
        complain(str(error))
        return FAILED
    if code == INTERRUPTED:
        complain("interrupted before the end; no file is left half written")
    return int(code or 0)
