"""Imports without garbage collection leave the collector as it was."""

from __future__ import annotations

import gc

from agnostics.util.imports import without_garbage_collection


def test_nothing_is_collected_in_the_block_and_what_it_leaves_is_never_searched() -> None:
    gc.unfreeze()
    with without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0


def test_what_is_there_already_can_be_left_to_the_collector() -> None:
    gc.unfreeze()
    with without_garbage_collection(freeze=False):
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
