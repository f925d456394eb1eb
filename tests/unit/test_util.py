"""The helpers for files, folders of the user, and short texts."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from agnostics.types.errors import AgnosticsError
from agnostics.util.files import atomic_write, atomic_write_text
from agnostics.util.paths import cache_folder, config_folder, data_folder
from agnostics.util.text import first_line, plural


def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    atomic_write_text(path, "old\n")
    with suppress(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_one_line_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        AgnosticsError, match="missing/file: No such file or directory; make room there, or name another"
    ):
        atomic_write_text(tmp_path / "missing" / "file", "")


def test_the_folders_are_those_of_xdg_or_below_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for variable in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    below = [folder().relative_to(tmp_path) for folder in (data_folder, cache_folder, config_folder)]
    assert [str(path) for path in below] == [".local/share/agnostics", ".cache/agnostics", ".config/agnostics"]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    assert data_folder() == tmp_path / "elsewhere" / "agnostics"


def test_an_error_has_a_first_line_and_a_count_its_plural() -> None:
    assert first_line(ValueError("\n  first \nsecond")) == "first"
    assert first_line(ValueError()) == "ValueError"
    assert [plural(count, "request") for count in (0, 1, 2)] == ["0 requests", "1 request", "2 requests"]
