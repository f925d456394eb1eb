"""The plan of a run, as `agn run --dry-run` shows it: with what this machine adds, its sandbox and its images."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import print_json, print_table
from agnostics.plugins.manager import PluginManager
from agnostics.types.errors import AgnosticsError, MissingRequirement, unknown
from agnostics.types.language import Language

if TYPE_CHECKING:
    from agnostics.train.config import RunConfig
    from agnostics.train.plan import RunPlan, WorkEstimate

GIB = 1 << 30
_HOLDS = {
    "weights": "trainer: weights",
    "optimizer": "trainer: optimizer",
    "gradients": "trainer: gradients",
    "bucket": "trainer, backward pass: gradients on their way",
    "activations": "trainer, backward pass: activations (estimate)",
    "logits": "trainer, backward pass: logits",
    "update": "trainer, update: gradients in one piece",
    "reference": "trainer: reference model",
    "engine_weights": "engine: weights",
    "kv_cache": "engine: keys and values",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What the run will download or make before it starts; `size` is in bytes, None where nobody says."""

    what: str
    where: str
    size: int | None


@dataclass(frozen=True)
class Report:
    """All that is told: the plan on `devices` devices, and what of it this machine decides."""

    config: RunConfig
    plan: RunPlan
    devices: int
    mode: str | None
    fetched: list[Fetched]
    places: dict[str, str]
    missing: list[AgnosticsError]


def show_plan(config: RunConfig, plugins: PluginManager, as_json: bool) -> int:
    """Print the plan of the run, and a line on stderr for each thing that it lacks; the status it would end with."""
    report = _report(config, plugins)
    if as_json:
        print_json(_as_dict(report))
    else:
        _print(report)
    for error in report.missing:
        click.echo(f"agn: {error}", err=True)
    return report.missing[0].exit_code if report.missing else 0


def _report(config: RunConfig, plugins: PluginManager) -> Report:
    from agnostics.store.database import default_url, parse_url
    from agnostics.train.config import output_folder
    from agnostics.train.plan import plan

    store = parse_url(config.store or default_url()).render_as_string(hide_password=True)
    devices = int(os.environ.get("WORLD_SIZE", "1"))
    made, language = plan(config, plugins, devices), plugins.language(config.language)
    mode, lack = _sandbox(config, language)
    return Report(
        config=config,
        plan=made,
        devices=devices,
        mode=mode,
        fetched=[*_model(config, made), *_image(language, mode)],
        places={"store": store, "output": str(output_folder(config))},
        missing=[*made.missing, *([lack] if lack else [])],
    )


def _sandbox(config: RunConfig, language: Language) -> tuple[str | None, AgnosticsError | None]:
    """The mode that programs will run in, and what it lacks for them. A cluster is not asked."""
    from agnostics.sandbox.doctor import sandbox_findings
    from agnostics.sandbox.factory import CLUSTER
    from agnostics.sandbox.modes import HINTS, MODES
    from agnostics.sandbox.toolchain import require_toolchain

    if config.sandbox.startswith(CLUSTER):
        return config.sandbox, None
    if config.sandbox not in MODES:
        raise unknown("sandbox", config.sandbox, HINTS)
    here = [finding.name for finding in sandbox_findings() if finding.found]
    mode = next(iter(here), None) if config.sandbox == "auto" else config.sandbox
    if mode not in (*here, "process"):
        return mode, MissingRequirement(f"the sandbox mode {config.sandbox!r} does not work here; run: agn doctor")
    if mode != "docker":
        try:
            require_toolchain(language)
        except MissingRequirement as error:
            return mode, error
    return mode, None


def _model(config: RunConfig, made: RunPlan) -> Iterator[Fetched]:
    if made.folder:
        return
    if config.model == "starter":
        yield Fetched("model", "the starter model, made on this machine in some minutes, once", 0)
    else:
        yield Fetched("model", f"{config.model} from the Hugging Face hub", made.remote.size if made.remote else None)


def _image(language: Language, mode: str | None) -> Iterator[Fetched]:
    """The container image of the language, where it is not built yet."""
    if mode != "docker":
        return
    from agnostics.sandbox.docker_client import connect
    from agnostics.sandbox.images.language_image import bases_of, built_image, image_name

    try:
        built = built_image(connect(), language)
    except MissingRequirement:
        built = None
    if not built:
        bases = " or ".join(bases_of(language).names)
        yield Fetched("image", f"{image_name(language)}, built upon {bases}", None)


def _as_dict(report: Report) -> dict[str, Any]:
    config, made = report.config, report.plan
    return {
        **{name: getattr(config, name) for name in ("language", "model", "dataset", "algorithm")},
        "parameters": made.shape.parameters if made.shape else None,
        "engine": config.rollout.engine,
        "dtype": config.train.dtype,
        "zero_stage": config.train.zero_stage,
        "devices": report.devices,
        "memory": {**asdict(made.memory), "total": made.memory.total} if made.memory else None,
        "memory_by_stage_and_devices": _totals(made) if made.shape else None,
        "longest": made.longest,
        "concurrent_sequences": made.concurrent_sequences,
        "work": asdict(made.work) if made.work else None,
        "fetched": [asdict(one) for one in report.fetched],
        "sandbox": report.mode,
        **report.places,
        "missing": [str(error) for error in report.missing],
    }


def _print(report: Report) -> None:
    config, made = report.config, report.plan
    click.echo(f"{config.model} learns {config.language} from {config.dataset} ({config.algorithm})\n")
    print_table(["what", "plan"], _rows(report))
    if not made.memory:
        click.echo("\nMemory cannot be told before the model's config.json is here.")
        return
    where = f"{report.devices} device{'s' if report.devices > 1 else ''} at ZeRO stage {config.train.zero_stage}"
    click.echo(f"\nMemory of each device, with {where}:\n")
    held = [(_HOLDS[name], _gib(size)) for name, size in asdict(made.memory).items() if size]
    print_table(["what", "GiB"], [*held, ("at the fullest moment", _gib(made.memory.total))])
    click.echo("\nGiB of each device, by ZeRO stage and number of devices:\n")
    rows = [[f"stage {stage}", *map(_gib, totals.values())] for stage, totals in _totals(made).items()]
    print_table(["", *map(str, next(iter(made.by_devices.values())))], rows)
    if config.rollout.separate_process:
        click.echo("\nWith twice as many GPUs as ranks the engine's part is on a GPU of its own.")


def _totals(made: RunPlan) -> dict[int, dict[int, int]]:
    """Bytes of each device, by ZeRO stage and number of devices."""
    return {
        stage: {devices: memory.total for devices, memory in by_devices.items() if memory}
        for stage, by_devices in made.by_devices.items()
    }


def _rows(report: Report) -> Iterator[tuple[str, str]]:
    made = report.plan
    if made.shape:
        yield "model", f"{made.shape.parameters:,} parameters in {report.config.train.dtype}"
    if made.work:
        yield from _work_rows(made.work)
    else:
        yield "tasks", "cannot be told"
    if made.concurrent_sequences is not None:
        yield (
            "answers at once",
            f"{made.concurrent_sequences} of the longest prompt and answer ({made.longest:,} tokens)",
        )
    for one in report.fetched:
        yield f"to fetch: {one.what}", one.where + _size(one)
    if not report.fetched:
        yield "to fetch", "nothing"
    yield "sandbox", report.mode or "none that works here"
    yield from report.places.items()


def _work_rows(work: WorkEstimate) -> Iterator[tuple[str, str]]:
    left_out = "" if not work.left_out else f" ({work.left_out:,} left out: their prompts are too long)"
    yield "tasks", f"{work.tasks:,}{left_out}, {work.held_out:,} held out"
    yield "longest prompt", f"{work.longest_prompt:,} tokens" + (" allowed" if work.left_out is None else "")
    yield "steps", f"{work.steps:,}, of {work.steps_per_epoch:,} in an epoch"
    yield "a step", f"{work.programs_per_step:,} programs, at most {work.tokens_per_step:,} tokens sampled"
    yield "the run", f"{work.programs:,} programs"


def _size(one: Fetched) -> str:
    if one.size is None:
        return ": how much cannot be told" + (" without the network" if one.what == "model" else "")
    return f": {_gib(one.size)} GiB" if one.size else ""


def _gib(size: int) -> str:
    return f"{size / GIB:,.2f}"
