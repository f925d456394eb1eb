"""Whether programs end the same with a forked interpreter as with one that is executed: references, others and mutants.

python benchmarks/fork_server.py LANGUAGE [--programs FILE] [--mutants 10000] [--sandbox bubblewrap]

LANGUAGE is a name or a YAML file. Its reference programs for the starter tasks are taken, with inputs of these. FILE
has more programs: JSON lines with `program` and, if it reads any, `input`. Mutants are made of all of them. Verdict,
exit status, signal, stdout and stderr are compared. A program that differs is run once more in both ways: some do
not end as before.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from agnostics.models.starter.mutation import wrong_programs
from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.job_codec import job_for
from agnostics.sandbox.protocol import JobResult
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.verify import Verifier

LIMITS = LimitOverrides(run_s=2)
IN_FLIGHT = 64
TIMEOUT_S = 600
EXAMPLES = 5


@dataclass(frozen=True)
class Program:
    """A program and its input."""

    text: str
    input: str


class ForkComparison:
    """Runs programs in both ways; `differences` counts what differs."""

    def __init__(self, verifier: Verifier, language: Language) -> None:
        self._pool: Any = verifier._pool
        self._ways = language, language.model_copy(update={"fork_server": None})
        self.verdicts: Counter[str] = Counter()
        self.differences: Counter[str] = Counter()
        self.examples: list[tuple[str, Program]] = []

    def compare(self, programs: Iterator[Program]) -> None:
        """Compare all programs, many at a time."""
        running: deque[tuple[Program, list[Future[JobResult]]]] = deque()
        for program in programs:
            running.append((program, self._start(program)))
            if len(running) >= IN_FLIGHT:
                self._finish(*running.popleft())
        while running:
            self._finish(*running.popleft())

    def _start(self, program: Program) -> list[Future[JobResult]]:
        task = Task(id="compared", tests=(Test(input=program.input, output=""),), limits=LIMITS)
        jobs = [(language, job_for(language, program.text, task, stop_on_failure=False)) for language in self._ways]
        return [self._pool.submit(language, job) for language, job in jobs]

    def _finish(self, program: Program, results: Sequence[Future[JobResult]]) -> None:
        forked, executed = (_end(future.result(timeout=TIMEOUT_S)) for future in results)
        self.verdicts[executed["verdict"]] += 1
        if forked == executed:
            return
        again = [_end(future.result(timeout=TIMEOUT_S)) for future in self._start(program)]
        if again[1] != executed or again[0] != forked:
            self.differences["programs that do not end the same twice"] += 1
            return
        kind = ", ".join(key for key in {**forked, **executed} if forked.get(key) != executed.get(key))
        self.differences[kind] += 1
        self.examples.append((f"{kind}: {forked} and {executed}", program))


def _end(result: JobResult) -> dict[str, Any]:
    """The end of a program."""
    if result.error is not None or result.fork_refusal or not result.tests:
        return {"verdict": f"error: {result.error or result.fork_refusal}"}
    (run,) = result.tests
    stopped = run.verdict in {"memory_limit", "time_limit"}  # where it is stopped is chance
    seen = {"exit_code": run.exit_code, "signal": run.signal, "stdout": run.stdout, "stderr": run.stderr}
    return {"verdict": run.verdict.value, **({} if stopped else seen)}


def base_programs(language: Language, path: Path | None) -> list[Program]:
    """The reference programs of the starter tasks, one for each family, and those of the file."""
    starter, _ = load_plugins().dataset("starter")
    tasks = {task.family: task for task in starter.tasks("test")}.values()
    references = ((language.reference_for(task), task.tests[0].input) for task in tasks)
    programs = [Program(text, given) for text, given in references if text]
    if path:
        records = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        programs += [Program(record["program"], record.get("input", "")) for record in records]
    return programs


def mutants(programs: Sequence[Program], count: int) -> Iterator[Program]:
    """`count` programs with a small change in each."""
    rng = Random(0)
    each = -(-count // len(programs))
    made = 0
    for program in programs:
        for text in wrong_programs(program.text, (), each, rng):
            if made < count:
                made += 1
                yield Program(text, program.input)


def main() -> None:
    """Compare and print what differs; exit status 1 where something does that ends the same twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language")
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--sandbox", default="bubblewrap")
    chosen = parser.parse_args()
    language = load_plugins().language(chosen.language)
    if not language.fork_server:
        parser.error(f"{language.name} has no fork server")
    programs = base_programs(language, chosen.programs)
    failed = False
    with Verifier(chosen.sandbox) as verifier:
        for name, some in (("programs", iter(programs)), ("mutants", mutants(programs, chosen.mutants))):
            comparison = ForkComparison(verifier, language)
            comparison.compare(some)
            print(f"{sum(comparison.verdicts.values())} {name}: {dict(comparison.verdicts)}")
            print(f"  different: {dict(comparison.differences) or 'none'}")
            for what, program in comparison.examples[:EXAMPLES]:
                print(f"  {what[:600]}\n{program.text[:600]}\n")
            failed = failed or bool(comparison.examples)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
