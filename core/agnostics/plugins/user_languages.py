"""The user's own languages: YAML files in the folder `agnostics/languages` of their configuration."""

from __future__ import annotations

import os
from pathlib import Path

from agnostics.plugins.specs import CONTRACT_VERSION, hookimpl
from agnostics.types.language import Language


class UserLanguage:
    """A YAML file as a plugin that provides one language."""

    AGN_CONTRACT = CONTRACT_VERSION

    def __init__(self, path: Path) -> None:
        self.path = path

    @hookimpl
    def agn_languages(self) -> list[Language]:
        """The language in the file; see `Language.from_yaml` for the errors raised."""
        return [Language.from_yaml(self.path)]


def user_languages_folder() -> Path:
    """The folder of the user's languages."""
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "agnostics" / "languages"


def user_languages(folder: Path) -> list[UserLanguage]:
    """The languages in `folder`, in the order of their files' names."""
    return [UserLanguage(path) for path in sorted(folder.glob("*.y*ml"))]
