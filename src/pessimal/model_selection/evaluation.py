"""A search under way: what is known of the candidates so far, and who is still in the race.

All candidates are fitted on all folds. Where the worst case has bounds, coarse ones cost little and
are found with the fit; sharp ones follow, fold by fold, for candidates that may yet be the best.
Elsewhere refits are what costs. They begin with the candidate whose fits score best, and go on fold
by fold while a candidate may yet win: a fold that was not looked at counts as its fit scores there.
Values of a range, most of which are far from the best, are raced in the same way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.utils.parallel import delayed

from pessimal.interrupts import Interrupts, noted_interrupts
from pessimal.limits import AT_ONCE, Deadline
from pessimal.model_selection.choice import simplicity, slack
from pessimal.model_selection.folds import Folds, Worst
from pessimal.model_selection.ranges import End

Criterion = Literal["worst", "found", "mean"]

HEADROOM = 0.1
"""How much more, as a share, the fits of a value must lose than the best value at its worst.

The models that bound a cell of values lose a little less than those at its ends.
"""


@dataclass(eq=False)
class Evaluation:
    """Candidates on folds.

    Attributes
    ----------
    folds : Folds
    parallel : Parallel
        Returns results in order, as they come.
    n_jobs : int
    criterion : {"worst", "found", "mean"}
    deadline : Deadline
    refits : bool
        Whether the chosen one is fitted to all rows afterwards, for which time is kept.
    n_splits : int
        The number of folds; if time was too short for one candidate, of those reached.
    candidates, outcomes : list
        Parameters, and scikit-learn's results of each on each fold.
    worst : Worst
    ends : dict
        By candidate and fold.
    hopeless : set
        Candidates for which there is no hope of sharp bounds.
    slowest, fit_seconds, slowest_look : float
        Seconds of the slowest fit with what comes with it, of the fit alone, and of the slowest
        look at a value of a range. What would end too late is not begun.
    stopped : str
        What ended the search early, "time_limit" or "Ctrl-C"; empty if nothing did.
    """

    folds: Folds
    parallel: Any
    n_jobs: int
    criterion: Criterion
    deadline: Deadline
    refits: bool = False
    candidates: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    n_splits: int = field(init=False)
    worst: Worst = field(init=False)
    ends: dict[tuple[int, int], End | None] = field(default_factory=dict)
    hopeless: set[int] = field(default_factory=set)
    slowest: float = 0.0
    fit_seconds: float = 0.0
    slowest_look: float = 0.0
    stopped: str = ""

    def __post_init__(self) -> None:
        self.n_splits = len(self.folds.splits)
        self.worst = Worst.unknown(0, self.n_splits)

    @property
    def left(self) -> float:
        """Seconds left for candidates, until there is just time for the last fit."""
        return self.deadline.left - (self.fit_seconds if self.refits else 0.0)

    def add(self, candidates: Sequence[dict[str, Any]], *, of_range: bool = False) -> None:
        """Fit candidates on all folds, and look for their worst cases; coarsely if that proves.

        Of a range only what is proved counts, and its ends are kept. A value whose fits lose more
        than the best value at its worst is looked at no further.
        """
        first = len(self.candidates)
        self.candidates += candidates
        self.worst = self.worst.followed_by(Worst.unknown(len(candidates), self.n_splits))
        total = len(self.candidates)
        places = [(c, k) for c in range(first, total) for k in range(self.n_splits)]

        def tasks(interrupts: Interrupts) -> Iterator[Any]:
            for c, k in places:
                if interrupts.pending:  # a set that ended at Ctrl-C has an answer like any other
                    return
                if (c, k) > (0, 0) and self.left < self.slowest:
                    self.stopped = self.stopped or "time_limit"
                    return
                yield delayed(self.folds.evaluate)(self.candidates[c], k, (c, total), of_range)

        try:
            with noted_interrupts() as interrupts:
                # No name for the results: `zip` leaves them before their end, and while something
                # refers to them there can be no others.
                for place, (outcome, found) in zip(
                    places, self.parallel(tasks(interrupts)), strict=False
                ):
                    self.outcomes.append(outcome)
                    self.worst.set(*place, found)
                    self.ends[place] = found.end
                    self.slowest = max(self.slowest, found.seconds)
                    self.fit_seconds = max(self.fit_seconds, outcome["fit_time"])
                interrupts.deliver()
        except KeyboardInterrupt:
            if not self.outcomes:
                raise
            self.stopped = "Ctrl-C"
        if len(self.outcomes) < self.n_splits:
            self.n_splits = len(self.outcomes)
            self.worst = self.worst.of_first(self.n_splits)
        self._race(range(first, total), of_range)

    def tighten(self, gap: float, alike: bool = False) -> None:
        """Prove better bounds for candidates that these could make the best.

        No bound is better than what was found. So a candidate that was found to be worse than the
        bound of another, or better by a gap that does not matter, is out, and its bound may stay
        coarse. So is one if no more was found of it than of another for which there is no hope of
        a sharp bound, or, if candidates are `alike`, than of another that has its best bound.
        """
        known = self.worst
        places = [(c, k) for c, k in np.argwhere(known.open() & ~known.sharp).tolist()]
        places.sort(key=lambda place: (self._standing(place[0]), place[1]))

        def is_out(c: int) -> bool:
            best = np.nanmax(known.scores())
            if c in self.hopeless:
                return True
            others = [*self.hopeless]
            if alike:
                others += [o for o in np.flatnonzero(known.sharp.all(axis=1)).tolist() if o != c]
            best = np.nanmax(known.found[others].mean(axis=1), initial=best)
            at_best = np.where(known.open()[c] & ~known.sharp[c], known.found[c], known.bound[c])
            return bool(at_best.mean() <= best + max(slack(best), gap * abs(best)))

        self._look(places, is_out, lambda _: self.left)

    def unfinished(self) -> list[dict[str, Any]]:
        """Return a result for each fit that was not made."""
        missing = self.n_splits * len(self.candidates) - len(self.outcomes)
        return [_like(self.outcomes[0])] * missing

    def is_complete(self, c: int) -> bool:
        """Whether a candidate was fitted on all folds."""
        return len(self.outcomes) >= self.n_splits * (c + 1)

    def _race(self, candidates: Sequence[int], of_range: bool) -> None:
        """Look for worst cases beside the fits, and drop candidates that cannot win any more."""
        known = self.worst
        racing = [
            c for c in candidates if np.isfinite(known.found[c]).all() and not known.looked[c].all()
        ]
        if of_range:  # a value of which nothing is proved is refused, not looked at
            racing = [c for c in racing if known.proves[c].all()]
        racing.sort(key=self._standing)
        places = [(c, k) for c in racing for k in np.flatnonzero(~known.looked[c]).tolist()]
        dropped: set[int] = set()

        def is_out(c: int) -> bool:
            if self.criterion != "mean" and c not in dropped:
                scores = known.scores() if self.criterion == "worst" else known.found.mean(axis=1)
                rivals = scores[known.looked.all(axis=1) & (np.arange(len(scores)) != c)]
                best = np.nanmax(rivals, initial=-np.inf)
                near = max(slack(best), HEADROOM * abs(best) if of_range else 0.0)
                if known.found[c].mean() < best - near:
                    dropped.add(c)
            return c in dropped

        def seconds(place: int) -> float:
            # One fold must not take the time of those after it.
            share = min(1.0, self.n_jobs / (len(places) - place))
            return max(AT_ONCE, share * self.left)

        always = () if known.looked.all(axis=1).any() else racing[:1]
        # A refit takes as long as the fit did.
        self._look(places, is_out, seconds, self.slowest, always, of_range)
        for c in racing:
            if not (known.looked[c].all() or is_out(c)):
                known.forget(c)  # its fits alone would flatter it

    def _look(
        self,
        places: Sequence[tuple[int, int]],
        is_out: Callable[[int], bool],
        seconds: Callable[[int], float],
        least: float = 0.0,
        always: Sequence[int] = (),
        of_range: bool = False,
    ) -> None:
        """Look for worst cases in order, leaving out candidates once they are out.

        With less than the `least` seconds left none is begun. Of candidates that `always` count
        what was found then is their fit, which trains as well as any; of a range that would prove
        nothing, so they are looked at all the same.

        Who is out, is so for good. So the answer is that of one process, which looks at one fold
        after the other; several may look at folds that turn out not to count.
        """
        if self.stopped == "Ctrl-C":
            return
        begun: deque[tuple[int, int]] = deque()
        ask = self.folds.climbed if of_range else self.folds.worst

        def tasks(interrupts: Interrupts) -> Iterator[Any]:
            for number, (c, k) in enumerate(places):
                if interrupts.pending:
                    return
                if is_out(c):
                    continue
                if self.left <= (self.slowest_look if of_range else least):
                    self.stopped = self.stopped or "time_limit"
                    if c not in always:
                        return
                    if not of_range:
                        self.worst.looked[c, k] = True
                        continue
                begun.append((c, k))
                yield delayed(ask)(self.candidates[c], k, seconds(number), self.left)

        try:
            with noted_interrupts() as interrupts:
                for found in self.parallel(tasks(interrupts)):
                    c, k = begun.popleft()
                    if not is_out(c):
                        self.worst.set(c, k, found)
                        self.worst.sharp[c, k] = not of_range
                        self.ends[c, k] = found.end or self.ends.get((c, k))
                        self.slowest_look = max(self.slowest_look, found.seconds)
                        if found.hopeless:
                            self.hopeless.add(c)
                        if found.cut:
                            self.stopped = self.stopped or "time_limit"
                interrupts.deliver()
        except KeyboardInterrupt:
            self.stopped = "Ctrl-C"

    def _standing(self, c: int) -> tuple[float, Any]:
        """Return a key by which the best candidate, by what was found so far, sorts first."""
        return -float(self.worst.found[c].mean()), simplicity(self.candidates[c])


def _like(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a fit that was not made."""

    def unknown(scores: Any) -> Any:
        return dict.fromkeys(scores, np.nan) if isinstance(scores, dict) else np.nan

    missing = outcome | {"fit_time": np.nan, "score_time": np.nan, "fit_error": None}
    for name in ("test_scores", "train_scores"):
        if name in outcome:
            missing[name] = unknown(outcome[name])
    return missing
