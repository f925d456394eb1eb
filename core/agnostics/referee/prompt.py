"""The prompt of an agent session: the commands, the rules, the scoring and the language's reference card (A.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agnostics.referee.problem import Problem
from agnostics.referee.protocol import HostLanguage, Protocol
from agnostics.types.language import Language
from agnostics.util.text import plural

CLIENT = "session"
"""The name of the client in the box."""
LIBRARY_FOLDER = "reference_lib"
"""The folder of the workspace that holds the reference library."""
_NO_HARD_CODING = "A program must compute its output from its input: do not print outputs that are written into it."
_HOSTS: dict[HostLanguage, str] = {"python": "Python", "javascript": "JavaScript", "rust": "Rust"}


def runs_rule(protocol: Protocol) -> str:
    """How often a program may be run."""
    return "any number of times" if protocol.runs is None else f"at most {plural(protocol.runs, 'time')}"


def submission_rule(protocol: Protocol) -> str:
    """What a submission returns."""
    if protocol.feedback == "count":
        return "A submission returns the number of hidden tests that passed, and nothing else about them."
    return "A submission returns PASS, WRONG ANSWER or RUNTIME ERROR for each hidden test, and nothing else."


def session_prompt(language: Language, protocol: Protocol, problems: Sequence[Problem]) -> str:
    """The prompt for a player with a shell that solves `problems` in `language` under `protocol`."""
    commands = "## Commands\n\n" + "\n".join(_commands(protocol, _suffix(language)))
    return "\n\n".join(_sections(language, protocol, problems, f"{CLIENT} fetch", commands)) + "\n"


def tool_prompt(language: Language, protocol: Protocol, problems: Sequence[Problem]) -> str:
    """As `session_prompt`, for a player without a shell, whose operations are tools."""
    tools = "## Tools\n\n" + "\n".join(_tools(protocol, _suffix(language)))
    return "\n\n".join(_sections(language, protocol, problems, "fetch", tools)) + "\n"


def program_prompt(language: Language, protocol: Protocol) -> str:
    """The prompt for a player without operations, whose every message is a program that is submitted."""
    rules = (
        f"Each problem is solved by a program in {language.name}, which reads its input from stdin and prints its "
        "output to stdout. It is graded on hidden tests, of which none is shown; there is no partial credit, and "
        f"{_submissions(protocol)}. {submission_rule(protocol)} {_NO_HARD_CODING}",
        "Answer with one code block that holds the whole program.",
    )
    advice = [f"## Advice\n\n{protocol.advice.strip()}"] if protocol.advice.strip() else []
    return "\n\n".join([*rules, *advice, language.prompt.strip()]) + "\n"


def _suffix(language: Language) -> str:
    return language.filename.rpartition(".")[2]


def _sections(
    language: Language, protocol: Protocol, problems: Sequence[Problem], fetch: str, operations: str
) -> Iterator[str]:
    suffix = _suffix(language)
    count = plural(len(problems), "problem")
    yield (
        f"Begin now: the session is open. `{fetch}` shows the first problem. Work through all {count} in their "
        "order: read the statement, write a program, run it on inputs that you make up, and submit it when you are "
        "confident."
    )
    yield (
        f"# {count} in {language.name}\n\n{_tiers(problems)}Every program is in {language.name}, reads its input from "
        "stdin and prints its output to stdout. Each problem has hidden tests; none is shown, so make your own from "
        "the statement."
    )
    yield operations
    yield "## Rules\n\n" + "\n".join(f"- {rule}" for rule in _rules(protocol, language, suffix))
    yield "## Moving on\n\n" + "\n".join(f"- {rule}" for rule in _skip_rules(protocol))
    yield (
        "## Scoring\n\nA problem is solved if one submission passes all of its hidden tests; there is no partial "
        f"credit. The score is the number of solved problems of {len(problems)}."
    )
    if protocol.advice.strip():
        yield f"## Advice\n\n{protocol.advice.strip()}"
    if protocol.library:
        yield (
            f"## Library\n\nRead `{LIBRARY_FOLDER}/README.md` first. The folder `{LIBRARY_FOLDER}` of the workspace "
            "has parts for generators, and notes; copy, change and extend them as you like. It has no solutions."
        )
    yield language.prompt.strip()


def _tiers(problems: Sequence[Problem]) -> str:
    tiers = Counter(problem.tier.replace("_", " ") for problem in problems if problem.tier)
    named = ", ".join(f"{number} {tier}" for tier, number in tiers.items())
    return f"By difficulty: {named}. " if named else ""


def _tools(protocol: Protocol, suffix: str) -> Iterator[str]:
    yield "You have no shell. You work by calling these tools:"
    yield ""
    yield "| tool | what it does |"
    yield "|---|---|"
    yield "| `fetch` | shows the open problem, or opens the next one |"
    yield f"| `write_file` | writes a program into a file of your workspace, such as `a.{suffix}` |"
    yield f"| `run` | runs a program file on an input, {_runs(protocol)} |"
    yield f"| `submit` | grades a program file on the hidden tests; {_submissions(protocol)} |"
    yield "| `status` | shows the progress |"
    if protocol.skip != "never":
        yield "| `skip` | leaves the open problem, where the rules below allow it |"
    yield "| `read_file` | shows a file of your workspace |"


def _runs(protocol: Protocol) -> str:
    return runs_rule(protocol) + ("" if protocol.runs is None else " for each problem")


def _submissions(protocol: Protocol) -> str:
    return f"{plural(protocol.submissions, 'submission')} a problem"


def _commands(protocol: Protocol, suffix: str) -> Iterator[str]:
    runs, submissions = _runs(protocol), _submissions(protocol)
    yield "| command | what it does |"
    yield "|---|---|"
    yield f"| `{CLIENT} fetch` | shows the open problem, or opens the next one |"
    yield f"| `{CLIENT} run FILE.{suffix} --input TEXT` | runs a program on an input, {runs}; or `--input-file FILE` |"
    yield f"| `{CLIENT} submit PROBLEM FILE.{suffix}` | grades a program on the hidden tests; {submissions} |"
    yield f"| `{CLIENT} status` | shows the progress |"
    if protocol.skip != "never":
        yield f"| `{CLIENT} skip` | leaves the open problem, where the rules below allow it |"
    yield f"| `{CLIENT} export` | shows the whole session as JSON |"


def _rules(protocol: Protocol, language: Language, suffix: str) -> Iterator[str]:
    yield "Problems have a fixed order. One is final when it is solved or has no submission left; it is not revisited."
    yield submission_rule(protocol)
    if protocol.runs is not None:
        yield f"There are {plural(protocol.runs, 'run')} for each problem; you may submit before they are used."
    yield _NO_HARD_CODING
    yield "Do not look for the hidden tests or for other sessions, and do not interfere with the referee."
    if protocol.host_language == "none":
        yield (
            f"Write {language.name} directly, in files that end in .{suffix}. Do not write, in any other language, a "
            "program that generates, changes or checks them: there is no other language in the box."
        )
    elif protocol.host_language in _HOSTS:
        host = _HOSTS[protocol.host_language]
        yield f"Write programs in {host} that generate the {language.name} files; no other language may generate them."


def _skip_rules(protocol: Protocol) -> Iterator[str]:
    if protocol.skip == "always":
        yield "You may skip a problem at any time. It is then final, and not solved."
        return
    many = protocol.submissions > 1
    yield (
        f"Work on each problem until it is solved or {'all submissions are' if many else 'its submission is'} used: a "
        "problem that has any left cannot be left."
    )
    yield "There is no time limit. Test each program before you submit it; every submission is a genuine attempt."
    if many:
        yield "If a submission fails, find the reason, try another approach, test it, and use the next one."
