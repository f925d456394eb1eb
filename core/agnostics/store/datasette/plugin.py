"""A plugin for Datasette: titles, descriptions, example queries, and decompressed texts for a results database.

It imports nothing of Agnostics, so that it works in a separate environment of Datasette, given this folder.
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
    """Register the SQL function `decompress(x)`, as on Agnostics' own connections."""
    conn.create_function("decompress", 1, _decompress, deterministic=True)


@hookimpl
def render_cell(value: Any, database: str, datasette: Any) -> str | None:
    """Render a compressed text as text; Datasette escapes it."""
    if not isinstance(value, bytes) or not _is_results_database(datasette, database):
        return None
    text = _decompress(value)
    return text if isinstance(text, str) else value.hex()


@hookimpl
def get_metadata(datasette: Any) -> dict[str, Any]:
    """The metadata for each served results database, whatever its file name."""
    metadata = _metadata()
    about = {name: metadata[name] for name in ("title", "description", "tables")}
    served = [name for name in list(datasette.databases) if _is_results_database(datasette, name)]
    return {"databases": {name: deepcopy(about) for name in served}}


@hookimpl
def canned_queries(datasette: Any, database: str) -> dict[str, Any]:
    """The queries of metadata.yaml."""
    return deepcopy(_metadata()["queries"]) if _is_results_database(datasette, database) else {}


@lru_cache
def _metadata() -> dict[str, Any]:
    metadata: dict[str, Any] = yaml.safe_load((FOLDER / "metadata.yaml").read_text(encoding="utf-8"))
    return metadata


def _is_results_database(datasette: Any, database: str) -> bool:
    path = datasette.databases[database].path
    return path is not None and _has_version_table(Path(path).absolute().as_uri())


@lru_cache
def _has_version_table(uri: str) -> bool:
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
