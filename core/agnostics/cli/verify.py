"""`agn verify`: the verifier as a filter over JSON lines, or as a service."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import click

from agnostics.cli.input import InputFile
from agnostics.cli.output import reserve_stdout
from agnostics.cli.verify_serve import DEFAULT_ADDRESS, open_server, serve, server_address
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.util.signals import InterruptHandler
from agnostics.verify_stream.format import read_requests


@click.command(name="verify")
@click.argument("file", type=InputFile("rb"), required=False)
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--slots", type=click.IntRange(min=1), help="Programs that run at once; one per processor if not given.")
@click.option(
    "--serve",
    "at",
    metavar="HOST:PORT",
    is_flag=False,
    flag_value=DEFAULT_ADDRESS,
    help=f"Serve over HTTP instead of reading FILE; without a value at {DEFAULT_ADDRESS}. Port 0 selects a free one.",
)
@click.option("--token-file", type=click.Path(path_type=Path), help="With --serve: a file that holds the token.")
@click.option(
    "--language",
    "files",
    multiple=True,
    metavar="YAML",
    type=click.Path(path_type=Path),
    help="With --serve: the file of a further language, which requests call by its name.",
)
def command(
    file: IO[bytes] | None,
    sandbox: str,
    slots: int | None,
    at: str | None,
    token_file: Path | None,
    files: tuple[Path, ...],
) -> int:
    """Verify a stream of programs: one JSON object per line in, one per line out, as soon as each is verified.

    The exit status is 0 if every line has a verdict on its program, whichever, and 1 if a line is no request or a
    verdict is sandbox_error. With --serve, the lines come and go over HTTP, until a signal.
    """
    if at is not None:
        if file is not None:
            raise UsageError("give either a file or --serve")
        return _serve(sandbox, slots, at, token_file, files)
    if token_file or files:
        raise UsageError("--token-file and --language are options of --serve")
    return _filter(file or InputFile("rb").convert("-", None, None), sandbox, slots)


def _filter(file: IO[bytes], sandbox: str, slots: int | None) -> int:
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


def _serve(sandbox: str, slots: int | None, at: str, token_file: Path | None, files: tuple[Path, ...]) -> int:
    from agnostics.verify import Verifier

    address = server_address(at, token_file)
    plugins = load_plugins()
    languages = {**plugins.languages(), **{language.name: language for language in map(Language.from_yaml, files)}}
    with InterruptHandler() as interrupts, Verifier(sandbox, slots, languages, plugins.sandboxes()) as verifier:
        return serve(open_server(verifier, languages, address), interrupts)
