"""``pessimal solve``: a bilevel program from the two files that bilevel solvers exchange."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pessimal.cli import options
from pessimal.cli.console import FAILED, STOPPED, say, say_json, say_table

if TYPE_CHECKING:
    from pessimal.bilevel.answer import BilevelSolution
    from pessimal.bilevel.exchange import ExchangedProgram

_WITHIN = "a response counts when the follower's objective f is at most f* + epsilon |f*| + delta."


def solve(
    mps: Annotated[
        Path, typer.Argument(metavar="PROBLEM.mps", help="Variables, rows and outer objective.")
    ],
    aux: Annotated[
        Path, typer.Argument(metavar="PROBLEM.aux", help="What is the follower's: see MibS.")
    ],
    view: Annotated[
        Literal["optimistic", "pessimistic"],
        typer.Option(help="The follower's best response for the leader, or its worst."),
    ] = "optimistic",
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", min=0.0, callback=options.number, help=f"Pessimistic view: {_WITHIN}"
        ),
    ] = 0.0,
    delta: Annotated[
        float,
        typer.Option(metavar="NUMBER", min=0.0, callback=options.number, help="See epsilon."),
    ] = 0.0,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", callback=options.positive, help="Stop after this long."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Solve a linear bilevel program to proved optimality.

    The MPS file holds both levels, the AUX file says which columns and rows are the follower's and
    what it minimises: by index, by name or in sections, as MibS reads them. Outer columns may be
    integer. The exit code is 3 when a limit or Ctrl-C ended the search, and 1 when it ended without
    a proof.

    Example: pessimal solve problem.mps problem.aux --view pessimistic --delta 0.5
    """
    from pessimal.bilevel.exchange import read_pair
    from pessimal.bilevel.solve_program import solve_program

    if view == "optimistic" and (epsilon or delta):
        option = "--epsilon" if epsilon else "--delta"
        raise typer.BadParameter(f"{option} belongs to the pessimistic view.")
    read = read_pair(mps, aux)
    solution = solve_program(
        read.program,
        pessimistic=view == "pessimistic",
        epsilon=epsilon,
        delta=delta,
        time_limit=time_limit,
    )
    content = _content(read, solution)
    if json:
        say_json(content)
    else:
        _say(content)
    if content["stopped"]:
        raise typer.Exit(STOPPED)
    if solution.status.value == "not proved":
        raise typer.Exit(FAILED)


def _content(read: ExchangedProgram, solution: BilevelSolution) -> dict[str, Any]:
    """Return the answer in the terms of the files: names, and their sense."""
    from pessimal.bilevel.answer import BilevelStatus

    sign = -1.0 if read.maximise else 1.0
    stops = (BilevelStatus.TIME_LIMIT, BilevelStatus.NODE_LIMIT, BilevelStatus.INTERRUPTED)

    def finite(value: float) -> float | None:
        return sign * value + 0.0 if math.isfinite(value) else None

    def named(names: tuple[str, ...], values: Any) -> dict[str, float] | None:
        return None if values is None else dict(zip(names, values.tolist(), strict=True))

    return {
        "status": solution.status.value,
        "stopped": solution.status in stops,
        "sense": "maximise" if read.maximise else "minimise",
        "value": finite(solution.value),
        "bound": finite(solution.bound),
        "certified": bool(solution.certificate is not None and solution.certificate.ok),
        "nodes": solution.nodes,
        "outer": named(read.outer, solution.x),
        "inner": named(read.inner, solution.y),
    }


def _say(content: dict[str, Any]) -> None:
    say(f"Status: {content['status']}.", style="bold")
    if content["value"] is not None:
        checked = "checked again by other code" if content["certified"] else "not certified"
        say(f"Outer objective: {content['value']:.10g}, {checked}.")
    if content["bound"] is not None:
        least = "larger" if content["sense"] == "maximise" else "smaller"
        say(f"No decision has a {least} one than {content['bound']:.10g}.")
    if content["outer"] is not None:
        rows = [
            (name, level, f"{value:.10g}")
            for level, values in (("outer", content["outer"]), ("inner", content["inner"]))
            for name, value in values.items()
        ]
        say_table("Variables", [("name", "level", "value"), *rows])
