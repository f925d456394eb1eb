"""The dataset adapters of this distribution."""

from __future__ import annotations

from agnostics import Dataset

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

ADAPTERS: tuple[Dataset, ...] = (
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
)
