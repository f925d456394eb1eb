"""The language pack for @name@: `language.yaml`, and the programs of the contract suite in `contract/`."""

from __future__ import annotations

from pathlib import Path

from agnostics import Language, hookimpl

AGN_CONTRACT = 2


@hookimpl
def agn_languages() -> list[Language]:
    """The language in `language.yaml`."""
    return [Language.from_folder(Path(__file__).parent, name="@name@")]
