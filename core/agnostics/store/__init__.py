"""The results database: completions, programs, verifications, test results, rewards and metrics of all runs."""

from __future__ import annotations

from agnostics.store.database import default_url
from agnostics.store.recorder import Recorder
from agnostics.store.records import CompletionRecord
from agnostics.store.results import Results, open
from agnostics.store.store import Store

__all__ = ["CompletionRecord", "Recorder", "Results", "Store", "default_url", "open"]
