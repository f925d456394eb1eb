"""Attacks as commands of a session, whose files stay: it goes on, and the next one in the slot finds nothing."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from agnostics.sandbox.modes import builtin_backends
from agnostics.sandbox.session import Session
from agnostics.sandbox.session_pool import SessionPool
from agnostics.sandbox.slot_options import SlotOptions
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import Limits
from agnostics.types.verification import Verdict
from ordinary_user import OrdinaryUserBackend

ATTACKS = (
    *("aim_at_harness", "reach_across_slots", "signal_everyone", "ways_out", "leave_marks", "own_notes"),
    *("litter", "lock_everything", "lock_folders", "deep_folders", "million_files", "full_disk", "own_sockets"),
    *("fill_memory_files", "fill_shared_memory", "hide_memory_files", "take_most_memory", "exhaust_kernel_tables"),
    *("leave_memory_to_children", "spare_itself_from_the_oom_killer", "notes_on_folders", "remember_in_product"),
    *("daemon_burns_cpu", "daemon_holds_stdout", "write_after_the_end", "zombies", "ten_thousand_orphans"),
    *("fork_bomb", "stubborn_bomb", "thread_bomb", "endless_stdout", "tamper_with_stdin", "tamper_with_stdout"),
)
COMPILE = ("gcc", "-w", "-O1", "-pthread", "-o", "prog", "snippet.c")
HOARD = """
use Socket; use Fcntl; for (1 .. 5) { last unless fork }
my @kept; while (1) {
    socket(my $l, PF_INET, SOCK_STREAM, 0) or last; bind($l, pack_sockaddr_in(0, INADDR_LOOPBACK)); listen($l, 1);
    socket(my $s, PF_INET, SOCK_STREAM, 0) or last; setsockopt($s, SOL_SOCKET, SO_SNDBUF, 1 << 24);
    connect($s, getsockname($l)) or last; fcntl($s, F_SETFL, O_NONBLOCK); push @kept, $l, $s;
    1 while syswrite($s, "x" x 65536);
}
sleep 20
"""
"""Fills TCP connections that nobody reads."""
CLEAN = b"2"
"""The output of `is_it_clean.c` where there are no files, and no process but the harness and itself."""


@pytest.fixture(scope="module")
def pool(mode: str, languages: dict[str, Language]) -> Iterator[SessionPool]:
    """Sessions that follow one another in one slot, which has a C compiler."""
    backends = {**builtin_backends(), OrdinaryUserBackend.name: OrdinaryUserBackend()}
    with SessionPool(languages["fortran"], mode, Limits(run_s=0.5, memory_mb=256), 0, backends) as made:
        yield made


@pytest.fixture(scope="module")
def look(pool: SessionPool, text_of: Callable[[str], str]) -> bytes:
    """The program that looks whether a slot is clean."""
    with pool.open() as session:
        _compile(session, text_of("is_it_clean.c"))
        return session.get("prog")


@pytest.fixture
def session(pool: SessionPool, look: bytes) -> Iterator[Session]:
    """A session; the next one is in the same slot, which is clean."""
    with pool.open() as opened:
        yield opened
        slot = opened._slot
    with pool.open() as following:
        assert following._slot is slot
        following.put({"prog": look})
        assert following.exec(["chmod", "755", "prog"]).exit_code == 0
        assert following.exec(["./prog"]).stdout == CLEAN


def _compile(session: Session, text: str) -> None:
    session.put({"snippet.c": text.encode()})
    session.exec(COMPILE, run_s=10)


def _assert_goes_on(session: Session) -> None:
    """Assert that the next command runs, and that no process of an earlier one is left."""
    assert session.exec(["/bin/echo", "42"]).stdout == b"42\n"
    processes = session.exec(["sh", "-c", "cd /proc && echo [0-9]*"]).stdout.split()
    assert len(processes) <= 3, processes  # the harness, the shell, and where it has one bubblewrap's first process


@pytest.mark.parametrize("name", ATTACKS)
def test_after_an_attack_the_session_goes_on(name: str, session: Session, text_of: Callable[[str], str]) -> None:
    _compile(session, text_of(f"{name}.c"))
    session.exec(["./prog"])
    _assert_goes_on(session)


@pytest.mark.parametrize("name", ["stubborn_bomb", "fork_bomb", "stop_group", "trap_sigterm"])
def test_an_interrupt_ends_what_ignores_signals_and_forks(
    name: str, session: Session, text_of: Callable[[str], str]
) -> None:
    _compile(session, text_of(f"{name}.c"))
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(session.exec, ["./prog"], run_s=60)
        time.sleep(0.3)
        session.interrupt()
        result = running.result(timeout=30)
    assert (result.interrupted, result.signal) == (True, signal.SIGKILL)
    _assert_goes_on(session)


def test_a_flood_of_interrupts_leaves_every_command_its_own_result(session: Session) -> None:
    finished = threading.Event()

    def flood() -> None:
        while not finished.is_set():
            session.interrupt()
            time.sleep(0.0005)

    with ThreadPoolExecutor(1) as thread:
        flooding = thread.submit(flood)
        try:
            results = [session.exec(["sh", "-c", f"sleep 0.0{number % 3}; echo {number}"]) for number in range(100)]
        finally:
            finished.set()
        flooding.result(timeout=10)
    outputs = [result.stdout if not result.interrupted else b"" for result in results]
    assert all(output in {b"", b"%d\n" % number} for number, output in enumerate(outputs))
    assert any(result.interrupted for result in results)
    _assert_goes_on(session)


def test_memory_that_an_attack_took_is_there_for_the_next_command(
    session: Session, text_of: Callable[[str], str]
) -> None:
    for name in ("take_most_memory", "nearly_all_memory"):
        _compile(session, text_of(f"{name}.c"))
        last = session.exec(["./prog"])
    assert last.verdict is Verdict.ACCEPTED


def test_what_the_kernel_holds_in_tcp_connections_is_memory_of_the_command(
    mode: str, languages: dict[str, Language]
) -> None:
    backends = {**builtin_backends(), OrdinaryUserBackend.name: OrdinaryUserBackend()}
    options = SlotOptions(loopback=True)
    with (
        SessionPool(languages["lua"], mode, Limits(run_s=30, memory_mb=128), 0, backends, options) as pool,
        pool.open() as session,
    ):
        assert session.exec(["perl", "-e", HOARD]).verdict is Verdict.MEMORY_LIMIT
        assert session.exec(["/bin/echo", "42"]).stdout == b"42\n"


def test_files_with_the_names_of_options_are_carried_as_files(session: Session) -> None:
    names = ["--checkpoint=1", "--checkpoint-action=exec=touch pwned", "-T", "--to-command=touch pwned", "a\nb", "\\n"]
    session.exec(["touch", "--", *names])
    session.restore(session.snapshot())
    found = session.exec(["find", ".", "-mindepth", "1", "-printf", r"%f\0"]).stdout.decode().split("\0")
    assert sorted(found) == sorted(["", *names])


def test_a_link_leads_a_put_nowhere_where_a_command_could_not_write(session: Session) -> None:
    session.exec(["sh", "-c", "ln -s / root; ln -s /usr/bin/true file; ln -s loop loop"])
    for path in ("root/made", "root/usr/bin/made", "root/proc/1/oom_score_adj", "loop/made"):
        with pytest.raises(AgnosticsError, match="cannot write the files"):
            session.put({path: b"0"})
    session.put({"file": b"mine"})
    assert session.get("file") == b"mine"
    assert session.exec(["true"]).exit_code == 0


@pytest.mark.parametrize("path", ["/proc/1/mem", "/proc/1/environ", "loop", "/dev/zero", "huge", "socket"])
def test_a_file_that_is_none_is_an_error_at_once(path: str, session: Session) -> None:
    session.exec(["sh", "-c", "ln -s loop loop; truncate -s 200M huge"])
    session.exec(["perl", "-MSocket", "-e", "socket S,PF_UNIX,SOCK_STREAM,0; bind S,pack_sockaddr_un 'socket'"])
    with pytest.raises(AgnosticsError, match="cannot read"):
        session.get(path)


def test_a_snapshot_of_too_much_is_an_error(session: Session) -> None:
    session.exec(["truncate", "-s", "200M", "huge"])
    with pytest.raises(AgnosticsError, match="larger than"):
        session.snapshot()


def test_what_an_attack_made_so_deep_that_no_path_reaches_it_is_restored_or_refused(
    session: Session, text_of: Callable[[str], str]
) -> None:
    _compile(session, text_of("deep_folders.c"))
    session.exec(["./prog"])
    with suppress(AgnosticsError):
        session.restore(session.snapshot())
    assert session.exec(["/bin/echo", "42"]).stdout == b"42\n"
