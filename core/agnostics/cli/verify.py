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

Reply: TypeAlias = "Malformed | tuple[Any, Future[Verification]]"
IN_FLIGHT_PER_SLOT = 128
"""The most lines that are read and not yet replied to."""


@click.command(name="verify")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--slots", type=click.IntRange(min=1), help="Programs that run at once; one per processor if not given.")
def command(file: BinaryIO, sandbox: str, slots: int | None) -> int:
    """Verify a stream of programs: one JSON object per line in, one per line out, as soon as each is verified."""
    from agnostics.verify import Verifier

    plugins = load_plugins()
    with reserve_stdout() as results, Verifier(sandbox, slots, plugins.languages(), plugins.sandboxes()) as verifier:
        replies = ReplyWriter(results, IN_FLIGHT_PER_SLOT * verifier.slots)
        with replies:
            for line in file:
                if line.strip():
                    replies.reserve()
                    _submit(line, verifier, plugins.language, replies)
    return 0 if replies.all_valid else 1


def _submit(line: bytes, verifier: Verifier, find_language: Callable[[str], Language], replies: ReplyWriter) -> None:
    """Submit the program of one line; its reply is written once it is verified."""
    request = parse(line)
    if isinstance(request, Malformed):
        replies.put(request)
        return
    try:
        language = find_language(request.language)
        program = request.program_in(language)
        future = verifier.submit(language, program, request.task(), stop_on_failure=request.stop_on_failure)
    except AgnosticsError as error:
        replies.put(Malformed(request.id, str(error)))
    else:
        future.add_done_callback(lambda done: replies.put((request.id, done)))


class ReplyWriter:
    """Writes replies on a thread of its own, so that reading, running and writing overlap.

    A context manager: its end waits for all reserved replies. At most `bound` are reserved, so that a stream of any
    length takes no more memory than a short one.
    """

    def __init__(self, output: TextIO, bound: int) -> None:
        self.all_valid = True
        self._output, self._bound = output, bound
        self._unreserved = threading.BoundedSemaphore(bound)
        self._queue: SimpleQueue[Reply | None] = SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="agnostics-replies", daemon=True)

    def __enter__(self) -> ReplyWriter:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if kind is None:
            for _ in range(self._bound):
                self._unreserved.acquire()
        self._queue.put(None)
        self._thread.join(timeout=60)
        if kind is None and self._failure:
            raise self._failure

    def reserve(self) -> None:
        """Block until one more reply may be outstanding. Raises the error of the writer, if it had one."""
        self._unreserved.acquire()
        if self._failure:
            raise self._failure

    def put(self, reply: Reply) -> None:
        """Queue a reply."""
        self._queue.put(reply)

    def _run(self) -> None:
        while (reply := self._queue.get()) is not None:
            try:
                self._write(reply)
            except (OSError, ValueError) as error:
                self._failure = error
            self._unreserved.release()

    def _write(self, reply: Reply) -> None:
        if self._failure:
            return
        line = malformed_line(reply) if isinstance(reply, Malformed) else self._line(*reply)
        self.all_valid = self.all_valid and "verdict" in line
        self._output.write(json.dumps(line, ensure_ascii=True) + "\n")
        if self._queue.empty():
            self._output.flush()

    def _line(self, request_id: Any, done: Future[Verification]) -> dict[str, Any]:
        error = done.exception()
        if error is None:
            return verified_line(request_id, done.result())
        return malformed_line(Malformed(request_id, str(error)))
