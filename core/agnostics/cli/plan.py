"""The output of `agn run --dry-run`: the plan of a run, with the sandbox, images and folders of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import print_json, print_table
from agnostics.plugins.manager import PluginManager
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language
from agnostics.util.text import plural

if TYPE_CHECKING:
    from agnostics.train.config import RunConfig
    from agnostics.train.plan import RunPlan, WorkEstimate

GIB = 1 << 30
_MEMORY_LABELS = {
    "weights": "trainer: weights",
    "optimizer": "trainer: optimizer",
    "gradients": "trainer: gradients",
    "bucket": "trainer, backward pass: gradient bucket",
    "activations": "trainer, backward pass: activations (estimate)",
    "logits": "trainer, backward pass: logits",
    "update": "trainer, update: gradients in one piece",
    "sync": "trainer, weight sync: copies of weights",
    "reference": "trainer: reference model",
    "engine_weights": "engine: weights",
    "kv_cache": "engine: KV cache",
}


@dataclass(frozen=True, slots=True)
class Download:
    """A model or image that the run downloads or builds before it starts; `size` is in bytes, None if unknown."""

    item: str
    source: str
    size: int | None


@dataclass(frozen=True)
class PlanReport:
    """The plan on `devices` devices, with the settings that depend on this machine."""

    config: RunConfig
    plan: RunPlan
    devices: int
    mode: str | None
    downloads: list[Download]
    locations: dict[str, str]
    missing: list[AgnosticsError]


def show_plan(config: RunConfig, plugins: PluginManager, as_json: bool) -> int:
    """Print the plan, and each missing requirement on stderr; returns the exit status that the run would have."""
    report = _report(config, plugins)
    if as_json:
        print_json(_as_dict(report))
    else:
        _print(report)
    for error in report.missing:
        click.echo(f"agn: {error}", err=True)
    return report.missing[0].exit_code if report.missing else 0


def _report(config: RunConfig, plugins: PluginManager) -> PlanReport:
    from agnostics.store.database import default_url, parse_url
    from agnostics.train.config import output_folder
    from agnostics.train.plan import plan

    store = parse_url(config.store or default_url()).render_as_string(hide_password=True)
    devices = int(os.environ.get("WORLD_SIZE", "1"))
    run_plan, language = plan(config, plugins, devices), plugins.language(config.language)
    mode, lack = _sandbox(config, language, plugins)
    return PlanReport(
        config=config,
        plan=run_plan,
        devices=devices,
        mode=mode,
        downloads=[*_model(config, run_plan), *_image(language, mode)],
        locations={"store": store, "output": str(output_folder(config.output))},
        missing=[*run_plan.missing, *([lack] if lack else [])],
    )


def _sandbox(config: RunConfig, language: Language, plugins: PluginManager) -> tuple[str | None, AgnosticsError | None]:
    """The sandbox backend of the run, and the requirement that it lacks. A cluster is not contacted."""
    from agnostics.sandbox.modes import AUTO, RAY_PREFIX, choose_backend
    from agnostics.sandbox.toolchain import require_toolchain

    if config.sandbox.startswith(RAY_PREFIX):
        return config.sandbox, None
    mode = None if config.sandbox == AUTO else config.sandbox
    try:
        backend = choose_backend(config.sandbox, plugins.sandboxes())
        mode = backend.name
        if backend.uses_host_toolchains:
            require_toolchain(language)
    except MissingRequirement as error:
        return mode, error
    return mode, None


def _model(config: RunConfig, run_plan: RunPlan) -> Iterator[Download]:
    if run_plan.folder:
        return
    if config.model == "starter":
        yield Download("model", "the starter model, trained once on this machine in some minutes", 0)
    elif Path(config.model).expanduser().exists():
        yield Download("model", f"{config.model}, converted once into the user's cache", 0)
    else:
        size = run_plan.remote.size if run_plan.remote else None
        yield Download("model", f"{config.model} from the Hugging Face hub", size)


def _image(language: Language, mode: str | None) -> Iterator[Download]:
    """The container image of the language, unless it is built."""
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
        yield Download("image", f"{image_name(language)}, built on {bases}", None)


def _as_dict(report: PlanReport) -> dict[str, Any]:
    config, run_plan = report.config, report.plan
    return {
        **{name: getattr(config, name) for name in ("language", "model", "dataset", "algorithm")},
        "parameters": run_plan.shape.parameters if run_plan.shape else None,
        "engine": config.rollout.engine,
        "dtype": config.train.dtype,
        "zero_stage": config.train.zero_stage,
        "devices": report.devices,
        "memory": {**run_plan.memory.parts, "total": run_plan.memory.total} if run_plan.memory else None,
        "memory_by_stage_and_devices": _totals(run_plan) if run_plan.shape else None,
        "longest": run_plan.longest,
        "concurrent_sequences": run_plan.concurrent_sequences,
        "work": asdict(run_plan.work) if run_plan.work else None,
        "downloads": [asdict(one) for one in report.downloads],
        "sandbox": report.mode,
        **report.locations,
        "missing": [str(error) for error in report.missing],
    }


def _print(report: PlanReport) -> None:
    config, run_plan = report.config, report.plan
    click.echo(f"{config.model} learns {config.language} from {config.dataset} ({config.algorithm})\n")
    print_table(["setting", "plan"], _rows(report))
    if not run_plan.memory:
        click.echo("\nMemory is unknown until the model's config.json is on this machine.")
        return
    setup = f"{plural(report.devices, 'device')} at ZeRO stage {config.train.zero_stage}"
    click.echo(f"\nMemory of each device, with {setup}:\n")
    rows = [(_MEMORY_LABELS[name], _gib(size)) for name, size in run_plan.memory.parts.items() if size]
    print_table(["part", "GiB"], [*rows, ("peak", _gib(run_plan.memory.total))])
    click.echo("\nGiB of each device, by ZeRO stage and number of devices:\n")
    by_stage = [[f"stage {stage}", *map(_gib, totals.values())] for stage, totals in _totals(run_plan).items()]
    print_table(["", *map(str, next(iter(run_plan.by_devices.values())))], by_stage)
    if config.rollout.separate_process:
        click.echo(f"\n{_engine_devices(config)}")


def _engine_devices(config: RunConfig) -> str:
    """The devices of engines in processes of their own, in a sentence."""
    own = config.rollout.engine_processes * config.rollout.tensor_parallel_size
    if own == 1:
        return "With twice as many GPUs as ranks, each engine has a GPU of its own."
    return f"Engines have devices of their own: each rank needs one device for training and {own} for its engines."


def _totals(run_plan: RunPlan) -> dict[int, dict[int, int]]:
    """Bytes of each device, by ZeRO stage and number of devices."""
    return {
        stage: {devices: memory.total for devices, memory in by_devices.items() if memory}
        for stage, by_devices in run_plan.by_devices.items()
    }


def _rows(report: PlanReport) -> Iterator[tuple[str, str]]:
    run_plan = report.plan
    if run_plan.shape:
        yield "model", f"{run_plan.shape.parameters:,} parameters in {report.config.train.dtype}"
    if run_plan.work:
        yield from _work_rows(run_plan.work)
    else:
        yield "tasks", "unknown"
    if run_plan.concurrent_sequences is not None:
        sequence = f"the longest prompt and completion ({run_plan.longest:,} tokens)"
        yield "concurrent sequences", f"{run_plan.concurrent_sequences} of {sequence}"
    for one in report.downloads:
        yield f"download: {one.item}", one.source + _size(one)
    if not report.downloads:
        yield "download", "nothing"
    yield "sandbox", report.mode or "none works on this machine"
    yield from report.locations.items()


def _work_rows(work: WorkEstimate) -> Iterator[tuple[str, str]]:
    left_out = "" if not work.left_out else f" ({work.left_out:,} left out: their prompts are too long)"
    validation = f", {work.validation:,} for validation" if work.validation else ""
    yield "tasks", f"{work.tasks:,}{left_out}{validation}, {work.held_out:,} held out"
    yield "longest prompt", f"{work.longest_prompt:,} tokens" + (" allowed" if work.left_out is None else "")
    yield "steps", f"{work.steps:,}, of {work.steps_per_epoch:,} in an epoch"
    yield "a step", f"{work.programs_per_step:,} programs, at most {work.tokens_per_step:,} tokens sampled"
    yield "the run", f"{work.programs:,} programs"


def _size(one: Download) -> str:
    if one.size is None:
        return ": size unknown" + (" without network" if one.item == "model" else "")
    return f": {_gib(one.size)} GiB" if one.size else ""


def _gib(size: int) -> str:
    return f"{size / GIB:,.2f}"
