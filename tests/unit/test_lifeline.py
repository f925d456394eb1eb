"""A process of ours ends when the one that started it is killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

from agnostics.util.subprocesses import exit_description

CHILD = """
import os, sys, time
from agnostics.util.subprocesses import die_with_parent
die_with_parent(int(sys.argv[1]))
print(os.getpid(), flush=True)
time.sleep(60)
"""
PARENT = f"""
import os, subprocess, sys
subprocess.run([sys.executable, "-c", {CHILD!r}, str(os.getpid())])
"""


def test_a_process_ends_with_the_one_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        assert select.select([child], [], [], 20)[0], "the child lives on"
        os.close(child)


def test_a_process_whose_parent_is_gone_already_does_not_begin() -> None:
    answer = subprocess.run([sys.executable, "-c", CHILD, "1"], capture_output=True, text=True, timeout=20)
    assert (answer.returncode, answer.stdout) == (1, "")


def test_an_end_is_said_in_words() -> None:
    assert exit_description(-9) == "was killed by signal 9"
    assert exit_description(3) == "ended with status 3"
