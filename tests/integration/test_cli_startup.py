"""What `agn` must be before it does anything: instant, light and clear about mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "torch",
    "vllm",
    "docker",
    "deepspeed",
    "transformers",
    "sqlalchemy",
    "alembic",
    "jinja2",
    "matplotlib",
    "prometheus_client",
    "starlette",
    "tensorboard",
    "uvicorn",
    "wandb",
)


def agn(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from agnostics.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )


PARTS = ("agnostics.environments.builtin", "agnostics.math", "agnostics.traces", "agnostics_datasets.adapters")
FILTER = ["verify", "--sandbox", "bubblewrap", "/dev/null"]


def imported(names: tuple[str, ...], arguments: list[str]) -> tuple[int, list[str]]:
    """The exit status of a command, and those of the modules that it has imported."""
    program = (
        "import json, sys\n"
        "from agnostics.cli import call\n"
        f"status = call({arguments!r})\n"
        f"print(json.dumps([status, [name for name in {names!r} if name in sys.modules]]))\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    status, found = json.loads(answer.stdout.splitlines()[-1])
    return status, found


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["verify", "--help"], ["results", "--help"], FILTER]
)
def test_help_and_the_filter_import_nothing_heavy(arguments: list[str]) -> None:
    assert imported(HEAVY, arguments) == (0, [])


def test_the_filter_imports_no_environment_and_no_data_set() -> None:
    """They are a quarter of its start; a module of each shows that none of its package was imported."""
    assert imported(PARTS, FILTER) == (0, [])


def test_an_unknown_command_names_the_nearest_one() -> None:
    answer = agn("verfy")
    assert answer.returncode == 2
    assert answer.stderr.strip() == "agn: unknown command 'verfy'; did you mean 'verify'?"


def test_an_unknown_option_is_wrong_use_without_a_traceback() -> None:
    answer = agn("plugins", "--jsn")
    assert answer.returncode == 2
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("arguments", [["languages"], ["languages", "--json"], ["datasets", "show", "starter"]])
def test_a_full_disk_behind_stdout_is_one_line(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "agnostics", *arguments]
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (answer.returncode, answer.stderr) == (1, "agn: stdout: No space left on device\n")
