"""A language as the YAML file that `--language FILE.yaml` takes."""

from __future__ import annotations

from typing import Any

import yaml

from agnostics.types.language import Language


def fields_of(language: Language) -> dict[str, Any]:
    """What is set of `language`, by the keys of the file; the programs that its pack brings are no part of it."""
    return language.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"reference", "contract"})


def yaml_text(fields: dict[str, Any]) -> str:
    """`fields` as YAML in their order, texts of several lines as they stand."""
    return yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    pass


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
