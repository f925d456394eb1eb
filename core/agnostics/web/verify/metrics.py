"""What the service counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
GAUGES = {
    "clients": "Requests to /verify that are under way.",
    "clients_waiting": "Requests whose next program waits for its turn.",
    "in_flight": "Programs in the sandbox and its queue.",
    "in_flight_bytes": "Size of the lines of the programs in flight.",
    "unsent_bytes": "Size of the replies that clients have not taken.",
    "slots": "Programs that run at once.",
}
"""The gauges with their descriptions; each is read when it is asked for."""


class Metrics:
    """Counters, a histogram and gauges in a registry of their own. The counters may be used from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._counter("requests", "Responses of /verify.", ["status"])
        self._programs = self._counter("programs", "Programs with a verdict.", ["language", "verdict"])
        self._errors = self._counter("line_errors", "Lines that were no request.")
        self._disconnects = self._counter("disconnects", "Clients that went away before their last reply.")
        self._received = self._counter("received_bytes", "Bytes of requests' bodies.")
        self._sent = self._counter("sent_bytes", "Bytes of replies.")
        self._latency = Histogram(
            "agnostics_verify_latency_seconds",
            "Time of a program from its turn to its reply.",
            ["language"],
            buckets=_BUCKETS_S,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)

    def add_gauges(self, values: Mapping[str, Callable[[], float]]) -> None:
        """Let each of `GAUGES` be read from the function of its name."""
        for name, description in GAUGES.items():
            gauge = Gauge(f"agnostics_verify_{name}", description, registry=self.registry)
            gauge.set_function(values[name])

    def response(self, status: int) -> None:
        """A response to a request to /verify has begun."""
        self._requests.labels(str(status)).inc()

    def program(self, language: str, verdict: str, latency_s: float) -> None:
        """A program has a verdict."""
        self._programs.labels(language, verdict).inc()
        self._latency.labels(language).observe(latency_s)

    def line_error(self) -> None:
        """A line was no request."""
        self._errors.inc()

    def disconnect(self) -> None:
        """A client went away before its last reply."""
        self._disconnects.inc()

    def received(self, size: int) -> None:
        """A part of a body of `size` bytes has arrived."""
        self._received.inc(size)

    def sent(self, size: int) -> None:
        """Replies of `size` bytes were handed to the connection."""
        self._sent.inc(size)

    def _counter(self, name: str, description: str, labels: list[str] | None = None) -> Counter:
        return Counter(f"agnostics_verify_{name}", description, labels or [], registry=self.registry)
