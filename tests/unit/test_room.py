"""Room for work under way."""

from __future__ import annotations

from threading import Thread

from agnostics.sandbox.backpressure import Room


def test_who_finds_it_full_waits_until_half_have_left() -> None:
    room = Room(4)
    assert all(room.enter(timeout_s=0) for _ in range(4))
    assert not room.enter(timeout_s=0.01)
    entered: list[bool] = []
    waiter = Thread(target=lambda: entered.append(room.enter(timeout_s=10)))
    waiter.start()
    for _ in range(2):
        room.leave()
    waiter.join(timeout=10)
    assert entered == [True]


def test_a_place_that_is_free_is_taken_without_waiting() -> None:
    room = Room(2)
    assert room.enter(timeout_s=0)
    room.leave()
    assert room.enter(timeout_s=0)
    assert room.enter(timeout_s=0)
    assert not room.enter(timeout_s=0)
