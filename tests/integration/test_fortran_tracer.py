"""The tracer of Fortran: its events, and that a program runs as without it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import agnostics_lang_fortran
import pytest
import trace_lines
from agnostics.plugins.manager import load_plugins
from agnostics_datasets.starter import FAMILIES, Starter
from trace_lines import Traced

TRACER = Path(agnostics_lang_fortran.__file__).parent / "trace"
FORTRAN = load_plugins().language("fortran")
Trace = Callable[..., Traced]


def _run(argv: list[str], folder: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(argv, cwd=folder, input=given, capture_output=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def tracer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracer")
    shutil.copytree(TRACER, folder, dirs_exist_ok=True)
    assert _run(FORTRAN.trace_build_argv() or [], folder).returncode == 0
    return folder


@pytest.fixture
def trace(tracer: Path, tmp_path: Path) -> Trace:
    shutil.copytree(tracer, tmp_path, dirs_exist_ok=True)
    traced = FORTRAN.traced()

    def run(program: str, given: str = "", **limits: int) -> Traced:
        (tmp_path / "snippet.f90").write_text(program)
        compiled = _run(traced.compile_argv() or [], tmp_path)
        assert compiled.returncode == 0, compiled.stderr
        return trace_lines.run(traced.execute_argv(), tmp_path, given.encode(), limits)

    return run


def assert_same(traced: Traced, folder: Path, given: str = "") -> None:
    """The process is as that of the program without tracer, but for the backtrace, which has more names."""
    assert _run(["gfortran", "-o", "plain", "snippet.f90"], folder).returncode == 0
    plain = _run(["./plain"], folder, given.encode())
    assert (traced.process.returncode, traced.process.stdout) == (plain.returncode, plain.stdout)
    assert traced.process.stderr.partition(b"Backtrace")[0] == plain.stderr.partition(b"Backtrace")[0]


FUNCTION = """\
module numbers
  implicit none
  integer :: calls = 0
contains
  recursive function fib(n) result(r)
    integer, intent(in) :: n
    integer :: r
    calls = calls + 1
    r = n
    if (n < 2) return
    r = fib(n - 1) + fib(n - 2)
  end function
end module
program main
  use numbers
  implicit none
  print *, fib(2)
end program
"""


def test_procedures_are_called_run_lines_and_return(trace: Trace, tmp_path: Path) -> None:
    traced = trace(FUNCTION)
    assert traced.shown() == [
        "call 14 calls=0",
        "line 17",
        "call 5 fib n=2",
        "line 8",
        "line 9",
        "line 10 r=2",
        "line 11",
        "call 5 fib n=1",
        "line 8",
        "line 9",
        "line 10 r=1",
        "return 10 -> 1",
        "call 5 fib n=0",
        "line 8",
        "line 9",
        "line 10 r=0",
        "return 10 -> 0",
        "return 11 -> 1",
        "return 17",
    ]
    assert traced.end == "complete"
    assert_same(traced, tmp_path)


VALUES = """\
program main
  implicit none
  type point
    integer :: x
    real(8) :: y(2)
  end type
  type(point) :: p
  integer :: k(3), g(2, 2)
  integer(8) :: big
  integer, allocatable :: v(:)
  integer, pointer :: q
  character(len=:), allocatable :: s
  character(len=4) :: c
  character(len=3) :: w(2)
  logical :: l
  complex :: z
  real(16) :: quad
  real :: r
  p = point(1, [0.1d0, 2d0])
  g = reshape([1, 2, 3, 4], [2, 2])
  big = 2_8**62
  v = [7, 8]
  nullify(q)
  s = 'a"b'
  c = 'hi'
  w = ['abc', 'de ']
  l = .true.
  z = (1.5, -2)
  quad = 0.25
  r = 0.1
  k(2) = 5
  deallocate(v)
  print *, k(2)
end program
"""


def test_values_have_the_texts_of_their_types(trace: Trace, tmp_path: Path) -> None:
    traced = trace(VALUES)
    last: dict[str, str] = {}
    for event in traced.events:
        last |= event.get("v", {})
    assert last == {
        "p": "point(x=1, y=[0.1, 2.0])",
        "g": "[[1, 3], [2, 4]]",
        "big": "4611686018427387904",
        "v": "unallocated",
        "q": "null",
        "s": '"a\\"b"',
        "c": '"hi  "',
        "w": '["abc", "de "]',
        "l": ".true.",
        "z": "(1.5, -2.0)",
        "quad": "0.25",
        "r": "0.1",
        "k": "[?, 5, ?]",
    }
    assert any(event.get("v", {}).get("v") == "[7, 8]" for event in traced.events)
    assert_same(traced, tmp_path)


ARGUMENTS = """\
program main
  implicit none
  integer :: a(4)
  call fill(a(::2), 'key')
contains
  subroutine fill(part, word, missing)
    integer, intent(out) :: part(:)
    character(len=*), intent(in) :: word
    integer, optional :: missing
    integer :: i
    do i = 1, size(part)
      part(i) = i
    end do
    block
      integer :: inner
      inner = len(word)
      print *, inner
    end block
    print *, present(missing)
  end subroutine
end program
"""


def test_arguments_and_blocks_are_shown_while_they_are_there(trace: Trace, tmp_path: Path) -> None:
    traced = trace(ARGUMENTS)
    assert traced.shown()[2:12] == [
        'call 6 fill word="key"',
        "line 11",
        "line 12 i=1",
        "line 11 part=[1, ?]",
        "line 12 i=2",
        "line 11 part=[1, 2]",
        "line 16 i=3",
        "line 17 inner=3",
        "line 19",
        "return 19",
    ]
    assert_same(traced, tmp_path)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("read *, n", "End of file"),
        ("stop 3", "STOP 3"),
        ("error stop 'broken'", "ERROR STOP broken"),
        ("n = 7 / (n - 1)", "Floating point exception"),
        ("deallocate(v)", "Attempt to DEALLOCATE unallocated 'v'"),
        ("call exit(4)", "exit status 4"),
    ],
)
def test_an_error_ends_every_scope(statement: str, message: str, trace: Trace, tmp_path: Path) -> None:
    declared = "integer, volatile :: n = 1\ninteger, allocatable, save :: v(:)"
    body = f"call s()\ncontains\nsubroutine s()\n{declared}\n{statement}\nend subroutine"
    traced = trace(f"program main\nimplicit none\n{body}\nend program\n")
    assert [(event["d"], event["l"], event["r"]) for event in traced.of("exception")] == [
        (1, 8, message),
        (0, 3, message),
    ]
    assert traced.end == "complete"
    assert_same(traced, tmp_path)


@pytest.mark.parametrize("name", ["hello", "echo", "sum", "crash"])
def test_contract_programs_behave_as_without_the_tracer(name: str, trace: Trace, tmp_path: Path) -> None:
    traced = trace(FORTRAN.contract[name], "3 4\n")
    assert traced.end == "complete"
    assert {event["e"] for event in traced.events} >= {"call", "line"}
    assert_same(traced, tmp_path, "3 4\n")


def test_reference_programs_behave_as_without_the_tracer(trace: Trace, tmp_path: Path) -> None:
    tasks = {str(task.family): task for task in islice(Starter().tasks("test"), len(FAMILIES))}
    for family in sorted(tasks)[::6]:
        given = tasks[family].tests[0].input
        traced = trace(FORTRAN.reference_for(tasks[family]) or "", given)
        assert traced.end == "complete", family
        assert_same(traced, tmp_path, given)


def test_traces_are_the_same_in_every_run(trace: Trace) -> None:
    assert trace(VALUES).events == trace(VALUES).events


def test_limits_end_the_trace_and_not_the_program(trace: Trace) -> None:
    deep, few, small = trace(FUNCTION, DEPTH=1), trace(FUNCTION, EVENTS=5), trace(FUNCTION, BYTES=300)
    assert (max(event["d"] for event in deep.events), deep.end) == (1, "complete")
    assert (len(few.events), few.end, few.process.stdout.split()) == (5, "events", [b"1"])
    assert (small.end, small.process.stdout.split()) == ("bytes", [b"1"])


def test_long_values_are_cut(trace: Trace) -> None:
    program = "program main\ninteger :: a(1000)\ncharacter(len=9000) :: s\na = 1\ns = 'x'\nprint *, a(1)\nend program\n"
    traced = trace(program)
    cut = {name for event in traced.events for name in event.get("c", ())}
    assert cut == {"a", "s"}
