"""The tools of agents, in sessions of both modes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agnostics.environments.tools.bash import Bash
from agnostics.environments.tools.files import Create, Edit, Submit
from agnostics.environments.tools.python import Python
from agnostics.environments.tools.tool import Tool, ToolLimits, ToolResult
from agnostics.sandbox.session import Session
from agnostics.sandbox.session_pool import SessionPool
from agnostics.types.language import Language
from agnostics.types.task import Limits
from agnostics.types.verification import Verdict

LIMITS = Limits(run_s=5.0, memory_mb=256)
SHORT = ToolLimits(run_s=0.5)
TOOLS: dict[str, Tool] = {tool.name: tool for tool in (Bash(), Edit(), Create(), Submit(), Python())}
NEW_SHELL = "[the state of the shell was lost; this is a new shell]"


@pytest.fixture(scope="module", params=["bubblewrap", "docker"])
def pool(request: pytest.FixtureRequest, languages: dict[str, Language]) -> Iterator[SessionPool]:
    with SessionPool(languages["lua"], request.param, LIMITS, warm=0) as made:
        yield made


@pytest.fixture
def session(pool: SessionPool) -> Iterator[Session]:
    with pool.open() as opened:
        yield opened


Call = Callable[..., ToolResult]


@pytest.fixture
def call(session: Session) -> Call:
    """Calls a tool in the session."""

    def run(name: str, *, limits: ToolLimits | None = None, **arguments: str) -> ToolResult:
        return TOOLS[name].run(session, arguments, limits or ToolLimits())

    return run


@pytest.fixture
def bash(call: Call) -> Callable[[str], str]:
    """What the tool `bash` shows of a command."""
    return lambda command: call("bash", command=command).output


Shell = Callable[[str], str]


def test_the_working_folder_is_kept(bash: Shell) -> None:
    bash("mkdir -p 'a b'; cd 'a b'")
    assert bash("pwd; cd ..; pwd") == "/w/a b\n/w"
    assert bash("cd - && cd /") == "/w/a b"
    assert bash('echo "$PWD"; pwd; env | grep ^PWD') == "/\n/\nPWD=/"
    bash("cd /w; mkdir $'line\\nfeed\\n'; cd $'line\\nfeed\\n'")
    assert bash('printf %q "$PWD"') == "$'/w/line\\nfeed\\n'"


def test_a_working_folder_that_is_gone_is_said_and_left(bash: Shell) -> None:
    bash("mkdir -p a; cd a; rmdir /w/a")
    assert bash("pwd") == "[the folder /w/a is gone; this is /w]\n/w"
    assert bash("pwd") == "/w"


def test_variables_are_kept_as_they_were_declared(bash: Shell) -> None:
    bash("one=1; export two='a  b'; three=(x 'y z'); declare -A four=([k]=v); declare -i five=5; readonly six=6")
    bash("seven=$'line\\n\\'\\\\$(nosuch)`'; eight=$'\\xff'; PATH=/none:$PATH; unset LANG")
    assert bash('echo "$one" "$two" "${three[1]}" "${four[k]}"; five+=1; echo $five; six=7') == (
        "1 a  b y z v\n6\nbash: line 1: six: readonly variable\n[exit status 1]"
    )
    assert bash(
        "env | grep -c '^one\\|^two'; printf '%q %q' \"$seven\" \"$eight\"; echo; echo ${PATH%%:*} ${LANG-unset}"
    ) == ("1\n$'line\\n\\'\\\\$(nosuch)`' $'\\377'\n/none unset")


def test_functions_aliases_and_options_are_kept(bash: Shell) -> None:
    bash('f() { echo "f $1"; }; export -f f; alias hi="echo hi"; umask 077; shopt -s extglob; set -u -o pipefail')
    bash('g() { case $1 in +([0-9])) echo number;; esac; }; cd() { builtin cd "$@" && echo in; }; cd /')
    assert bash("f 1; bash -c 'f 2'; hi; umask; g 12; cd /w") == "f 1\nf 2\nhi\n0077\nnumber\nin"
    assert (
        bash("false | true; echo $?; echo $nosuch; echo no")
        == "1\nbash: line 1: nosuch: unbound variable\n[exit status 127]"
    )


def test_exit_ends_a_command_and_not_the_shell(call: Call, bash: Shell) -> None:
    result = call("bash", command="x=global IFS_was=$IFS; f() { local x=local IFS=,; y=2; exit 3; }; f; echo no")
    assert (result.output, result.ok, result.exit_code) == ("[exit status 3]", False, 3)
    assert bash('echo $x $y; [[ $IFS == "$IFS_was" ]] && echo same') == "global 2\nsame"


def test_set_e_ends_its_own_command_alone(bash: Shell) -> None:
    assert bash("set -eu; z=1; false; echo no") == "[exit status 1]"
    assert bash("echo $z; false; echo on") == "1\non"
    assert bash("set -n; echo no") == ""
    assert bash("set -t; z=2; echo $z") == "2"
    assert bash("echo $z; echo on") == "2\non"


def test_a_trap_at_the_exit_belongs_to_its_command(bash: Shell) -> None:
    assert bash("trap 'echo bye' EXIT; x=1") == "bye"
    assert bash("echo $x") == "1"
    assert bash("trap 'echo \"$PWD $x\"' EXIT; exit 2") == "/w 1\n[exit status 2]"


def test_both_outputs_are_shown_in_the_order_in_which_they_were_written(bash: Shell) -> None:
    command = "echo a; echo b >&2; echo c >> /dev/stderr; sh -c 'echo d; echo e >&2'; echo f; nosuch\n\nif"
    assert bash(command) == (
        "a\nb\nc\nd\ne\nf\nbash: line 1: nosuch: command not found\n"
        "bash: eval: line 4: syntax error: unexpected end of file\n[exit status 2]"
    )


def test_a_command_has_no_input_and_no_arguments(bash: Shell) -> None:
    assert bash('read line; echo "<$line>$#"; cat') == "<>0"


def test_a_command_may_be_long(bash: Shell) -> None:
    assert bash(f"echo {'x' * 300_000} | wc -c") == "300001"


def test_processes_in_the_background_end_with_their_command(call: Call, bash: Shell) -> None:
    result = call("bash", command="sleep 60 & (setsid sleep 60 &) ; x=1; echo begun")
    assert (result.output, result.ok) == ("begun", True)
    assert result.wall_ms < 3000
    assert bash("echo $x; grep -l sleep /proc/[0-9]*/comm || :") == "1"


def test_a_time_out_keeps_the_files_and_the_shell_as_it_was(call: Call, bash: Shell) -> None:
    bash("mkdir -p a; cd a; x=1")
    result = call("bash", command="x=2; cd /; echo begun | tee /w/file; sleep 60", limits=SHORT)
    assert result.output == "begun\n[stopped at the time limit of 0.5 s]"
    assert (result.ok, result.verdict) == (False, Verdict.TIME_LIMIT)
    assert bash("echo $x; pwd; cat ../file") == "1\n/w/a\nbegun"


def test_each_way_to_be_killed_is_named(bash: Shell) -> None:
    bash("x=1")
    assert bash("echo a; kill -KILL $$") == "a\n[killed by signal 9]"
    assert bash("a=$(head -c 500M /dev/zero | tr '\\0' x)").endswith("[stopped at the memory limit]")
    assert bash("yes").endswith("\n[stopped at the output limit]")
    assert bash("echo $x") == "1"


def test_a_long_output_is_cut_in_the_middle(call: Call) -> None:
    result = call("bash", command="seq 100000", limits=ToolLimits(characters=100))
    head, note, tail = result.output.partition("\n[588795 characters are left out here]\n")
    assert (head[:4], bool(note), tail[-7:], len(head + tail)) == ("1\n2\n", True, "\n100000", 99)


def test_a_binary_output_is_shown_as_text(bash: Shell) -> None:
    assert bash(r"printf 'a\0\377\xe2\x82\xacb'") == "a\ufffd\ufffd€b"


HOSTILE = {
    "text": "echo garbage > $S/state",
    "nothing": ": > $S/state",
    "bytes": "head -c 100000 /dev/urandom > $S/state",
    "a part": "head -c 500 $S/state > part; cp part $S/state",
    "an exit": "echo exit 0 > $S/state",
    "a program": "echo exec true > $S/state",
    "a pipe": "rm $S/state; mkfifo $S/state",
    "a folder": "rm $S/state; mkdir -p $S/state/a",
    "a device": "ln -sf /dev/zero $S/state",
    "a loop": "ln -sf state $S/state",
    "a large file": "head -c 200M /dev/zero | tr '\\0' '#' > $S/state",
    "a sleep": "echo sleep 60 > $S/state",
    "a function": "echo 'f() {' > $S/state",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_state_that_is_none_gives_a_fresh_shell_and_a_note(call: Call, bash: Shell, what: str) -> None:
    bash("x=1; mkdir -p a; cd a")
    command = f"S=$TMPDIR/.shell; {HOSTILE[what]}; kill -KILL $$"
    assert call("bash", command=command).output.endswith("[killed by signal 9]")
    result = call("bash", command='echo "${x-none}"; pwd; x=2', limits=ToolLimits(run_s=2))
    assert (result.output, result.ok) == (f"none\n/w\n{NEW_SHELL}", True)
    assert bash("echo $x") == "2"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf $TMPDIR/.shell",
        "mkfifo $S/new; rm $S/folder; mkfifo $S/folder",
        "ln -sf /dev/zero $S/new; ln -sf /dev/full $S/folder",
        "mkdir -p $S/new/a; rm $S/folder; mkdir -p $S/folder/a",
        "rm -rf $S; echo > $S",
        "rm -rf $S; ln -s /proc $S",
        "rm -rf $S; ln -s /nowhere $S",
        "chmod 0 $S/state",
        "set -C; cd() { :; }; mv() { :; }; rm() { :; }; echo() { :; }; IFS=x; PATH=",
        "alias eval=false builtin=false exit=false",
        "set -o posix",
        "TMPDIR=/nowhere; HOME=/nowhere; BASH_ENV=/nowhere; POSIXLY_CORRECT=1",
    ],
)
def test_whatever_a_command_does_the_next_ones_keep_their_state(bash: Shell, command: str) -> None:
    bash("x=1")
    bash(f"S=$TMPDIR/.shell; {command}")
    bash("y=2")
    assert bash('printf "%s\\n" "$y"') == "2"


def test_a_state_that_cannot_be_written_is_said(bash: Shell) -> None:
    bash("x=1")
    assert "could not be kept" in bash("x=2; head -c 300M /dev/zero > $TMPDIR/full 2>/dev/null")
    assert bash("echo $x; rm $TMPDIR/full") == "1"
    bash("x=3")
    assert bash("echo $x") == "3"


def test_a_snapshot_does_not_hold_the_shell(session: Session, bash: Shell) -> None:
    before = session.snapshot()
    bash("mkdir a; cd a; x=1")
    session.restore(before)
    assert bash('echo "${x-none}"; pwd; ls -A') == "none\n/w"


def test_a_file_is_created_once_and_in_the_folder_of_the_shell(call: Call, bash: Shell) -> None:
    bash("mkdir a; cd a; ln -s nowhere link")
    result = call("create", path="-b c.txt", content="é\n\0\r\nx")
    assert (result.output, result.ok) == ("Created -b c.txt (3 lines).", True)
    assert bash("od -c < '/w/a/-b c.txt' | head -n 1") == "0000000 303 251  \\n  \\0  \\r  \\n   x"
    for path, said in {
        "-b c.txt": "-b c.txt already exists",
        "../a": "../a already exists",
        "link": "link already exists",
        "none/b": "there is no folder none",
        "/proc/x": "/proc/x: No such file",
        "new/": "Is a directory",
        "": "No such file",
        "x" * 5000: "File name too long",
        "x" * 500_000: "Argument list too long",
    }.items():
        result = call("create", path=path, content="other")
        assert (said in result.output, result.ok) == (True, False), result.output
    assert bash("ls; cat -- '-b c.txt' | tail -c 1") == "-b c.txt\nlink\nx"


def test_an_edit_changes_lines_that_occur_once(call: Call, bash: Shell) -> None:
    bash("mkdir a; cd a; seq 30 > file; chmod 755 file; ln file hard; ln -s file link")
    result = call("edit", path="link", old="12\n13\n", new="twelve\n", old_2="30", new_2="")
    first, second = result.output.split("\n\n")
    assert first.splitlines()[1:3] == ["     4\t4", "     5\t5"]
    assert first.splitlines()[9:11] == ["    12\ttwelve", "    13\t14"]
    assert second.splitlines()[-1] == "    28\t29"
    assert bash("sed -n '11,13p;$p' hard; stat -c %a file; readlink link") == "11\ntwelve\n14\n29\n755\nfile"


def test_an_edit_that_is_not_unique_changes_nothing(call: Call, bash: Shell) -> None:
    bash("printf 'a\\nb\\na\\n' > file")
    for old, said in {
        "c": "file is unchanged: the search lines occur 0 times",
        "a": "file is unchanged: the search lines occur 2 times, at lines 1, 3",
        "": "file is unchanged: the lines to search for are empty",
    }.items():
        result = call("edit", path="file", old="b", new="x", old_2=old, new_2="y")
        assert (result.output.startswith(said), result.ok) == (True, False)
    assert bash("cat file") == "a\nb\na"


def test_an_edit_keeps_every_other_byte(call: Call, session: Session) -> None:
    session.put({"file": b"\xff\0\r\n\xe2\x82 one\nlast"})
    assert call("edit", path="file", old="last", new="é").ok
    assert session.get("file") == b"\xff\0\r\n\xe2\x82 one\n\xc3\xa9"


def test_a_file_that_cannot_be_edited_is_an_error_of_the_call(call: Call, bash: Shell) -> None:
    bash("mkdir folder; mkfifo pipe; ln -s /dev/zero zero; ln -s loop loop; ln -s /usr/bin/ldd system")
    for path, said in {
        "none": "none does not exist",
        "folder": "folder is not a file",
        "pipe": "pipe is not a file",
        "zero": "zero is not a file",
        "loop": "loop does not exist",
        "system": "system is unchanged: the search lines occur 0 times",
        "/etc/shadow": "",
        "../../../proc/kcore": "",
    }.items():
        for result in (call("edit", path=path, old="no such line", new="x"), call("submit", path=path)):
            assert not result.ok or (path == "system" and result.submission), path
        assert said in call("edit", path=path, old="no such line", new="x").output


def test_a_link_leads_to_no_file_that_a_command_could_not_write(call: Call, bash: Shell) -> None:
    bash("ln -s /etc/hostname link; ln -s /usr folder")
    assert not call("create", path="folder/x", content="x").ok
    assert "root" not in bash("ls -l /usr/x 2>&1 | grep -v 'No such'")
    bash("cp /usr/bin/ldd copy; ln -s /usr/bin/ldd target")
    result = call("edit", path="target", old=bash("head -n 1 target"), new="x")
    assert (result.ok, "target: " in result.output) == (False, True)
    assert bash("cmp copy target && echo same") == "same"


def test_what_does_not_fit_into_the_workspace_leaves_the_files_as_they_were(call: Call, bash: Shell) -> None:
    bash("echo a > file; echo b >> file; dd if=/dev/zero of=full bs=64k 2>/dev/null")
    long = "x" * 1_000_000
    for result in (call("edit", path="file", old="a", new=long), call("create", path="new", content=long)):
        assert ("No space left on device" in result.output, result.ok) == (True, False)
    assert bash("cat file; ls") == "a\nb\nfile\nfull"


def test_a_submission_is_the_file_byte_for_byte(call: Call, bash: Shell) -> None:
    bash(r"mkdir a; cd a; printf 'a\0\377\n' > patch")
    result = call("submit", path="patch")
    assert (result.submission, result.output, result.ok) == (b"a\0\xff\n", "a\ufffd\ufffd\n", True)
    missing = call("submit", path="none")
    assert (missing.submission, missing.output, missing.ok) == (None, "none does not exist", False)


def test_a_folder_of_the_shell_that_is_none_does_not_hang_the_files(call: Call, bash: Shell) -> None:
    for command in ("rm $S/folder; mkfifo $S/folder", "ln -sf /dev/zero $S/folder", "printf '/none\\0' > $S/folder"):
        bash(f"S=$TMPDIR/.shell; {command}; kill -KILL $$")
        assert call("create", path=f"{len(command)}", content="", limits=ToolLimits(run_s=2)).ok


@pytest.fixture(params=["bubblewrap", "docker"])
def python(request: pytest.FixtureRequest) -> Iterator[Session]:
    install = "apt-get install -y --no-install-recommends python3"
    language = Language(name="python", prompt="", filename="main.py", execute="python3 main.py", install=install)
    with SessionPool(language, request.param, LIMITS) as pool, pool.open() as session:
        yield session


def test_a_program_in_python_is_run_and_both_outputs_are_told_apart(python: Session) -> None:
    def run(code: str) -> ToolResult:
        return TOOLS["python"].run(python, {"code": code}, SHORT)

    TOOLS["bash"].run(python, {"command": "mkdir a; cd a"}, ToolLimits())
    assert run("import os\nprint(os.getcwd(), 6 * 7)").output == "completed.\n[stdout]/w/a 42\n[/stdout]"
    assert run("x = 1").output == "completed."
    failed = run("print('a')\nraise ValueError('é')")
    assert failed.output.startswith("error: exit status 1\n[stdout]a\n[/stdout]\n[stderr]Traceback")
    assert failed.output.endswith("ValueError: é\n[/stderr]")
    assert not failed.ok
    assert run("while True: pass").output == "error: stopped at the time limit of 0.5 s"
    assert "EOFError" in run("input()").output
    assert "invalid syntax" in run("1 +").output


def test_the_example_of_the_documentation_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    exec(program, {})
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(re.findall(r"  # (.+)", program))
