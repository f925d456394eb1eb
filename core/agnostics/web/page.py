"""Request parameters, responses, and keyset pagination."""

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
from agnostics.util.column_ranges import LARGEST_ID

LONGEST_PARAMETER = 500
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """The rows of a page, with the queries of the next and of the first page; None if there is no other one."""

    rows: Sequence[T]
    next: str | None
    first: str | None


def reading(request: Request) -> AbstractContextManager[Connection]:
    """A read transaction for the queries of one page."""
    transaction: AbstractContextManager[Connection] = request.app.state.store.reading()
    return transaction


def render(request: Request, template: str, **values: Any) -> Response:
    """The response with `template` rendered from `values`."""
    response: Response = request.app.state.templates.TemplateResponse(request, template, values)
    return response


def download(text: str, filename: str) -> Response:
    """`text`, unescaped, as a download: browsers do not render it as a page."""
    headers = {"content-disposition": f'attachment; filename="{filename}"'}
    return Response(text, media_type="text/plain", headers=headers)


def not_found(noun: str) -> HTTPException:
    """The error 404 for a row that does not exist."""
    return HTTPException(404, f"There is no such {noun} in this database.")


def text(request: Request, name: str) -> str:
    """A parameter of the query, sanitized as stored texts are; empty if it is absent."""
    return str(sanitize(request.query_params.get(name, "")))[:LONGEST_PARAMETER]


def choice(request: Request, name: str, choices: Collection[str], default: str = "") -> str:
    """A parameter of the query that is one of `choices`."""
    given = text(request, name) or default
    if given and given not in choices:
        raise HTTPException(400, f"{name} must be one of: {', '.join(choices)}.")
    return given


def number(given: str | int | None, name: str, largest: int = LARGEST_ID) -> int | None:
    """A number in the range of its column, None if it is absent."""
    if given is None or given == "":
        return None
    digits = str(given)
    if not digits.isascii() or not digits.isdigit() or len(digits) > len(str(largest)) or int(digits) > largest:
        raise HTTPException(400, f"{name} must be a number.")
    return int(digits)


def path_number(request: Request, name: str, largest: int = LARGEST_ID) -> int:
    """A number in the path of the URL."""
    given = number(request.path_params[name], name, largest)
    assert given is not None
    return given


def paginate(request: Request, rows: Sequence[T], size: int, parameter: str, key: Callable[[T], Any]) -> Page[T]:
    """A page of `size` rows. `rows` has one more if there is a next page, which starts after the `key` of the last."""
    shown = rows[:size]
    next_ = str(request.url.include_query_params(**{parameter: key(shown[-1])}).query) if len(rows) > size else None
    first = str(request.url.remove_query_params(parameter).query) if parameter in request.query_params else None
    return Page(shown, next_, first)
