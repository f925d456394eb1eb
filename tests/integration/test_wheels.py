"""The built wheels work in a clean environment, without a compiler, torch or this checkout."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from distributions import PROJECTS

pytestmark = pytest.mark.slow


def test_every_pack_is_active(wheels_environment: Path) -> None:
    answer = subprocess.run(
        [wheels_environment / "agn", "plugins", "--json"], capture_output=True, text=True, timeout=60
    )
    records = json.loads(answer.stdout)
    assert {record["status"] for record in records} == {"active"}
    assert len(records) == len(PROJECTS)


def test_other_frameworks_find_what_they_look_for(wheels_environment: Path) -> None:
    program = (
        "from importlib.metadata import entry_points; from importlib.util import find_spec\n"
        "(entry,) = entry_points(group='inspect_ai')\n"
        "assert find_spec(entry.module) and find_spec('agnostics_verifiers')"
    )
    subprocess.run([wheels_environment / "python", "-c", program], check=True, timeout=60)


def test_the_client_of_agent_sessions_and_the_protocols_are_there(wheels_environment: Path) -> None:
    program = (
        "import subprocess; from agnostics.referee.client_binary import client_path\n"
        "from agnostics.referee.protocol import load_protocol, protocol_names\n"
        "assert [load_protocol(name).name for name in protocol_names()]\n"
        "print(subprocess.run([client_path(), '--help'], check=True, capture_output=True, text=True).stdout)"
    )
    answer = subprocess.run(
        [wheels_environment / "python", "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert "session submit PROBLEM FILE" in answer.stdout


def test_a_program_is_verified_without_torch(wheels_environment: Path) -> None:
    assert (
        subprocess.run(
            [wheels_environment / "python", "-c", "import torch"], capture_output=True, timeout=60
        ).returncode
        == 1
    )
    line = {"id": 1, "language": "lua", "program": "print(1 + 1)", "tests": [{"input": "", "output": "2\n"}]}
    answer = subprocess.run(
        [wheels_environment / "agn", "verify", "--sandbox", "bubblewrap"],
        input=json.dumps(line) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["verdict"] == "accepted"


def test_a_pack_made_by_new_is_built_installed_and_verifies_a_program(wheels_environment: Path, tmp_path: Path) -> None:
    """In a copy of nothing: a wheel of the generated pack in an environment that never saw this checkout."""

    def call(*command: str | Path, given: str = "") -> str:
        answer = subprocess.run(
            command, cwd=tmp_path, input=given, capture_output=True, text=True, timeout=200, check=False
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    call(wheels_environment / "agn", "languages", "new", "fresh")
    call(wheels_environment / "pip", "wheel", "-q", "--no-deps", "-w", "wheels", "./agnostics-lang-fresh")
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    call(wheels_environment / "pip", "install", "-q", wheel)
    try:
        line = {"id": 1, "language": "fresh", "program": "read n; echo $((n + 1))"}
        request = json.dumps({**line, "tests": [{"input": "41\n", "output": "42"}]})
        answer = call(wheels_environment / "agn", "verify", "--sandbox", "bubblewrap", given=request + "\n")
        assert json.loads(answer)["verdict"] == "accepted"
        call(wheels_environment / "agn", "languages", "check", "fresh", "--sandbox", "bubblewrap")
    finally:
        call(wheels_environment / "pip", "uninstall", "-q", "-y", "agnostics-lang-fresh")
