"""The results database: every completion, program, verification, test result, reward and metric of every run."""

from __future__ import annotations

from agnostics.store.database import default_url
from agnostics.store.recorder import Recorder
from agnostics.store.records import CompletionRecord
from agnostics.store.store import Store

__all__ = ["CompletionRecord", "Recorder", "Store", "default_url"]
