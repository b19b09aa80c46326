"""Ctrl-C is held back, never lost, and never where it was not asked for."""

from __future__ import annotations

import signal
import threading

import pytest

from pessimal.interrupts import deferred_interrupts, ended_by_interrupts, noted_interrupts
from pessimal.limits import NEVER


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def test_the_block_is_completed_first() -> None:
    done = []

    def block() -> None:
        with deferred_interrupts():
            press_ctrl_c()
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done == [1]


def test_it_is_raised_at_a_safe_point_and_once() -> None:
    with deferred_interrupts() as interrupts:
        interrupts.deliver()
        press_ctrl_c()
        press_ctrl_c()
        assert interrupts.pending
        with pytest.raises(KeyboardInterrupt):
            interrupts.deliver()
        interrupts.deliver()


def test_every_block_around_hears_of_it() -> None:
    with deferred_interrupts() as outer:
        with deferred_interrupts() as inner:
            press_ctrl_c()
            with pytest.raises(KeyboardInterrupt):
                inner.deliver()
        with pytest.raises(KeyboardInterrupt):
            outer.deliver()


def test_an_inner_block_leaves_it_to_the_outer_one() -> None:
    done = []

    def block() -> None:
        with deferred_interrupts():
            with deferred_interrupts():
                press_ctrl_c()
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done == [1]


def test_an_error_of_the_block_does_not_swallow_it() -> None:
    def block() -> None:
        with deferred_interrupts():
            press_ctrl_c()
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        block()


def test_the_handler_is_restored() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="x"), deferred_interrupts(), deferred_interrupts():
        raise ValueError("x")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_program_that_handles_ctrl_c_itself_is_left_alone() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda *args: heard.append(args[0]))
    try:
        with deferred_interrupts() as interrupts:
            press_ctrl_c()
            assert not interrupts.pending
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_other_threads_may_use_it_without_effect() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with deferred_interrupts() as interrupts:
            seen.append((signal.getsignal(signal.SIGINT) is before, interrupts.pending))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(True, False)]


def test_a_block_that_could_not_clean_up_does_not_swallow_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another signal's handler may raise just where the block would restore the handler."""
    before, restore = signal.getsignal(signal.SIGINT), signal.signal

    def block() -> None:
        with deferred_interrupts():
            monkeypatch.setattr(signal, "signal", fail)

    def fail(*_: object) -> None:
        monkeypatch.undo()
        raise ZeroDivisionError

    try:
        with pytest.raises(ZeroDivisionError):
            block()
        assert signal.getsignal(signal.SIGINT) is not before
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()
        with deferred_interrupts():
            pass
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        restore(signal.SIGINT, before)


def test_whoever_notes_it_hears_of_one_that_was_taken_inside() -> None:
    with noted_interrupts() as noted:
        with ended_by_interrupts(NEVER) as deadline:
            press_ctrl_c()
            assert deadline.over
        assert noted.pending


def test_noting_it_holds_nothing_back() -> None:
    done = []

    def block() -> None:
        with deferred_interrupts():
            press_ctrl_c()
            done.append(1)

    with noted_interrupts() as noted:
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            block()
        assert noted.pending
    assert done == [1]


def test_noting_it_inside_a_block_that_holds_it_back_leaves_it_to_that_block() -> None:
    with deferred_interrupts() as outer:
        with noted_interrupts() as noted:
            press_ctrl_c()
            assert noted.pending
        with pytest.raises(KeyboardInterrupt):
            outer.deliver()


def test_nothing_is_noted_where_nothing_came() -> None:
    before = signal.getsignal(signal.SIGINT)
    with noted_interrupts() as noted:
        assert not noted.pending
    assert signal.getsignal(signal.SIGINT) is before
