"""What travels between a pool and a harness: jobs and answers, as length-prefixed little-endian frames.

The other end is `harness/frames.c`. Byte strings are a u32 length and the bytes; texts end in NUL beside.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from agnostics.types.errors import AgnosticsError
from agnostics.types.verification import Difference, Verdict

VERSION = 1
MAX_FRAME = 1 << 28
"""The largest frame, in bytes, that a harness takes: a program with all its tests."""

Mode = Literal["tokens", "lines", "exact", "floats", "nothing"]
MODES: tuple[Mode, ...] = ("tokens", "lines", "exact", "floats", "nothing")
"""How outputs are compared; `nothing` compares nothing and brings them home."""

_VERDICTS = tuple(Verdict)
_HEAD = struct.Struct("<11I2d")
_U32 = struct.Struct("<I")
_OUTCOME = struct.Struct("<BBii3Q")
_PLACE = struct.Struct("<2Q")


@dataclass(frozen=True, slots=True)
class Job:
    """One program and all its tests. `files` are what the work folder holds at the start, the program first.

    Memory is in MiB; `keep_bytes` of each output come back. `compile` is None where nothing is compiled.
    """

    files: Mapping[str, bytes]
    compile: list[str] | None
    execute: list[str]
    environment: Mapping[str, str]
    tests: list[tuple[bytes, bytes]]
    run_s: float
    compile_s: float
    memory_mb: int
    compile_mb: int
    processes: int
    output_bytes: int
    keep_bytes: int = 4096
    compare: Mode = "tokens"
    absolute: float = 1e-6
    relative: float = 1e-6
    stop_on_failure: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of a compiler or a program did; exit code and signal are None where there is none."""

    verdict: Verdict
    exit_code: int | None
    signal: int | None
    wall_ms: float
    cpu_ms: float
    peak_mb: float
    stdout: bytes
    stderr: bytes
    truncated: bool
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a job: `error` where the sandbox failed, else the outcomes."""

    error: str | None = None
    compile: Outcome | None = None
    tests: list[Outcome] = field(default_factory=list)
    attempts: int = 1
    unenforced: tuple[str, ...] = ()
    sandbox: str = ""
    """The isolation mode that it ran in."""


def encode(job: Job) -> bytearray:
    """The frame of a job. Raises AgnosticsError when it is larger than a harness takes."""
    body = bytearray(_U32.size)
    body += _HEAD.pack(
        VERSION,
        MODES.index(job.compare),
        job.stop_on_failure,
        _ms(job.run_s),
        _ms(job.compile_s),
        job.memory_mb,
        job.compile_mb,
        0,
        job.processes,
        job.output_bytes,
        job.keep_bytes,
        job.absolute,
        job.relative,
    )
    body += _U32.pack(len(job.files))
    for name, data in job.files.items():
        body += _text(name) + _bytes(data)
    for texts in (job.compile or [], job.execute, [f"{k}={v}" for k, v in job.environment.items()]):
        body += _texts(texts)
    body += _U32.pack(len(job.tests))
    for given, expected in job.tests:
        body += _bytes(given)
        body += _bytes(expected)
    size = len(body) - _U32.size
    if size > MAX_FRAME:
        raise AgnosticsError(f"a program with its tests takes {size} bytes; the sandbox takes at most {MAX_FRAME}")
    _U32.pack_into(body, 0, size)
    return body


def limit_data(frame: bytearray, megabytes: int) -> None:
    """Write into an encoded job that programs get at most this much private memory (RLIMIT_DATA); 0: no such limit."""
    _U32.pack_into(frame, 8 * _U32.size, megabytes)


def decode(frame: bytes | bytearray) -> Answer:
    """The answer in the body of a frame."""
    reader = _Reader(frame)
    if error := reader.take_bytes():
        return Answer(error=error.decode(errors="replace"))
    compiled = reader.take_outcome() if reader.take(1)[0] else None
    return Answer(None, compiled, [reader.take_outcome() for _ in range(reader.take_u32())])


def split(buffer: bytearray) -> Iterable[bytes]:
    """Take the whole frames off the front of what was received."""
    while len(buffer) >= _U32.size and len(buffer) >= (end := _U32.size + _U32.unpack_from(buffer)[0]):
        body = bytes(memoryview(buffer)[_U32.size : end])
        del buffer[:end]
        yield body


def greet(connection: socket.socket, timeout_s: float) -> None:
    """Ask a harness for a sign of life. Raises OSError when none comes in time."""
    connection.settimeout(timeout_s)
    connection.sendall(_U32.pack(0))
    expected = _U32.size + _U32.size
    while expected > 0:
        got = connection.recv(expected)
        if not got:
            raise ConnectionResetError("the harness ended at its start")
        expected -= len(got)


class _Reader:
    """Takes values off the front of a frame. Raises struct.error or IndexError where it ends too soon."""

    def __init__(self, frame: bytes | bytearray) -> None:
        self._frame = frame
        self._at = 0

    def take(self, size: int) -> bytes:
        data = bytes(self._frame[self._at : self._at + size])
        if len(data) != size:
            raise IndexError("the answer ends too soon")
        self._at += size
        return data

    def take_u32(self) -> int:
        value: int = _U32.unpack(self.take(_U32.size))[0]
        return value

    def take_bytes(self) -> bytes:
        return self.take(self.take_u32())

    def take_outcome(self) -> Outcome:
        verdict, cut, code, signal, wall, cpu, peak = _OUTCOME.unpack(self.take(_OUTCOME.size))
        stdout, stderr = self.take_bytes(), self.take_bytes()
        difference = self._take_difference() if self.take(1)[0] else None
        return Outcome(
            _VERDICTS[verdict],
            None if code < 0 else code,
            None if signal < 0 else signal,
            wall / 1000,
            cpu / 1000,
            round(peak / 1024, 2),
            stdout,
            stderr,
            bool(cut),
            difference,
        )

    def _take_difference(self) -> Difference:
        index, offset = _PLACE.unpack(self.take(_PLACE.size))
        expected, actual = (self.take_bytes().decode(errors="replace") for _ in range(2))
        return Difference(index, offset, expected, actual)


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _bytes(data: bytes) -> bytes:
    return _U32.pack(len(data)) + data


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise AgnosticsError(f"a NUL stands in {text!r}, which is to be a file name, argument or variable")
    return _bytes(data + b"\0")


def _texts(texts: list[str]) -> bytes:
    return _U32.pack(len(texts)) + b"".join(map(_text, texts))
