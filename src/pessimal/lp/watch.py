"""When to give up, for loops that may run long.

Compiled code counts its work and asks, about once a millisecond of it, whether to go on. Small
programs end before they would ask, so that what they find does not depend on the clock.
"""

from __future__ import annotations

from collections.abc import Callable

WORK_BETWEEN_LOOKS = 1e6  # multiplications


class Watch:
    """Asks a function whether to stop; once told so, says so at once, for good.

    Attributes
    ----------
    over : bool
        Whether it is time to stop.
    error : BaseException or None
        What the function raised instead of answering, a KeyboardInterrupt perhaps, to be raised
        again where the state is whole.
    """

    def __init__(self, time_is_up: Callable[[], bool] | None = None) -> None:
        self.time_is_up = time_is_up
        self.work = 0.0
        self.over = False
        self.error: BaseException | None = None

    def stops(self, work: float) -> bool:
        """Add to the work done; return whether to stop."""
        if self.time_is_up is None:
            return False
        self.work += work
        if self.work > WORK_BETWEEN_LOOKS and not self.over:
            self.work = 0.0
            try:
                self.over = self.time_is_up()
            except BaseException as error:
                self.error = error
                self.over = True
        return self.over

    def begin(self, time_is_up: Callable[[], bool]) -> None:
        """Ask another function from now on."""
        self.time_is_up = time_is_up
        self.work = 0.0
        self.over = False
        self.error = None

    def dismiss(self) -> None:
        """Never stop again."""
        self.time_is_up = None
        self.over = False
