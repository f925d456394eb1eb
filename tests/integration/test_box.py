"""The box of an agent session: its client, its sockets, its files and its walls, in both modes."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from agent_session import BRAINFUCK, ECHO, SECRET, WRONG, AgentSession, agent_session
from agnostics.players.box import Box
from agnostics.players.python_copy import copy_python
from agnostics.sandbox.modes import builtin_backends
from agnostics.sandbox.session import Session
from agnostics.sandbox.session_pool import SessionPool
from agnostics.sandbox.slot_options import Mount, SlotOptions
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language
from agnostics.types.task import Limits
from agnostics.types.verification import Verdict
from agnostics.verify import Verifier
from ordinary_user import OrdinaryUserBackend

LIMITS = Limits(run_s=20.0, memory_mb=512)

Open = Callable[..., AbstractContextManager[tuple[AgentSession, Box]]]


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 1, languages={"brainfuck": BRAINFUCK}) as made:
        yield made


@pytest.fixture
def open_box(mode: str, tmp_path: Path, verifier: Verifier) -> Open:
    """Opens the box of a new session under a protocol with the given rules."""

    @contextmanager
    def open_(
        *mounts: Mount, agent_language: str | None = None, with_mcp: bool = False, **rules: Any
    ) -> Iterator[tuple[AgentSession, Box]]:
        with (
            agent_session(tmp_path, verifier, **rules) as session,
            Box(
                session.referee,
                BRAINFUCK,
                session.protocol,
                sandbox=mode,
                limits=LIMITS,
                mounts=mounts,
                agent_language=agent_language,
                with_mcp=with_mcp,
            ) as box,
        ):
            yield session, box

    return open_


def run(session: Session, *argv: str, status: int = 0) -> str:
    """The outputs of a command with this exit status."""
    result = session.exec(argv)
    assert result.exit_code == status, (result.verdict, result.stdout, result.stderr)
    return (result.stdout + result.stderr).decode()


def test_a_player_goes_through_a_session_with_the_client(open_box: Open) -> None:
    with open_box() as (session, box):
        box.session.put({"echo.bf": ECHO.encode(), "wrong.bf": WRONG.encode()})
        assert "Print the input." in run(box.session, "session", "fetch")
        assert run(box.session, "interpreter", "echo.bf") == ""
        assert "hello" in run(box.session, "session", "run", "echo.bf", "--input", "hello")
        assert "wrong.bf" in box.session.exec(["ls"]).stdout.decode()
        run(box.session, "session", "submit", "one", "wrong.bf")
        submitted = json.loads(run(box.session, "session", "submit", "one", "echo.bf", "--json"))
        assert submitted["data"]["solved"] is True
        run(box.session, "session", "submit", "one", "echo.bf", status=1)
        run(box.session, "session", "skip", status=1)
        assert json.loads(run(box.session, "session", "status", "--json"))["data"]["solved"] == 1
        assert SECRET not in run(box.session, "session", "export")
        assert [kind for kind, _ in session.events()] == ["fetch", "run", "submit", "submit", "refused", "refused"]


def test_the_client_says_what_is_wrong_on_one_line(open_box: Open) -> None:
    with open_box() as (session, box):
        for arguments, message in {
            (): "session fetch",
            ("run",): "expected FILE",
            ("run", "none.bf"): "none.bf: No such file",
            ("run", "/"): "Is a directory",
            ("run", "/dev/zero"): "more than 4 MiB",
            ("submit", "one"): "expected PROBLEM FILE",
            ("fetch", "more"): "takes no arguments",
        }.items():
            assert message in run(box.session, "session", *arguments, status=2)
        assert "no such operation" in run(box.session, "session", "solve", status=1)
        assert session.refusals() == ["unknown_operation"]
    assert "does not answer" in _client_without_a_referee()


def _client_without_a_referee() -> str:
    import subprocess
    import tempfile

    from agnostics.referee.client_binary import client_path

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "key").write_text("key")
        client = [str(client_path()), "fetch"]
        return subprocess.run(
            client, env={"AGN_SESSION": folder}, capture_output=True, text=True, timeout=60, check=False
        ).stderr


class Echo:
    """Answers each connection to the socket `path` with what came, in capitals, once the other end is shut."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o666)
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1 << 16):
                connection.sendall(data.upper())


TALK = """
import socket, sys
def talk(size):
    connection = socket.create_connection(("127.0.0.1", 8080))
    sent, got = b"a" * size, b""
    import threading
    threading.Thread(target=lambda: (connection.sendall(sent), connection.shutdown(1))).start()
    while data := connection.recv(65536): got += data
    assert got == b"A" * size, len(got)
for size in (0, 1, 3_000_000): talk(size)
print("heard")
sys.exit(7)
"""


def test_a_port_of_the_box_leads_to_a_socket_of_this_machine(open_box: Open) -> None:
    with open_box(host_language="python") as (_, box):
        Echo(box.folder / "gateway")
        box.session.put({"talk.py": TALK.encode()})
        forward = ("session", "forward", "8080", "/session/gateway", "--")
        assert run(box.session, *forward, "python3", "talk.py", status=7) == "heard\n"
        assert run(box.session, *forward, "python3", "talk.py", status=7) == "heard\n"
        assert "No such file" in run(box.session, *forward, "no-such-program", status=127)
        assert run(box.session, *forward, "python3", "-c", "import os; os.kill(os.getpid(), 9)", status=137) == ""


CALL_TOOL = """
import json, urllib.request
key = open("/session/key").read().strip()
def call(key, method, **parameters):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json",
               "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request("http://127.0.0.1:8081/mcp", json.dumps(message).encode(), headers)
    try:
        return urllib.request.urlopen(request, timeout=30).read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code)
print(call(key, "tools/call", name="fetch", arguments={}))
print(call("0" * 32, "tools/call", name="skip", arguments={}))
"""


def test_an_agent_in_the_box_reaches_the_mcp_server(open_box: Open) -> None:
    with open_box(host_language="python", with_mcp=True) as (session, box):
        box.session.put({"call.py": CALL_TOOL.encode()})
        printed = run(box.session, "session", "forward", "8081", "/session/mcp", "--", "python3", "call.py")
        fetched, refused = printed.splitlines()
        assert "Print the input." in fetched
        assert refused == "401"
        assert session.refusals() == ["wrong_key"]


def test_what_the_box_shows_of_this_machine_cannot_be_changed(open_box: Open, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "main").write_text("agent")
    with open_box(Mount(tmp_path / "agent", "/opt/agent/files")) as (_, box):
        assert run(box.session, "cat", "/opt/agent/files/main") == "agent"
        tried = ["/opt/agent/files/new", "/session/bin/session", "/session/key", "/session/new"]
        for path in tried:
            refused = run(box.session, "sh", "-c", f"echo > {path}", status=2)
            assert "Read-only" in refused or "Permission" in refused
        assert (box.folder / "key").stat().st_size == 33


def test_other_users_of_this_machine_cannot_enter_the_folder_of_a_box(open_box: Open) -> None:
    with open_box() as (_, box):
        assert box.folder.parent.stat().st_mode & 0o077 == 0
        assert box.folder.stat().st_mode & 0o007 == 0


NO_META = {"host_language": "none"}


def test_without_a_host_language_the_box_has_the_client_and_the_interpreter_alone(open_box: Open) -> None:
    with open_box(**NO_META) as (_, box):
        box.session.put({"echo.bf": ECHO.encode(), "deep/er/two.bf": WRONG.encode()})
        assert run(box.session, "interpreter", "deep/er/two.bf") == "\x03"
        assert "Print the input." in run(box.session, "session", "fetch")
        run(box.session, "session", "submit", "one", "echo.bf")
        for name in ("sh", "/bin/sh", "bash", "python3", "perl", "node", "awk", "sed", "cc", "tar", "env", "ld.so"):
            assert run(box.session, name, "--version", status=127)
        assert _executables(box) == {"/session/bin/session", "/session/bin/interpreter"}


def _executables(box: Box) -> set[str]:
    """What a command could execute, seen from outside: all files below the root of the slot's harness."""
    slot: Any = box.session._slot
    if hasattr(slot, "container_id"):
        slot._container.reload()
        harness = slot._container.attrs["State"]["Pid"]
    else:
        outer = slot._process.pid
        harness = int(Path(f"/proc/{outer}/task/{outer}/children").read_text())
    root = Path(f"/proc/{harness}/root")
    tops = [path for path in root.iterdir() if path.name not in {"proc", "sys", "dev", "w", "tmp"}]
    files = [file for top in tops for file in ([top] if top.is_file() else top.rglob("*")) if file.is_file()]
    found = {f"/{file.relative_to(root)}" for file in files if file.stat().st_mode & 0o111}
    return found - {"/harness", "/.dockerenv"}


def test_files_are_carried_without_a_shell(open_box: Open) -> None:
    with open_box(**NO_META) as (_, box):
        box.session.put({"a/é": b"1", "a/" + "n" * 150: bytes(100_000), "empty": b""})
        snapshot = box.session.snapshot()
        box.session.put({"a/é": b"2", "b": b"3"})
        box.session.restore(snapshot)
        assert box.session.get("a/é") == b"1"
        assert box.session.get("a/" + "n" * 150) == bytes(100_000)
        with pytest.raises(AgnosticsError, match=r"cannot read 'b' in the sandbox: .*No such file"):
            box.session.get("b")
        with pytest.raises(AgnosticsError, match="cannot write the files"):
            box.session.put({"empty/b": b""})


@pytest.mark.parametrize(
    ("host", "runs", "others"),
    [
        ("python", ["python3", "-c", "import json, hashlib, ctypes; print(6 * 7)"], ["node", "rustc", "cc"]),
        ("javascript", ["node", "-e", "console.log(6 * 7)"], ["python3", "rustc", "cc"]),
        ("rust", ["sh", "-c", "rustc main.rs && ./main"], ["python3", "node"]),
    ],
)
def test_a_box_with_one_host_language_has_no_other(
    open_box: Open, host: str, runs: list[str], others: list[str]
) -> None:
    with open_box(host_language=host) as (_, box):
        box.session.put({"main.rs": b'fn main() { println!("{}", 6 * 7); }', "main.c": b"int main(void) { return 0; }"})
        assert run(box.session, *runs) == "42\n"
        assert "main.c" in run(box.session, "sh", "-c", "ls | sort")
        for name in (*others, "bash", "perl", "awk", "sed", "bc", "lua", "ruby"):
            assert run(box.session, name, "--version", status=127)
        assert box.session.exec(["cc", "main.c"]).exit_code != 0


def test_an_agent_that_brings_another_language_is_refused_by_name(open_box: Open, tmp_path: Path) -> None:
    mount = Mount(tmp_path / "agent", "/opt/agent")
    mount.source.mkdir()
    (mount.source / "main.py").touch()
    with pytest.raises(UsageError, match="allows the host language none alone, but the agent needs javascript"):
        open_box(mount, agent_language="javascript", **NO_META).__enter__()
    with open_box(mount, agent_language="python", host_language="python") as (_, box):
        assert run(box.session, "ls", "/opt/agent") == "main.py\n"


ANOTHER = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import ssl, ctypes, sqlite3; print(6 * 7)'])"


def test_an_agent_in_python_brings_its_interpreter_into_a_box_whose_image_has_none(
    open_box: Open, mode: str, tmp_path: Path
) -> None:
    copy_python(tmp_path / "agent" / ".python")
    mount = Mount(tmp_path / "agent", "/agent")
    with open_box(mount, agent_language="python") as (_, box):
        assert run(box.session, "/agent/.python/bin/python3", "-c", ANOTHER) == "42\n"
        assert run(box.session, "python3", "--version", status=127 if mode == "docker" else 0)
    with pytest.raises(UsageError, match="allows the host language none alone, but the agent needs python"):
        open_box(mount, agent_language="python", **NO_META).__enter__()


def test_a_language_that_needs_a_toolchain_is_refused_where_the_protocol_leaves_it_out(
    tmp_path: Path, verifier: Verifier, lua: Language
) -> None:
    for rules, message in ((NO_META, "leaves luajit out of the box"), ({"runs": 3}, "limits runs, but luajit")):
        with (
            agent_session(tmp_path, verifier, lua, **rules) as session,
            pytest.raises(UsageError, match=message),
        ):
            Box(session.referee, lua, session.protocol)


def test_a_protocol_that_limits_runs_leaves_the_interpreter_out(open_box: Open) -> None:
    with open_box(runs=1) as (session, box):
        box.session.put({"echo.bf": ECHO.encode()})
        run(box.session, "interpreter", "echo.bf", status=127)
        run(box.session, "session", "fetch")
        assert "hi" in run(box.session, "session", "run", "echo.bf", "--input", "hi")
        run(box.session, "session", "run", "echo.bf", "--input", "hi", status=1)
        assert session.refusals() == ["no_runs"]


def test_only_tcp_is_added_and_only_where_it_is_asked_for(mode: str, languages: dict[str, Language]) -> None:
    backends = {**builtin_backends(), OrdinaryUserBackend.name: OrdinaryUserBackend()}
    kinds = "[2,1,0], [2,1,6], [2,2,0], [2,1,132], [2,3,6], [10,1,0], [16,3,0]"
    program = f"use Socket; for $k ({kinds}) {{ print socket(S,$k->[0],$k->[1],$k->[2]) ? 1 : 0 }}"
    for options, opened in ((SlotOptions(), "0000000"), (SlotOptions(loopback=True), "1100000")):
        with (
            SessionPool(languages["lua"], mode, LIMITS, 0, backends, options) as pool,
            pool.open() as session,
        ):
            assert run(session, "perl", "-e", program) == opened


def test_a_sandbox_without_mounts_refuses_them(lua: Language, tmp_path: Path) -> None:
    options = SlotOptions(mounts=(Mount(tmp_path, "/there"),))
    with SessionPool(lua, "process", LIMITS, 0, options=options) as pool, pytest.raises(UsageError, match="no mounts"):
        pool.open()
    for target in ("there", "/", "/usr/there", "/a/../b", "/w"):
        with pytest.raises(UsageError):
            Mount(tmp_path, target)


def test_a_command_of_the_box_that_is_stopped_leaves_the_session_as_it_was(open_box: Open) -> None:
    with open_box() as (session, box):
        run(box.session, "session", "fetch")
        result = box.session.exec(["session", "forward", "8080", "/session/referee", "--", "sleep", "60"], run_s=0.5)
        assert result.verdict is Verdict.TIME_LIMIT
        assert "Print the input." in run(box.session, "session", "fetch")
        assert len(session.events()) == 1
