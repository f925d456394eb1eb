"""Languages of the user's own, as files in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from agnostics.plugins.loader import Filter
from agnostics.plugins.manager import PluginManager
from agnostics.plugins.user_languages import own_folder, own_packs
from agnostics.types.errors import UsageError

TCL = "prompt: Use Tcl 8.6.\ninstall: apt-get install -y tcl\nfilename: snippet.tcl\nexecute: tclsh snippet.tcl\n"
ALL = Filter(None, frozenset())


def test_a_file_in_the_folder_is_a_language_with_its_path_as_origin(tmp_path: Path) -> None:
    (tmp_path / "tcl.yaml").write_text(TCL)
    plugins = PluginManager([], ALL, own=own_packs(tmp_path))
    assert plugins.language("tcl").prompt == "Use Tcl 8.6."
    assert plugins.origin("tcl") == str(tmp_path / "tcl.yaml")


def test_a_file_with_a_mistake_costs_the_others_nothing_and_is_listed_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(TCL + "excute: x\n")
    (tmp_path / "tcl.yml").write_text(TCL)
    plugins = PluginManager([], ALL, own=own_packs(tmp_path))
    assert list(plugins.languages()) == ["tcl"]
    (bad,) = [record for record in plugins.records if record.status == "failed"]
    assert "bad.yaml:5: unknown key 'excute'; did you mean 'execute'?" in (bad.reason or "")


def test_two_files_of_one_name_are_both_named(tmp_path: Path) -> None:
    for name in ("tcl.yaml", "tcl.yml"):
        (tmp_path / name).write_text(TCL)
    with pytest.raises(UsageError, match=r"tcl\.yaml and .*tcl\.yml"):
        PluginManager([], ALL, own=own_packs(tmp_path)).language("tcl")


def test_one_that_is_disabled_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "tcl.yaml").write_text(TCL)
    plugins = PluginManager([], Filter(None, frozenset({"tcl.yaml"})), own=own_packs(tmp_path))
    assert not plugins.languages()


def test_the_folder_is_that_of_the_users_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert own_folder() == tmp_path / "agnostics" / "languages"
