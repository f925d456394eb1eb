"""`agn verify`: the verifier as a filter over JSON lines."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeAlias

import click

from agnostics.cli.output import reserve_stdout
from agnostics.cli.verify_format import Malformed, malformed_line, parse, verified_line
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import AgnosticsError

if TYPE_CHECKING:
    from agnostics.types.language import Language
    from agnostics.types.verification import Verification
    from agnostics.verify import Verifier

Answer: TypeAlias = "Malformed | tuple[Any, Future[Verification]]"
IN_FLIGHT_PER_SLOT = 128
"""Lines read and not yet answered, at most."""


@click.command(name="verify")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--slots", type=click.IntRange(min=1), help="Programs that run at once; one per processor if not given.")
def command(file: BinaryIO, sandbox: str, slots: int | None) -> int:
    """Verify a stream of programs: one JSON object per line in, one per line out, as each is decided."""
    from agnostics.verify import Verifier

    plugins = load_plugins()
    with reserve_stdout() as results, Verifier(sandbox, slots, languages=plugins.languages()) as verifier:
        answers = Answers(results, IN_FLIGHT_PER_SLOT * verifier.slots)
        with answers:
            for line in file:
                if line.strip():
                    answers.expect()
                    _begin(line, verifier, plugins.language, answers)
    return 0 if answers.all_well else 1


def _begin(line: bytes, verifier: Verifier, language: Callable[[str], Language], answers: Answers) -> None:
    """Start on one line; its answer comes when it is decided."""
    request = parse(line)
    if isinstance(request, Malformed):
        answers.put(request)
        return
    try:
        spoken = language(request.language)
        program = request.program_in(spoken)
        future = verifier.submit(spoken, program, request.task(), stop_on_failure=request.stop_on_failure)
    except AgnosticsError as error:
        answers.put(Malformed(request.id, str(error)))
    else:
        future.add_done_callback(lambda done: answers.put((request.id, done)))


class Answers:
    """Writes answers as they come, on a thread of its own: reading, running and writing overlap.

    A context manager: leaving it waits for every answer that is expected. At most `bound` are, so that a stream of any
    length takes no more memory than a short one.
    """

    def __init__(self, output: TextIO, bound: int) -> None:
        self.all_well = True
        self._output, self._bound = output, bound
        self._room = threading.BoundedSemaphore(bound)
        self._decided: SimpleQueue[Answer | None] = SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="agnostics-answers", daemon=True)

    def __enter__(self) -> Answers:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if kind is None:
            for _ in range(self._bound):
                self._room.acquire()
        self._decided.put(None)
        self._thread.join(timeout=60)
        if kind is None and self._failure:
            raise self._failure

    def expect(self) -> None:
        """Make room for one more answer; raises what went wrong with writing, if something did."""
        self._room.acquire()
        if self._failure:
            raise self._failure

    def put(self, answer: Answer) -> None:
        """Have an answer written."""
        self._decided.put(answer)

    def _run(self) -> None:
        while (answer := self._decided.get()) is not None:
            try:
                self._write_one(answer)
            except (OSError, ValueError) as error:
                self._failure = error
            self._room.release()

    def _write_one(self, answer: Answer) -> None:
        if self._failure:
            return
        line = malformed_line(answer) if isinstance(answer, Malformed) else self._line(*answer)
        self.all_well = self.all_well and "verdict" in line
        self._output.write(json.dumps(line, ensure_ascii=True) + "\n")
        if self._decided.empty():
            self._output.flush()

    def _line(self, request_id: Any, done: Future[Verification]) -> dict[str, Any]:
        error = done.exception()
        if error is None:
            return verified_line(request_id, done.result())
        return malformed_line(Malformed(request_id, str(error)))
