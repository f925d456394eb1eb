"""A results database in a real Datasette: each of its pages opens, and says what it should."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from agnostics.store import CompletionRecord, Store, compressed, version
from agnostics.store import datasette as shipped
from agnostics.store.schema import metadata as schema
from agnostics.types.language import Language
from agnostics.types.verification import TestResult, Verdict
from msgspec.structs import replace

FOLDER = Path(shipped.__path__[0])
METADATA = yaml.safe_load((FOLDER / "metadata.yaml").read_text())
LONG = "<script>alert(1)</script> " * 20


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("datasette") / "my-runs.db"


@pytest.fixture
def served(database: Path, lua: Language, record: Callable[..., CompletionRecord]) -> Iterator[str]:
    """The address of a Datasette that serves a database with one run."""
    with Store.open(f"sqlite:///{database}") as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="starter", seed=0)
        with store.recorder(run) as recorder:
            for phase, step in (("eval_before", 0), ("train", 1), ("train", 2), ("eval_after", 2)):
                for sample, verdict in enumerate([Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.RUNTIME_ERROR]):
                    one = record(verdict, phase=phase, step=step, sample=sample, program=LONG)
                    tests = (TestResult(verdict, stdout=LONG, stderr=LONG),)
                    recorder.completion(replace(one, verification=replace(one.verification, tests=tests)))
            recorder.step(1, {"reward_mean": 0.5})
    command = [sys.executable, "-m", "datasette", "serve", str(database), "--plugins-dir", str(FOLDER), "-p", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        patience = threading.Timer(60, process.kill)
        patience.start()
        try:
            assert process.stderr
            address = next(found[0] for line in process.stderr if (found := re.search(r"http://127\S+:\d+", line)))
            yield f"{address}/{database.stem}"
        finally:
            patience.cancel()
            process.terminate()


def test_every_table_view_and_query_opens_with_its_title(served: str) -> None:
    front = _page(served)
    ((run,),) = json.loads(_page(f"{served}.json?sql={quote('select max(id) from run')}"))["rows"]
    parameters = f"run={run}&metric=reward_mean"
    assert METADATA["description"] in front
    shown = {name: table for name, table in METADATA["tables"].items() if "title" in table}
    for name, table in shown.items():
        page = _page(f"{served}/{name}")
        assert escape(table["title"]) in page, name
        assert table["description"] in page, name
        assert "<script>alert(1)" not in page
    for name, query in METADATA["queries"].items():
        assert escape(query["title"]) in front
        page = _page(f"{served}/{name}?{parameters}")
        assert escape(query["title"]) in page, name
        assert json.loads(_page(f"{served}/{name}.json?{parameters}"))["rows"], name


def test_compressed_texts_are_read_as_texts(served: str) -> None:
    assert escape(LONG[:20]) in _page(f"{served}/test_results")
    sql = quote("select decompress(stdout) as output from test_result limit 1")
    assert json.loads(_page(f"{served}.json?sql={sql}"))["rows"] == [[LONG]]


def test_every_table_and_view_is_described_and_no_other(database: Path) -> None:
    with Store.open(f"sqlite:///{database}") as store, store.engine.connect() as connection:
        views = set(connection.exec_driver_sql("select name from sqlite_master where type = 'view'").scalars())
    assert set(METADATA["tables"]) == set(schema.tables) | views | {version.VERSION_TABLE}


def test_the_plugin_reads_what_the_store_compresses() -> None:
    from agnostics.store.datasette import plugin

    assert plugin._decompress(compressed.compress(LONG)) == LONG
    assert plugin.VERSION_TABLE == version.VERSION_TABLE


def _page(address: str) -> str:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read().decode()
