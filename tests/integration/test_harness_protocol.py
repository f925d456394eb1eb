"""A harness in a bubblewrap slot: it replies to valid frames and to malformed ones, and survives both."""

from __future__ import annotations

import random
import signal
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from agnostics.sandbox.backend import Slot
from agnostics.sandbox.backends.bubblewrap import BubblewrapBackend
from agnostics.sandbox.protocol import (
    MAX_FRAME,
    Command,
    Job,
    JobResult,
    ResultReader,
    decode,
    encode,
    encode_clear,
    encode_command,
    encode_interrupt,
)
from agnostics.types.language import Language
from agnostics.types.verification import Verdict

JOB = Job(
    files={"program": b"text"},
    compile=None,
    execute=["/bin/true"],
    environment={"A": "1"},
    tests=[(b"1", b""), (b"2", b" \n")],
    run_s=1,
    compile_s=1,
    memory_mb=256,
    compile_mb=256,
    processes=8,
    output_bytes=1000,
)
COMMAND = Command(
    argv=["/bin/sh", "-c", "echo x >> file; wc -l < file"],
    environment={"A": "1"},
    stdin=b"given",
    run_s=1,
    memory_mb=256,
    processes=8,
    output_bytes=1000,
)
SHELL = Language(name="shell", prompt="", filename="program", execute="/bin/sh program")


@pytest.fixture
def slot() -> Iterator[Slot]:
    started = BubblewrapBackend().open().start(SHELL)
    started.connection.settimeout(20)
    yield started
    started.close()


def exchange(connection: socket.socket, frame: bytes | bytearray) -> JobResult:
    connection.sendall(frame)
    results = ResultReader()
    while data := connection.recv(1 << 16):
        for body in results.feed(data):
            return decode(body)
    raise ConnectionResetError


def exchange_all(connection: socket.socket, frames: bytes | bytearray, results: int) -> list[JobResult]:
    """The results of frames that are sent at once."""
    connection.sendall(frames)
    reader, received = ResultReader(), list[JobResult]()
    while len(received) < results:
        data = connection.recv(1 << 16)
        assert data, "the harness ended"
        received += map(decode, reader.feed(data))
    return received


def framed(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


def test_a_job_comes_back_with_a_result_for_each_test(slot: Slot) -> None:
    result = exchange(slot.connection, encode(JOB))
    assert result.error is None
    assert [run.verdict for run in result.tests] == [Verdict.ACCEPTED, Verdict.ACCEPTED]
    assert all(run.exit_code == 0 and run.wall_ms > 0 for run in result.tests)


def test_results_of_jobs_sent_at_once_come_in_order(slot: Slot) -> None:
    jobs = [replace(JOB, tests=[(b"", b"")] * count) for count in (1, 2, 3)]
    results = exchange_all(slot.connection, b"".join(map(encode, jobs)), len(jobs))
    assert [len(result.tests) for result in results] == [1, 2, 3]


def test_a_frame_cut_anywhere_gets_an_error_and_the_next_job_runs(slot: Slot) -> None:
    body = bytes(encode(JOB)[4:])
    for end in range(1, len(body)):
        assert exchange(slot.connection, framed(body[:end])).error
    assert exchange(slot.connection, framed(body)).error is None


def test_a_command_cut_anywhere_gets_an_error_and_the_next_one_runs(slot: Slot) -> None:
    body = bytes(encode_command(COMMAND)[4:])
    for end in range(1, len(body)):
        assert exchange(slot.connection, framed(body[:end])).error
    assert exchange(slot.connection, framed(body + b"x")).error == "the frame is malformed"
    assert exchange(slot.connection, framed(body)).tests[0].stdout == b"1\n"


def test_a_request_that_there_is_none_of_gets_an_error(slot: Slot) -> None:
    body = bytearray(encode_clear()[4:])
    for request in (4, 2**32 - 1):
        struct.pack_into("<I", body, 4, request)
        assert exchange(slot.connection, framed(bytes(body))).error == "the frame is malformed"


def test_commands_share_files_until_a_program_has_run_or_the_session_is_cleared(slot: Slot) -> None:
    counts = list[bytes]()
    for frame in (encode_command(COMMAND), encode_command(COMMAND), encode(JOB), encode_command(COMMAND)):
        result = exchange(slot.connection, frame)
        counts.append(result.tests[0].stdout)
    assert counts == [b"1\n", b"2\n", b"", b"1\n"]
    assert exchange(slot.connection, encode_clear()).error is None
    assert exchange(slot.connection, encode_command(COMMAND)).tests[0].stdout == b"1\n"


SLEEP = bytes(encode_command(replace(COMMAND, argv=["/bin/sh", "-c", "echo x >> file; sleep 15"], run_s=15)))
INTERRUPT = bytes(encode_interrupt())


def test_an_interrupt_ends_the_command_that_runs_and_no_later_one(slot: Slot) -> None:
    started = time.monotonic()
    frames = SLEEP + 3 * INTERRUPT + encode_command(COMMAND)
    (killed,), (second,) = (result.tests for result in exchange_all(slot.connection, frames, 2))
    assert (killed.verdict, killed.signal, killed.interrupted) == (Verdict.RUNTIME_ERROR, signal.SIGKILL, True)
    (third,) = exchange(slot.connection, INTERRUPT + encode_command(COMMAND)).tests
    assert [(run.stdout, run.interrupted) for run in (second, third)] == [(b"2\n", False), (b"3\n", False)]
    assert time.monotonic() - started < 15


def test_an_interrupt_that_comes_in_pieces_is_one(slot: Slot) -> None:
    slot.connection.sendall(SLEEP)
    for byte in INTERRUPT[:-1]:
        time.sleep(0.03)
        slot.connection.sendall(bytes([byte]))
    (result,) = exchange_all(slot.connection, INTERRUPT[-1:], 1)
    assert result.tests[0].interrupted


def test_any_number_of_interrupts_between_two_frames_does_nothing(slot: Slot) -> None:
    frames = (encode_command(COMMAND), encode(JOB), encode_clear())
    for frame in frames:
        (result,) = exchange_all(slot.connection, 1000 * INTERRUPT + frame, 1)
        assert not result.error
        assert not any(run.interrupted for run in result.tests)
    assert exchange(slot.connection, encode_command(COMMAND)).tests[0].stdout == b"1\n"


def test_a_frame_behind_a_command_that_is_no_interrupt_waits_for_its_end(slot: Slot) -> None:
    slow = replace(COMMAND, argv=["/bin/sh", "-c", "sleep 0.2; echo x >> file; wc -l < file"])
    first, second = exchange_all(slot.connection, encode_command(slow) + encode_command(COMMAND), 2)
    assert [run.stdout for run in first.tests + second.tests] == [b"1\n", b"2\n"]


def test_a_program_of_the_verifier_is_not_interrupted(slot: Slot) -> None:
    slow = replace(JOB, execute=["/bin/sleep", "0.2"])
    first, second = exchange_all(slot.connection, encode(slow) + 3 * INTERRUPT + encode(JOB), 2)
    assert {run.verdict for run in first.tests + second.tests} == {Verdict.ACCEPTED}


def test_an_interrupt_with_more_in_it_gets_an_error(slot: Slot) -> None:
    assert exchange(slot.connection, framed(INTERRUPT[4:] + b"x")).error == "the frame is malformed"


def test_bytes_after_the_job_get_an_error(slot: Slot) -> None:
    assert exchange(slot.connection, framed(bytes(encode(JOB)[4:]) + b"x")).error == "the frame is malformed"


def test_no_mutation_of_a_frame_crashes_the_harness(slot: Slot) -> None:
    rng = random.Random(5)
    body = bytes(encode(JOB)[4:])
    limits = range(12, 60)  # times and sizes that are merely large are obeyed, not refused
    for _ in range(400):
        mutant = bytearray(body)
        for _ in range(rng.randint(1, 4)):
            place = rng.choice([place for place in range(len(body)) if place not in limits])
            mutant[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        exchange(slot.connection, framed(bytes(mutant)))
    assert exchange(slot.connection, encode(JOB)).error is None


@pytest.mark.parametrize("size", [MAX_FRAME + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_frame_of_impossible_size_ends_the_harness_at_once(slot: Slot, size: int) -> None:
    slot.connection.sendall(struct.pack("<I", size))
    assert slot.connection.recv(1) == b""


@pytest.mark.parametrize("name", ["../x", "a/b", "/etc/x", "..", "."])
def test_a_file_outside_the_work_folder_is_refused(slot: Slot, name: str) -> None:
    assert exchange(slot.connection, encode(replace(JOB, files={name: b""}))).error == "the frame is malformed"


def test_a_toolchain_that_is_not_there_is_the_sandboxs_fault(slot: Slot) -> None:
    result = exchange(slot.connection, encode(replace(JOB, execute=["no-such-interpreter"])))
    assert result.error == "no-such-interpreter is not installed in this sandbox"
