"""Sessions: commands that share a workspace, in both modes."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from agnostics.sandbox.backend import Slot, SlotFactory
from agnostics.sandbox.backends.bubblewrap import BubblewrapBackend
from agnostics.sandbox.session import TRANSFER_BYTES, Session, SessionError
from agnostics.sandbox.session_pool import SessionPool
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError
from agnostics.types.language import Language
from agnostics.types.task import Limits
from agnostics.types.verification import Verdict

LIMITS = Limits(run_s=5.0, memory_mb=256)


@pytest.fixture(scope="module", params=["bubblewrap", "docker"])
def pool(request: pytest.FixtureRequest, languages: dict[str, Language]) -> Iterator[SessionPool]:
    with SessionPool(languages["lua"], request.param, LIMITS, warm=0) as made:
        yield made


@pytest.fixture
def session(pool: SessionPool) -> Iterator[Session]:
    with pool.open() as opened:
        yield opened


def shell(session: Session, text: str, **options: Any) -> str:
    """What a command of bash prints."""
    return session.exec(["bash", "-c", text], **options).stdout.decode()


def test_a_command_finds_the_files_of_those_before(session: Session) -> None:
    shell(session, "mkdir -p a/b && echo one > a/b/c && echo two > $TMPDIR/d && ln -s a/b/c link")
    assert shell(session, "cat link $TMPDIR/d") == "one\ntwo\n"


def test_the_language_s_toolchain_is_there(session: Session) -> None:
    session.put({"answer.lua": b"print(6 * 7)"})
    assert shell(session, "lua answer.lua || luajit answer.lua") == "42\n"


def test_exit_status_and_both_outputs_come_back_whole(session: Session) -> None:
    result = session.exec(["bash", "-c", r"printf 'a\0\377'; printf 'exit 0' >&2; exit 3"])
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"a\0\xff", b"exit 0")
    assert result.verdict is Verdict.RUNTIME_ERROR
    assert session.exec(["bash", "-c", "kill -KILL $$"]).signal == signal.SIGKILL


def test_a_command_reads_its_input_and_environment(session: Session) -> None:
    assert shell(session, 'cat; echo "$WORD"', stdin=b"given ", environment={"WORD": "a b"}) == "given a b\n"


def test_arguments_reach_a_command_as_they_are(session: Session) -> None:
    odd = ["$HOME", "a b", "'", "\n", "-n", "*", "é", "\udcff"]
    printed = session.exec(["printf", r"%s\0", *odd]).stdout
    assert printed == b"".join(text.encode("utf-8", "surrogateescape") + b"\0" for text in odd)


@pytest.mark.parametrize("argv", [["no-such-command"], ["./no-such-file"], ["/w"]])
def test_a_command_that_cannot_be_started_ends_as_in_a_shell(session: Session, argv: list[str]) -> None:
    result = session.exec(argv)
    assert (result.exit_code, result.verdict) == (127, Verdict.RUNTIME_ERROR)
    assert result.stderr
    assert shell(session, "echo on") == "on\n"


def test_a_command_without_a_name_is_refused(session: Session) -> None:
    with pytest.raises(UsageError, match="needs a name"):
        session.exec([])


def test_a_time_limit_kills_the_whole_tree_and_the_session_goes_on(session: Session) -> None:
    text = "echo begun | tee file; (setsid sleep 60 & setsid sleep 60 &); sleep 60"
    result = session.exec(["bash", "-c", text], run_s=0.3)
    assert (result.verdict, result.stdout) == (Verdict.TIME_LIMIT, b"begun\n")
    assert shell(session, "cat file; grep -l sleep /proc/[0-9]*/comm") == "begun\n"


def test_an_interrupt_kills_the_whole_tree_and_the_session_goes_on(session: Session) -> None:
    text = "echo begun | tee file; (setsid sleep 60 & setsid sleep 60 &); sleep 60"
    with ThreadPoolExecutor(1) as thread:
        for _ in range(2):
            running = thread.submit(session.exec, ["bash", "-c", text], run_s=60)
            time.sleep(0.5)
            session.interrupt()
            result = running.result(timeout=20)
            assert (result.interrupted, result.verdict, result.signal) == (True, Verdict.RUNTIME_ERROR, signal.SIGKILL)
            assert (result.stdout, result.exit_code) == (b"begun\n", None)
            session.interrupt()
            assert shell(session, "cat file; grep -l sleep /proc/[0-9]*/comm") == "begun\n"


def test_a_file_that_is_carried_as_an_interrupt_comes_is_an_error_of_one_line(session: Session) -> None:
    shell(session, "truncate -s 60M large")
    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(session.get, "large")
        while not reading.done():
            session.interrupt()
            time.sleep(0.001)
        with pytest.raises(AgnosticsError, match=r"^cannot read 'large' in the sandbox: it was interrupted$"):
            reading.result()
    assert len(session.get("large")) == 60 << 20


def test_ctrl_c_ends_the_command_and_the_next_one_has_its_own_result(session: Session) -> None:
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        session.exec(["bash", "-c", "echo begun > file; sleep 60; echo slept"], run_s=60)
    interrupt.join()
    assert shell(session, "cat file; grep -l sleep /proc/[0-9]*/comm") == "begun\n"


def test_a_command_that_a_signal_handler_gives_up_ends_the_session(pool: SessionPool) -> None:
    def give_up(*_: object) -> None:
        raise RuntimeError("enough")

    before = signal.signal(signal.SIGALRM, give_up)
    try:
        with pool.open() as session:
            signal.setitimer(signal.ITIMER_REAL, 1)
            with pytest.raises(RuntimeError, match="enough"):
                session.exec(["sleep", "60"], run_s=3)
            with pytest.raises(SessionError, match="session has ended: a command was given up"):
                session.exec(["true"])
    finally:
        signal.signal(signal.SIGALRM, before)
    with pool.open() as other:
        assert shell(other, "echo on; grep -l sleep /proc/[0-9]*/comm") == "on\n"


def test_what_a_command_leaves_running_ends_with_it(session: Session) -> None:
    shell(session, "nohup sleep 60 > /dev/null 2>&1 &")
    assert shell(session, "grep -l sleep /proc/[0-9]*/comm") == ""


def test_each_command_has_limits_of_its_own(session: Session) -> None:
    assert session.exec(["cat", "/dev/zero"], output_bytes=1000).verdict is Verdict.OUTPUT_LIMIT
    assert session.exec(["bash", "-c", "a=$(head -c 500M /dev/zero | tr '\\0' x)"]).verdict is Verdict.MEMORY_LIMIT
    assert session.exec(["head", "-c", "4000000", "/dev/zero"]).verdict is Verdict.ACCEPTED


def test_files_in_the_workspace_do_not_count_as_memory_of_the_next_command(session: Session) -> None:
    for name in ("a", "b"):
        assert session.exec(["head", "-c", "100M", "/dev/zero"], output_bytes=1).verdict is Verdict.OUTPUT_LIMIT
        assert shell(session, f"head -c 100M /dev/zero > {name} && echo written") == "written\n"
    assert shell(session, "a=$(head -c 60M /dev/zero | tr '\\0' x); echo ${#a}") == "62914560\n"


def test_a_large_output_does_not_count_as_memory_of_the_next_command(session: Session) -> None:
    output = session.exec(["head", "-c", "60M", "/dev/zero"], output_bytes=TRANSFER_BYTES).stdout
    assert len(output) == 60 << 20
    assert session.exec(["true"]).peak_mb < 20


def test_files_are_put_and_got_byte_for_byte(session: Session) -> None:
    files = {"a b/\u00e9.txt": bytes(range(256)), "empty": b"", "-rf": b"x", "deep/er/file": b"1" * 3_000_000}
    session.put(files)
    assert {name: session.get(name) for name in files} == files
    session.put({"empty": b"no longer"})
    assert session.get("/w/empty") == b"no longer"
    assert shell(session, "find . -newermt -1min -type f | wc -l") == "4\n"


@pytest.mark.parametrize("path", ["/w/file", "../file", "a/../../file", "", ".", "a\0b"])
def test_a_file_is_not_put_out_of_the_workspace(session: Session, path: str) -> None:
    with pytest.raises(UsageError, match="no path of a file in the workspace"):
        session.put({path: b""})


def test_a_file_that_cannot_be_carried_is_an_error_of_one_line(session: Session) -> None:
    shell(session, "mkdir folder; mkfifo pipe; truncate -s 65M large")
    for path, reason in {"none": "No such file", "folder": "Is a directory", "large": "larger than"}.items():
        with pytest.raises(AgnosticsError, match=rf"^cannot read '{path}' in the sandbox: .*{reason}[^\n]*$"):
            session.get(path)
    with pytest.raises(AgnosticsError, match=r"^cannot write the files in the sandbox: .*large[^\n]*$"):
        session.put({"large/file": b""})
    with pytest.raises(AgnosticsError, match="too many"):
        session.put({"large": bytes(TRANSFER_BYTES)})
    assert session.get("pipe") == b""


def test_a_snapshot_is_the_workspace_and_restores_it(pool: SessionPool, session: Session) -> None:
    listing = "find . -printf '%P %y %m %s %l %T@ ' -type f -exec cat {} + | sort"
    shell(session, "mkdir -m 700 a; mkdir empty; echo 1 > a/.b; chmod 4755 a/.b; touch -d 2001-01-01 old")
    shell(session, "ln -s ../x a/link; ln a/.b hard")
    before, snapshot = shell(session, listing), session.snapshot()
    shell(session, "rm -rf a; echo 2 > old; mkdir new; echo 3 > $TMPDIR/file")
    session.restore(snapshot)
    after = shell(session, listing)
    assert after.split("\n", 1)[1:] == before.split("\n", 1)[1:] != [""]
    assert shell(session, "ls -A $TMPDIR") == ""
    with pool.open() as other:
        other.restore(snapshot)
        assert shell(other, "cat a/.b; readlink a/link; stat -c %h hard") == "1\n../x\n2\n"


def test_an_empty_workspace_has_a_snapshot(session: Session) -> None:
    snapshot = session.snapshot()
    shell(session, "touch file")
    session.restore(snapshot)
    assert shell(session, "ls -A") == ""


def test_a_folder_that_cannot_be_read_makes_the_snapshot_an_error(session: Session) -> None:
    shell(session, "mkdir -p closed/in; chmod 0 closed")
    with pytest.raises(AgnosticsError, match=r"cannot take a snapshot.*Permission denied"):
        session.snapshot()
    assert shell(session, "chmod 700 closed; ls closed") == "in\n"


def test_the_next_session_in_a_slot_finds_nothing(pool: SessionPool) -> None:
    with pool.open() as first:
        shell(first, "mkdir -p a; chmod 0 a; touch b $TMPDIR/c /dev/shm/d 2> /dev/null")
        slot = first._slot
    with pool.open() as second:
        assert second._slot is slot
        assert shell(second, "find /w /tmp /dev/shm -mindepth 1 2> /dev/null") == ""


def test_many_sessions_at_once_do_not_see_each_other(pool: SessionPool) -> None:
    def run(number: int) -> list[str]:
        with pool.open() as session:
            return [shell(session, f"echo {number} >> file; cat file") for _ in range(3)]

    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(run, range(12)))
    assert found == [[f"{number}\n" * count for count in (1, 2, 3)] for number in range(12)]


def test_a_sandbox_that_ends_is_an_error_and_no_command_is_tried_again(pool: SessionPool) -> None:
    with pool.open() as session:
        shell(session, "echo begun > file")
        session._slot.close()
        with pytest.raises(SessionError, match="has no result"):
            session.exec(["cat", "file"])
        with pytest.raises(SessionError, match="session has ended"):
            session.exec(["cat", "file"])
    with pool.open() as other:
        assert shell(other, "ls -A") == ""


def test_closing_a_session_kills_the_command_that_runs(pool: SessionPool) -> None:
    session, begun = pool.open(), threading.Event()

    def run() -> str:
        begun.set()
        try:
            session.exec(["sleep", "60"], run_s=60)
        except SessionError as error:
            return str(error)
        return "ended"

    with ThreadPoolExecutor(1) as thread:
        error = thread.submit(run)
        begun.wait(timeout=10)
        while not session._busy.locked():
            os.sched_yield()
        session.close()
        assert "closed" in error.result(timeout=10)
    session.close()
    with pytest.raises(SessionError, match="it was closed"):
        session.exec(["true"])


def test_a_closed_pool_ends_its_sessions_and_opens_no_more(languages: dict[str, Language]) -> None:
    with SessionPool(languages["lua"], "bubblewrap", LIMITS, warm=2) as pool:
        session = pool.open()
    with pytest.raises(SessionError):
        session.exec(["true"])
    with pytest.raises(AgnosticsError, match="closed"):
        pool.open()
    pool.close()


class Restarting(BubblewrapBackend):
    """Its first two slots do not start, as while an engine restarts."""

    def open(self) -> SlotFactory:
        factory, failures = super().open(), iter([AgnosticsError("not yet"), OSError("not yet")])

        class Factory(SlotFactory):
            def start(self, language: Language) -> Slot:
                if error := next(failures, None):
                    raise error
                return factory.start(language)

            def close(self) -> None:
                factory.close()

        return Factory()


def test_a_slot_that_does_not_start_at_once_is_tried_again(languages: dict[str, Language]) -> None:
    backends = {"restarting": Restarting()}
    with SessionPool(languages["lua"], "restarting", LIMITS, backends=backends) as pool, pool.open() as session:
        assert shell(session, "echo here") == "here\n"


def test_a_toolchain_that_is_not_here_is_named() -> None:
    language = Language(name="none", prompt="", filename="program", execute="no-such-interpreter program")
    with SessionPool(language, "bubblewrap", warm=0) as pool, pytest.raises(MissingRequirement, match="no-such-inter"):
        pool.open()


def test_the_example_of_the_documentation_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    exec(program, {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"  # (.+)", program)


def test_sessions_are_refused_on_a_cluster(languages: dict[str, Language]) -> None:
    with pytest.raises(UsageError, match="not on the nodes of a cluster"):
        SessionPool(languages["lua"], "ray://auto")
