"""Build what is published: `python scripts/build_distributions.py FOLDER [--reuse]`.

That is the sdist of each distribution, and its wheels, built from the sdist: one, or one for each processor if it
carries binaries. The Python that runs it needs hatchling, and ziglang to compile the binaries. `--reuse` takes binaries
that were compiled in the tree from the same sources.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROCESSORS = ("x86_64", "aarch64")
TIMEOUT_S = 900


def main(folder: str, *options: str) -> None:
    """Build every distribution into `folder`, which must not hold another build."""
    target = Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        sys.exit(f"{folder} is not empty: an old build would be uploaded with the new one")
    for project in projects():
        build(project, target, reuse="--reuse" in options)


def projects() -> list[Path]:
    """The folders of the distributions that are published: `agnostics` and its packs."""
    return [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]


def build(project: Path, target: Path, *, reuse: bool) -> None:
    """The sdist of one project, and its wheels."""
    sdist = hatchling(project, "sdist", target)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
        (source,) = Path(folder).iterdir()
        if reuse:
            copy_binaries(project, source)
        for processor in PROCESSORS if (source / "hatch_build.py").exists() else PROCESSORS[:1]:
            hatchling(source, "wheel", target, processor)


def copy_binaries(project: Path, source: Path) -> None:
    """Copy the binaries of `project`, with the digests of their sources, to the unpacked sdist `source`."""
    for digest in project.glob("build/*.sources"):
        for binary in project.glob(f"*/**/bin/{digest.stem}"):
            copy = source / binary.relative_to(project)
            if copy.parent.parent.is_dir():
                copy.parent.mkdir(exist_ok=True)
                (source / "build").mkdir(exist_ok=True)
                shutil.copy2(binary, copy)
                shutil.copy2(digest, source / "build")


def hatchling(project: Path, kind: str, target: Path, processor: str = PROCESSORS[0]) -> Path:
    """Build a `kind` (sdist or wheel) of `project` for Linux on `processor`; its path."""
    before = set(target.iterdir())
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    environment = {**os.environ, "_PYTHON_HOST_PLATFORM": f"linux-{processor}"}
    subprocess.run(command, cwd=project, env=environment, check=True, timeout=TIMEOUT_S)
    (path,) = set(target.iterdir()) - before
    return path


if __name__ == "__main__":
    main(*sys.argv[1:])
