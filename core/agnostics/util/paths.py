"""The folders of the user, as the XDG Base Directory Specification (0.8) places them."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder() -> Path:
    """The folder for results: the database and the folders of runs."""
    return _folder("XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    """The folder for files that can be made again."""
    return _folder("XDG_CACHE_HOME", ".cache")


def config_folder() -> Path:
    """The folder for the user's own languages."""
    return _folder("XDG_CONFIG_HOME", ".config")


def state_folder() -> Path:
    """The folder for what must outlive a process but is no result: the workspaces of agent sessions."""
    return _folder("XDG_STATE_HOME", ".local/state")


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default) / "agnostics"
