"""`agn verify`: the verifier as a filter over JSON lines."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

import click

from agnostics.cli.input import InputFile
from agnostics.cli.output import reserve_stdout
from agnostics.cli.verify_format import Malformed, VerifyRequest, read_requests
from agnostics.cli.verify_replies import ReplyWriter
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import AgnosticsError, describe_error
from agnostics.util.signals import InterruptHandler

if TYPE_CHECKING:
    from agnostics.types.language import Language
    from agnostics.verify import Verifier

log = logging.getLogger("agnostics")


@click.command(name="verify")
@click.argument("file", type=InputFile("rb"), default="-")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--slots", type=click.IntRange(min=1), help="Programs that run at once; one per processor if not given.")
def command(file: BinaryIO, sandbox: str, slots: int | None) -> int:
    """Verify a stream of programs: one JSON object per line in, one per line out, as soon as each is verified.

    The exit status is 0 if every line has a verdict on its program, whichever, and 1 if a line is no request or a
    verdict is sandbox_error.
    """
    from agnostics.verify import Verifier

    plugins = load_plugins()
    with (
        InterruptHandler(),  # a SIGTERM would otherwise leave the slots' groups behind
        reserve_stdout() as results,
        Verifier(sandbox, slots, plugins.languages(), plugins.sandboxes()) as verifier,
    ):
        replies = ReplyWriter(results, verifier.slots)
        with replies:
            for request, size in read_requests(file):
                replies.reserve(size)
                _submit(request, size, verifier, plugins.language, replies)
    if replies.sandbox_errors:
        count = f"{replies.sandbox_errors} of {replies.written}"
        click.echo(f"agn: the sandbox failed on {count} programs; `agn doctor` checks it", err=True)
    return 0 if replies.all_valid and not replies.sandbox_errors else 1


def _submit(
    request: VerifyRequest | Malformed,
    size: int,
    verifier: Verifier,
    find_language: Callable[[str], Language],
    replies: ReplyWriter,
) -> None:
    """Submit the program of one request of `size` bytes; its reply is written once it is verified."""
    if isinstance(request, Malformed):
        replies.put(request, size)
        return
    request_id = request.id
    try:
        language = find_language(request.language)
        program = request.program_in(language)
        future = verifier.submit(language, program, request.task(), stop_on_failure=request.stop_on_failure)
    except AgnosticsError as error:
        replies.put(Malformed(request_id, str(error)), size)
    except Exception as error:  # of a language from a plugin: the other requests go on, and the log has the traceback
        log.exception("the language %r failed", request.language)
        replies.put(Malformed(request_id, f"the language failed: {describe_error(error)}"), size)
    else:
        future.add_done_callback(lambda done: replies.put((request_id, done), size))
