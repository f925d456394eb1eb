"""Real contest problems go through `agn run` end to end: every completion becomes a stored verification."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tarfile
from html import unescape
from pathlib import Path

import preloaded
import pytest

CODENET = Path(__file__).parents[3] / "shared" / "data" / "codenet"
TRUE_VOCABULARY = 151_936

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CODENET.is_dir(), reason="the CodeNet statements and samples are not beside this checkout"),
]


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 CodeNet problems with their samples, as JSONL, the shortest statements first."""
    with tarfile.open(CODENET / "problem_descriptions.tar.gz") as archive:
        html = {Path(m.name).stem: _read(archive, m) for m in archive.getmembers() if m.name.endswith(".html")}
    samples = map(json.loads, (CODENET / "codenet_samples.jsonl").read_text().splitlines())
    tasks = [
        {"id": s["id"], "statement": _text(html[s["id"]]), "tests": s["tests"], "tags": [s["source"]]}
        for s in samples
        if s["id"] in html and s["tests"]
    ]
    tasks.sort(key=lambda task: len(task["statement"]))
    path = tmp_path_factory.mktemp("codenet") / "codenet.jsonl"
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks[:200]))
    return path


@pytest.fixture(scope="module")
def wide_model(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random small Qwen3 with the vocabulary of the real one, and the starter's tokenizer grown to that size."""
    import torch
    from transformers import AutoModelForCausalLM, Qwen3Config

    folder = tmp_path_factory.mktemp("wide")
    for source in starter_model.iterdir():
        if source.is_file() and source.suffix != ".safetensors":
            (folder / source.name).write_bytes(source.read_bytes())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    taken = {*vocabulary.values(), *(token["id"] for token in tokenizer["added_tokens"])}
    vocabulary.update({f"w{i}": i for i in range(TRUE_VOCABULARY) if i not in taken})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=TRUE_VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        tie_word_embeddings=True,
        eos_token_id=json.loads((starter_model / "config.json").read_text())["eos_token_id"],
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", ["starter", "wide"])
def test_three_steps_on_real_problems_verify_and_store_every_program(
    kind: str, request: pytest.FixtureRequest, problems: Path, tmp_path: Path
) -> None:
    model: Path = request.getfixturevalue("starter_model" if kind == "starter" else "wide_model")
    store = tmp_path / "agnostics.db"
    settings = [
        "rollout.group_size=4",
        "rollout.prompts_per_step=2",
        "rollout.max_completion_tokens=48",
        "evaluation.tasks=0",
    ]
    answer = preloaded.run(
        [
            *(sys.executable, "-c", "from agnostics.cli import main; main()", "run", "--json"),
            *("--dataset", str(problems), "--model", str(model), "--language", "lua", "--steps", "3"),
            *("--store", f"sqlite:///{store}", "--set", f"output={tmp_path}"),
            *(word for setting in settings for word in ("--set", setting)),
        ],
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert answer.returncode == 0, answer.stderr
    summary = json.loads(answer.stdout.splitlines()[-1])
    assert (summary["steps"], summary["completions"]) == (3, 24)
    with sqlite3.connect(store) as database:
        verdicts = dict(database.execute("select verdict, count(*) from verification group by verdict"))
        completions = database.execute("select count(*) from completion").fetchone()[0]
    assert sum(verdicts.values()) == completions == 24
    assert "sandbox_error" not in verdicts


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    file = archive.extractfile(member)
    assert file is not None
    return file.read().decode("utf-8", errors="replace")


def _text(html: str) -> str:
    return re.sub(r"\n\s*\n+", "\n\n", unescape(re.sub(r"<[^>]+>", "", html))).strip()
