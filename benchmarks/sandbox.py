"""The table of docs/performance.md: `agn bench sandbox` for each language, several times, medians.

python benchmarks/sandbox.py [--runs N] [LANGUAGE...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from statistics import median
from typing import Any

LANGUAGES = ("lua", "fortran", "r", "ocaml", "julia")
MODES = ("docker", "bubblewrap")


def main() -> None:
    """Measure and print a Markdown table for each language."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", default=LANGUAGES)
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    print("| language | slots | " + " | ".join(f"{mode} / bare" for mode in MODES) + " | bare, programs/s |")
    print("|---|---|---|---|---|")
    for language in chosen.languages:
        reports = [_measured(language) for _ in range(chosen.runs)]
        for place, row in enumerate(reports[0]["by_slots"]):
            rows = [report["by_slots"][place] for report in reports]
            ratios = [_median(rows, mode, "over_bare") for mode in MODES]
            print(f"| {language} | {row['slots']} | {' | '.join(ratios)} | {_median(rows, 'bare', 'programs_per_s')} |")
        _print_rest(language, reports)


def _measured(language: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "agnostics", "bench", "sandbox", "--language", language, "--json"]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=3600)
    report: dict[str, Any] = json.loads(answer.stdout)
    return report


def _median(rows: list[dict[str, Any]], name: str, key: str) -> str:
    values = [row[name][key] for row in rows if name in row]
    return f"{median(values):.3g}" if values else "-"


def _print_rest(language: str, reports: list[dict[str, Any]]) -> None:
    one = [report["one_test"] for report in reports]
    times = [report["docker_over_docker_run"] for report in reports if report["docker_over_docker_run"]]
    over = ", ".join(f"{mode} {_median(one, mode, 'over_bare')}" for mode in MODES)
    faster = f"{median(times):.3g}" if times else "-"
    print(f"\n{language}, 1 test a program, over bare: {over}; over `docker run`: {faster} times")
    for name in ("bare", *MODES):
        found = [report["latency_ms"][name] for report in reports if name in report["latency_ms"]]
        if found:
            p50, p99 = (median(one[key] for one in found) for key in ("p50", "p99"))
            print(f"{language}, {name}: p50 {p50:.3g} ms, p99 {p99:.3g} ms")
    print()


if __name__ == "__main__":
    main()
