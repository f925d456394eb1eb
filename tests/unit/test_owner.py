"""Folders of owners that were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from agnostics.sandbox.owner import make_owned_folder, remove_leftover_folders

MAKE_FOLDER_AND_DIE = """
import os, sys
from pathlib import Path
from agnostics.sandbox.owner import make_owned_folder
(make_owned_folder(Path(sys.argv[1])) / "socket").touch()
os.kill(os.getpid(), 9)
"""


def test_the_folder_of_a_killed_owner_is_removed_by_the_next_one(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", MAKE_FOLDER_AND_DIE, tmp_path], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert [list(folder.iterdir()) for folder in tmp_path.iterdir()] != []
    remove_leftover_folders(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_folders_of_living_owners_and_of_others_stay(tmp_path: Path) -> None:
    own = make_owned_folder(tmp_path)
    other_namespace = tmp_path / "agnostics-1-1-1-x"
    of_a_user = tmp_path / "agnostics-notes"
    other_namespace.mkdir()
    of_a_user.mkdir()
    remove_leftover_folders(tmp_path)
    assert set(tmp_path.iterdir()) == {own, other_namespace, of_a_user}


def test_a_reused_process_id_does_not_keep_a_folder(tmp_path: Path) -> None:
    own = make_owned_folder(tmp_path)
    prefix, _, _ = own.name.partition(f"-{os.getpid()}-")
    leftover = tmp_path / f"{prefix}-{os.getpid()}-1-x"
    leftover.mkdir()
    remove_leftover_folders(tmp_path)
    assert list(tmp_path.iterdir()) == [own]


def test_a_link_in_the_place_of_a_leftover_leads_nowhere(tmp_path: Path) -> None:
    own = make_owned_folder(tmp_path)
    prefix, _, _ = own.name.partition(f"-{os.getpid()}-")
    (own / "kept").touch()
    (tmp_path / f"{prefix}-{os.getpid()}-1-x").symlink_to(own)
    remove_leftover_folders(tmp_path)
    assert (own / "kept").exists()
