"""The results pages as an ASGI application."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from agnostics.store.read_only import ReadOnlyStore
from agnostics.types.errors import AgnosticsError
from agnostics.web import escaping, formatting, programs, runs, search, steps, tasks
from agnostics.web.auth import LocalHost, SafeHeaders, Token

HERE = Path(__file__).parent
ROUTES = {
    "/": runs.index,
    "/search": search.search,
    "/runs/{run}": runs.run,
    "/runs/{run}/curves": runs.curves,
    "/runs/{run}/progress": runs.progress,
    "/runs/{run}/tasks": tasks.of_run,
    "/runs/{run}/steps": steps.of_run,
    "/runs/{run}/steps/{step}": steps.step,
    "/tasks/{task}": tasks.task,
    "/tasks/{task}/{what}": tasks.whole,
    "/tasks/{task}/tests/{test}/{what}": tasks.whole_test,
    "/programs/{program}": programs.program,
    "/programs/{program}/{what}": programs.whole,
    "/programs/{program}/tests/{test}/{what}": programs.whole_test,
}


def application(reader: ReadOnlyStore, *, token: str | None, cookie: str = "agn") -> Starlette:
    """The pages of the database behind `reader`; with a `token`, for those who have it, else for this machine alone."""
    templates = _templates()
    who = Middleware(LocalHost) if token is None else Middleware(Token, token, cookie, templates)
    app = Starlette(
        routes=[
            *(Route(path, answer, methods=["GET"]) for path, answer in ROUTES.items()),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        middleware=[Middleware(SafeHeaders), who],
        exception_handlers={HTTPException: _refused, AgnosticsError: _failed, Exception: _broken},
    )
    app.state.reader = reader
    app.state.templates = templates
    return app


def _templates() -> Jinja2Templates:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        **{name: getattr(escaping, name) for name in ("visible", "name", "plain", "quoted", "piece", "around")},
        **{name: getattr(formatting, name) for name in ("count", "rate", "figure", "seconds", "moment", "mark")},
    }
    return Jinja2Templates(env=environment)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(request, error.status_code, error.detail, error.headers)


def _failed(request: Request, error: Exception) -> Response:
    return _error(request, 503, str(error))


def _broken(_: Request, error: Exception) -> Response:  # noqa: ARG001
    return PlainTextResponse("this page failed; the server's terminal says why\n", 500)


def _error(request: Request, status: int, message: str, headers: object = None) -> Response:
    templates: Jinja2Templates = request.app.state.templates
    values = {"status": status, "message": message}
    answer = templates.TemplateResponse(request, "error.html", values, status)
    answer.headers.update(dict(headers or {}))  # type: ignore[call-overload]
    return answer
