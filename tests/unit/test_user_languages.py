"""The user's own languages, as files in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from agnostics.plugins.loader import PluginFilter
from agnostics.plugins.manager import PluginManager
from agnostics.plugins.user_languages import user_languages, user_languages_folder
from agnostics.types.errors import UsageError

TCL = "prompt: Use Tcl 8.6.\ninstall: apt-get install -y tcl\nfilename: snippet.tcl\nexecute: tclsh snippet.tcl\n"
ALL = PluginFilter(None, frozenset())


def test_a_file_in_the_folder_is_a_language_with_its_path_as_origin_and_declares_no_contract(tmp_path: Path) -> None:
    (tmp_path / "tcl.yaml").write_text(TCL)
    plugins = PluginManager([], ALL, user_languages=user_languages(tmp_path))
    assert plugins.language("tcl").prompt == "Use Tcl 8.6."
    assert plugins.origin("tcl") == str(tmp_path / "tcl.yaml")
    assert [record.warning for record in plugins.records] == [None, None]


def test_a_file_with_a_mistake_costs_the_others_nothing_and_is_listed_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(TCL + "excute: x\n")
    (tmp_path / "tcl.yml").write_text(TCL)
    plugins = PluginManager([], ALL, user_languages=user_languages(tmp_path))
    assert list(plugins.languages()) == ["tcl"]
    (bad,) = [record for record in plugins.records if record.status == "failed"]
    assert "bad.yaml:5: unknown key 'excute'; did you mean 'execute'?" in (bad.reason or "")


def test_two_files_of_one_name_are_both_named(tmp_path: Path) -> None:
    for name in ("tcl.yaml", "tcl.yml"):
        (tmp_path / name).write_text(TCL)
    with pytest.raises(UsageError, match=r"tcl\.yaml and .*tcl\.yml"):
        PluginManager([], ALL, user_languages=user_languages(tmp_path)).language("tcl")


def test_a_disabled_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "tcl.yaml").write_text(TCL)
    plugins = PluginManager([], PluginFilter(None, frozenset({"tcl.yaml"})), user_languages=user_languages(tmp_path))
    assert not plugins.languages()


def test_the_folder_is_that_of_the_users_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_languages_folder() == tmp_path / "agnostics" / "languages"
