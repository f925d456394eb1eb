"""The five packs are configured as in Appendix C of the paper, and a YAML file makes a language like a pack does."""

from __future__ import annotations

from pathlib import Path

import pytest
from agnostics.sandbox.job_codec import job_for
from agnostics.types.code_extraction import extract_program
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test

PLUGINS = Path(__file__).parents[2] / "plugins"
PACKS = ("fortran", "julia", "lua", "ocaml", "r")
"""Those of the paper."""
TASK = Task(id="t", statement="Print the sum.", tests=(Test(input="1 2", output="3"),))

APPENDIX_C = {
    "lua": "install: apt-get install -y luajit\nfilename: snippet.lua\nexecute: luajit snippet.lua\n",
    "julia": "container:\n  base-image: 'julia:1.11.3'\n  type: debian\n"
    "filename: snippet.jl\nexecute: julia snippet.jl\n",
    "r": "install: apt-get install -y r-cran-tidyverse\nfilename: snippet.R\nexecute: Rscript snippet.R\n",
    "ocaml": "container:\n  base-image: 'docker.io/ocaml/opam:ubuntu-22.04-ocaml-5.0'\n  type: debian\n"
    "install:\n  container-instructions: |\n    RUN opam install base stdio utop\n"
    "    ENV OPAM_SWITCH_PREFIX='/home/opam/.opam/5.0'\n"
    "filename: snippet.ml\nexecute: utop -require base -require stdio snippet.ml\n",
    "fortran": "install: apt-get install -y gfortran\nfilename: snippet.f90\n"
    "compile: gfortran -o snippet.out snippet.f90\nexecute: ./snippet.out\n",
}
"""The paper's configurations, prompts aside."""
FASTER = {
    "julia": ("julia --startup-file=no snippet.jl", None),
    "r": ("Rscript --vanilla snippet.R", None),
    "ocaml": (
        "./snippet.out",
        "ocamlfind ocamlopt -package base,stdio -linkpkg -ccopt -B/usr/libexec/mold -o snippet.out snippet.ml",
    ),
    "fortran": ("./snippet.out", "gfortran -B/usr/libexec/mold -o snippet.out snippet.f90"),
}
"""How our packs run programs, where they leave the paper's way because a program starts or is linked faster."""
INSTALLS_OTHERWISE = {"ocaml", "fortran", "r"}
"""With a faster linker, or without what Debian recommends: for R that is five gigabytes, with a TeX system."""
PROMPTS = {
    "lua": ("Use Lua 5.1, targeting LuaJIT.", "targeting LuaJIT."),
    "julia": ("Use Julia 1.11.", "Use Julia 1.11."),
    "r": ("Use R version 4.\nUse readLines(", "Please do not use print to print output."),
    "ocaml": ("Use OCaml 5.\nNumbers: + - * / mod vs. +. -. *. /. ** (add dots!)\n", "folds / arrays"),
    "fortran": ("Use Fortran 90. Some tips:\nAlways begin each scope", "just read, compute, and write."),
}


def pack(name: str) -> Language:
    return Language.from_folder(next((PLUGINS / f"lang-{name}").glob("agnostics_*")), name=name)


@pytest.mark.parametrize("name", APPENDIX_C)
def test_configuration_is_the_papers_but_for_what_is_faster(name: str, tmp_path: Path) -> None:
    """And the paper's is taken as it stands there."""
    path = tmp_path / f"{name}.yaml"
    path.write_text(f"prompt: p\n{APPENDIX_C[name]}")
    papers, ours = Language.from_yaml(path), pack(name)
    assert (ours.name, ours.filename) == (name, papers.filename)
    assert (ours.execute, ours.compile) == FASTER.get(name, (papers.execute, papers.compile))
    if name not in INSTALLS_OTHERWISE:
        assert ours.install == papers.install


@pytest.mark.parametrize("name", PROMPTS)
def test_prompt_is_the_papers(name: str) -> None:
    start, end = PROMPTS[name]
    prompt = pack(name).prompt.strip()
    assert prompt.startswith(start)
    assert prompt.endswith(end)


def test_prompt_for_r_shows_its_examples_as_code_blocks() -> None:
    assert pack("r").prompt.count("```r\n") == 2
    assert extract_program(pack("r").prompt, {"r"}) == "cat(n)\n"


def test_base_images_are_the_papers() -> None:
    images = {name: pack(name).container.base_image for name in APPENDIX_C}
    assert images["julia"] == "julia:1.11.3"
    assert images["ocaml"] == "docker.io/ocaml/opam:ubuntu-22.04-ocaml-5.0"
    assert {images["fortran"], images["r"]} == {"debian:trixie"}  # ours: the paper names none
    assert images["lua"] == "debian:bookworm"


def test_image_of_ocaml_finds_its_toolchain_in_the_opam_switch() -> None:
    instructions = pack("ocaml").image_instructions()
    assert "RUN opam install -y base stdio ocamlfind" in instructions
    assert "ENV PATH='/home/opam/.opam/5.0/bin:" in instructions
    assert all(line.count("'") in {0, 2} for line in instructions.splitlines())


@pytest.mark.parametrize("name", PACKS)
def test_completion_tagged_by_name_or_suffix_gives_the_program(name: str) -> None:
    language = pack(name)
    for tag in (name, name.upper(), language.filename.rpartition(".")[2], *language.tags):
        completion = f"So:\n```{tag}\nthe program\n```\nIt prints:\n```\n3\n```\n"
        assert extract_program(completion, language.code_tags) == "the program\n", tag


@pytest.mark.parametrize("name", PACKS)
def test_every_pack_carries_at_least_fifteen_right_programs(name: str) -> None:
    assert len(pack(name).reference) >= 15


def test_prompt_precedes_the_statement() -> None:
    assert pack("lua").prompt_for(TASK) == "Use Lua 5.1, targeting LuaJIT.\n\nPrint the sum."


def test_install_becomes_one_step_of_the_image() -> None:
    step = "RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y luajit"
    assert pack("lua").image_instructions() == step


def test_limits_of_the_task_go_before_those_of_the_language() -> None:
    language = pack("lua").model_copy(update={"limits": LimitOverrides(run_s=7, memory_mb=99)})
    limits = language.limits_for(TASK.model_copy(update={"limits": LimitOverrides(run_s=2)}))
    assert (limits.run_s, limits.memory_mb, limits.compile_s) == (2, 99, 30)


def test_time_to_start_comes_on_top_of_the_limit_of_the_task() -> None:
    language = pack("lua").model_copy(update={"startup_s": 1.5})
    limits = language.limits_for(TASK.model_copy(update={"limits": LimitOverrides(run_s=2)}))
    assert limits.run_s == 3.5


def test_parameters_of_the_task_stand_in_its_right_program() -> None:
    language = pack("lua").model_copy(update={"reference": {"add": "print(io.read('*n') + @n@)"}})
    assert language.reference_for(TASK.model_copy(update={"family": "add", "parameters": {"n": 7}})) == (
        "print(io.read('*n') + 7)"
    )
    assert language.reference_for(TASK) is None


def test_plain_command_runs_without_a_shell_and_shell_syntax_with_one() -> None:
    language = Language(name="x", prompt="p", filename="a.x", execute="run 'a b'", compile="cc a | b")
    assert language.execute_argv() == ["run", "a b"]
    assert language.compile_argv() == ["/bin/sh", "-c", "cc a | b"]


YAML = "prompt: p\nfilename: a.x\nexecute: run a.x\n"


def test_yaml_file_makes_a_language_named_after_it(tmp_path: Path) -> None:
    (tmp_path / "Cobol.yaml").write_text(YAML)
    assert Language.from_yaml(tmp_path / "Cobol.yaml").name == "cobol"


@pytest.mark.parametrize(
    ("value", "command", "files"),
    [
        ("true", ["run", "a.x"], {}),
        ("{execute: run -w w.x a.x, files: {w.x: text}}", ["run", "-w", "w.x", "a.x"], {"w.x": b"text"}),
        ("false", [], {}),
    ],
)
def test_yaml_names_the_interpreter_that_is_forked(
    value: str, command: list[str], files: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "x.yaml").write_text(f"{YAML}fork-server: {value}\n")
    language = Language.from_yaml(tmp_path / "x.yaml")
    job = job_for(language, "program", TASK, stop_on_failure=False)
    assert (job.hold_at, job.hold_execute, job.hold_files) == ("a.x" if command else "", command, files)
    assert (job.execute, job.files) == (["run", "a.x"], {"a.x": b"program"})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("prompt: p\nfilename: a.x\n", "the key 'execute' is missing"),
        (YAML + "excute: y\n", "did you mean 'execute'"),
        ("prompt: p\nfilename: a\nexcute: y\n", "bad.yaml:3: unknown key 'excute'; did you mean 'execute'?"),
        (YAML.replace("a.x\n", "../a.x\n", 1), "filename: "),
        (YAML + "excute: y\n", "bad.yaml:4: "),
        (YAML + "container: {type: windows}\n", "bad.yaml:4: container.type: "),
        (YAML + "container:\n  base-imag: x\n", "bad.yaml:5: unknown key 'base-imag'; did you mean 'base-image'?"),
        (YAML + "\nlimits:\n  run_s: -1\n", "bad.yaml:6: limits.run_s: "),
        (YAML + "fork-server:\n  execut: x\n", "bad.yaml:5: unknown key 'execut'; did you mean 'execute'?"),
        (YAML + "fork-server: {files: {../x: y}}\n", "bad.yaml:4: fork-server.files."),
        (YAML + "fork-server: sometimes\n", "bad.yaml:4: fork-server: "),
        (YAML + "library: {parts.py: x}\n", "bad.yaml:4: library: must have a README.md"),
        (YAML + "library: {../x: y, README.md: z}\n", "bad.yaml:4: library."),
        ("just text", "expected a mapping"),
        ("prompt: [", "not a readable YAML file"),
    ],
)
def test_yaml_that_is_no_language_is_told_with_file_and_key(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        Language.from_yaml(path)
    assert str(path) in str(raised.value)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


TRACED = """
prompt: Use Lua.
install: apt-get install -y lua5.4
filename: snippet.lua
execute: lua5.4 snippet.lua
trace:
  execute: lua5.4 trace.lua snippet.lua
  install: apt-get install -y lua-cjson
"""


def test_a_language_that_can_be_traced_has_other_commands_then(tmp_path: Path) -> None:
    path = tmp_path / "language.yaml"
    path.write_text(TRACED)
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "trace.lua").write_text("-- a tracer")
    language = Language.from_folder(tmp_path, name="lua")
    traced = language.traced()
    assert language.trace is not None
    assert language.trace.files == {"trace.lua": "-- a tracer"}
    assert traced.execute_argv() == ["lua5.4", "trace.lua", "snippet.lua"]
    assert traced.image_instructions().endswith("apt-get install -y lua5.4 && apt-get install -y lua-cjson")
    assert (traced.name, language.execute) == ("lua", "lua5.4 snippet.lua")


@pytest.mark.parametrize("more", [None, "apt-get install -y gdb"])
def test_a_fallback_and_dockerfile_lines_get_what_the_tracer_needs(more: str | None) -> None:
    fields = {"prompt": "", "filename": "a", "execute": "a", "name": "a"}
    container = {"base_image": "other", "fallback": {"base_image": "debian:trixie", "install": "apt-get install -y a"}}
    install = {"container_instructions": "RUN other\n"}
    trace = {"execute": "b", "install": more}
    traced = Language.model_validate({**fields, "container": container, "install": install, "trace": trace}).traced()
    ends = ("RUN other", "-y a") if more is None else (more, more)
    for base, end in zip((None, "debian:trixie"), ends, strict=True):
        assert traced.image_instructions(base).strip().endswith(end)


def test_a_language_without_a_tracer_says_so_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"^a has no tracer: .*`trace`.*$"):
        Language(name="a", prompt="", filename="a", execute="a").traced()


@pytest.mark.parametrize(("line", "reason"), [("  compile: ' '", "name a command"), ("  exec: lua", "exec")])
def test_a_mistake_in_the_tracer_s_keys_is_found_with_its_line(line: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "language.yaml"
    path.write_text(TRACED + line)
    with pytest.raises(UsageError, match=reason) as error:
        Language.from_yaml(path)
    assert "language.yaml:9" in str(error.value)
