"""The listening socket of a server, and its address."""

from __future__ import annotations

import errno
import socket

from agnostics.types.errors import UsageError

_ALL_INTERFACES = {"0.0.0.0", "::", ""}


def listen(host: str, port: int, advice: str) -> socket.socket:
    """A socket that listens on `host` and `port`; 0 is a free port.

    Raises UsageError if it cannot, with `advice` if the port is in use.
    """
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = f"it is in use; {advice}" if error.errno == errno.EADDRINUSE else error.strerror
        raise UsageError(f"cannot listen on {host} port {port}: {reason}") from error
    # Connections inherit it. The event loop does not set it, and the end of a short response would wait for 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def base_url(host: str, listening: socket.socket) -> str:
    """`http://HOST:PORT`, with this machine's name if `host` means all of its interfaces."""
    name = socket.gethostname() if host in _ALL_INTERFACES else host
    return f"http://{f'[{name}]' if ':' in name else name}:{listening.getsockname()[1]}"
