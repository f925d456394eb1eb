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
from agnostics.web import conversation, escaping, formatting, programs, runs, search, steps, tasks
from agnostics.web.auth import LoopbackOnly, SecurityHeaders, TokenAuth

HERE = Path(__file__).parent
ROUTES = {
    "/": runs.index,
    "/search": search.search,
    "/runs/{run}": runs.run,
    "/runs/{run}/curves": runs.curves,
    "/runs/{run}/progress": runs.progress,
    "/runs/{run}/tasks": tasks.of_run,
    "/runs/{run}/programs": programs.of_run,
    "/runs/{run}/steps": steps.of_run,
    "/runs/{run}/steps/{step}": steps.step,
    "/tasks/{task}": tasks.task,
    "/tasks/{task}/{text}": tasks.full_text,
    "/tasks/{task}/tests/{test}/{text}": tasks.full_test_text,
    "/programs/{program}": programs.program,
    "/programs/{program}/{text}": programs.full_text,
    "/programs/{program}/tests/{test}/{text}": programs.full_test_text,
    "/programs/{program}/turns/{turn}/{text}": conversation.full_text,
    "/programs/{program}/turns/{turn}/calls/{call}/{text}": conversation.full_call_text,
}


def application(store: ReadOnlyStore, *, token: str | None, cookie: str = "agn") -> Starlette:
    """The pages of `store`; with a `token`, for requests that carry it, else for requests to localhost only."""
    templates = _templates()
    auth = Middleware(LoopbackOnly) if token is None else Middleware(TokenAuth, token, cookie, templates)
    app = Starlette(
        routes=[
            *(Route(path, endpoint, methods=["GET"]) for path, endpoint in ROUTES.items()),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        middleware=[Middleware(SecurityHeaders), auth],
        exception_handlers={HTTPException: _http_error, AgnosticsError: _unavailable, Exception: _internal_error},
    )
    app.state.store = store
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
        **{
            name: getattr(escaping, name)
            for name in ("visible", "name", "plain", "quoted", "excerpt", "excerpt_around")
        },
        **{name: getattr(formatting, name) for name in ("count", "rate", "number", "seconds", "timestamp", "symbol")},
    }
    return Jinja2Templates(env=environment)


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(request, error.status_code, error.detail, error.headers)


def _unavailable(request: Request, error: Exception) -> Response:
    return _error(request, 503, str(error))


def _internal_error(_: Request, error: Exception) -> Response:  # noqa: ARG001
    return PlainTextResponse("this page failed; the traceback is in the server's terminal\n", 500)


def _error(request: Request, status: int, message: str, headers: object = None) -> Response:
    templates: Jinja2Templates = request.app.state.templates
    values = {"status": status, "message": message}
    response = templates.TemplateResponse(request, "error.html", values, status)
    response.headers.update(dict(headers or {}))  # type: ignore[call-overload]
    return response
