"""The distributions of this repository, built once for all tests by the script that builds a release."""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECTS = (ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml")))
BUILD_S = 1200
INSTALL_S = 400
UV = (sys.executable, "-m", "uv", "--quiet", "--no-config")


@contextmanager
def _once(folder: Path) -> Iterator[bool]:
    """Whether `folder` has still to be filled: the first process in the block fills it, while the others wait."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        finished = folder.with_suffix(".finished")
        yield not finished.exists()
        finished.touch()


def _shared(factory: pytest.TempPathFactory, name: str) -> Path:
    """A folder of the test session; the processes of pytest-xdist share it."""
    base = factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what would be published: an sdist of each project, and the wheels built from it."""
    folder = _shared(tmp_path_factory, "distributions")
    with _once(folder) as missing:
        if missing:
            command = [sys.executable, str(ROOT / "scripts" / "build_distributions.py"), str(folder), "--reuse"]
            subprocess.run(command, check=True, capture_output=True, timeout=BUILD_S)
    return folder


@pytest.fixture(scope="session")
def built_wheels(distributions: Path) -> list[Path]:
    """One wheel of each project, for the platform of this machine."""
    platforms = (f"{platform.machine()}.whl", "any.whl")
    return [path for path in sorted(distributions.glob("*.whl")) if path.name.endswith(platforms)]


@pytest.fixture(scope="session")
def wheels_environment(built_wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh virtual environment that holds these wheels and what they depend on."""
    folder = _shared(tmp_path_factory, "wheels-environment")
    with _once(folder) as missing:
        if missing:
            make_environment(folder, built_wheels)
    return folder / "bin"


def make_environment(folder: Path, built_wheels: list[Path]) -> None:
    """Make a virtual environment in `folder` that holds pip, these wheels and what they depend on.

    uv makes it, in a tenth of pip's time: its files are links to those of uv's cache.
    """
    subprocess.run([*UV, "venv", "--seed", "--python", sys.executable, str(folder)], check=True, timeout=60)
    install(folder, *map(str, built_wheels))


def install(folder: Path, *requirements: str) -> None:
    """Install into the virtual environment in `folder`."""
    command = [*UV, "pip", "install", "--python", str(folder / "bin" / "python"), *requirements]
    subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_S)


@pytest.fixture(scope="session")
def environment_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes the `bin` folder of an environment with this source tree and one of its extras.

    It stands on the one that runs the tests, in which it finds what it does not have.
    """

    def make(extra: str) -> Path:
        folder = _shared(tmp_path_factory, f"environment-with-{extra}")
        with _once(folder) as missing:
            if missing:
                _install_above(folder, extra)
        return folder / "bin"

    return make


def _install_above(folder: Path, extra: str) -> None:
    subprocess.run([*UV, "venv", "--python", sys.executable, str(folder)], check=True, capture_output=True, timeout=60)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "below.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    install(folder, "-e", f"{ROOT}[{extra}]")
