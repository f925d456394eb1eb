"""`agn verify`: the verifier as a filter over JSON lines."""

from __future__ import annotations

from typing import IO

import click

from agnostics.cli.input import InputFile
from agnostics.cli.output import reserve_stdout
from agnostics.plugins.manager import load_plugins
from agnostics.util.signals import InterruptHandler
from agnostics.verify_stream.format import read_requests


@click.command(name="verify")
@click.argument("file", type=InputFile("rb"), default="-")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--slots", type=click.IntRange(min=1), help="Programs that run at once; one per processor if not given.")
def command(file: IO[bytes], sandbox: str, slots: int | None) -> int:
    """Verify a stream of programs: one JSON object per line in, one per line out, as soon as each is verified.

    The exit status is 0 if every line has a verdict on its program, whichever, and 1 if a line is no request or a
    verdict is sandbox_error.
    """
    from agnostics.verify import Verifier
    from agnostics.verify_stream.replies import ReplyWriter
    from agnostics.verify_stream.requests import RequestVerifier

    plugins = load_plugins()
    with (
        InterruptHandler(),  # a SIGTERM would otherwise leave the slots' groups behind
        reserve_stdout() as results,
        Verifier(sandbox, slots, plugins.languages(), plugins.sandboxes()) as verifier,
    ):
        requests = RequestVerifier(verifier, plugins.language)
        replies = ReplyWriter(results, verifier.slots)
        with replies:
            for request, size in read_requests(file):
                replies.reserve(size)
                requests.submit(request, replies.taker(size))
    if replies.sandbox_errors:
        count = f"{replies.sandbox_errors} of {replies.written}"
        click.echo(f"agn: the sandbox failed on {count} programs; `agn doctor` checks it", err=True)
    return 0 if replies.all_valid and not replies.sandbox_errors else 1
