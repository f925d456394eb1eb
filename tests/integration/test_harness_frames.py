"""The harness under sanitizers and under fuzzing of its frames: no input crashes it."""

from __future__ import annotations

import os
import random
import shutil
import socket
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from agnostics.sandbox import protocol
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.protocol import MAX_FRAME, MODES, Job, JobResult

CORE = Path(protocol.__file__).parents[1]
SOURCES = sorted((CORE / "sandbox" / "harness").glob("*.c"))
DRIVER = Path(__file__).parents[1] / "harness" / "parse_streams.c"
SANITIZERS = "-fsanitize=address,undefined"
EXTREMES = [0, 1, 2, 79, 80, 81, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF, MAX_FRAME, MAX_FRAME + 1]
TIMEOUT_S = 30.0
EMPTY_REPLY = bytes(4)
"""The reply to an empty frame."""

JOB = Job(
    files={"snippet.sh": b"echo 42"},
    compile=None,
    execute=["/bin/sh", "snippet.sh"],
    environment={"LANG": "C"},
    tests=[(b"", b"42")],
    run_s=5.0,
    compile_s=5.0,
    memory_mb=256,
    compile_mb=512,
    processes=64,
    output_bytes=1_000_000,
    stop_on_failure=False,
)


def script(text: str, output: bytes = b"42", given: bytes = b"", **changes: Any) -> Job:
    """A job that runs a shell script once."""
    return replace(replace(JOB, files={"snippet.sh": text.encode()}, tests=[(given, output)]), **changes)


def compiled(text: str, output: bytes = b"42", **changes: Any) -> Job:
    """A job that compiles a C program and runs it twice."""
    job = replace(JOB, files={"snippet.c": text.encode()}, tests=[(b"", output)] * 2)
    return replace(job, **{"compile": ["gcc", "-w", "-o", "prog", "snippet.c"], "execute": ["./prog"], **changes})


@pytest.fixture(autouse=True)
def _nothing_is_preloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where vLLM was used before, it has set LD_PRELOAD, and the library of a sanitizer has to come first."""
    monkeypatch.delenv("LD_PRELOAD", raising=False)


def sanitized(program: Path, sources: list[Path]) -> Path:
    """`sources` compiled with the address and the undefined behaviour sanitizer."""
    if shutil.which("gcc") is None:
        pytest.skip("no compiler with sanitizers here: apt-get install gcc")
    flags = ["-O1", "-g", "-std=gnu11", SANITIZERS, "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
    command = ["gcc", *flags, f"-I{SOURCES[0].parent}", "-o", str(program), *map(str, sources), "-lm"]
    subprocess.run(command, check=True, timeout=120)
    return program


@dataclass
class Harness:
    """A harness as a plain process, and the connection to it."""

    process: subprocess.Popen[bytes]
    connection: socket.socket

    def run(self, frame: bytes | bytearray) -> JobResult:
        """The result for one complete frame."""
        self.connection.sendall(frame)
        (size,) = struct.unpack("<I", self._receive(4))
        body = self._receive(size)
        return JobResult() if body == EMPTY_REPLY else protocol.decode(body)

    def finish(self) -> tuple[int, str]:
        """The exit status once nothing more is sent, and what was said on the error stream."""
        self.connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):  # where it had not read all that was sent
            while self.connection.recv(1 << 16):
                pass
        _, stderr = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, stderr.decode()

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.connection.recv(size - len(data))
            assert part, f"the harness closed the connection: {self.finish()}"
            data += part
        return data


Start = Callable[[Path], Harness]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts harnesses as process mode does; none is left afterwards."""
    with ExitStack() as stack:

        def run(binary: Path) -> Harness:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
            folder.chmod(0o711)
            for name in ("work", "tmp"):
                (folder / name).mkdir()
            ours, theirs = socket.socketpair()
            stack.enter_context(ours).settimeout(TIMEOUT_S)
            with theirs:
                process = _launch(binary, folder, theirs.fileno())
            stack.callback(process.wait)
            stack.callback(process.kill)
            assert ours.recv(1) == b"\0"
            return Harness(process, ours)

        yield run


def _launch(binary: Path, folder: Path, fd: int) -> subprocess.Popen[bytes]:
    user = ["--uid", "45678"] if os.geteuid() == 0 else []
    return subprocess.Popen(
        [binary, "--fd", str(fd), "--work", str(folder / "work"), "--tmp", str(folder / "tmp"), *user],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[fd],
        env={"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"},
    )


LITTER = "mkdir -p a/b/c; mkfifo a/f; ln -s / a/l; chmod 0 a/b; touch ../tmp/x; echo 42"
DEEP = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do mkdir d; cd d; done; echo 42"
MIXED: list[tuple[str, Job]] = [
    ("accepted", JOB),
    ("accepted", script("cat", b"x y\n" * 1_000_000, b"x y\n" * 1_000_000, output_bytes=5_000_000)),
    ("wrong_answer", script("echo 41")),
    ("wrong_answer", script("cat", b"y" * 3_000_000, b"x" * 3_000_000, output_bytes=5_000_000)),
    ("wrong_answer", script("exit 0")),
    ("runtime_error", script("echo 42; exit 3")),
    ("runtime_error", script("kill -SEGV $$")),
    ("time_limit", script("while :; do :; done", run_s=0.1)),
    ("time_limit", script("sleep 9", run_s=0.1)),
    ("output_limit", script("while :; do echo 4242424242; done")),
    ("output_limit", script("while :; do echo 4242424242 >&2; done")),
    ("memory_limit", script("x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done", memory_mb=40)),
    ("accepted", script("sleep 100 & (setsid sleep 100 &); echo 42")),
    ("accepted", script(LITTER, tests=[(b"", b"42")] * 3)),
    ("accepted", script(DEEP)),
    ("accepted", script("echo 42.0000001 nan -inf", b"42.0 nan -inf", compare="floats", absolute=1e-3, relative=1e-3)),
    ("wrong_answer", script("echo 42.1 0x2a", b"42.0 42.0", compare="floats", absolute=1e-3, relative=1e-3)),
    ("accepted", script("printf '42 \\n43\\n\\n'", b"42\n43", compare="lines")),
    ("wrong_answer", script("printf '42\\n 43\\n'", b"42\n43", compare="lines")),
    ("wrong_answer", script("printf '42\\n'", b"42", compare="exact")),
    ("accepted", script("printf '\\0\\377'", b"", compare="nothing")),
    ("accepted", compiled('int main(){puts("42");}')),
    ("runtime_error", compiled("int main(){return *(volatile char*)0;}")),
    ("runtime_error", compiled("int main(){}", compile=["gcc", "-w", "-o", "other", "snippet.c"])),
]
UNCOMPILED = [
    compiled("int main("),
    compiled('#include "/dev/zero"\n', compile_s=0.2),
    compiled("int main(){}", compile_mb=1),
]


def test_no_sanitizer_reports_an_error_in_a_harness_at_work(tmp_path: Path, start: Start) -> None:
    harness = start(sanitized(tmp_path / "harness", SOURCES))
    order = MIXED * 2
    random.Random(1).shuffle(order)
    for due, job in order:
        result = harness.run(protocol.encode(job))
        assert ({str(test.verdict) for test in result.tests}, result.error) == ({due}, None), job.files
    for job in UNCOMPILED:
        result = harness.run(protocol.encode(job))
        assert result.error is None
        assert result.compile
        assert result.compile.verdict != "accepted"
    assert harness.run(struct.pack("<I", 0)).error is None
    assert harness.run(struct.pack("<II", 4, 99)).error
    assert harness.run(protocol.encode(replace(JOB, execute=["not-installed"]))).error
    assert harness.finish() == (0, "")


def framed(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


def mutated(rng: random.Random, body: bytes) -> bytes:
    """`body` with a few things wrong."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(max(1, len(data)))
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at : at + 4] = struct.pack("<I", rng.choice(EXTREMES))
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at : at + rng.randint(1, 8)]
        elif kind == 4:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        else:
            data[at : at + 16] = rng.randbytes(rng.randint(0, 16))
    return bytes(data)


def samples(rng: random.Random) -> list[bytes]:
    """Bodies of well-formed frames of many shapes."""
    texts = [
        b"",
        b"1 2 3\n",
        b"nan inf -0.0 1e308 1e309",
        b"0x1p3 1.5.5",
        b" \n\n\t ",
        b"\0\xff",
        b"9" * 500,
        b"a\nb \n",
    ]
    bodies = []
    for mode in MODES:
        for _ in range(4):
            tests = [(rng.choice(texts), rng.choice(texts)) for _ in range(rng.randint(1, 4))]
            job = replace(JOB, compare=mode, tests=tests, compile=rng.choice([None, ["cc", "x.c"]]))
            bodies.append(bytes(protocol.encode(job)[4:]))
    return bodies


def test_no_frame_crashes_the_parser_or_the_comparison(tmp_path: Path) -> None:
    rng = random.Random(2)
    bodies = samples(rng)
    streams = [framed(body) for body in bodies] * 100
    streams += [framed(mutated(rng, rng.choice(bodies))) for _ in range(30_000)]
    streams += [mutated(rng, framed(rng.choice(bodies))) for _ in range(2_000)]  # the length of the frame is wrong, too
    streams += [framed(rng.randbytes(rng.randint(0, 200))) for _ in range(2_000)]
    streams += [framed(rng.choice(bodies)) + mutated(rng, framed(rng.choice(bodies))) for _ in range(1_000)]
    (tmp_path / "streams").write_bytes(b"".join(map(framed, streams)))
    parsers = [path for path in SOURCES if path.name in {"frames.c", "compare.c"}]
    driver = sanitized(tmp_path / "driver", [DRIVER, *parsers])
    done = subprocess.run([driver, tmp_path / "streams"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    frames, jobs = map(int, done.stdout.split())
    assert frames > 33_000
    assert 3_000 < jobs < frames - 10_000


TRUE = replace(JOB, files={"snippet": b""}, execute=["/bin/true"], tests=[(b"", b"")])


def test_malformed_frames_get_an_error_and_valid_ones_after_them_a_result(start: Start) -> None:
    rng = random.Random(3)
    harness = start(harness_path())
    good = bytes(protocol.encode(TRUE)[4:])
    errors = 0
    for _ in range(1000):
        errors += harness.run(framed(mutated(rng, good))).error is not None
        if rng.randrange(20) == 0:
            result = harness.run(protocol.encode(JOB))
            assert (result.error, [str(test.verdict) for test in result.tests]) == (None, ["accepted"])
    assert errors > 500
    assert harness.finish() == (0, "")


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\1",
        struct.pack("<I", MAX_FRAME + 1),
        struct.pack("<I", 0xFFFFFFFF) + b"x" * 1000,
        struct.pack("<I", MAX_FRAME) + b"x" * 1000,
        bytes(protocol.encode(JOB)[:-1]),
        bytes(protocol.encode(JOB)[:50]),
    ],
    ids=["nothing", "a byte", "too large", "the largest", "announced, not sent", "all but a byte", "the head"],
)
def test_bytes_that_are_no_frame_end_the_harness_in_order(start: Start, sent: bytes) -> None:
    harness = start(harness_path())
    assert harness.run(protocol.encode(JOB)).tests[0].verdict == "accepted"
    harness.connection.sendall(sent)
    assert harness.finish() == (0, "")
