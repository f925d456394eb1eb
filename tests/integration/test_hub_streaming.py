"""Data sets are streamed from a hub: at the pinned commit, piece by piece, without running what a repository holds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from agnostics.types.dataset import HubSource
from agnostics_datasets.apps import Apps
from agnostics_datasets.code_contests import CodeContests
from agnostics_datasets.codeforces import CodeforcesFromSource

READ = """
import json, sys
from agnostics.plugins.manager import load_plugins
for name in sys.argv[1:]:
    print(json.dumps([task.id for task in load_plugins().dataset(name)[0].tasks("train")]))
"""
TWO_CONFIGURATIONS = """---
configs:
- config_name: solutions_py_decontaminated
  data_files: [{split: train, path: solutions_py_decontaminated/train-*}]
- config_name: checker_interactor
  data_files: [{split: train, path: checker_interactor/train-*}]
---
"""
TESTS = {"input": ["1 2\\n"], "output": ["3\\n"]}


class Repositories(BaseHTTPRequestHandler):
    """As much of the hub as its client asks for, over the folders in `root`, which are repositories of one commit."""

    protocol_version = "HTTP/1.1"
    root: Path
    asked: list[str]

    def do_GET(self) -> None:
        place, _, _ = self.path.partition("?")
        self.asked.append(f"{self.path} {self.headers.get('Range', '')}".strip())
        if found := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/revision/(\w+))?", place):
            self.answer({"id": found[1], "sha": found[2] or "main", "siblings": []})
        elif found := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/\w+/?(.*)", place):
            folder = self.root / found[1] / found[2]
            self.answer([self.entry(path, self.root / found[1]) for path in sorted(folder.iterdir())])
        elif found := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/\w+/(.*)", place):
            self.send_file(self.root / found[1] / found[2])
        else:
            self.missing()

    def do_HEAD(self) -> None:
        self.do_GET()

    def entry(self, path: Path, repository: Path) -> dict[str, Any]:
        kind, size = ("directory", 0) if path.is_dir() else ("file", path.stat().st_size)
        return {"type": kind, "path": str(path.relative_to(repository)), "size": size, "oid": "0" * 40}

    def send_file(self, path: Path) -> None:
        if not path.is_file():
            self.missing()
            return
        data, status, headers = path.read_bytes(), 200, {"ETag": '"x"', "Accept-Ranges": "bytes"}
        if (part := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))) and self.command == "GET":
            first, last = int(part[1]), min(int(part[2] or len(data)), len(data) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
            data, status = data[first : last + 1], 206
        self.answer(data, status, headers)

    def missing(self) -> None:
        self.answer({}, 404, {"X-Error-Code": "EntryNotFound"})

    def answer(self, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        commit = re.search(r"/(?:revision|tree|resolve)/(\w+)", self.path)
        whole = {"Content-Length": str(len(data)), "X-Repo-Commit": commit[1] if commit else "main", **(headers or {})}
        self.send_response(status)
        for name, value in whole.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a hub with three repositories, and what it was asked."""
    fill(tmp_path)
    asked: list[str] = []
    handler = type("HubSource", (Repositories,), {"root": tmp_path, "asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


def fill(root: Path) -> None:
    kinds = dict.fromkeys(("public_tests", "private_tests", "generated_tests"), TESTS)
    limits = {"time_limit": {"seconds": 1, "nanos": 0}, "memory_limit_bytes": 0, "input_file": "", "output_file": ""}
    about = {"description": "Add.", "source": 2, "difficulty": 7, "cf_tags": ["math"], "cf_rating": 800}
    problem = {"name": "1_A. Sum", **about, **kinds, **limits, "solutions": {"language": [3], "solution": [""]}}
    parquet(root / "deepmind/code_contests/data/train-00000-of-00001.parquet", problem, {**problem, "name": "1_B. Sum"})
    apps = root / "codeparrot/apps"
    apps.mkdir(parents=True)
    (apps / "apps.py").write_text("raise SystemExit('a loading script was run')")
    tests = json.dumps({"inputs": TESTS["input"], "outputs": TESTS["output"]})
    (apps / "train.jsonl").write_text(json.dumps({"id": 7, "question": "Add.", "input_output": tests}) + "\n")
    codeforces = root / "open-r1/codeforces-cots"
    example = {"input": "1 2\n", "output": "3\n"}
    texts = {"title": "Sum", "description": "Add.", "input_format": "", "output_format": "", "note": None}
    solved = {"id": "1/A", **texts, "examples": [example], "contest_start_year": 2010, "generation": ""}
    said = {"id": "1/A", "generation": '</think>\n```json\n{"type": "diff"}\n```'}
    parquet(codeforces / "solutions_py_decontaminated/train-00000-of-00001.parquet", solved, {**solved, "id": "1/B"})
    parquet(codeforces / "checker_interactor/train-00000-of-00001.parquet", said)
    (codeforces / "README.md").write_text(TWO_CONFIGURATIONS)


def parquet(path: Path, *records: dict[str, Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path.parent.mkdir(parents=True)
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(list(records)), path)


def test_records_stream_from_the_hub_at_the_pinned_commit(hub: tuple[str, list[str]], tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    address, asked = hub
    answer = subprocess.run(
        [sys.executable, "-c", READ, "code-contests", "apps", "ag-codeforces-x"],
        env={**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert answer.returncode == 0, answer.stderr
    assert list(map(json.loads, answer.stdout.splitlines())) == [
        ["code-contests/codeforces/1_A. Sum", "code-contests/codeforces/1_B. Sum"],
        ["apps/train/7"],
        ["ag-codeforces-x/1/A"],
    ]
    for place in (CodeContests.hub, Apps.hub, CodeforcesFromSource.hub):
        assert isinstance(place, HubSource)
        parts = [line for line in asked if f"/{place.repository}/resolve/" in line and "bytes=" in line]
        assert parts
        assert all(f"/resolve/{place.revision}/" in line for line in parts)
    assert not list((tmp_path / "home").rglob("*.parquet"))
