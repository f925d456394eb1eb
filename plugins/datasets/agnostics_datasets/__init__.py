"""The dataset adapters that come with Agnostics."""

from __future__ import annotations

from pathlib import Path

from agnostics import Dataset, Language, hookimpl

AGN_CONTRACT = 2


@hookimpl
def agn_datasets() -> list[Dataset]:
    """The adapters of this distribution; imported when a data set is looked up."""
    from agnostics_datasets.adapters import ADAPTERS

    return [*ADAPTERS]


@hookimpl
def agn_languages() -> list[Language]:
    """Languages that only benchmarks and validators need: Python, and languages as MultiPL-E runs them."""
    return [Language.from_yaml(path) for path in sorted((Path(__file__).parent / "languages").glob("*.yaml"))]
