"""The built wheels work in a clean environment, without a compiler, torch or this checkout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clean(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a virtual environment that holds our wheels and what they depend on."""
    venv = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True, timeout=60)
    subprocess.run([str(venv / "bin/pip"), "install", "-q", *map(str, wheels)], check=True, timeout=400)
    return venv / "bin"


def test_every_pack_is_active(clean: Path) -> None:
    answer = subprocess.run([clean / "agn", "plugins", "--json"], capture_output=True, text=True, timeout=60)
    records = json.loads(answer.stdout)
    assert {record["status"] for record in records} == {"active"}
    assert len(records) == 1 + len(list(ROOT.glob("plugins/*/pyproject.toml")))


def test_a_program_is_verified_without_torch(clean: Path) -> None:
    assert subprocess.run([clean / "python", "-c", "import torch"], capture_output=True, timeout=60).returncode == 1
    line = {"id": 1, "language": "lua", "program": "print(1 + 1)", "tests": [{"input": "", "output": "2\n"}]}
    answer = subprocess.run(
        [clean / "agn", "verify", "--sandbox", "bubblewrap"],
        input=json.dumps(line) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["verdict"] == "accepted"


def test_a_pack_made_by_new_is_built_installed_and_verifies_a_program(clean: Path, tmp_path: Path) -> None:
    """In a copy of nothing: a wheel of the generated pack in an environment that never saw this checkout."""

    def call(*command: str | Path, given: str = "") -> str:
        answer = subprocess.run(
            command, cwd=tmp_path, input=given, capture_output=True, text=True, timeout=200, check=False
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    call(clean / "agn", "languages", "new", "fresh")
    call(clean / "pip", "wheel", "-q", "--no-deps", "-w", "wheels", "./agnostics-lang-fresh")
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    call(clean / "pip", "install", "-q", wheel)
    try:
        line = {"id": 1, "language": "fresh", "program": "read n; echo $((n + 1))"}
        request = json.dumps({**line, "tests": [{"input": "41\n", "output": "42"}]})
        answer = call(clean / "agn", "verify", "--sandbox", "bubblewrap", given=request + "\n")
        assert json.loads(answer)["verdict"] == "accepted"
        call(clean / "agn", "languages", "check", "fresh", "--sandbox", "bubblewrap")
    finally:
        call(clean / "pip", "uninstall", "-q", "-y", "agnostics-lang-fresh")
