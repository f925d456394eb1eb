"""The toolchains of this machine, as the modes without images use them."""

from __future__ import annotations

from agnostics.sandbox.doctor import install_hint, missing_tools
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language


def require_toolchain(language: Language) -> None:
    """Raise MissingRequirement, naming what to install, where a command of `language` is not on this machine."""
    if missing := missing_tools(language):
        names = ", ".join(missing)
        raise MissingRequirement(
            f"{language.name} needs {names}, which is not on this machine; to mend it: {install_hint(language)}"
        )
