"""The archive of the packages of a checker's slot."""

from __future__ import annotations

import time

import pytest
from agnostics.math.packages import archive


def test_the_archive_is_the_same_whenever_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = archive()
    archive.cache_clear()
    monkeypatch.setattr(time, "time", lambda: 1e9)
    assert archive() == made
