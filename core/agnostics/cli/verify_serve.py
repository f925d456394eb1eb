"""`agn verify --serve`: its address, its token, its languages, and its end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.util.signals import ForcedInterrupt, InterruptHandler

if TYPE_CHECKING:
    from agnostics.types.language import Language
    from agnostics.verify import Verifier
    from agnostics.web.verify.server import VerifyServer

DEFAULT_ADDRESS = "127.0.0.1:8001"
TOKEN_VARIABLE = "AGN_VERIFY_TOKEN"
MIN_TOKEN = 16
"""The fewest characters of a token: shorter ones can be guessed."""


@dataclass(frozen=True)
class ServerAddress:
    """The address to listen on, and the token that requests there need, if any."""

    host: str
    port: int
    token: str | None


def server_address(at: str, token_file: Path | None) -> ServerAddress:
    """The address in `at`, with the token. Raises UsageError, also if others can reach it and there is no token."""
    try:
        from agnostics.web.auth import is_loopback
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[serve]'") from error
    host, port = _host_and_port(at)
    token = _token(token_file)
    if token is None and not is_loopback(host):
        raise UsageError(f"--serve {at}: others can reach it, so it needs a token: --token-file, or {TOKEN_VARIABLE}")
    return ServerAddress(host, port, token)


def _host_and_port(text: str) -> tuple[str, int]:
    """The host and the port in HOST:PORT or [HOST]:PORT. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535 or not host:
        raise UsageError(f"--serve {text}: expected HOST:PORT, such as {DEFAULT_ADDRESS}")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _token(file: Path | None) -> str | None:
    """The token in `file`, else that of the environment, else None. Raises UsageError if it is none."""
    if file is None:
        return _checked(os.environ.get(TOKEN_VARIABLE) or None, TOKEN_VARIABLE)
    try:
        text = file.read_text(encoding="ascii")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--token-file {file}: cannot be read: {error}") from error
    return _checked(text, str(file))


def _checked(text: str | None, source: str) -> str | None:
    if text is None:
        return None
    token = text.strip()
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"{source}: a token is {MIN_TOKEN} or more ASCII characters on one line, without spaces")
    return token


def open_server(verifier: Verifier, languages: Mapping[str, Language], address: ServerAddress) -> VerifyServer:
    """The server, which does not serve yet. Raises UsageError if it cannot listen there."""
    try:
        from agnostics.web.verify.server import VerifyServer
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[serve]'") from error
    return VerifyServer(verifier, languages, address.host, address.port, address.token)


def serve(server: VerifyServer, interrupts: InterruptHandler) -> int:
    """Serve until a signal, then drain; 0 after a SIGTERM, while Ctrl-C raises KeyboardInterrupt."""
    with server:
        try:
            click.echo(server.url)
            server.wait()
        except ForcedInterrupt:
            raise
        except KeyboardInterrupt:
            if server.in_flight:
                click.echo(f"agn: finishing {server.in_flight} programs; a second Ctrl-C stops at once", err=True)
            server.drain()
            if not interrupts.terminated:
                raise
    click.echo(f"agn: ended after {server.verified} programs", err=True)
    return 0
