"""``pessimal predict``: the classes of further rows, by a model from a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pessimal.cli.console import say_json, tell
from pessimal.cli.options import Data, Json


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL.json", help="Written by pessimal tune.")],
    data: Data,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write here instead of to the screen.")
    ] = None,
    json: Json = False,
) -> None:
    """Predict the class of every row of a table.

    The answer is CSV with the number of the row, the predicted class and the score; low and high,
    scores that no model passes which trains as well; and agreement, whether all such models predict
    one class: yes, no or not known. A row with a missing cell that tuning would not have filled, or
    a category that it never saw, gets none of these.

    Example: pessimal predict model.json new_patients.csv --out predicted.csv
    """
    from pessimal.atomic import require_writable, write_text
    from pessimal.tabular import read_source
    from pessimal.workflows import read_model

    require_writable(out)
    tuned = read_model(model)
    frame = read_source(data).frame
    predicted = tuned.predict(frame.set_axis(range(1, len(frame) + 1), axis=0))
    blank = int(predicted["score"].isna().sum())
    if blank:
        tell(f"Rows without a prediction, for a cell is missing or unknown: {blank}.")
    if blank < len(predicted):
        tell(_agreement(predicted["agreement"].dropna().tolist()))
    if json:
        plain = predicted.astype(object).where(predicted.notna(), None)
        rows = plain.rename_axis("row").reset_index().to_dict("records")
        say_json({"target": tuned.target, "rows": rows})
        return
    text = predicted.to_csv(index_label="row", lineterminator="\n")
    if out is None:
        sys.stdout.write(text)
    else:
        write_text(out, text)
        tell(f"{len(predicted)} rows written to {out}.")


def _agreement(said: Sequence[str]) -> str:
    """Say on how many rows it matters which of the equally good models predicts."""
    n, unknown = len(said), said.count("not known")
    if unknown == n:
        return f"Whether equally good models agree is not known for any of the {n} rows predicted."
    told = f"Equally good models disagree on {said.count('no')} of the {n} rows predicted"
    return f"{told}; for {unknown} it is not known." if unknown else f"{told}."
