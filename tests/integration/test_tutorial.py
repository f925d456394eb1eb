"""The commands of docs/languages.md, run in order as a reader types them, print the documented output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "languages.md"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "=== block {} ==="
LIMIT_S = 600


def blocks() -> list[tuple[str, str | None]]:
    """Each script of the page with its documented output."""
    found = [(kind, text) for kind, text in BLOCK.findall(PAGE.read_text())]
    following = [*found[1:], ("sh", "")]
    pairs = zip(found, following, strict=True)
    return [(text, told if then == "text" else None) for (kind, text), (then, told) in pairs if kind == "sh"]


def environment(home: Path) -> dict[str, str]:
    """A separate home, and a folder for pip installations; the starter model is shared with the other tests."""
    site = str(home / "site")
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "AGN_"))}
    return {
        **outside,
        "HOME": str(home),
        "XDG_CACHE_HOME": cache,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{site}:{os.environ.get('PYTHONPATH', '')}",
        "PIP_TARGET": site,
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's name for this setting says the opposite of what it takes
    }


def lines_of(told: str) -> list[re.Pattern[str]]:
    return [re.compile(re.escape(line).replace(r"\.\.\.", ".*")) for line in told.splitlines()]


def test_every_command_of_the_page_works_and_prints_the_documented_output(starter_model: Path, tmp_path: Path) -> None:
    del starter_model  # it is in the cache, where the page's own command finds it
    scripts = blocks()
    marked = [f"echo '{MARK.format(number)}'\n{script}" for number, (script, _) in enumerate(scripts)]
    answer = subprocess.run(
        ["bash", "-e", "-c", "\n".join(marked)],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout
    printed = re.split(r"^=== block \d+ ===$", answer.stdout, flags=re.MULTILINE)[1:]
    for (script, told), output in zip(scripts, printed, strict=True):
        lines = [line.rstrip() for line in output.splitlines()]  # in any order: programs that end first are told first
        for expected in lines_of(told or ""):
            assert any(map(expected.fullmatch, lines)), f"{script}\n{expected.pattern}\n{output}"
    assert re.search(r"\btcl\b.*\b[1-9]\d*\b", printed[3])
