"""What the user keeps: languages as YAML files in the folder `agnostics/languages` of their configuration."""

from __future__ import annotations

from pathlib import Path

from agnostics.plugins.specs import hookimpl
from agnostics.types.language import Language
from agnostics.util.paths import config_folder


class YamlPack:
    """A YAML file as the host sees a plugin."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @hookimpl
    def agn_languages(self) -> list[Language]:
        """The language in the file; see `Language.from_yaml` for what it raises."""
        return [Language.from_yaml(self.path)]


def own_folder() -> Path:
    """Where the user's languages are looked for."""
    return config_folder() / "languages"


def own_packs(folder: Path) -> list[YamlPack]:
    """The files in `folder`, in the order of their names."""
    return [YamlPack(path) for path in sorted(folder.glob("*.y*ml"))]
