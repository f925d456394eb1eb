"""Forks of a held interpreter that attack it, and each other. They are in Perl, which is on every Debian."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agnostics.sandbox.job_codec import job_for
from agnostics.sandbox.protocol import JobResult
from agnostics.types.language import ForkServer, Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

PERL = Language(
    name="perl", prompt="Use Perl.", filename="snippet.pl", execute="perl snippet.pl", fork_server=ForkServer()
)
EMPTY = Test(input="", output="")
OTHERS = r"""
sub others { opendir(my $all, "/proc"); grep { /^\d+$/ && $_ != 1 && $_ != $$ } readdir $all }
"""
END = "\n__END__\n"
"""With it Perl keeps the program's file open."""
CALLS = r"""
my %call = `uname -m` =~ /x86_64/
  ? (ptrace => 101, process_vm_readv => 310, pidfd_getfd => 438, pidfd_open => 434, prlimit64 => 302, sendmsg => 46,
     sched_setaffinity => 203, setpriority => 141, tgkill => 234, kcmp => 312, ioprio_set => 251)
  : (ptrace => 117, process_vm_readv => 270, pidfd_getfd => 438, pidfd_open => 434, prlimit64 => 261, sendmsg => 211,
     sched_setaffinity => 122, setpriority => 140, tgkill => 131, kcmp => 272, ioprio_set => 30);
"""

Run = Callable[..., Verification]


@pytest.fixture(scope="module", params=["bubblewrap", "docker"])
def mode(request: pytest.FixtureRequest) -> str:
    """Each isolation mode in which the slot's user is another than the harness's."""
    if request.param == "bubblewrap":
        require_root()
    return str(request.param)


def require_root() -> None:
    """Skip a test where slots of bubblewrap mode have no second user, and hold no interpreter."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's slots have no second user")


@pytest.fixture(scope="module")
def perl(mode: str) -> Iterator[Verifier]:
    """A verifier with one slot, whose interpreter is held."""
    with Verifier(mode, 1, languages={"perl": PERL}) as verifier:
        yield verifier


@pytest.fixture
def run(perl: Verifier) -> Iterator[Run]:
    """Runs a program once for each of `given`; afterwards the slot holds one interpreter and nothing else."""

    def execute(program: str, *given: str, **limits: float) -> Verification:
        task = Task(
            id="attack",
            tests=tuple(Test(input=one, output="") for one in given or ("",)),
            limits=LimitOverrides.model_validate({"run_s": 2.0, **limits}),
        )
        return perl.verify(PERL, OTHERS + CALLS + program + END, task, stop_on_failure=False)

    yield execute
    after = execute('print join(" ", map { (stat "/proc/$_")[4] . " " . getpgrp($_) } others)')
    assert len(after.tests[0].stdout.split()) == 2, after


def _outputs(verification: Verification) -> list[str]:
    assert verification.attempts == 1
    return [test.stdout for test in verification.tests]


def _held(run: Run) -> str:
    return _outputs(run("print others"))[0]


def test_programs_are_children_of_the_harness_and_forks_of_one_process(run: Run) -> None:
    outputs = _outputs(run('print join(" ", others), " ", getppid, " ", $$ == getpgrp', *"abc"))
    assert len(set(outputs)) == 1
    held, parent, leads = outputs[0].split()
    assert (held.isdigit(), parent, leads) == (True, "1", "1")


def test_no_signal_reaches_the_held_interpreter(run: Run) -> None:
    held = _held(run)
    attack = r"""
    my $reached = 0;
    for my $signal (0 .. 64) {
        $reached += kill($signal, $_) + kill(-$signal, getpgrp($_)) for others;
        $reached += !syscall($call{tgkill}, $_, $_, $signal) for others;
    }
    $SIG{$_} = 'IGNORE' for grep { !/KILL|STOP|NUM|CLD|CHLD/ } keys %SIG;
    kill 9, -1; kill 19, -1;
    print $reached;
    """
    assert _outputs(run(attack, "", "")) == ["0", "0"]
    assert _held(run) == held


def test_the_held_interpreter_cannot_be_traced_read_or_changed(run: Run) -> None:
    attack = r"""
    my ($held) = others;
    my @open = grep { open(my $file, "<", "/proc/$held/$_") && defined(getc $file) }
        qw(mem maps environ auxv stack syscall);
    push @open, grep { defined readlink("/proc/$held/$_") } qw(exe cwd root fd/0 fd/1000);
    push @open, "fd" if opendir(my $folder, "/proc/$held/fd");
    push @open, grep { open(my $file, ">", "/proc/$held/$_") } qw(mem oom_score_adj clear_refs comm coredump_filter);
    my $space = "\0" x 4096;
    my $descriptor = syscall($call{pidfd_open}, $held, 0);
    push @open, "ptrace" if !syscall($call{ptrace}, 16, $held, 0, 0);
    push @open, "seize" if !syscall($call{ptrace}, 0x4206, $held, 0, 0);
    push @open, "vm" if syscall($call{process_vm_readv}, $held, $space, 1, $space, 1, 0) > 0;
    push @open, "getfd" if syscall($call{pidfd_getfd}, $descriptor, 1000, 0) >= 0;
    push @open, "kcmp" if syscall($call{kcmp}, $held, $$, 2, 0, 0) >= 0;
    push @open, "prlimit" if !syscall($call{prlimit64}, $held, 7, 0, $space);
    push @open, "affinity" if !syscall($call{sched_setaffinity}, $held, 128, "\1" . "\0" x 127);
    push @open, "priority" if !syscall($call{setpriority}, 0, $held, 19);
    push @open, "ioprio" if !syscall($call{ioprio_set}, 1, $held, 0);
    print "@open";
    """
    assert _outputs(run(attack)) == [""]


def test_a_fork_has_the_rights_of_any_program(run: Run, mode: str) -> None:
    program = r"""
    open(my $status, "<", "/proc/self/status");
    print map { s/\s+/ /gr . "\n" } grep { /^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Groups|Seccomp|Threads):/ } <$status>;
    print "one user\n" if $< == $> && $( == $) && $< >= 30000;
    $! = 0; ($<, $>) = (29999, 29999); print "$!\n";
    open(my $score, "<", "/proc/self/oom_score_adj"); print <$score>;
    print sort { $a <=> $b } map { (stat $_)[4] == $< } glob("/proc/self/mem /proc/self/fd /proc/self/environ");
    """
    none = "".join(f"Cap{name}: 0000000000000000 \n" for name in ("Inh", "Prm", "Eff", "Amb"))
    forked = _outputs(run(program))[0]
    assert sorted(none.splitlines()) == sorted(line for line in forked.splitlines() if line.startswith("Cap"))
    assert "NoNewPrivs: 1" in forked
    assert "one user" in forked
    assert "Threads: 1" in forked
    assert "\n1000\n" in forked
    executed = PERL.model_copy(update={"fork_server": None})
    with Verifier(mode, 1, languages={"perl": executed}) as verifier:
        assert _outputs(verifier.verify(executed, program, Task(id="t", tests=(EMPTY,)))) == [forked]


def test_a_fork_holds_only_its_streams_and_its_program(run: Run) -> None:
    program = r"""
    opendir(my $folder, "/proc/self/fd");
    print join(" ", sort { $a <=> $b } grep { /\d/ && readlink("/proc/self/fd/$_") !~ m{^/proc/} } readdir $folder);
    open(my $control, ">&=", 1000) and print "control";
    print "sent" if syscall($call{sendmsg}, 1, "\0" x 56, 0) >= 0 or $! != 1;
    """
    assert _outputs(run(program, "", "")) == ["0 1 2 3"] * 2


def test_nothing_of_a_fork_is_left_for_the_next(run: Run) -> None:
    program = r"""
    my $line = <STDIN>; chomp $line;
    opendir(my $tmp, "/tmp"); opendir(my $work, "/w");
    open(my $own, "<&=", 3); my $place = sysseek($own, 0, 1);
    my @state = ($line, $ENV{MARK} // "", umask, $0, scalar(grep { !/^\.+$/ } readdir $tmp),
        scalar(grep { !/^\.+$/ } readdir $work), $place == -s "/w/snippet.pl", scalar(others), $Some::mark // "",
        $SIG{USR1} // "", `pwd`, getpriority(0, 0), flock($own, 6));
    print join "|", @state;
    $Some::mark = $ENV{MARK} = "mark"; umask 0; $0 = "mark"; $SIG{USR1} = "IGNORE"; chdir "/tmp"; setpriority(0, 0, 5);
    open(my $file, ">", "/tmp/mark"); open($file, ">", "/w/mark"); mkdir "/tmp/.hidden";
    sysseek($own, 0, 0); sysseek(STDIN, 0, 0); truncate STDOUT, 0 if $line eq "never";
    if (!fork) { setpgrp; if (!fork) { $SIG{$_} = "IGNORE" for qw(TERM HUP INT); sleep 60 while 1 } exit }
    """
    outputs = _outputs(run(program, "a\n", "b\n", "c\n"))
    first, *others = [output.split("|") for output in outputs]
    assert [output[0] for output in (first, *others)] == ["a", "b", "c"]
    assert all(other[1:] == first[1:] for other in others)
    assert first[7] == "1"  # the held interpreter alone


@pytest.mark.parametrize(
    ("attack", "verdicts"),
    [
        ("fork while 1", {"time_limit", "runtime_error", "memory_limit", "wrong_answer"}),
        ("while (1) { fork; kill 9, -1; }", {"time_limit", "runtime_error", "wrong_answer", "accepted"}),
        ("my @all; push @all, 'x' x 1e6 while 1", {"memory_limit"}),
        ("fork for 1 .. 4; my @all; push @all, 'x' x 1e5 while 1", {"memory_limit"}),
        ("$0 = 'x'; open(F, '>', '/proc/self/oom_score_adj'); print F 0; close F; my @a; push @a, 'x' x 1e6 while 1",
         {"memory_limit"}),
        ("open(F, '>', '/tmp/f'); print F 'x' x 1e6 while 1", {"memory_limit", "output_limit", "runtime_error"}),
        ("print 'x' x 1e6 while 1", {"output_limit"}),
        ("1 while 1", {"time_limit"}),
        ("kill 19, $$; sleep 9", {"time_limit"}),
        ("kill 11, $$", {"runtime_error"}),
    ],
)  # fmt: skip
def test_exhaustion_ends_the_program_and_the_next_is_run(run: Run, attack: str, verdicts: set[str]) -> None:
    result = run(attack, "", "", run_s=0.5, memory_mb=64)
    assert {test.verdict.value for test in result.tests} <= verdicts, result
    assert result.attempts <= 2
    assert _outputs(run("print <STDIN> + 1", "41")) == ["42"]


BOMBS = (
    "fork while 1",
    "while (1) { fork; kill 9, -1 }",
    "for (1 .. 20) { if (!fork) { setpgrp; kill 9, -1; 1 while 1 } }",
    "fork; fork; exec 'sleep', 9",
    "my @all; push @all, 'x' x 1e6 while 1",
)


def test_between_hostile_programs_an_honest_one_finds_itself_and_the_held_interpreter_alone(mode: str) -> None:
    honest = Task(id="honest", tests=tuple(Test(input=str(n), output=f"{n + 1} 1") for n in range(3)))
    hostile = Task(id="hostile", tests=(EMPTY,), limits=LimitOverrides(run_s=0.2, memory_mb=48))
    with Verifier(mode, 2, languages={"perl": PERL}) as verifier:
        results = []
        for number in range(30):
            results.append(verifier.submit(PERL, OTHERS + "print <STDIN> + 1, ' ', scalar(others)", honest))
            if number % 3 == 0:
                verifier.submit(PERL, BOMBS[number // 3 % len(BOMBS)], hostile)
        assert all(result.result(timeout=60).accepted for result in results)


def test_a_time_limit_counts_the_fork_alone(run: Run) -> None:
    result = run("print 42", *[""] * 5)
    assert all(test.cpu_ms < 20 and test.peak_mb < 20 for test in result.tests), result


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees the processes of a slot")
def test_a_held_interpreter_that_is_killed_is_replaced(run: Run, perl: Verifier) -> None:
    run("print 42")
    pool: Any = perl._pool
    (worker,) = pool._workers
    (held,) = _children_of_harness(worker.slot)
    os.kill(held, signal.SIGKILL)
    outputs = _outputs(run("print <STDIN> + 1", "1", "2", "3"))
    assert outputs == ["2", "3", "4"]
    assert _held(run).isdigit()


def _children_of_harness(slot: Any) -> list[int]:
    if hasattr(slot, "container_id"):
        slot._container.reload()
        harness = int(slot._container.attrs["State"]["Pid"])
    else:
        outer = slot._process.pid
        harness = int(Path(f"/proc/{outer}/task/{outer}/children").read_text())
    threads = Path(f"/proc/{harness}/task").iterdir()
    return [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]


class Launched(Language):
    """Python programs that a script beside them runs, after `before`."""

    before: str

    def support_files(self) -> dict[str, bytes]:
        return {"launch.py": f"import os\n{self.before}\nexec(open('snippet.py').read())\n".encode()}


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (
            "import threading, time; threading.Thread(target=time.sleep, args=[60], daemon=True).start()",
            "second thread",
        ),
        ("import socket; kept = socket.socketpair()", "descriptor"),
        ("kept, _ = os.pipe(); os.close(_)", "one end of a pipe"),
        ("kept = os.pipe(); os.write(kept[1], b'x' * 99)", "descriptor"),
        ("import mmap; kept = mmap.mmap(-1, 4096)", "writable memory"),
        ("os.write(1, b'hello')", "prints"),
        ("open('/tmp/cache', 'w').close()", "writes files"),
        ("kept = b'x' * (200 << 20)", "memory"),
        ("os.fork() and os._exit(os.wait()[1] >> 8)", "further process"),
        ("os._exit(0)", "did not come"),
        ("os.environ['LD_PRELOAD'] = ''", ""),
    ],
)
def test_what_cannot_be_forked_soundly_is_executed_and_the_reason_given(before: str, reason: str) -> None:
    result = _run_launched(before, "print(int(input()) + 1)")
    assert reason in result.fork_refusal
    assert bool(reason) == bool(result.fork_refusal)
    if "_exit(0)" not in before:
        assert {test.stdout.removeprefix(b"hello").strip() for test in result.tests} == {b"42"}


def _run_launched(before: str, program: str) -> JobResult:
    """The result of two tests of a Python program that is forked after `before`."""
    require_root()
    language = Launched(
        name="launched",
        prompt="",
        filename="snippet.py",
        execute="/usr/bin/python3 launch.py",
        fork_server=ForkServer(),
        before=before,
    )
    task = Task(id="t", tests=(Test(input="41", output="42"),) * 2)
    with Verifier("bubblewrap", 1, languages={"launched": language}) as verifier:
        pool: Any = verifier._pool
        result: JobResult = pool.submit(language, job_for(language, program, task, stop_on_failure=False)).result()
    return result


def test_a_fork_gets_its_own_of_each_descriptor_that_the_held_interpreter_has() -> None:
    before = """
import select
read, write = os.pipe2(os.O_NONBLOCK)
os.write(write, b"kept")
counter = os.eventfd(3, os.EFD_NONBLOCK)
watched = select.epoll()
watched.register(read, select.EPOLLIN)
watched.register(counter, select.EPOLLIN)
out, given = os.dup(1), os.dup(0)
memory = os.open("/proc/self/mem", os.O_RDONLY)
"""
    program = """
import ctypes
own = ctypes.create_string_buffer(b"mine")
os.write(out, repr((
    sorted(watched.poll(0)) == [(read, 1), (counter, 1)], os.read(read, 9), os.eventfd_read(counter), watched.poll(0),
    os.read(given, 9), os.pread(memory, 4, ctypes.addressof(own)), os.get_blocking(read), os.get_inheritable(write),
)).encode())
os.write(write, b"left")
os.eventfd_write(counter, 5)
watched.unregister(read)
"""
    result = _run_launched(before, program)
    assert result.fork_refusal == ""
    assert {test.stdout for test in result.tests} == {
        repr((True, b"kept", 3, [], b"41", b"mine", False, True)).encode()
    }, result


def test_a_thread_that_waits_for_signals_waits_in_each_fork() -> None:
    before = """
import ctypes, signal, threading
begun, woken = threading.Event(), threading.Event()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
def wait(_):
    begun.set()
    signal.sigwait({signal.SIGUSR1})
    woken.set()
function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(wait)
ctypes.CDLL(None).pthread_create(ctypes.byref(ctypes.c_ulong()), None, function, None)
begun.wait()
"""
    program = """
os.kill(os.getpid(), signal.SIGUSR1)
print(woken.wait(9), len(os.listdir("/proc/self/task")))
"""
    result = _run_launched(before, program)
    assert result.fork_refusal == ""
    assert {test.stdout for test in result.tests} <= {b"True 1\n", b"True 2\n"}, result


def test_a_sandbox_without_a_second_user_refuses() -> None:
    task = Task(id="t", tests=(Test(input="41", output="42"),) * 2)
    with Verifier("process", 1, languages={"perl": PERL}) as verifier:
        pool: Any = verifier._pool
        result = pool.submit(PERL, job_for(PERL, "print <STDIN> + 1", task, stop_on_failure=True)).result()
    assert "second user" in result.fork_refusal
    assert [test.stdout for test in result.tests] == [b"42", b"42"]
