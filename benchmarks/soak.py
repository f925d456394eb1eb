"""Thousands of mixed programs in one stream: constant memory, constant speed, nothing left behind.

python benchmarks/soak.py [--programs 20000] [--minutes 60] [--sandbox docker|bubblewrap]

With `--minutes` the programs come evenly over that time; without, as fast as they are verified.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

TEST = {"input": "3 4\n", "output": "7"}
KINDS: dict[str, tuple[str, str, str]] = {
    "right": ("lua", "local a, b = io.read('n', 'n') print(a + b)", "accepted"),
    "right, compiled": ("fortran", "integer :: a, b\nread *, a, b\nprint *, a + b\nend", "accepted"),
    "right, forked": ("r", "cat(sum(scan(file('stdin'), quiet = TRUE)))", "accepted"),
    "wrong": ("lua", "print(8)", "wrong_answer"),
    "wrong, forked": ("r", "if (length(ls()) == 0) cat(8) else cat(7)", "wrong_answer"),
    "crashing": ("lua", "error('x')", "runtime_error"),
    "not compiling": ("fortran", "this is no program", "compile_error"),
    "looping": ("lua", "while true do end", "time_limit"),
    "flooding": ("lua", "while true do io.write(('x'):rep(65536)) end", "output_limit"),
    "greedy": ("lua", "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) end", "memory_limit"),
    "leaving files": ("lua", "for i = 1, 50 do io.open('/tmp/' .. i, 'w'):write('x') end print(7)", "accepted"),
    "leaving a daemon": ("lua", "os.execute('sleep 1000 &') print(7)", "accepted"),
    "forking": ("lua", "os.execute(':(){ :|:& };:') while true do end", "time_limit"),
    "empty": ("lua", " ", "no_program"),
}
SHARES = (585, 80, 40, 100, 18, 50, 30, 5, 10, 10, 30, 20, 2, 20)
"""The number of each in a thousand programs."""
SAMPLE = 1000
SETTLE_S = 20
"""Timeout for the container engine to remove its files of a container."""


def main() -> None:
    """Run the soak and say what is left; exit status 1 where something is, or a verdict was not as due."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--sandbox", default="auto")
    chosen = parser.parse_args()
    if chosen.programs < 4 * SAMPLE:
        parser.error(f"it takes {4 * SAMPLE} programs to see a change")
    before = snapshot()
    failures = soak(chosen.programs, chosen.sandbox, chosen.minutes * 60 / chosen.programs)
    left = what_is_left(before)
    print(f"left behind: {left or 'nothing'}")
    sys.exit(1 if failures or left else 0)


def what_is_left(before: dict[str, set[str]]) -> dict[str, list[str]]:
    """Processes, files and containers that exist now and did not before."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        left = {what: sorted(found - before[what]) for what, found in snapshot().items() if found - before[what]}
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.2)


def mixture(count: int) -> list[str]:
    """The kinds of `count` programs: each thousand the same, in another order."""
    rng = random.Random(0)
    thousand = [name for name, share in zip(KINDS, SHARES, strict=True) for _ in range(share)]
    return [name for _ in range(-(-count // len(thousand))) for name in rng.sample(thousand, len(thousand))][:count]


def soak(count: int, sandbox: str, interval_s: float) -> int:
    """Verify `count` programs, one every `interval_s`; the number of wrong verdicts."""
    names = mixture(count)
    command = [sys.executable, "-m", "agnostics", "verify", "-", "--sandbox", sandbox]
    wrong: Counter[tuple[str, str]] = Counter()
    marks: list[float] = []
    memory: list[tuple[int, int, int]] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        threading.Thread(target=_feed, args=(process.stdin, names, interval_s), daemon=True).start()
        for number, line in enumerate(process.stdout):
            answer = json.loads(line)
            name = names[answer["id"]]
            if answer.get("verdict") != KINDS[name][2]:
                wrong[name, str(answer.get("verdict", answer))] += 1
            if number % SAMPLE == 0:
                marks.append(time.monotonic())
                memory.append(usage(process.pid))
                print(f"{number} programs, rss {memory[-1][0]} MB, {memory[-1][1]} files, {memory[-1][2]} threads")
    first, last = marks[2] - marks[1], marks[-1] - marks[-2]
    print(f"first full thousand {first:.1f} s, last {last:.1f} s; rss {memory[1][0]} -> {memory[-1][0]} MB")
    print(f"wrong verdicts: {dict(wrong) or 'none'} of {count}")
    return sum(wrong.values())


def _feed(to: IO[bytes], names: list[str], interval_s: float) -> None:
    started_s = time.monotonic()
    with to:
        for number, name in enumerate(names):
            time.sleep(max(0.0, started_s + number * interval_s - time.monotonic()))
            language, program, _ = KINDS[name]
            limits = {"run_s": 1.0, "memory_mb": 128}
            request: dict[str, Any] = {"id": number, "language": language, "program": program, "tests": [TEST]}
            to.write(json.dumps({**request, "limits": limits}).encode() + b"\n")
            if interval_s:
                to.flush()


def usage(pid: int) -> tuple[int, int, int]:
    """Resident memory (MB), open files and threads of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return int(status["VmRSS"].split()[0]) >> 10, files, int(status["Threads"])


def snapshot() -> dict[str, set[str]]:
    """Everything that a sandbox could leave: processes, temporary files, containers, control groups, zombies."""
    processes = {f"{path.name} {_name(path)}" for path in Path("/proc").iterdir() if path.name.isdigit()}
    ours = {one for one in processes if not one.partition(" ")[2].startswith(("kworker", "kdamond"))}
    files = {str(path) for folder in ("/tmp", "/dev/shm", "/run/user") for path in Path(folder).glob("*agnostics*")}
    groups = {str(path) for path in Path("/sys/fs/cgroup").rglob("agnostics-*")}
    command = ["docker", "ps", "-aq", "--filter", "label=agnostics.scope"]
    try:
        containers = set(subprocess.run(command, capture_output=True, text=True, check=False).stdout.split())
    except FileNotFoundError:
        containers = set()
    return {"processes": ours, "files": files, "groups": groups, "containers": containers}


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "gone"


if __name__ == "__main__":
    main()
