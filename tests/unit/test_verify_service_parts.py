"""The parts of the verification service: lines of a body, turns of clients, replies that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from agnostics.sandbox.backpressure import MAX_WAITING_BYTES
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.web.verify import outbox as outboxes
from agnostics.web.verify.admission import MAX_PER_SLOT, MIN_PER_SLOT, Admission
from agnostics.web.verify.languages import language_finder
from agnostics.web.verify.lines import LineSplitter
from agnostics.web.verify.outbox import Outbox, Outboxes
from hypothesis import given
from hypothesis import strategies as st


def split(parts: list[bytes], max_bytes: int) -> list[bytes | None]:
    lines = LineSplitter(max_bytes)
    for part in parts:
        lines.feed(part)
        assert lines.pending <= max_bytes
    lines.end()
    return list(lines.ready)


@given(st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"ab\ncd\n", b" \r\n", b"a"])), st.integers(1, 9))
def test_lines_do_not_depend_on_how_a_body_is_cut(parts: list[bytes], max_bytes: int) -> None:
    body = b"".join(parts)
    expected = [None if len(line) > max_bytes else line for line in body.split(b"\n")]
    expected = [line for line in expected if line is None or (line and not line.isspace())]
    assert split(parts, max_bytes) == expected
    assert split([body[i : i + 1] for i in range(len(body))], max_bytes) == expected


async def settled() -> None:
    """Let all tasks go on until they wait."""
    for _ in range(10):
        await asyncio.sleep(0)


def in_loop(steps: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(steps, 10))


async def submit_all(admission: Admission, name: str, count: int, admitted: list[str], size: int = 1) -> None:
    for _ in range(count):
        await admission.acquire(size)
        admitted.append(name)


def test_clients_take_turns_whoever_came_first() -> None:
    async def steps() -> None:
        admission, admitted = Admission(1), list[str]()
        clients = [asyncio.create_task(submit_all(admission, name, 100, admitted)) for name in "ab"]
        await settled()
        admitted.clear()
        for _ in range(20):
            admission.release(1)
            await settled()
        assert "".join(admitted) in {"ab" * 10, "ba" * 10}
        for client in clients:
            client.cancel()

    in_loop(steps())


def test_slow_programs_are_queued_in_small_numbers_and_fast_ones_in_large() -> None:
    for run_s, per_slot in ((10.0, MIN_PER_SLOT), (0.001, MAX_PER_SLOT)):
        admission = Admission(3)
        for _ in range(100):
            admission.release(0, run_s)
        assert admission.capacity == 3 * per_slot


def test_bytes_are_bounded_but_each_slot_may_have_a_program_of_any_size() -> None:
    async def steps() -> None:
        admission, admitted = Admission(2), list[str]()
        client = asyncio.create_task(submit_all(admission, "x", 9, admitted, size=MAX_WAITING_BYTES))
        await settled()
        assert (len(admitted), admission.bytes, admission.waiting) == (2, 2 * MAX_WAITING_BYTES, 1)
        client.cancel()
        await settled()
        assert (admission.waiting, admission.programs) == (0, 2)

    in_loop(steps())


@pytest.mark.parametrize("granted_first", [False, True])
def test_a_client_that_goes_away_in_the_queue_keeps_no_turn_and_blocks_nobody(granted_first: bool) -> None:
    async def steps() -> None:
        admission, admitted = Admission(1), list[str]()
        first = asyncio.create_task(submit_all(admission, "full", 99, admitted))
        await settled()
        taken = admission.programs
        gone, other = (asyncio.create_task(submit_all(admission, name, 1, admitted)) for name in ("gone", "other"))
        await settled()
        first.cancel()
        if granted_first:
            await settled()
            admission.release(1)
            gone.cancel()
        else:
            gone.cancel()
            admission.release(1)
        await settled()
        assert admitted[-1] == "other"
        assert (admission.programs, admission.waiting, other.done()) == (taken, 0, True)

    in_loop(steps())


def test_a_client_that_leaves_its_replies_waits_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outboxes, "MAX_TOTAL_BYTES", 1 << 20)

    async def steps() -> None:
        total = Outboxes()
        full, other = Outbox(total), Outbox(total)
        full.put(b"x" * ((1 << 20) + 1))
        other.put(b"x" * 1000)
        assert (full.has_room, other.has_room) == (False, True)
        waiting = asyncio.create_task(full.room())
        await settled()
        assert not waiting.done()
        full.sent(len(full.take()))
        await asyncio.wait_for(waiting, 5)
        assert total.bytes == 1000

    in_loop(steps())


def test_room_that_another_client_makes_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outboxes, "MAX_TOTAL_BYTES", 500 << 10)

    async def steps() -> None:
        total = Outboxes()
        gone, waits = Outbox(total), Outbox(total)
        gone.put(b"x" * (400 << 10))
        waits.put(b"x" * (200 << 10))
        waiting = asyncio.create_task(waits.room())
        await settled()
        assert not waiting.done()
        gone.discard()
        await asyncio.wait_for(waiting, 5)
        assert (total.bytes, gone.bytes, bool(gone)) == (200 << 10, 0, False)

    in_loop(steps())


def test_no_language_is_looked_for_in_a_file(lua: Language) -> None:
    find = language_finder({"lua": lua})
    assert find("lua") is lua
    for name in ("/tmp/lua.yaml", "lua.yml", "./lua", "a/b"):
        with pytest.raises(UsageError, match="a language is named here, not its file"):
            find(name)
    with pytest.raises(UsageError, match="did you mean 'lua'"):
        find("luaa")
