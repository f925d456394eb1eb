"""Languages as YAML, for `--language FILE.yaml`."""

from __future__ import annotations

from typing import Any

import yaml

from agnostics.types.language import Language


def fields_of(language: Language) -> dict[str, Any]:
    """The fields of `language` without defaults and without the programs of its pack, by the keys of the file."""
    return language.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"reference", "contract"})


def yaml_text(fields: dict[str, Any]) -> str:
    """`fields` as YAML in their order, with multi-line texts as literal blocks."""
    return yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    pass


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
