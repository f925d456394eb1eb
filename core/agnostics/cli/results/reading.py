"""Read access to the results database for commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sqlalchemy import Connection

store_option = click.option(
    "--store", metavar="URL", help="The results database; the one in your data folder by default."
)


@contextmanager
def reading(store: str | None) -> Iterator[Connection]:
    """A read transaction on the database at the URL `store`, by default the one in the user's data folder."""
    from agnostics.store.database import default_url
    from agnostics.store.database import reading as read
    from agnostics.store.store import Store

    with Store.open(store or default_url(), create=False) as opened, read(opened.engine) as connection:
        yield connection
