"""The Fortran language pack: `language.yaml`, and right programs in `reference/`."""

from __future__ import annotations

from pathlib import Path

from agnostics import Language, hookimpl

AGN_CONTRACT = 2


@hookimpl
def agn_languages() -> list[Language]:
    """The language in `language.yaml`."""
    return [Language.from_folder(Path(__file__).parent, name="fortran")]
