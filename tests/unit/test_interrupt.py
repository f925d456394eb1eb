"""When an interrupt takes effect."""

from __future__ import annotations

import os
import signal

import pytest
from agnostics.util.signals import Interrupts


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_takes_effect_at_once_and_only_once() -> None:
    with Interrupts():
        with pytest.raises(KeyboardInterrupt):
            _interrupt()
        _interrupt()


def test_a_deferred_block_is_finished_first() -> None:
    done = list[str]()

    def step(interrupts: Interrupts) -> None:
        with interrupts.deferred():
            _interrupt()
            done.append("step")

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        step(interrupts)
    assert done == ["step"]


def test_a_held_interrupt_waits_for_the_next_block_that_allows_it() -> None:
    done = []
    with Interrupts() as interrupts, interrupts.held():
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
    with Interrupts() as interrupts, interrupts.held():
        _interrupt()
