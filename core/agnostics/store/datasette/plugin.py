"""A plugin of Datasette: a results database with titles, descriptions, questions to start from, and texts to read.

It needs nothing of Agnostics, so that Datasette may live in an environment of its own and be given this folder.
"""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pluggy import HookimplMarker

FOLDER = Path(__file__).parent
hookimpl = HookimplMarker("datasette")
VERSION_TABLE = "agnostics_version"


@hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """`decompress(x)` in SQL, as everywhere in Agnostics: the text that was compressed."""
    conn.create_function("decompress", 1, _decompress, deterministic=True)


@hookimpl
def render_cell(value: Any, database: str, datasette: Any) -> str | None:
    """A compressed text as the text that it is; Datasette escapes it."""
    if not isinstance(value, bytes) or not _is_ours(datasette, database):
        return None
    text = _decompress(value)
    return text if isinstance(text, str) else value.hex()


@hookimpl
def get_metadata(datasette: Any) -> dict[str, Any]:
    """What metadata.yaml says, for each results database that is served, whatever the file is called."""
    told = _told()
    about = {name: told[name] for name in ("title", "description", "tables")}
    return {"databases": {name: deepcopy(about) for name in list(datasette.databases) if _is_ours(datasette, name)}}


@hookimpl
def canned_queries(datasette: Any, database: str) -> dict[str, Any]:
    """The questions of metadata.yaml."""
    return deepcopy(_told()["queries"]) if _is_ours(datasette, database) else {}


@lru_cache
def _told() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / "metadata.yaml").read_text(encoding="utf-8"))
    return found


def _is_ours(datasette: Any, database: str) -> bool:
    path = datasette.databases[database].path
    return path is not None and _has_our_version(Path(path).absolute().as_uri())


@lru_cache
def _has_our_version(uri: str) -> bool:
    try:
        with closing(sqlite3.connect(f"{uri}?mode=ro", uri=True)) as connection:
            query = "select 1 from sqlite_master where type = 'table' and name = ?"
            return connection.execute(query, [VERSION_TABLE]).fetchone() is not None
    except sqlite3.Error:
        return False


def _decompress(value: Any) -> Any:
    """As `agnostics.store.compressed.decompress`."""
    try:
        return zlib.decompress(value).decode() if isinstance(value, bytes) else value
    except (zlib.error, UnicodeDecodeError):
        return value
