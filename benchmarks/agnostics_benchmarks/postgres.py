"""A PostgreSQL server of our own for a while: in a temporary folder, reached by a socket in it only."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agnostics.types.errors import MissingRequirement

_WAIT_S = 120


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs; `folder` has its data and its socket."""

    folder: Path
    fsync: bool

    @property
    def url(self) -> str:
        """The URL of its database."""
        return f"postgresql://agn@/postgres?host={self.folder}"

    def start(self) -> None:
        """Start it, and wait until it answers. Raises CalledProcessError where it does not."""
        options = (
            f"-c listen_addresses= -c unix_socket_directories={self.folder} -c fsync={'on' if self.fsync else 'off'}"
        )
        self._run("pg_ctl", "-D", self._data, "-w", "-o", options, "start")

    def stop(self) -> None:
        """Stop it at once."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """Kill it with all its processes, as a machine that loses its power would."""
        process = int((self.folder / "data" / "postmaster.pid").read_text(encoding="ascii").split()[0])
        os.kill(process, signal.SIGSTOP)  # so that it starts no more
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
        for one in (process, *map(int, children)):
            os.kill(one, signal.SIGKILL)
        end = time.monotonic() + _WAIT_S
        while any(Path(f"/proc/{one}/exe").exists() for one in (process, *children)) and time.monotonic() < end:
            time.sleep(0.01)  # they are not ours to wait for
        for lock in ("data/postmaster.pid", ".s.PGSQL.5432.lock"):
            (self.folder / lock).unlink()  # its number may stay taken, where nobody waits for it

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, name: str, *arguments: str) -> None:
        # Its output goes to a file: the server would keep a pipe open. It refuses to run as root.
        user = "nobody" if os.getuid() == 0 else getpass.getuser()
        with (self.folder / "log").open("a") as log:
            command = [_tool(name), *arguments]
            subprocess.run(command, user=user, cwd=self.folder, stdout=log, stderr=log, check=True, timeout=_WAIT_S)


@contextmanager
def postgres_server(*, fsync: bool = False) -> Iterator[Server]:
    """A new server, stopped and removed at the end. Raises MissingRequirement without the tools of PostgreSQL."""
    _tool("initdb")
    folder = Path(tempfile.mkdtemp(prefix="agn-postgres-"))
    if os.getuid() == 0:
        shutil.chown(folder, "nobody")
    server = Server(folder, fsync)
    try:
        server._run("initdb", "-D", server._data, "-U", "agn", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tool(name: str) -> str:
    """The path of a tool of PostgreSQL, which Debian keeps out of the way."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(debian[-1]) if debian else None)
    if found is None:
        raise MissingRequirement("no PostgreSQL here: apt-get install postgresql")
    return found
