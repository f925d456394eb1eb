"""The dataset adapters that come with Agnostics."""

from __future__ import annotations

from agnostics import hookimpl
from agnostics.dataset import Dataset

from agnostics_datasets.code_contests import CodeContests
from agnostics_datasets.esolang_bench import EsolangBench
from agnostics_datasets.jsonl import JsonLines
from agnostics_datasets.starter import Starter


@hookimpl
def agn_datasets() -> list[Dataset]:
    """The adapters of this distribution."""
    return [CodeContests(), EsolangBench(), JsonLines(), Starter()]
