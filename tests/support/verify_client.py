"""A server of `agn verify --serve` in a process of its own, and a client that sends and reads at the same time."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

NDJSON = {"Content-Type": "application/x-ndjson"}


def encoded(*requests: Any) -> bytes:
    """The lines of requests; bytes are lines already."""
    return b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in requests)


class Client:
    """One request to /verify, whose body is sent in parts."""

    def __init__(self, url: str, headers: Mapping[str, str] = NDJSON, receive_buffer: int | None = None) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
        self._connection.connect()
        if receive_buffer:
            self._connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._connection.putrequest("POST", "/verify")
        for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
            self._connection.putheader(name, value)
        self._connection.endheaders()
        self._response: Any = None

    def send(self, *requests: Any) -> None:
        """Send requests, or the bytes of some."""
        data = encoded(*requests)
        self._connection.sock.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        """End the body."""
        self._connection.sock.sendall(b"0\r\n\r\n")

    def reply(self) -> dict[str, Any]:
        """The next reply."""
        reply: dict[str, Any] = json.loads(self._response_file().readline())
        return reply

    def replies(self) -> list[dict[str, Any]]:
        """The replies to the end; raises IncompleteRead if the server breaks off."""
        return [json.loads(line) for line in self._response_file().read().splitlines()]

    def close(self) -> None:
        """Go away."""
        if self._response:
            self._response.close()
        self._connection.close()

    def _response_file(self) -> Any:
        self._response = self._response or self._connection.getresponse()
        return self._response


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    process: subprocess.Popen[str]

    def get(self, path: str, data: bytes | None = None, **headers: str) -> tuple[int, str]:
        """The status and the text of a response; keyword arguments are headers."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, named), timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def verify(self, *requests: Any) -> list[dict[str, Any]]:
        """The replies to requests that are sent at once."""
        status, text = self.get("/verify", encoded(*requests), content_type="application/x-ndjson")
        assert status == 200, text
        return [json.loads(line) for line in text.splitlines()]

    def metrics(self) -> dict[str, float]:
        """The sums of the metrics over their labels, without their prefix."""
        status, text = self.get("/metrics")
        assert status == 200, text
        sums: dict[str, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                name = sample.name.removeprefix("agnostics_verify_")
                sums[name] = sums.get(name, 0) + sample.value
        return sums

    def wait_until(self, condition: Callable[[dict[str, float]], bool]) -> dict[str, float]:
        """The first metrics that meet a condition; fails after half a minute."""
        deadline = time.monotonic() + 30
        while not condition(metrics := self.metrics()):
            assert time.monotonic() < deadline, metrics
            time.sleep(0.01)
        return metrics


@contextmanager
def served(*options: str, before: str = "", env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """A server with two slots; `before` is run in its process first."""
    code = f"{before}\nfrom agnostics.cli import main\nmain()"
    command = [sys.executable, "-c", code, "verify", "--sandbox", "bubblewrap", "--slots", "2"]
    command += ["--serve", "127.0.0.1:0", *options]
    pipe, environment = subprocess.PIPE, {**os.environ, **(env or {})}
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            assert url, process.communicate()[1]
            yield Served(url, process)
        finally:
            process.terminate()
            process.wait(timeout=40)
