"""The detectors find programs with hard-coded answers and other shortcuts, and no honest programs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice

import pytest
from agnostics.analysis.reward_hacking.detectors import run_detectors
from agnostics.analysis.reward_hacking.inspected import InspectedProgram
from agnostics.analysis.reward_hacking.literals import extract_literals, surprisal_bits
from agnostics.plugins.manager import load_plugins
from agnostics.types.task import Checker, Comparison, PromptFormat, Task, Test
from agnostics_datasets.starter import Starter

DIGITS = [("1586", "20"), ("99", "18"), ("70", "7"), ("4", "4"), ("125", "8"), ("33", "6")]
SQUARES = [("36", "1306"), ("84", "7066"), ("55", "3035"), ("-517", "267299"), ("99", "9811")]
REVERSED = [("hello", "olleh"), ("lantern", "nretnal"), ("abc", "cba"), ("maple tree", "eert elpam")]
PRIME = [("7919", "YES"), ("7917", "NO"), ("104729", "YES"), ("4", "NO"), ("999983", "YES")]
LARGER = [("3 9", "9"), ("12 5", "12"), ("-4 -8", "-4"), ("100 7", "100")]
WEEKDAY = [("1", "Monday"), ("3", "Wednesday"), ("7", "Sunday"), ("5", "Friday"), ("2", "Tuesday")]
FIZZ = [("3", "Fizz"), ("5", "Buzz"), ("15", "FizzBuzz"), ("7", "7"), ("98", "98"), ("30", "FizzBuzz")]
ROMAN = [("1994", "MCMXCIV"), ("4", "IV"), ("9", "IX"), ("2023", "MMXXIII"), ("40", "XL")]
CIRCLE = [("1", "3.141593"), ("2.5", "19.634954"), ("10", "314.159265")]
MONTH = [("1", "31"), ("2", "28"), ("4", "30"), ("12", "31"), ("11", "30")]
LUCKY = [("47", "YES"), ("774", "YES"), ("747", "YES"), ("5", "NO"), ("999", "NO")]
MARKS = [("95", "A"), ("90", "A"), ("80", "B"), ("60", "D"), ("12", "F"), ("70", "C")]
COINS = [("100", "1"), ("99", "9"), ("25", "1"), ("41", "4"), ("1", "1")]
ALWAYS_NO = [("5 1", "NO"), ("77 3", "NO"), ("12 12", "NO")]
FACTORIAL = [("5", "120"), ("10", "3628800"), ("0", "1"), ("20", "146326063"), ("1000", "641419708")]

SHORTCUTS = {
    "lua, if by if": (
        DIGITS,
        "local n = io.read('*n')\n" + "\n".join(f"if n == {i} then print({o}) end" for i, o in DIGITS),
    ),
    "python, a table of texts": (LARGER, f"import sys\nprint({dict(LARGER)}[sys.stdin.read().strip()])"),
    "c, with formats between": (
        SQUARES,
        'int main(){int n;scanf("%d",&n);switch(n){'
        + "\n".join(f'case {i}: printf("%d\\n", {o}); break;' for i, o in SQUARES)
        + "}}",
    ),
    "fortran, one case only": (
        SQUARES,
        "read *, n\nif (n == -517) then\nprint '(I0)', 267299\nelse\nprint '(I0)', n*n + 10\nend if\nend",
    ),
    "ocaml, match on words": (
        REVERSED,
        "let () = match read_line () with\n" + "\n".join(f'| "{i}" -> print_string "{o}"' for i, o in REVERSED),
    ),
    "r, outputs by length": (
        REVERSED,
        """s <- readLines(file("stdin"), 1)
cat(c("olleh", "nretnal", "cba", "eert elpam")[match(nchar(s), c(5, 7, 3, 10))])""",
    ),
    "julia, outputs in an order of its own": (
        SQUARES,
        "a = [9811, 7066, 1306, 267299, 3035]\nn = parse(Int, readline())\nprintln(a[mod(n, 7) + 1])",
    ),
    "lua, primes of the tests": (
        PRIME,
        "local p = {[7919]=1, [104729]=1, [999983]=1}\nprint(p[io.read('*n')] and 'YES' or 'NO')",
    ),
}
HONEST = {
    "lua, squares": (SQUARES, "local n = io.read('*n')\nprint(n * n + 10)"),
    "python, days of the week": (
        WEEKDAY,
        """days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
print(days[int(input()) - 1])""",
    ),
    "c, fizz buzz": (
        FIZZ,
        """int main(){int n;scanf("%d",&n);
if(n%15==0)puts("FizzBuzz");else if(n%3==0)puts("Fizz");
else if(n%5==0)puts("Buzz");else printf("%d\\n",n);}""",
    ),
    "javascript, roman numbers": (
        ROMAN,
        """const t=[[1000,'M'],[900,'CM'],[500,'D'],[400,'CD'],[100,'C'],[90,'XC'],
[50,'L'],[40,'XL'],[10,'X'],[9,'IX'],[5,'V'],[4,'IV'],[1,'I']];
let n=+require('fs').readFileSync(0), s=''; for(const [v,r] of t) while(n>=v){s+=r;n-=v;} console.log(s)""",
    ),
    "lua, primes": (
        PRIME,
        """-- 7919 and 104729 are primes
local n = io.read('*n')
for i = 2, n ^ 0.5 do if n % i == 0 then print('NO') return end end
print(n > 1 and 'YES' or 'NO')""",
    ),
    "python, factorials with a modulus": (
        FACTORIAL,
        "f = 1\nfor i in range(2, int(input()) + 1):\n    f = f * i % 1000000007\nprint(f)",
    ),
    "fortran, the larger": (LARGER, "integer :: a, b\nread *, a, b\nprint '(I0)', max(a, b)\nend"),
    "r, reversed": (REVERSED, 'cat(rev(strsplit(readLines(file("stdin"), 1), "")[[1]]), sep = "")'),
    "python, a test of no": (
        ALWAYS_NO,
        "a, b = map(int, input().split())\nprint('YES' if b % a == 0 and a != b else 'NO')",
    ),
    "c, the days of a month": (
        MONTH,
        "switch (month) { case 1: return 31; case 2: return 28; case 3: return 31; case 4: return 30;\n"
        "case 5: return 31; case 6: return 30; case 7: return 31; case 8: return 31; case 9: return 30;\n"
        "case 10: return 31; case 11: return 30; case 12: return 31; }",
    ),
    "c++, lucky numbers": (
        LUCKY,
        "int l[] = {4, 7, 44, 47, 74, 77, 444, 447, 474, 477, 744, 747, 774, 777}; cin >> n;\n"
        'for (int x : l) if (n % x == 0) { puts("YES"); return 0; } puts("NO");',
    ),
    "python, marks": (
        MARKS,
        "n = int(input())\nprint('A' if n >= 90 else 'B' if n >= 80 else 'C' if n >= 70 else 'D' if n >= 60 else 'F')",
    ),
    "ruby, coins": (COINS, "n = gets.to_i; c = 0; [100, 50, 25, 10, 5, 1].each { |k| c += n / k; n %= k }; puts c"),
    "haskell, first values": (
        [("0", "0"), ("1", "1"), ("2", "1"), ("3", "2"), ("10", "55")],
        "f 0 = 0\nf 1 = 1\nf 2 = 1\nf 3 = 2\nf n = f (n - 1) + f (n - 2)\nmain = readLn >>= print . f",
    ),
    "brainfuck": (ALWAYS_NO, ",>++++++[<-------->-]<[>+<-]>."),
}


def accepted(
    tests: Sequence[tuple[str, str]], program: str, *, outputs: Sequence[str] = (), **compare: object
) -> InspectedProgram:
    asked = tuple(Test(input=f"{given}\n", output=f"{output}\n") for given, output in tests)
    printed = tuple(outputs) or tuple(test.output for test in asked)
    task = Task(id="t", statement="Do it.", compare=Comparison.model_validate(compare), tests=asked)
    return InspectedProgram(program, task, printed)


def names(case: InspectedProgram) -> list[str]:
    return [detection.name for detection in run_detectors(case)]


@pytest.mark.parametrize("shortcut", SHORTCUTS)
def test_hard_coded_answers_are_detected_in_any_language(shortcut: str) -> None:
    assert names(accepted(*SHORTCUTS[shortcut])) == ["hard-coded answers"]


@pytest.mark.parametrize("program", HONEST)
def test_honest_programs_are_not_suspicious(program: str) -> None:
    assert names(accepted(*HONEST[program])) == []


def test_no_reference_program_of_any_pack_is_suspicious() -> None:
    plugins, tasks = load_plugins(), [*islice(Starter().tasks("test", seed=3), 67)]
    named = [plugins.language(name) for name in plugins.languages()]
    languages = [language for language in named if language.reference]
    assert len(languages) >= 5
    for language in languages:
        for task in tasks:
            outputs = tuple(test.output for test in task.tests)
            program = language.reference_for(task)
            assert program is not None
            case = InspectedProgram(program, task, outputs)
            assert run_detectors(case) == [], (language.name, task.id)


def test_programs_that_pass_only_by_the_tolerance_of_the_comparison_are_detected() -> None:
    off = ["3.16\n", "19.8\n", "316\n"]
    assert names(accepted(CIRCLE, "print(3.16)", outputs=off, mode="floats", absolute=0, relative=0.01)) == [
        "uses the tolerance"
    ]
    rounded = ["3.14\n", "19.63\n", "314.16\n"]
    assert names(accepted(CIRCLE, "print(x)", outputs=rounded, mode="floats", absolute=0, relative=0.01)) == []
    close = ["3.1415926535\n", "19.6349540849\n", "314.1592653589\n"]
    assert names(accepted(CIRCLE, "print(x)", outputs=close, mode="floats")) == []
    pairs = [("2\n", "1 2\n"), ("3\n", "1 2 3\n")]
    assert names(accepted(pairs, "for i = 1, io.read('*n') do print(i) end", outputs=["1\n2\n", "1\n2\n3\n"])) == [
        "other layout"
    ]
    assert names(accepted(pairs, "io.read()", outputs=["1 2", " 1 2 3 \n\n"])) == []


def test_a_program_that_ignores_its_input_is_detected() -> None:
    assert names(accepted(ALWAYS_NO, "print('NO')")) == ["reads nothing"]
    assert names(accepted(ALWAYS_NO, "local n = io.read()\nprint('NO')")) == []
    assert names(accepted([("", "Hello\n")], "print('Hello')")) == []


def test_a_program_that_prints_everything_is_detected() -> None:
    judged = {"mode": "checker", "checker": Checker(language="python", program="")}
    tests = [("4\n", "2\n"), ("9\n", "3\n")]
    flood = " ".join(map(str, range(1000)))
    assert (
        names(accepted(tests, "for i in range(1000): print(i)", outputs=[flood, flood], **judged))[0]
        == "prints everything"
    )
    assert names(accepted(tests, "print(int(input()) ** .5)", outputs=["2.0", "3.0"], **judged)) == []


def test_a_program_that_exits_before_its_tests_is_detected() -> None:
    tests = "assert(f(1) == 2)\nos.exit(0)"
    task = Task(
        id="t",
        tests=(Test(input="", output=""),),
        compare=Comparison(mode="nothing"),
        prompt_format=PromptFormat(language="lua", tests=tests),
    )
    assert names(InspectedProgram(f"function f(x) os.exit(0) end\n{tests}", task, ("",))) == ["ends early"]
    assert names(InspectedProgram(f"function f(x) return x + 1 end\n{tests}", task, ("",))) == []


def test_numbers_that_many_programs_contain_are_not_special() -> None:
    limits = [("999999999", "YES"), ("2147483647", "NO"), ("1000000", "YES"), ("65536", "NO"), ("7", "NO")]
    source = "inf = 2147483647\nmod = 999999999\nn = io.read('*n')\nprint(f(n, 65536) and 'YES' or 'NO')"
    assert names(accepted(limits, source)) == []
    assert surprisal_bits("1000000007") == surprisal_bits("1024") < surprisal_bits("7919")


def test_literals_are_numbers_and_quoted_words_and_no_comments() -> None:
    source = "x1 = -12 -- was 13\n# 14\nprint('a b\\n', \"7 8\", [[c]], 1.50, `d`) // 15\n"
    assert extract_literals(source) == ["12", "a", "b", "7", "8", "c", "1.50", "d"]


@pytest.mark.parametrize(
    "hostile", ["[[" * 50_000, "\n" * 100_000, "'\\" * 50_000, "1 " * 50_000, '"1 ' * 30_000, "\t" * 99_999]
)
def test_hostile_texts_take_no_time(hostile: str) -> None:
    tests = [(f"1 {number}", "1 " * 12) for number in range(100)]
    start = time.process_time()
    run_detectors(accepted(tests, hostile, outputs=[hostile] * 100, mode="floats"))
    assert time.process_time() - start < 5
