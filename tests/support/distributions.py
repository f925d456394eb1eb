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
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=60)
            install = [str(folder / "bin" / "pip"), "install", "-q", *map(str, built_wheels)]
            subprocess.run(install, check=True, timeout=INSTALL_S)
    return folder / "bin"


@pytest.fixture(scope="session")
def environment_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes the `bin` folder of an environment with this source tree and one of its extras.

    It stands on the one that runs the tests: what that has in a version that fits is not installed again.
    """

    def make(extra: str) -> Path:
        folder = _shared(tmp_path_factory, f"environment-with-{extra}")
        with _once(folder) as missing:
            if missing:
                _install_above(folder, extra)
        return folder / "bin"

    return make


def _install_above(folder: Path, extra: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "below.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "-q", "--no-compile"]
    install = [*pip, "--no-build-isolation", "-e", f"{ROOT}[{extra}]"]
    subprocess.run(install, check=True, capture_output=True, timeout=INSTALL_S)
