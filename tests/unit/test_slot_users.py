"""The users of slots are no accounts, and no two slots of a machine have the same."""

from __future__ import annotations

import pwd
import subprocess
import sys
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from agnostics.sandbox import slot_users
from agnostics.sandbox.slot_users import SlotUser
from agnostics.types.errors import AgnosticsError


@pytest.fixture
def three_ids(monkeypatch: pytest.MonkeyPatch) -> range:
    """All the ids that there are."""
    ids = range(59_990, 59_993)
    monkeypatch.setattr(slot_users, "FIRST", ids.start)
    monkeypatch.setattr(slot_users, "LAST", ids.stop)
    return ids


def test_each_slot_has_an_id_of_its_own_until_there_is_none(three_ids: range) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(SlotUser()) for _ in three_ids]
        assert {user.uid for user in users} == {*three_ids}
        with pytest.raises(AgnosticsError, match="each user id from 59990 to 59993 is taken"):
            SlotUser()
        users[1].close()
        assert stack.enter_context(SlotUser()).uid == users[1].uid


def test_an_id_that_another_process_has_is_not_taken_until_that_ends(three_ids: range) -> None:
    others = "import sys; from agnostics.sandbox import slot_users as s; s.FIRST, s.LAST = 59990, 59992\n"
    others += "a, b = s.SlotUser(), s.SlotUser(); print('claimed', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", others], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        with SlotUser() as user:
            assert user.uid == three_ids[2]
            process.communicate(timeout=30)
            with SlotUser() as freed:
                assert freed.uid in three_ids[:2]


@pytest.mark.usefixtures("three_ids")
def test_the_id_of_an_account_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = {59_990: SimpleNamespace(pw_name="ada"), 59_992: SimpleNamespace(pw_name="grace")}
    monkeypatch.setattr(pwd, "getpwuid", accounts.__getitem__)
    with SlotUser() as user:
        assert user.uid == 59_991
