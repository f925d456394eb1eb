"""The dataset adapters that come with Agnostics."""

from __future__ import annotations

from agnostics import hookimpl
from agnostics.dataset import Dataset

from agnostics_datasets.apps import Apps
from agnostics_datasets.code_contests import CodeContests
from agnostics_datasets.codeforces import Codeforces, CodeforcesFromSource
from agnostics_datasets.codenet import CodeNet
from agnostics_datasets.csv_file import Csv
from agnostics_datasets.esolang_bench import EsolangBench
from agnostics_datasets.jsonl import JsonLines
from agnostics_datasets.kattis import Kattis
from agnostics_datasets.live_code_bench import LiveCodeBench
from agnostics_datasets.mbpp_x import MbppX
from agnostics_datasets.starter import Starter
from agnostics_datasets.taco import Taco


@hookimpl
def agn_datasets() -> list[Dataset]:
    """The adapters of this distribution."""
    return [
        Apps(),
        CodeContests(),
        Codeforces(),
        CodeforcesFromSource(),
        CodeNet(),
        Csv(),
        EsolangBench(),
        JsonLines(),
        Kattis(),
        LiveCodeBench(),
        MbppX(),
        Starter(),
        Taco(),
    ]
