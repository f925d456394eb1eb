"""When an interrupt takes effect."""

from __future__ import annotations

import io
import os
import signal
import time
from typing import Any

import pytest
from agnostics.util.signals import ForcedInterrupt, InterruptHandler

LATER_S = 1.1
"""After this time, another signal is no longer the same Ctrl-C."""


def _interrupt(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_an_interrupt_takes_effect_at_once_and_only_once() -> None:
    with InterruptHandler():
        with pytest.raises(KeyboardInterrupt):
            _interrupt()
        _interrupt()


def test_a_deferred_block_is_finished_first() -> None:
    done = list[str]()

    def step(interrupts: InterruptHandler) -> None:
        with interrupts.deferred():
            _interrupt()
            done.append("step")

    with InterruptHandler() as interrupts, pytest.raises(KeyboardInterrupt) as interrupted:
        step(interrupts)
    assert done == ["step"]
    assert interrupted.type is KeyboardInterrupt


def test_a_held_interrupt_waits_for_the_next_block_that_allows_it() -> None:
    done = []
    with InterruptHandler() as interrupts, interrupts.held():
        with interrupts.allowed():
            done.append("sampled")
        with interrupts.deferred():
            _interrupt()
            done.append("updated")
        done.append("measured")
        with pytest.raises(KeyboardInterrupt), interrupts.allowed():
            done.append("never")
    assert done == ["sampled", "updated", "measured"]


def test_a_held_interrupt_that_finds_no_such_block_does_nothing() -> None:
    with InterruptHandler() as interrupts, interrupts.held():
        _interrupt()


def test_a_second_interrupt_ends_a_deferred_block_at_once() -> None:
    done = list[str]()

    def step(interrupts: InterruptHandler) -> None:
        with interrupts.deferred():
            _interrupt()
            time.sleep(LATER_S)
            done.append("half")
            _interrupt()
            done.append("whole")

    with InterruptHandler() as interrupts, pytest.raises(ForcedInterrupt):
        step(interrupts)
    assert done == ["half"]


def test_a_second_interrupt_ends_what_follows_the_first() -> None:
    with InterruptHandler():
        with pytest.raises(KeyboardInterrupt) as first:
            _interrupt()
        time.sleep(LATER_S)  # a checkpoint is written
        with pytest.raises(ForcedInterrupt):
            _interrupt()
    assert first.type is KeyboardInterrupt


def test_one_interrupt_that_a_terminal_and_a_launcher_send_is_no_second_one() -> None:
    done = []
    with InterruptHandler() as interrupts, interrupts.held():
        _interrupt()
        _interrupt(signal.SIGTERM)
        _interrupt()
        done.append("step")
        time.sleep(LATER_S)
        _interrupt(signal.SIGTERM)  # a launcher ends its ranks
        done.append("checkpoint")
    assert done == ["step", "checkpoint"]


def test_the_first_interrupt_says_what_is_finished_before_it_takes_effect() -> None:
    said = list[str]()

    def step(interrupts: InterruptHandler) -> None:
        with interrupts.deferred("step 7"):
            _interrupt()
            assert len(said) == 1
            _interrupt()

    with InterruptHandler(said.append) as interrupts, pytest.raises(KeyboardInterrupt):
        step(interrupts)
    assert said == [
        "interrupted: finishing step 7, then writing a checkpoint; "
        "a second Ctrl-C stops at once, and the run can be resumed from its last checkpoint"
    ]


def test_an_interrupt_that_takes_effect_at_once_announces_nothing() -> None:
    said = list[str]()
    with InterruptHandler(said.append) as interrupts:
        with interrupts.deferred("step 7"):
            pass
        with pytest.raises(KeyboardInterrupt):
            _interrupt()
    assert said == []


class Terminal(io.RawIOBase):
    """Ctrl-C comes while the first line is written."""

    def __init__(self) -> None:
        self.lines = list[str]()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self.lines:
            _interrupt()
        self.lines.append(bytes(data).decode())
        return len(data)


def test_an_interrupt_that_comes_while_a_line_is_printed_is_announced_after_it() -> None:
    terminal = Terminal()
    printed = io.BufferedWriter(terminal)

    def print_line(text: str) -> None:
        printed.write(text.encode())
        printed.flush()

    with InterruptHandler(print_line) as interrupts, pytest.raises(KeyboardInterrupt), interrupts.deferred():
        print_line("step 2/4")
    assert terminal.lines[0] == "step 2/4"
    assert terminal.lines[1].startswith("interrupted: finishing the current step")
