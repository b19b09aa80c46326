"""Rows of solvers on the same instances: who is right when two disagree, and who was faster.

A row is one solver on one instance. Its `seconds` are CPU seconds: ours the whole call without its
certificate, a MILP solver's its run alone. `certified` is the validation loss of its point if the
certificate holds, if need be after the binaries are rounded; `inner_gap` says how far the point as
returned is from solving its inner problem; `multiplier_cap` is the largest λ the MILP allows where
that is not proved to suffice. Memory is that of the solver's process in MB.

A certified point is a fact: no optimum lies above its value. So a solver is wrong when it claims a
lower bound above a certified value, whoever found that; and when it claims a value below what
another one, not refuted in this way, has proved to be a lower bound, with a point that fails the
certificate.

Times are cut at the smaller of two limits. Limits are on the clock, times on the processor; so a
solver stopped at its limit was given what it had used by then. There is no ratio where neither has
proved anything, or where the solver's claim is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import pandas as pd
from instances import Instance

from pessimal.tolerances import OPTIMAL_GAP

OURS = "pessimal"
PROVED, LIMIT, NOT_PROVED, FAILED = "proved", "limit", "not proved", "failed"
TOO_LARGE = "too large for the licence"

INSTANCE = [field.name for field in fields(Instance)]
CONFIGURATION = [*INSTANCE, "solver", "limit"]
_WORDS = ["version", "status", "message"]
_NUMBERS = ["seconds", "objective", "bound", "certified", "inner_gap", "certificate_seconds"]
_NUMBERS += ["build_seconds", "multiplier_cap", "memory_before", "memory_peak"]


def table_of(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return stored rows by instance, ours first; of two of one solver the later one counts."""
    rows = pd.DataFrame(list(records), columns=[*CONFIGURATION, *_WORDS, *_NUMBERS])
    rows = rows.astype(dict.fromkeys(_NUMBERS, float) | dict.fromkeys(_WORDS, object))
    rows = rows.fillna(dict.fromkeys(_WORDS, ""))
    others = sorted(set(rows["solver"]) - {OURS})
    return (
        rows.assign(key=[Instance(*own).key for own in rows[INSTANCE].itertuples(index=False)])
        .assign(solver=pd.Categorical(rows["solver"], [OURS, *others], ordered=True))
        .drop_duplicates(["key", "solver"], keep="last")
        .sort_values("key", key=lambda keys: pd.factorize(keys)[0], kind="stable")
    )


def judge(rows: pd.DataFrame) -> pd.DataFrame:
    """Say of every row whether its claim is wrong, what it should have been near, and why.

    It is `too_high` by the point of the `finder`, or else its own point fails the certificate; the
    `gap` is the inner gap of that point. Added are also the seconds until the `proof`, infinite
    where there is none, and those on the processor that the solver was `given` at least.
    """
    proved = rows["status"] == PROVED
    # A solver stops as soon as its bound is near enough; its claim is the value.
    claimed = rows["objective"].where(proved).fillna(rows["bound"]).fillna(0.0).clip(lower=0.0)
    finders = rows.dropna(subset="certified").sort_values("certified", kind="stable")
    finders = finders.drop_duplicates("key").set_index("key")[["solver", "certified", "inner_gap"]]
    best = rows[["key"]].join(finders, on="key")
    too_high = claimed > best["certified"] + OPTIMAL_GAP
    floor = claimed.mask(too_high).groupby(rows["key"]).transform("max")
    fails = ~(rows["certified"] <= rows["objective"] + OPTIMAL_GAP)
    too_low = proved & (rows["objective"] < floor - OPTIMAL_GAP) & fails
    stopped = rows[["limit", "seconds"]].min(axis=1)
    return rows.assign(
        wrong=too_high | too_low,
        too_high=too_high,
        reference=best["certified"].where(too_high, floor),
        finder=best["solver"],
        gap=best["inner_gap"].where(too_high, rows["inner_gap"]).fillna(0.0),
        proof=rows["seconds"].where(proved).fillna(math.inf),
        given=stopped.where(rows["status"] == LIMIT, rows["limit"]),
    )


def comparable(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of others whose times, `theirs`, can be compared with `own`, and the ratio.

    The ratio says how many times longer the solver took.
    """
    right = judged[~judged["wrong"]]
    ours = right[right["solver"] == OURS].set_index("key")[["status", "given", "proof"]]
    others = right[(right["solver"] != OURS) & (right["status"] != TOO_LARGE)]
    pairs = others.join(ours.add_prefix("our_"), on="key", how="inner")
    limit = pairs[["given", "our_given"]].min(axis=1)
    theirs, own = pairs["proof"].clip(upper=limit), pairs["our_proof"].clip(upper=limit)
    solved = pairs[["proof", "our_proof"]].min(axis=1) <= limit
    return pairs.assign(theirs=theirs, own=own, ratio=theirs / own)[solved]


def losses(judged: pd.DataFrame) -> pd.DataFrame:
    """Return where a solver proved its answer sooner than ours, the worst for us first."""
    pairs = comparable(judged)
    return pairs[pairs["ratio"] < 1.0].sort_values(["ratio", "solver"], kind="stable")


def summarise(judged: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Sum up rows over the instances that the licence allows; times are cut at the limit."""
    proved = judged["status"] == PROVED
    used = judged["seconds"].fillna(judged["limit"])
    fit = judged.assign(right=proved & ~judged["wrong"], unproved=~proved, used=used)
    fit["left"] = (1.0 - judged["bound"] / judged["objective"]).where(~proved)
    allowed = fit[fit["status"] != TOO_LARGE].groupby(by, observed=True)
    summary = allowed.agg(
        fit=("key", "size"),
        proved=("right", "mean"),
        wrong=("wrong", "sum"),
        median=("used", "median"),
        worst=("used", "max"),
        unproved=("unproved", "mean"),
        left=("left", "median"),
    )
    medians = comparable(judged).groupby(by, observed=True)[["theirs", "own", "ratio"]].median()
    medians["of_medians"] = medians["theirs"] / medians["own"]
    ran = judged.groupby(by, observed=True).size().to_frame("ran")
    return ran.join(summary).join(medians[["of_medians", "ratio"]])
