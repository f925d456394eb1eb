"""How a training step's time is spent, read from the trace that a trainer leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agnostics.profiling.spans import Interval, Span, intersection, total_s, union
from agnostics.types.errors import AgnosticsError


def read_spans(path: Path) -> list[Span]:
    """The spans in a trace file, in seconds."""
    begun, spans = dict[str, Any](), list[Span]()
    for event in json.loads(path.read_text(encoding="utf-8")):
        if event["ph"] == "X":
            spans.append(_span(event, event["name"], event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] == "b":
            begun[event["id2"]["local"]] = event
        elif event["ph"] == "e":
            begin = begun.pop(event["id2"]["local"])
            spans.append(_span(event, begin["args"]["task"], begin["ts"], event["ts"]))
    return spans


def steps_between(spans: Sequence[Span], first: int, last: int) -> Interval:
    """From the end of the update of step `first` to that of step `last`, so that `last - first` whole steps lie in it.

    Raises AgnosticsError if the trace lacks one of them.
    """
    ends = {span.name: span.end_s for span in spans if span.track == "training"}
    begin, end = (ends.get(f"update {step}") for step in (first, last))
    if begin is None or end is None:
        raise AgnosticsError(f"a trace without the updates {first} and {last}: its times do not count")
    return begin, end


def stages(spans: Sequence[Span], window: Interval, steps: int) -> dict[str, float]:
    """Seconds of a step, the mean over the `steps` in `window`, by stage.

    `verification_s` is the time of verification alone, without generation or an update. `at_once_s` is the time of
    generation during an update or a weight transfer; it counts in both. So a step takes generation + verification +
    update + transfer - at_once + rest.
    """
    generation = _busy(spans, window, "generation")
    update, transfer = (_busy(spans, window, "training", name) for name in ("update", "weights"))
    training = union([*update, *transfer])
    others = union([*generation, *training])
    verification = _busy(spans, window, "verification")
    at_once = total_s(intersection(generation, training))
    alone = total_s(verification) - total_s(intersection(verification, others))
    took = window[1] - window[0]
    seconds = {
        "step_s": took,
        "generation_s": total_s(generation),
        "verification_s": alone,
        "update_s": total_s(update),
        "transfer_s": total_s(transfer),
        "at_once_s": at_once,
        "rest_s": took - total_s(others) - alone,
    }
    return {name: value / steps for name, value in seconds.items()}


def _span(event: dict[str, Any], name: str, begin_us: float, end_us: float) -> Span:
    return Span(event["cat"], name, begin_us / 1e6, end_us / 1e6)


def _busy(spans: Sequence[Span], window: Interval, track: str, name: str = "") -> list[Interval]:
    """The intervals of a track's spans whose names begin with `name`."""
    return union(span.within(window) for span in spans if span.track == track and span.name.startswith(name))
