"""Signals that end a command: the first one alone counts, and may have to wait."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from carnet_command.errors import InterruptedRunError
from carnet_command.interrupts import (
    ENDING,
    SIGNALS,
    defer_interrupts,
    require_uninterrupted,
    stoppable,
    track_progress,
)

pytestmark = pytest.mark.processes


@pytest.mark.mends("L3")
def test_what_is_ignored_stays_ignored_and_what_was_set_comes_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable(ENDING):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not before
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, ignored)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.mends("L3")
def test_a_second_signal_does_not_disturb_what_the_first_has_begun() -> None:
    cleaned = []

    def command() -> None:
        with stoppable(ENDING), track_progress() as covered:
            covered.line("one")
            covered.status("two")
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                os.kill(os.getpid(), signal.SIGHUP)
                cleaned.append(True)

    with pytest.raises(InterruptedRunError, match=r"interrupted: 1 part of the run had ended, at work on: two; "):
        command()
    assert cleaned == [True]


def test_signals_are_as_before_afterwards_and_one_that_was_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_first_signal_is_the_only_one() -> None:
    ends = []
    handlers = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(KeyboardInterrupt), stoppable():  # noqa: PT012 # what is put in order is part of the block
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            for each in SIGNALS:
                signal.raise_signal(each)
            ends.append("in order")
    assert ends == ["in order"]
    assert [signal.getsignal(each) for each in SIGNALS] == handlers


def test_a_signal_waits_until_what_is_started_is_known() -> None:
    known = []
    with pytest.raises(KeyboardInterrupt), stoppable(), defer_interrupts():  # noqa: PT012 # the signal comes within
        signal.raise_signal(signal.SIGHUP)
        known.append("child")
    assert known == ["child"]
    with defer_interrupts():
        known.append("another, in what comes afterwards")


def test_an_interrupt_that_something_swallowed_is_raised_again() -> None:
    with stoppable():
        require_uninterrupted()
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        with defer_interrupts():
            require_uninterrupted()
        with pytest.raises(KeyboardInterrupt):
            require_uninterrupted()
    require_uninterrupted()


def test_an_error_that_something_made_of_an_interrupt_is_one() -> None:
    with pytest.raises(KeyboardInterrupt), stoppable():  # noqa: PT012 # the signal comes within
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise SystemError("a callback failed") from None
    with pytest.raises(SystemError), stoppable():
        raise SystemError("no signal came")


TO_THE_END = """
import signal
from carnet_command.interrupts import SIGNALS, stoppable

try:
    with stoppable(to_the_end=True), stoppable():
        signal.raise_signal(signal.SIGHUP)
except KeyboardInterrupt:
    for each in SIGNALS:
        signal.raise_signal(each)
    print("in order", flush=True)
    raise SystemExit(130) from None
"""


def test_a_signal_after_the_block_does_not_end_a_process_that_is_ending() -> None:
    ran = subprocess.run([sys.executable, "-c", TO_THE_END], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (130, "in order\n"), ran.stderr


def test_a_block_inside_another_leaves_later_signals_ignored() -> None:
    ends = []

    def stopped() -> None:
        with stoppable():
            try:
                with stoppable():
                    signal.raise_signal(signal.SIGTERM)
            finally:
                signal.raise_signal(signal.SIGHUP)
                ends.append("in order")

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert ends == ["in order"]
    require_uninterrupted()
