"""The toolchains of this machine, for backends without images of their own."""

from __future__ import annotations

import shutil

from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language

TOOLCHAIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing_tools(language: Language) -> list[str]:
    """The commands of `language` that are not installed on this machine."""
    return [name for name in language.tools() if shutil.which(name, path=TOOLCHAIN_PATH) is None]


def install_hint(language: Language) -> str:
    """The command that installs the toolchain of `language`, or a way to do without."""
    if isinstance(language.install, str):
        return language.install
    return "install it, or use --sandbox docker, whose image brings it"


def require_toolchain(language: Language) -> None:
    """Raise MissingRequirement, with what to install, if a command of `language` is not on this machine."""
    if missing := missing_tools(language):
        names = ", ".join(missing)
        raise MissingRequirement(
            f"{language.name} needs {names}, which is not on this machine; to mend it: {install_hint(language)}"
        )
