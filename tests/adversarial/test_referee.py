"""Attacks on the referee from inside the box: none gains anything, and what reaches the referee is an event."""

from __future__ import annotations

import re
import shlex
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from agent_session import BRAINFUCK, ECHO, SECRET, WRONG, AgentSession, agent_session
from agnostics.players.box import Box
from agnostics.sandbox.modes import builtin_backends
from agnostics.store.database import reading
from agnostics.store.schema import session_event
from agnostics.types.task import Limits
from agnostics.verify import Verifier
from ordinary_user import OrdinaryUserBackend
from sqlalchemy import select

BACKENDS = {**builtin_backends(), OrdinaryUserBackend.name: OrdinaryUserBackend()}
LIMITS = Limits(run_s=60.0, memory_mb=512, processes=64, output_bytes=1 << 20)
TALK = """
use Socket;
sub connected { socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
    connect($s, pack_sockaddr_un("/session/referee")) or die "connect: $!"; return $s }
sub frame { return pack("N/a*", join("", map { pack("N/a*", $_) } @_)) }
sub reply { my $s = shift; my ($r, $n) = ("", 1); while ($n = sysread($s, $r, 65536, length $r)) {}
    return length $r ? unpack("C N/a*", $r) : ("none", "") }
sub ask { my $s = connected(); $SIG{PIPE} = "IGNORE"; syswrite($s, frame(@_)); return reply($s) }
sub key { open(my $f, "/session/key") or die; my $k = <$f>; chomp $k; return $k }
"""
"""Perl, which each sandbox has, as a client of one's own."""


@dataclass(frozen=True)
class Attacked:
    """A session with the first problem open, its box, and what the attack printed."""

    session: AgentSession
    box: Box
    printed: list[str]

    def perl(self, text: str, *arguments: str) -> str:
        """What a program prints that may speak to the referee."""
        self.box.session.put({"attack.pl": (TALK + text).encode()})
        return self.command("perl", "attack.pl", *arguments)

    def shell(self, text: str) -> str:
        """What a command of the shell prints."""
        return self.command("sh", "-c", text)

    def command(self, *argv: str) -> str:
        """The outputs of a command."""
        result = self.box.session.exec(argv)
        self.printed.append((result.stdout + result.stderr).decode(errors="replace"))
        return self.printed[-1]


OpenSession = Callable[[], Attacked]


@pytest.fixture(scope="module")
def grader(mode: str) -> Iterator[Verifier]:
    """What runs the submissions: as in a session, in other slots than the box."""
    with Verifier(mode, 1, {"brainfuck": BRAINFUCK}, BACKENDS) as verifier:
        yield verifier


@pytest.fixture
def open_session(mode: str, grader: Verifier, tmp_path: Path) -> Iterator[OpenSession]:
    """Opens sessions; after the attack none has gained anything, and an honest player goes on."""
    with ExitStack() as stack:
        opened: list[Attacked] = []

        def open_() -> Attacked:
            session = stack.enter_context(agent_session(tmp_path, grader))
            box = Box(
                session.referee,
                BRAINFUCK,
                session.protocol,
                sandbox=mode,
                backends=BACKENDS,
                limits=LIMITS,
                with_mcp=True,
            )
            made = Attacked(session, stack.enter_context(box), [])
            opened.append(made)
            assert made.session.referee.state.solved == 0
            made.box.session.put({"echo.bf": ECHO.encode(), "wrong.bf": WRONG.encode()})
            assert "Print the input." in made.command("session", "fetch")
            return made

        yield open_
        for attacked in opened:
            _assert_nothing_gained(attacked)


def _assert_nothing_gained(attacked: Attacked) -> None:
    state = attacked.session.referee.state
    assert state.solved == 0
    assert all(len(problem.submissions) <= 3 for problem in state.problems)
    assert SECRET not in "".join(attacked.printed)
    assert "problems" in attacked.command("session", "status", "--json")
    if state.current:
        assert "Print the input." in attacked.command("session", "fetch")
        attacked.box.session.put({"right.bf": ECHO.encode()})
        attacked.command("session", "submit", "one", "right.bf")
        assert attacked.session.referee.state.solved == 1


@pytest.fixture
def attacked(open_session: OpenSession) -> Attacked:
    """A session to attack."""
    return open_session()


def test_the_hidden_tests_cannot_be_read(attacked: Attacked) -> None:
    folders = "/session /w /tmp /run /var /home /root /etc /opt /srv /dev/shm"
    attacked.shell(f"grep -rsaF {SECRET[:5]} {folders}; for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; done")
    attacked.shell("for p in /proc/[0-9]*; do dd if=$p/mem bs=1M count=1 skip=4; ls -l $p/fd; done")
    asked = attacked.perl('for $o ("tests", "hidden", "problem", "__dict__", "_problems", "problems", "state") '
                          '{ print join(" ", ask(key(), $o)), "\n" }')  # fmt: skip
    for command in ("status", "export", "fetch"):
        attacked.command("session", command, "--json")
    attacked.command("session", "run", "echo.bf", "--input", "mine")
    assert asked.count("no such operation") == 7
    assert attacked.session.refusals() == ["unknown_operation"] * 7


def test_a_status_cannot_be_forged(attacked: Attacked) -> None:
    attacked.perl("""
        for (["finish", "completed"], ["status", "solved=2"], ["refuse", "a", "b", "c"], ["_record", "submit", "0"],
             ["submit", "one", "+", '{"passed": 2, "total": 2}'], ["status", "json", "json"], ["__init__"],
             ["fetch", "two"], ["submit"], ["export", "/tmp/x"]) { print join(" ", ask(key(), @$_)), "\\n" }
    """)
    assert {"unknown_operation", "malformed"} == set(attacked.session.refusals())
    assert len(attacked.session.refusals()) == 10
    assert not attacked.session.referee.state.finished


def test_there_is_no_fourth_submission(attacked: Attacked) -> None:
    for _ in range(3):
        attacked.command("session", "submit", "one", "wrong.bf")
    assert "final" in attacked.command("session", "submit", "one", "echo.bf")
    assert attacked.session.refusals() == ["final"]


def test_there_is_no_fourth_submission_at_the_same_time(attacked: Attacked) -> None:
    attacked.shell("for n in 1 2 3 4 5 6 7 8; do session submit one wrong.bf & done; wait")
    assert len(attacked.session.referee.state.problems[0].submissions) == 3
    assert attacked.session.refusals() == ["final"] * 5


def test_another_problem_than_the_open_one_takes_no_submission(attacked: Attacked) -> None:
    for problem in ("two", "three", "", "../two", "one\n"):
        attacked.command("session", "submit", problem, "echo.bf")
    for _ in range(3):
        attacked.command("session", "submit", "one", "wrong.bf")
    attacked.command("session", "fetch")
    attacked.command("session", "submit", "one", "echo.bf")  # it is final
    assert attacked.session.refusals() == ["not_fetched", *["unknown_problem"] * 4, "final"]
    for _ in range(3):
        attacked.command("session", "submit", "two", "wrong.bf")


def test_the_key_of_another_session_opens_nothing(open_session: OpenSession) -> None:
    attacked, other = open_session(), open_session()
    key = (other.box.folder / "key").read_text().strip()
    before = other.session.events()
    printed = attacked.perl('print join(" ", ask($ARGV[0], "submit", "one", ",[.,]")), "\n"', key)
    assert "not the key" in printed
    assert "not there" in attacked.shell(f"test -e {shlex.quote(str(other.box.folder))} || echo not there")
    assert attacked.session.refusals() == ["wrong_key"]
    assert other.session.events() == before


def test_the_database_is_not_there(attacked: Attacked) -> None:
    path = Path(attacked.session.url.removeprefix("sqlite:///"))
    assert path.exists()
    seen = attacked.shell(
        f"cat {path}; ls {path.parent}; find / -name {path.name} 2>/dev/null; env; cat /proc/1/mounts"
    )
    assert path.name not in seen.replace(f"{path}: No such file", "")
    assert "SQLite" not in seen


def test_another_interpreter_on_the_path_grades_nothing(attacked: Attacked) -> None:
    cheat = "#!/bin/sh\ncat"
    attacked.box.session.put({"interpreter": cheat.encode(), "bin/interpreter": cheat.encode()})
    printed = attacked.shell(
        "chmod 755 interpreter bin/interpreter; export PATH=/w/bin:$PATH; "
        "cp interpreter /session/bin/interpreter; mv /session/bin /session/old; rm -f /session/bin/interpreter; "
        "for n in 1 2; do session submit one wrong.bf; done"
    )
    assert "Read-only" in printed or "Permission" in printed
    made = attacked.session.referee.state.problems[0].submissions
    assert [submission.passed for submission in made] == [0, 0]
    assert attacked.session.refusals() == []


def test_the_clock_of_the_box_is_not_the_referees(attacked: Attacked) -> None:
    printed = attacked.shell("date -s 2001-01-01; date -s @0; hwclock --set --date 2001-01-01; echo 0 > /dev/rtc")
    attacked.perl("syscall($_, pack('qq', 0, 0), 0) == 0 and print qq(set\n) for (164, 227, 159, 305)")
    attacked.command("session", "submit", "one", "wrong.bf")
    assert "not permitted" in printed or "Function not implemented" in printed
    assert "set" not in attacked.printed[-2].split()
    with reading(attacked.session.store.engine) as connection:
        times = list(connection.execute(select(session_event.c.at)).scalars())
    assert max(times) - min(times) < max(times) - max(times).replace(year=2002)


def test_a_patched_client_can_do_no_more(attacked: Attacked) -> None:
    attacked.perl("""
        open(my $f, "/session/bin/session") or die; binmode $f; local $/; my $c = <$f>;
        $c =~ s/expected PROBLEM FILE/expected whatever you/; $c =~ s/ takes no arguments/ takes all arguments/;
        open(my $g, ">", "client") or die; binmode $g; print $g $c; close $g; chmod 0755, "client";
    """)
    for _ in range(4):
        attacked.shell("./client submit one wrong.bf; printf '\\000\\000\\000\\000\\002ok'")
    attacked.shell("session() { echo solved 2 of 2; }; session status")
    assert len(attacked.session.referee.state.problems[0].submissions) == 3
    assert attacked.session.refusals() == ["final"]


def test_the_workspace_has_no_history(attacked: Attacked) -> None:
    found = attacked.shell("find /w /tmp -mindepth 1; ls -a /w; git log --all; find / -xdev -name .git 2>/dev/null")
    names = {
        name.strip("./") for name in re.findall(r"\S+", found) if name.startswith("/w/") or name.startswith("/tmp/")
    }
    assert names == {"w/echo.bf", "w/wrong.bf"}
    assert ".git" not in found.split()


def test_there_is_no_network(attacked: Attacked) -> None:
    with socket.create_server(("127.0.0.1", 0)) as here, socket.create_server(("0.0.0.0", 0)) as everywhere:
        ports = [str(server.getsockname()[1]) for server in (here, everywhere)]
        addresses = ["127.0.0.1", "127.0.0.2", "172.17.0.1", "1.1.1.1", "169.254.169.254", "10.0.0.1"]
        printed = attacked.perl(
            """
            my @ports = splice(@ARGV, 0, 2);
            for my $a (@ARGV) { for my $p (@ports, 53, 80) {
                $SIG{ALRM} = sub { die }; alarm 3;
                eval { socket(my $s, PF_INET, SOCK_STREAM, 0) or die;
                       connect($s, pack_sockaddr_in($p, inet_aton($a))) and print "reached $a:$p\\n" };
                alarm 0;
                socket(my $u, PF_INET, SOCK_DGRAM, 0) and print "udp\\n";
            } }
            socket(my $s, 10, SOCK_STREAM, 0) and print "ipv6\\n"; socket($s, 16, 3, 0) and print "netlink\\n";
            socket($s, 17, 3, 0) and print "packet\\n";
            """,
            *ports,
            *addresses,
        )
    assert printed == ""
    assert (
        attacked.shell("cat /proc/net/dev | tail -n +3 | grep -v ' lo:\\|^ *lo:' | grep -vE 'sit0|tunl0|ip6tnl0|gre0'")
        == ""
    )


@pytest.mark.parametrize("name", ["referee", "mcp"])
def test_a_flood_of_connections_costs_its_own_session_alone(open_session: OpenSession, name: str) -> None:
    attacked, other = open_session(), open_session()
    flood = """
        use Fcntl; my $path = "/session/$ARGV[0]"; $SIG{PIPE} = "IGNORE";
        sub begin { socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; fcntl($s, F_SETFL, O_NONBLOCK);
            connect($s, pack_sockaddr_un($path)); return $s }
        my @open = map { begin() } 1 .. 400;
        my $end = time + 4;
        while (time < $end) { my $s = begin(); syswrite($s, "GET / HTTP/1.1\\r\\n\\r\\n"); close $s }
        print scalar(@open), " opened\\n";
    """
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir()))
    with ThreadPoolExecutor(1) as thread:
        printed = thread.submit(attacked.perl, flood, name)
        time.sleep(2)
        assert len(list(descriptors.iterdir())) < before + 32
        begun = time.monotonic()
        assert "Print the input." in other.command("session", "fetch")
        assert time.monotonic() - begun < 3
        assert "400 opened" in printed.result(timeout=60)
    assert name == "mcp" or "too_many_connections" in attacked.session.refusals()
    assert len(attacked.session.refusals()) < 60
    assert other.session.refusals() == []


def test_frames_that_are_none_are_refused(attacked: Attacked) -> None:
    printed = attacked.perl("""
        $SIG{PIPE} = "IGNORE"; my $k = key();
        my @frames = (pack("N", 0xffffffff), pack("N", 4194305), "", "\\0\\0", pack("N", 100) . "short",
            pack("N/a*", ""), pack("N/a*", "\\xff" x 8), pack("N/a*", pack("N/a*", $k)), frame(("x") x 9),
            pack("N", 4194305) . ("x" x 4194305), pack("N/a*", pack("N/a*", $k) . pack("N", 0x7fffffff) . "x"),
            frame($k, "submit", "one", "x" x 4194400));
        for (@frames) { my $s = connected(); syswrite($s, $_); shutdown($s, 1);
            my ($r, $t) = reply($s); print "$r $t\\n" }
    """)
    lines = printed.splitlines()
    assert len(lines) == 12
    assert {line.split()[0] for line in lines} == {"1"}
    assert set(attacked.session.refusals()) == {"malformed"}
    assert len(attacked.session.refusals()) >= 10


def test_a_link_in_place_of_a_program_shows_nothing(attacked: Attacked) -> None:
    attacked.shell(
        "ln -s /session/key key.bf; ln -s /etc/shadow shadow.bf; ln -s /proc/1/environ environ.bf; "
        "ln -s loop loop; ln -s /dev/zero zero.bf; mkfifo pipe.bf; ln -s /session/referee socket.bf; "
        "ln -s /proc/1/root/session root.bf; "
        "for f in shadow.bf environ.bf zero.bf root.bf socket.bf loop; do timeout 20 session submit one $f; done"
    )
    assert not attacked.session.referee.state.problems[0].submissions
    attacked.shell("timeout 20 session submit one key.bf; timeout 20 session submit one pipe.bf")
    made = attacked.session.referee.state.problems[0].submissions
    assert [submission.passed for submission in made] == [0, 0]
    assert attacked.session.refusals() == []


def test_the_workspace_of_another_box_cannot_be_read(open_session: OpenSession) -> None:
    attacked, other = open_session(), open_session()
    other.box.session.put({"notes": b"heron-notes"})
    other.shell("cp notes /tmp/notes; cp notes /dev/shm/notes")
    found = attacked.shell(
        "cat /w/notes /tmp/notes /dev/shm/notes /proc/*/cwd/notes /proc/*/root/w/notes; cat ../*/notes; "
        f"cat {other.box.folder}/key; ls /proc/*/cwd /proc/*/root/tmp"
    )
    assert "heron-notes" not in found
    assert (other.box.folder / "key").read_text().strip() not in found


def test_the_key_cannot_be_guessed(attacked: Attacked) -> None:
    printed = attacked.perl("""
        my ($k, $n, $tries, $end) = (key(), 0, 0, time + 5);
        my @guesses = ("", "0" x 32, uc($k) . " ", substr($k, 0, 31), $k . "0");
        while (time < $end) { my $guess = shift(@guesses) // sprintf("%032x", rand(2**60));
            my ($s) = ask($guess, "status"); $tries++; $n++ if $s eq "0" }
        print "$n of $tries\\n";
    """)
    hits, tries = map(int, re.findall(r"[0-9]+", printed))
    assert hits == 0
    assert 0 < tries <= 5 / 0.05 + 20
    assert set(attacked.session.refusals()) == {"wrong_key"}
    assert len(attacked.session.refusals()) >= 10
