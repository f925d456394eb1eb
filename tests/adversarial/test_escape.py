"""Programs that look for the answers, for other programs, or for a way out."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

Attack = Callable[..., Verification]

SECRET = "a-string-that-only-the-expected-output-holds"
VARIABLES = {"HOME", "LANG", "PATH", "PWD", "TMPDIR", "HOSTNAME", "OLDPWD", "_", "SHLVL"}


def _is_started_by_root(mode: str) -> bool:
    return os.geteuid() == 0 and mode != "ordinary-user"


@pytest.mark.programs("peek", "search_for_answers")
def test_neither_the_harness_nor_the_expected_outputs_can_be_read(attack: Attack, program: str) -> None:
    result = attack(program, output=f"0 {SECRET}", run_s=10.0)
    assert (result.verdict, result.tests[0].stdout) == ("wrong_answer", "0\n")


@pytest.mark.programs("ways_out")
def test_ways_out_of_the_sandbox_are_refused(attack: Attack, program: str) -> None:
    result = attack(program, output="end")
    assert result.accepted, result.tests[0].stdout


@pytest.mark.programs("unlisted_calls")
def test_the_kernel_does_not_answer_calls_that_no_runtime_needs(attack: Attack, program: str) -> None:
    assert attack(program).tests[0].stdout == "end\n"


@pytest.mark.programs("kernel_files")
def test_files_of_the_kernel_that_no_program_needs_are_masked(attack: Attack, program: str) -> None:
    assert attack(program).tests[0].stdout == "end\n"


@pytest.mark.programs("settings_of_namespaces")
def test_settings_that_every_later_program_would_have_cannot_be_changed(attack: Attack, program: str) -> None:
    assert attack(program, output="0").accepted


def test_the_counts_of_the_slot_are_not_shown_in_bubblewrap_mode(
    single: Verifier, mode: str, writing: dict[str, Language]
) -> None:
    if mode == "docker":
        pytest.skip("the engine mounts them")
    program = "print(io.open('/cgroup/memory.stat') or io.open('/cpu-cgroup/cpuacct.usage'))"
    task = Task(id="counts", tests=(Test(input="", output="nil"),))
    assert single.verify(writing["lua"], program, task).accepted


def test_of_the_machines_files_programs_see_those_of_toolchains_alone(
    single: Verifier, mode: str, writing: dict[str, Language]
) -> None:
    if mode == "docker":
        pytest.skip("images have files of their own")
    hidden = ["/root", "/home", "/var", "/etc/passwd", "/usr/src", "/usr/sbin", "/usr/local/etc", "/usr/local/share"]
    program = "for path in io.read():gmatch('%S+') do if io.open(path) then print(path) end end"
    shown = "/usr/bin /usr/lib"
    task = Task(id="files", tests=(Test(input=" ".join([*hidden, shown]), output=shown),))
    assert single.verify(writing["lua"], program, task).accepted


@pytest.mark.programs("environment")
def test_the_environment_tells_nothing_of_the_machine(attack: Attack, program: str) -> None:
    names = set(attack(program).tests[0].stdout.split())
    assert "PATH" in names
    assert names <= VARIABLES


@pytest.mark.programs("answer_as_the_harness")
def test_a_frame_printed_like_the_harnesss_own_is_only_text(attack: Attack, program: str) -> None:
    assert attack(program, output="42").verdict == "wrong_answer"


@pytest.mark.programs("own_sockets")
def test_there_is_no_network_but_sockets_of_the_program_itself(attack: Attack, program: str) -> None:
    assert attack(program, output="4").accepted


@pytest.mark.programs("who_is_root")
def test_root_in_a_slot_is_not_root_of_the_machine(attack: Attack, program: str, mode: str) -> None:
    assert attack(program).tests[0].stdout == ("another\n" if _is_started_by_root(mode) else "")


@pytest.mark.programs("rise_by_setuid")
def test_a_setuid_program_makes_nobody_root(attack: Attack, program: str) -> None:
    result = attack(program, output="42", run_s=5.0)
    assert result.accepted, result.tests[0].stdout


def test_locks_and_watches_on_files_of_the_machine_do_not_reach_another_slot(
    crowd: Verifier, writing: dict[str, Language], text_of: Callable[[str], str], mode: str
) -> None:
    files = "/usr/bin/env /usr/bin /etc/ld.so.cache"
    if _is_started_by_root(mode):
        files += " /dev/null"  # only root may give a slot inodes of its own for devices
    tasks = [
        Task(
            id=role,
            tests=(Test(input=f"{role} {files}", output="0 refused, 0 seen"),),
            limits=LimitOverrides(run_s=5.0),
        )
        for role in ("hold", "use")
    ]
    with ThreadPoolExecutor(len(tasks)) as programs:
        verify = partial(crowd.verify, writing["c"], text_of("reach_across_slots.c"))
        results = list(programs.map(verify, tasks))
    assert [result.tests[0].stdout for result in results] == ["0 refused, 0 seen\n"] * 2
