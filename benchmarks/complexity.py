"""How often the planted complexity of a program is named, in languages of choice, and by a log-log slope instead.

python benchmarks/complexity.py curves.jsonl lua ocaml --seeds 2 3
python benchmarks/complexity.py curves.jsonl

The first form measures a program of each template and seed in each language, and appends its curves to the file; a
program that is in the file is not measured again. Either prints the table of what is in the file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agnostics.complexity import ComplexityClass, Measurement, MeasurementLimits, measure
from agnostics.environments.complexity import sizes_themselves
from agnostics.plugins.manager import load_plugins
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.types.verification import Verification
from agnostics.verify import Verifier
from agnostics_datasets.planted.complexity_programs import TEMPLATES
from agnostics_datasets.planted.datasets import program_of_template

Record = dict[str, Any]


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("languages", nargs="*")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--templates", nargs="+", default=list(TEMPLATES))
    parser.add_argument("--sandbox", default="auto")
    options = parser.parse_args()
    with options.file.open("a") as file:
        for record in measured(options, _records(options.file)):
            file.write(json.dumps(record) + "\n")
            file.flush()
    print(table(_records(options.file)))


def measured(options: argparse.Namespace, known: Sequence[Record]) -> Iterator[Record]:
    """The curves of the programs that are not known yet."""
    plugins, done = load_plugins(), {(record["language"], record["template"], record["seed"]) for record in known}
    with Verifier(options.sandbox, 1, plugins.languages(), plugins.sandboxes()) as verifier:
        for name in options.languages:
            language = plugins.language(name)
            for template, seed in ((t, s) for s in options.seeds for t in options.templates):
                if (name, template, seed) not in done:
                    program = program_of_template(name, template, random.Random(f"{seed}/{template}"))
                    started, (load, *_) = time.monotonic(), os.getloadavg()
                    result = asyncio.run(_measure(verifier, language, program))
                    yield {
                        **{"language": name, "template": template, "seed": seed, "load": round(load, 1)},
                        **{"time": TEMPLATES[template].time, "space": TEMPLATES[template].space},
                        **{"times_ms": result.times_ms, "peaks_mb": result.peaks_mb},
                        "seconds": round(time.monotonic() - started, 1),
                    }


async def _measure(verifier: Verifier, language: Language, program: str) -> Measurement:
    async def run(task: Task) -> Verification:
        return await asyncio.wrap_future(verifier.submit(language, program, task))

    return await measure(run, sizes_themselves, MeasurementLimits())


def table(records: Sequence[Record]) -> str:
    """The share of programs whose class is named, the wrong ones, and the confusion of times, as Markdown."""
    lines = [
        "| language | programs | time named | wrong | unknown | slope | slope, generous | space named |",
        "|" + "---|" * 8,
    ]
    for language in [*dict.fromkeys(record["language"] for record in records), None]:
        chosen = [record for record in records if language in {record["language"], None}]
        named = [(ComplexityClass(record["time"]), _measurement(record).time.klass) for record in chosen]
        spaces = [record for record in chosen if TEMPLATES[record["template"]].measurable_space]
        shares = [
            _share(truth == klass for truth, klass in named),
            sum(klass is not None and truth != klass for truth, klass in named),
            sum(klass is None for _, klass in named),
            _share(slope_class(record, generous=False) == record["time"] for record in chosen),
            _share(slope_class(record, generous=True) == record["time"] for record in chosen),
            _share(_measurement(record).space.klass == record["space"] for record in spaces),
        ]
        lines.append(f"| {language or 'all'} | {len(chosen)} | {' | '.join(map(str, shares))} |")
    return "\n".join([*lines, "", *_confusion(records), "", *_wrong(records), "", _conditions(records)])


def slope_class(record: Record, *, generous: bool) -> ComplexityClass:
    """The class of the slope of the logarithm of time over that of size, the control.

    A `generous` one has the time at the smallest size subtracted, and the upper half of the sizes alone.
    """
    points = sorted(_measurement(record).times_ms.items())
    if generous:
        points = [(size, max(value - points[0][1], 0.01)) for size, value in points[len(points) // 2 :]]
    xs, ys = [math.log(size) for size, _ in points], [math.log(value) for _, value in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / sum((x - mx) ** 2 for x in xs)
    bounds = (0.02, 0.5, 1.05, 1.5, 2.5, 3.5)
    return list(ComplexityClass)[sum(slope > bound for bound in bounds)]


def _confusion(records: Sequence[Record]) -> list[str]:
    counts = Counter((record["time"], str(_measurement(record).time.klass or "unknown")) for record in records)
    names = [str(klass) for klass in ComplexityClass]
    head = ["| planted | " + " | ".join([*names, "unknown"]) + " |", "|" + "---|" * (len(names) + 2)]
    return head + [
        f"| {planted} | " + " | ".join(str(counts[planted, found] or "") for found in [*names, "unknown"]) + " |"
        for planted in names
    ]


def _wrong(records: Sequence[Record]) -> list[str]:
    pairs = [(record, _measurement(record)) for record in records]
    return [
        f"{record['language']} {record['template']} seed {record['seed']}: {quantity} {record[quantity]} -> {fit}"
        for record, result in pairs
        for quantity, fit in (("time", result.time), ("space", result.space))
        if fit.klass != record[quantity] and (quantity == "time" or TEMPLATES[record["template"]].measurable_space)
    ]


def _conditions(records: Sequence[Record]) -> str:
    loads, seconds = ([record[key] for record in records] for key in ("load", "seconds"))
    return f"load {min(loads)} to {max(loads)} on {os.cpu_count()} cores; {sum(seconds) / len(seconds):.1f} s a program"


def _measurement(record: Record) -> Measurement:
    times, peaks = ({int(size): value for size, value in record[key].items()} for key in ("times_ms", "peaks_mb"))
    return Measurement(times, peaks)


def _share(hits: Iterator[bool]) -> str:
    found = list(hits)
    return f"{sum(found)} of {len(found)} ({sum(found) / max(1, len(found)):.3f})"


def _records(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    main()
