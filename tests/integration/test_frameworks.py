"""Our parts of inspect_ai and of verifiers, each run by its framework, in an environment with it above this one."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import ChatServer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "integrations.md").read_text()
((FILE, SOURCE),) = re.findall(r"^`([\w.]+)`\n\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
INSPECT_COMMANDS, VERIFIERS_COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EnvironmentWith = Callable[[str], Path]
Serve = Callable[[Callable[[str], str]], ChatServer]


def call(environment: Path, folder: Path, *command: str) -> str:
    """What a command prints in an environment."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "INSPECT_"))}
    variables = {**outside, "PATH": f"{environment}:{os.environ['PATH']}", "HOME": str(folder), "NO_COLOR": "1"}
    answer = subprocess.run(
        command,
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout
    return answer.stdout


@pytest.mark.parametrize(("framework", "processes"), [("inspect", 0), ("verifiers", 0)])
def test_a_framework_runs_our_part_of_it(
    framework: str, processes: int, environment_with: EnvironmentWith, tmp_path: Path
) -> None:
    tests = ROOT / "tests" / "frameworks" / f"{framework}_tests.py"
    options = ("-q", "--noconftest", "-p", "no:cacheprovider", f"--numprocesses={processes}", "--dist=worksteal")
    environment = environment_with(framework)
    printed = call(environment, tmp_path, str(environment / "python"), "-m", "pytest", str(tests), *options)
    assert re.search(r"\d+ passed", printed)


def test_the_commands_for_inspect_work(environment_with: EnvironmentWith, tmp_path: Path, chat_server: Serve) -> None:
    (tmp_path / FILE).write_text(SOURCE)
    server = chat_server(lambda _: "I cannot.")
    printed = call(environment_with("inspect"), tmp_path, "bash", "-ec", at(server, INSPECT_COMMANDS))
    assert len(re.findall(r"accuracy\s+0", printed)) == 3, printed
    assert len(server.asked) == 3


def test_the_commands_for_verifiers_work(environment_with: EnvironmentWith, tmp_path: Path, chat_server: Serve) -> None:
    server = chat_server(lambda _: "```lua\nprint(1)\n```")
    printed = call(environment_with("verifiers"), tmp_path, "bash", "-ec", at(server, VERIFIERS_COMMANDS))
    assert printed.count('"verdict"') == 2, printed
    assert len(server.asked) == 2


def at(server: ChatServer, commands: str) -> str:
    """Commands of the page, with the server's address."""
    return re.sub(r"http://\S+", server.url, commands)
