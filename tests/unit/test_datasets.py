"""Every data set adapter has a description, and a mapping of the fields of its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agnostics.cli.datasets import command
from agnostics.plugins.manager import load_plugins
from agnostics.types.dataset import Dataset, HubSource
from agnostics.types.errors import UsageError
from click.testing import CliRunner

ADAPTERS = sorted(load_plugins().datasets().values(), key=lambda adapter: adapter.name)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_every_adapter_has_a_licence_a_size_and_a_field_map(adapter: Dataset) -> None:
    assert adapter.license
    assert adapter.size not in {"", "unknown"}
    assert adapter.fields
    assert all(field and meaning for field, meaning in adapter.fields.items())


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_every_adapter_refuses_an_unknown_split_in_one_line(
    adapter: Dataset, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = None
    if adapter.suffixes:
        path = tmp_path_factory.mktemp("own") / f"tasks{adapter.suffixes[0]}"
        path.write_text(OWN[adapter.name])
        source = str(path)
    with pytest.raises(UsageError, match="unknown split 'trian'") as error:
        list(adapter.tasks("trian", source=source))
    assert "\n" not in str(error.value)


def test_control_codes_of_a_task_do_nothing_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    hostile = {
        "id": "a\x1b[2J",
        "statement": "Add\n\tone.\r\x1b]0;x\x07\x9b31m",
        "tests": [{"input": "\x1b", "output": ""}],
    }
    path.write_text(json.dumps(hostile) + "\n")
    shown = CliRunner().invoke(command, ["show", str(path)]).output
    assert "Add\n\tone.\ufffd\ufffd]0;x\ufffd\ufffd31m" in shown
    assert all(c.isprintable() or c in "\n\t" for c in shown)
    assert json.loads(CliRunner().invoke(command, ["show", str(path), "--json"]).output)["id"] == hostile["id"]


OWN = {
    "csv": "id,input,output\na,,1\n",
    "jsonl": '{"id": "a", "tests": [{"input": "", "output": "1"}]}\n',
}
"""Files of adapters whose splits are the file's."""


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_show_prints_the_description_of_every_adapter(adapter: Dataset) -> None:
    shown = CliRunner().invoke(command, ["show", adapter.name, "-n", "0"])
    assert shown.exit_code == 0
    for text in (adapter.license, adapter.size, str(adapter.hub or ""), *adapter.fields, *adapter.fields.values()):
        assert text in shown.stdout


def test_show_prints_tasks_after_it() -> None:
    shown = CliRunner().invoke(command, ["show", "starter", "-n", "2"]).stdout
    assert shown.index("becomes") < shown.index("starter-0/") < shown.rindex("starter-0/")


def test_list_prints_everything_as_json() -> None:
    listed = json.loads(CliRunner().invoke(command, ["list", "--json"]).stdout)
    assert [adapter["name"] for adapter in listed] == [adapter.name for adapter in ADAPTERS]
    assert all(adapter["size"] and adapter["fields"] and "hub" in adapter for adapter in listed)


def test_a_hub_source_is_shown_with_its_revision() -> None:
    assert str(HubSource("a/b", "f" * 40, "c")) == f"a/b c at {'f' * 40}"
    assert str(HubSource("a/b", None)) == "a/b at its newest revision"
