"""A child process ends when its parent is killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

from agnostics.util.child_process import exit_description

CHILD = """
import os, sys, time
from agnostics.util.child_process import die_with_parent
die_with_parent(int(sys.argv[1]))
print(os.getpid(), flush=True)
time.sleep(60)
"""
PARENT = f"""
import os, subprocess, sys
subprocess.run([sys.executable, "-c", {CHILD!r}, str(os.getpid())])
"""


def test_a_child_process_ends_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        assert select.select([child], [], [], 20)[0], "the child lives on"
        os.close(child)


def test_a_child_whose_parent_has_ended_does_not_start() -> None:
    answer = subprocess.run([sys.executable, "-c", CHILD, "1"], capture_output=True, text=True, timeout=20)
    assert (answer.returncode, answer.stdout) == (1, "")


def test_an_exit_status_is_described_in_words() -> None:
    assert exit_description(-9) == "was killed by signal 9"
    assert exit_description(3) == "ended with status 3"
