"""A checkpoint is uploaded to the hub with a model card that is made from its run."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from agnostics.store import Store
from agnostics.train.config import load_config
from agnostics.types.language import Language
from command_line import Agn

WEIGHTS = bytes(range(256)) * 40
REPOSITORY = "someone/lua-model"
TEMPLATE = "{prompt}\n\n```lua\nprint(1)\n```\n\n{statement}"


@dataclass
class Uploads:
    """What was uploaded to the hub: the files of a repository, after its one commit."""

    address: str = ""
    stored: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    created: list[dict[str, Any]] = field(default_factory=list)
    commits: int = 0


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as an upload asks for. `*.safetensors` go through large file storage."""

    protocol_version = "HTTP/1.1"
    uploads: Uploads

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/repos/create":
            self.uploads.created.append(json.loads(body))
            self.answer({"url": f"{self.uploads.address}/{REPOSITORY}"})
        elif self.path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            files = json.loads(body)["files"]
            modes = {file["path"]: "lfs" if file["path"].endswith(".safetensors") else "regular" for file in files}
            self.answer({"files": [{"path": p, "uploadMode": m, "shouldIgnore": False} for p, m in modes.items()]})
        elif self.path.endswith("/info/lfs/objects/batch"):
            objects = json.loads(body)["objects"]
            upload = {one["oid"]: {"upload": {"href": f"{self.uploads.address}/lfs/{one['oid']}"}} for one in objects}
            self.answer({"transfer": "basic", "objects": [{**one, "actions": upload[one["oid"]]} for one in objects]})
        elif self.path.endswith("/commit/main"):
            self.commit([json.loads(line) for line in body.splitlines()])
        else:
            self.answer({"error": self.path}, 404)

    def do_PUT(self) -> None:
        self.uploads.stored[self.path.rpartition("/")[2]] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer({})

    def commit(self, entries: list[dict[str, Any]]) -> None:
        self.uploads.commits += 1
        for entry in entries:
            value = entry["value"]
            if entry["key"] == "file":
                self.uploads.files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                self.uploads.files[value["path"]] = self.uploads.stored[value["oid"]]
        self.answer({"commitUrl": f"{self.uploads.address}/{REPOSITORY}/commit/1", "commitOid": "1"})

    def answer(self, body: Any, status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def uploads() -> Iterator[Uploads]:
    """A hub on this machine, and what was uploaded to it."""
    found = Uploads()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("UploadHub", (Hub,), {"uploads": found}))
    found.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


@pytest.fixture
def run(tmp_path: Path, lua: Language) -> str:
    """A finished run with a checkpoint, in a store in `tmp_path`."""
    settings = [f"output={tmp_path / 'runs'}", f"chat.template={json.dumps(TEMPLATE)}", "dataset=/data/tasks.jsonl"]
    config = load_config(None, [*settings, "model=Qwen/Qwen3-4B", f"store={_url(tmp_path)}"], {})
    with Store.open(_url(tmp_path)) as store:
        id_ = store.start_run(
            kind="train",
            config=config.model_dump(),
            language=lua,
            model=config.model,
            dataset=config.dataset,
            seed=config.seed,
        )
        store.finish_run(id_, "finished", {})
    folder = tmp_path / "runs" / id_ / "checkpoints" / "step-000020"
    (folder / "trainer").mkdir(parents=True)
    (folder / "trainer" / "state.json").write_text("{}")
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    return id_


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'store.db'}"


def _push(run: str, address: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`agn model push`, in a process of its own: the address of the hub is read when its client is imported."""
    command = [sys.executable, "-m", "agnostics", "model", "push", run, REPOSITORY, *options, "--store", _url(folder)]
    hub = {"HF_ENDPOINT": address, "HF_TOKEN": "hf_secret", "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(command, env={**os.environ, **hub}, capture_output=True, text=True, timeout=120, check=False)


def test_a_checkpoint_is_uploaded_in_one_commit_with_its_card_and_without_the_optimizer(
    agn: Agn, run: str, uploads: Uploads, tmp_path: Path
) -> None:
    answer = _push(run, uploads.address, tmp_path, "--private", "--checkpoint", "last")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() == f"{uploads.address}/{REPOSITORY}"
    assert uploads.commits == 1
    assert sorted(uploads.files) == ["README.md", "config.json", "model.safetensors"]
    assert uploads.files["model.safetensors"] == WEIGHTS
    assert hashlib.sha256(WEIGHTS).hexdigest() in uploads.stored
    (created,) = uploads.created
    assert (created["organization"], created["name"], created["visibility"]) == ("someone", "lua-model", "private")
    card = agn("model", "card", run, "--store", _url(tmp_path)).stdout
    assert uploads.files["README.md"].decode() == card.replace(f"# {run}", "# lua-model")


def test_the_card_says_what_was_trained_and_nothing_of_this_machine(agn: Agn, run: str, tmp_path: Path) -> None:
    card = agn("model", "card", run, "--store", _url(tmp_path)).stdout
    metadata, text = card.split("---\n")[1:]
    assert "base_model: Qwen/Qwen3-4B\n" in metadata
    assert 'tags: ["agnostics", "grpo", "lua"]' in metadata
    assert "The run was not evaluated." in text
    assert "checkpoint of step 20" in text
    message = re.search(r"^````\n(.*?)\n````$", text, re.MULTILINE | re.DOTALL)
    assert message is not None
    assert message[1] == "Write Lua.\n\n```lua\nprint(1)\n```\n\n{statement}"
    assert 'dataset = "tasks.jsonl"' in text
    assert str(tmp_path) not in card
    assert "/data" not in card


def test_a_hub_that_does_not_answer_is_one_line(run: str, tmp_path: Path) -> None:
    answer = _push(run, "http://127.0.0.1:9", tmp_path)
    assert answer.returncode == 2
    assert answer.stderr.splitlines()[-1].startswith(f"agn: {REPOSITORY}: the upload failed: ")
    assert "Traceback" not in answer.stderr


def test_a_run_without_the_checkpoint_is_one_line(agn: Agn, run: str, tmp_path: Path) -> None:
    answer = agn("model", "push", run, REPOSITORY, "--checkpoint", "best", "--store", _url(tmp_path))
    assert (answer.returncode, answer.complaint) == (2, f"agn: {tmp_path / 'runs' / run}: it has no best checkpoint")
