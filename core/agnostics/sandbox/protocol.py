"""The protocol with a harness: jobs, commands of sessions, and results, as length-prefixed little-endian frames.

The harness's side is `harness/frames.c`. A byte string is a u32 length and the bytes; a text has a final NUL besides.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Literal

from agnostics.types.errors import AgnosticsError
from agnostics.types.verification import Difference, Verdict

VERSION = 6
MAX_FRAME = 1 << 28
"""The largest frame, in bytes, that a harness accepts: a program with all its tests."""

_PART, _VOID = 1 << 31, 1 << 30
"""Flags in the length of a frame from a harness: more of the result follows; the parts sent before do not count."""
_TRUNCATED, _INTERRUPTED = 1, 2
"""Flags in the result of a run."""
_TEST_BYTES = 1024
"""The memory that one test takes beside its texts, with its result."""

Mode = Literal["tokens", "lines", "exact", "floats", "nothing"]
MODES: tuple[Mode, ...] = ("tokens", "lines", "exact", "floats", "nothing")
"""The comparisons of outputs; with `nothing` the harness only returns them."""

_VERDICTS = tuple(Verdict)
_RUN_PROGRAM, _RUN_COMMAND, _CLEAR, _INTERRUPT = range(4)
"""What a frame asks for (`enum request` in harness/harness.h)."""
_JOB_HEADER = struct.Struct("<12I2d")
_COMMAND_HEADER = struct.Struct("<7I")
_U32 = struct.Struct("<I")
_RUN_RESULT = struct.Struct("<BBii3Q")
_POSITION = struct.Struct("<2Q")


@dataclass(frozen=True, slots=True)
class Job:
    """One program and its tests, (input, expected output) each. `files` go into the work folder, the program first.

    Memory is in MiB; the first `keep_bytes` of each output are returned. `compile` is None if nothing is compiled.
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
    hold_at: str = ""
    """The file at whose first use the interpreter is held, to be forked for each test; empty if it is executed."""
    hold_execute: list[str] = field(default_factory=list)
    """The command that starts the interpreter that is held."""
    hold_files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that stand beside the program while it starts."""

    @property
    def size(self) -> int:
        """About the memory that it takes until it is finished, in bytes."""
        files = sum(map(len, self.files.values()))
        return files + sum(len(stdin) + len(expected) + _TEST_BYTES for stdin, expected in self.tests)

    def without_data(self) -> Job:
        """The job with empty files and tests, as many as before."""
        return replace(self, files=dict.fromkeys(self.files, b""), tests=[(b"", b"")] * len(self.tests))


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a session, which finds the files of those before it. Memory is in MiB."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    stdin: bytes
    run_s: float
    memory_mb: int
    processes: int
    output_bytes: int
    data_mb: int = 0
    """RLIMIT_DATA; 0 for no such limit."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of one run of a compiler, a program or a command; exit code and signal are None if there is none."""

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
    interrupted: bool = False
    """An interrupt came while it ran, and all its processes were killed."""


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job: `error` if the sandbox failed, else those of compiling and of the tests."""

    error: str | None = None
    compile: RunResult | None = None
    tests: list[RunResult] = field(default_factory=list)
    attempts: int = 1
    fork_refusal: str = ""
    """The reason why the interpreter was executed for each test although the job asked for forks of it."""
    unenforced: tuple[str, ...] = ()
    sandbox: str = ""
    """The name of the sandbox backend that ran it."""


def encode(job: Job) -> bytearray:
    """The frame of a job. Raises AgnosticsError if it is larger than a harness accepts."""
    body = bytearray(_U32.size)
    body += _JOB_HEADER.pack(
        VERSION,
        _RUN_PROGRAM,
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
    body += _text(job.hold_at) + _texts(job.hold_execute)
    for files in (job.hold_files, job.files):
        body += _U32.pack(len(files))
        for name, data in files.items():
            body += _text(name) + _bytes(data)
    for texts in (job.compile or [], job.execute, _variables(job.environment)):
        body += _texts(texts)
    body += _U32.pack(len(job.tests))
    for stdin, expected in job.tests:
        body += _bytes(stdin)
        body += _bytes(expected)
    return _with_size(body, "a program with its tests")


def encode_command(command: Command) -> bytearray:
    """The frame of a command. Raises AgnosticsError if it is larger than a harness accepts."""
    limits = _ms(command.run_s), command.memory_mb, command.data_mb, command.processes, command.output_bytes
    body = bytearray(_U32.size) + _COMMAND_HEADER.pack(VERSION, _RUN_COMMAND, *limits)
    body += _texts(command.argv) + _texts(_variables(command.environment)) + _bytes(command.stdin)
    return _with_size(body, "a command with its input")


def encode_clear() -> bytearray:
    """The frame that removes what the commands of a session have left."""
    return bytearray(struct.pack("<3I", 2 * _U32.size, VERSION, _CLEAR))


def encode_interrupt() -> bytearray:
    """The frame that ends the command that runs, which has its result as usual; otherwise it does nothing.

    It is the only frame without a result of its own.
    """
    return bytearray(struct.pack("<3I", 2 * _U32.size, VERSION, _INTERRUPT))


def _with_size(body: bytearray, what: str) -> bytearray:
    size = len(body) - _U32.size
    if size > MAX_FRAME:
        raise AgnosticsError(f"{what} takes {size} bytes; the sandbox takes at most {MAX_FRAME}")
    _U32.pack_into(body, 0, size)
    return body


def with_one_test(frame: bytearray, place: int) -> bytearray:
    """The frame of the job in `frame` with one of its tests only."""
    reader = _Reader(frame)
    reader.take(_U32.size + _JOB_HEADER.size)
    reader.take_bytes()  # the file to hold at
    reader.take_list(1)  # the command that is held
    reader.take_list(2)  # names and contents of its files
    reader.take_list(2)  # and of the program's
    for _ in range(3):  # the commands and the environment
        reader.take_list(1)
    head = frame[: reader.offset]
    tests = reader.take_list(2)
    one = head + _U32.pack(1) + b"".join(map(_bytes, tests[2 * place : 2 * place + 2]))
    _U32.pack_into(one, 0, len(one) - _U32.size)
    return one


def set_data_limit(frame: bytearray, megabytes: int) -> None:
    """Set the limit on private memory (RLIMIT_DATA, in MiB) in an encoded job; 0 for no such limit."""
    _U32.pack_into(frame, 9 * _U32.size, megabytes)


def decode(frame: bytes | bytearray) -> JobResult:
    """The result in the body of a frame. Raises struct.error or IndexError if the frame is malformed."""
    reader = _Reader(frame)
    if error := reader.take_bytes():
        return JobResult(error=error.decode(errors="replace"))
    compiled = reader.take_run_result() if reader.take(1)[0] else None
    tests = [reader.take_run_result() for _ in range(reader.take_u32())]
    return JobResult(None, compiled, tests, fork_refusal=reader.take_bytes().decode(errors="replace"))


class ResultReader:
    """Puts results together from what a harness sends. A large result comes in several frames."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Take what was received; the bodies of the results that are complete now."""
        self._received += data
        return list(self._results())

    def _results(self) -> Iterator[bytes]:
        received = self._received
        while len(received) >= _U32.size:
            word: int = _U32.unpack_from(received)[0]
            end = _U32.size + (word & ~(_PART | _VOID))
            if len(received) < end:
                return
            if word & _VOID:
                self._parts.clear()
            self._parts.append(bytes(memoryview(received)[_U32.size : end]))
            del received[:end]
            if not word & _PART:
                yield b"".join(self._parts)
                self._parts.clear()


def handshake(
    connection: socket.socket, timeout_s: float, descriptors: AbstractContextManager[Sequence[int]] | None = None
) -> None:
    """Await the byte that a harness sends at its start, send it an empty frame and await the reply.

    Raises OSError if one does not come in time.

    With the frame go the `descriptors` of control groups (`cgroups.harness_descriptors`), which are made once no other
    process of the slot starts.
    """
    connection.settimeout(timeout_s)
    _receive(connection, 1)
    data = _U32.pack(0)
    with descriptors or nullcontext(()) as given:
        sent = socket.send_fds(connection, [data], given) if given else 0
    connection.sendall(data[sent:])
    _receive(connection, _U32.size + _U32.size)


def _receive(connection: socket.socket, missing: int) -> None:
    while missing > 0:
        data = connection.recv(missing)
        if not data:
            raise ConnectionResetError("the harness ended at its start")
        missing -= len(data)


class _Reader:
    """Reads the values of a frame in order. Raises struct.error or IndexError if it ends too soon."""

    def __init__(self, frame: bytes | bytearray) -> None:
        self._frame = frame
        self.offset = 0

    def take(self, size: int) -> bytes:
        data = bytes(self._frame[self.offset : self.offset + size])
        if len(data) != size:
            raise IndexError("the frame ends too soon")
        self.offset += size
        return data

    def take_u32(self) -> int:
        value: int = _U32.unpack(self.take(_U32.size))[0]
        return value

    def take_bytes(self) -> bytes:
        return self.take(self.take_u32())

    def take_list(self, fields: int) -> list[bytes]:
        """The fields, one after another, of a list whose elements have so many."""
        return [self.take_bytes() for _ in range(fields * self.take_u32())]

    def take_run_result(self) -> RunResult:
        verdict, flags, code, signal, wall, cpu, peak = _RUN_RESULT.unpack(self.take(_RUN_RESULT.size))
        stdout, stderr = self.take_bytes(), self.take_bytes()
        difference = self._take_difference() if self.take(1)[0] else None
        return RunResult(
            _VERDICTS[verdict],
            None if code < 0 else code,
            None if signal < 0 else signal,
            wall / 1000,
            cpu / 1000,
            round(peak / 1024, 2),
            stdout,
            stderr,
            bool(flags & _TRUNCATED),
            difference,
            bool(flags & _INTERRUPTED),
        )

    def _take_difference(self) -> Difference:
        index, offset = _POSITION.unpack(self.take(_POSITION.size))
        expected, actual = (self.take_bytes().decode(errors="replace") for _ in range(2))
        return Difference(index, offset, expected, actual)


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _bytes(data: bytes) -> bytes:
    return _U32.pack(len(data)) + data


def _text(text: str) -> bytes:
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise AgnosticsError(f"{text!r} is no Unicode, so it cannot be a file name, argument or variable") from error
    if b"\0" in data:
        raise AgnosticsError(f"{text!r} holds a NUL, so it cannot be a file name, argument or variable")
    return _bytes(data + b"\0")


def _variables(environment: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in environment.items()]


def _texts(texts: Sequence[str]) -> bytes:
    return _U32.pack(len(texts)) + b"".join(map(_text, texts))
