"""From a request to a page: what was asked for, which rows stand on the page and where the next ones are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from agnostics.store.records import sanitize

LONGEST_ASKED = 500
_LARGEST = 2**63 - 1
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """The rows of a page; `further` is the address of the next ones, `first` of the first, None where this is it."""

    rows: Sequence[T]
    further: str | None
    first: str | None


def reading(request: Request) -> AbstractContextManager[Connection]:
    """The database, for the queries of one page."""
    opened: AbstractContextManager[Connection] = request.app.state.reader.reading()
    return opened


def page(request: Request, template: str, **values: Any) -> Response:
    """The page that `template` makes of `values`."""
    made: Response = request.app.state.templates.TemplateResponse(request, template, values)
    return made


def raw(text: str, filename: str) -> Response:
    """`text` as it is, as a file to keep: no browser shows it as a page."""
    headers = {"content-disposition": f'attachment; filename="{filename}"'}
    return Response(text, media_type="text/plain", headers=headers)


def missing(what: str) -> HTTPException:
    """The error for an address at which there is nothing."""
    return HTTPException(404, f"There is no such {what} in this database.")


def text(request: Request, name: str) -> str:
    """A parameter of the address, as the database would hold it; empty where it is not given."""
    return str(sanitize(request.query_params.get(name, "")))[:LONGEST_ASKED]


def choice(request: Request, name: str, choices: Collection[str], default: str = "") -> str:
    """A parameter that has one of several values."""
    given = text(request, name) or default
    if given and given not in choices:
        raise HTTPException(400, f"{name} is one of: {', '.join(choices)}.")
    return given


def number(given: str | int | None, name: str) -> int | None:
    """A number that the database can hold, None where it is not given."""
    if given is None or given == "":
        return None
    if not str(given).isascii() or not str(given).isdigit() or int(given) > _LARGEST:
        raise HTTPException(400, f"{name} is a number.")
    return int(given)


def path_number(request: Request, name: str) -> int:
    """A number in the path of the address."""
    given = number(request.path_params[name], name)
    assert given is not None
    return given


def rows(request: Request, found: Sequence[T], size: int, parameter: str, key: Callable[[T], Any]) -> Rows[T]:
    """A page of `size` rows of `found`, which has one more where there are more; `key` names the last one of a page."""
    shown = found[:size]
    further = str(request.url.include_query_params(**{parameter: key(shown[-1])}).query) if len(found) > size else None
    first = str(request.url.remove_query_params(parameter).query) if parameter in request.query_params else None
    return Rows(shown, further, first)
