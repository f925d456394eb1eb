"""The dataset adapters that come with Agnostics."""

from __future__ import annotations

from pathlib import Path

from agnostics import Dataset, Language, hookimpl

from agnostics_datasets.apps import Apps
from agnostics_datasets.code_contests import CodeContests
from agnostics_datasets.codeforces import Codeforces, CodeforcesFromSource
from agnostics_datasets.codenet import CodeNet
from agnostics_datasets.complexity import Complexity
from agnostics_datasets.cruxeval import CruxEval
from agnostics_datasets.csv_file import Csv
from agnostics_datasets.esolang_bench import EsolangBench
from agnostics_datasets.humaneval import HumanEval
from agnostics_datasets.jsonl import JsonLines
from agnostics_datasets.kattis import Kattis
from agnostics_datasets.live_code_bench import LiveCodeBench
from agnostics_datasets.math_answers import MathAnswers
from agnostics_datasets.mbpp import Mbpp
from agnostics_datasets.mbpp_stdio import MbppStdio
from agnostics_datasets.mbpp_x import MbppX
from agnostics_datasets.mceval import McEval
from agnostics_datasets.multipl_e import MultiplE
from agnostics_datasets.planted.datasets import PlantedComplexity, PlantedComplexityProblems, PlantedTermination
from agnostics_datasets.starter import Starter
from agnostics_datasets.starter_families import StarterFamilies
from agnostics_datasets.taco import Taco
from agnostics_datasets.termination import TerminationPrograms
from agnostics_datasets.trace_programs import TracePrograms

AGN_CONTRACT = 2


@hookimpl
def agn_datasets() -> list[Dataset]:
    """The adapters of this distribution."""
    return [
        Apps(),
        CodeContests(),
        Codeforces(),
        CodeforcesFromSource(),
        CodeNet(),
        Complexity(),
        CruxEval(),
        Csv(),
        EsolangBench(),
        HumanEval(),
        JsonLines(),
        Kattis(),
        LiveCodeBench(),
        MathAnswers(),
        Mbpp(),
        MbppStdio(),
        MbppX(),
        McEval(),
        MultiplE(),
        PlantedComplexity(),
        PlantedComplexityProblems(),
        PlantedTermination(),
        Starter(),
        StarterFamilies(),
        Taco(),
        TerminationPrograms(),
        TracePrograms(),
    ]


@hookimpl
def agn_languages() -> list[Language]:
    """Languages that only benchmarks and validators need: Python, and languages as MultiPL-E runs them."""
    return [Language.from_yaml(path) for path in sorted((Path(__file__).parent / "languages").glob("*.yaml"))]
