"""One trace as a page that steps through the program. It is one file, and asks nothing of a network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path

from agnostics.traces.events import source_lines
from agnostics.traces.records import TraceRecord
from agnostics.util.text import plural

_FOLDER = Path(__file__).parent
_PLACE = re.compile("@(policy|title|style|about|data|script)@")
_LONGEST_TITLE = 120


def render_page(record: TraceRecord) -> str:
    """The page of a trace. The program's texts are data there, which its script shows as texts and nothing else; its
    policy lets it run that script and load nothing.
    """
    style, script = _read("page.css"), _read("page.js")
    events = json.loads(record.events or "[]")
    parts = {
        "policy": _policy(style, script),
        "title": html.escape(_printable(f"{record.id} · trace in {record.language}")),
        "about": html.escape(_about(record, len(events))),
        "style": style,
        "script": script,
        "data": _data(record, events),
    }
    return _PLACE.sub(lambda place: parts[place[1]], _read("page.html"))


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _about(record: TraceRecord, events: int) -> str:
    status = "" if record.exit_code is None else f", exit status {record.exit_code}"
    ended = {None: f"no trace: {record.error}", "complete": "complete"}.get(
        record.ended, f"not complete: {record.ended}"
    )
    return _printable(f"{record.verdict}{status} · {plural(events, 'event')}, {ended}")


def _printable(text: str) -> str:
    short = text if len(text) <= _LONGEST_TITLE else f"{text[:_LONGEST_TITLE]}…"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in short)


def _data(record: TraceRecord, events: object) -> str:
    """The trace as JSON in which no character could end the element that holds it."""
    texts = {"input": record.input, "stdout": record.stdout, "stderr": record.stderr}
    text = json.dumps({"lines": source_lines(record.program), "events": events, **texts})
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
