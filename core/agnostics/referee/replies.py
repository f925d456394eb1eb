"""The replies of the referee: as a text for a terminal, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agnostics.referee.export import result_of_test
from agnostics.referee.problem import Problem
from agnostics.referee.state import Reason, SessionState, Submission
from agnostics.sandbox.job_codec import KEEP_BYTES
from agnostics.types.verification import TestResult, Verdict, Verification
from agnostics.util.text import plural

Status = Literal["ok", "refused", "error"]
EXIT_STATUS: Mapping[Status, int] = {"ok": 0, "refused": 1, "error": 2}
"""The exit status of the client in the box."""
_MAX_NAME = 100
_REFUSALS: Mapping[Reason, str] = {
    "finished": "the session has ended",
    "all_done": "every problem is final: the session is complete",
    "no_problem": "no problem is open: fetch the next one first",
    "unknown_problem": "there is no such problem",
    "final": "that problem is final, and is not revisited",
    "not_fetched": "that problem is not the open one: problems are solved in their order",
    "no_runs": "no runs are left for this problem: submit a program",
    "skip_policy": "it may not be skipped: the problem is open until it is solved or has no submission left",
    "too_large": "the program or its input is too large",
}
_STOPPED = {
    Verdict.TIME_LIMIT: "was stopped at its time limit",
    Verdict.MEMORY_LIMIT: "was stopped at its memory limit",
    Verdict.OUTPUT_LIMIT: "was stopped at its output limit",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to an operation: `text` for a terminal, hostile characters escaped, and the same as `data` for JSON.

    `refused`: the rules do not allow it, and nothing was spent. `error`: it could not be carried out.
    """

    status: Status
    text: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the operation was carried out."""
        return self.status == "ok"


def escaped(text: str) -> str:
    """`text` with every character that is not printable as an escape, but for line feeds and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def refusal_text(reason: Reason, subject: str = "") -> str:
    """A refusal on one line; `subject` is what the player named."""
    named = f"{escaped(' '.join(subject[:_MAX_NAME].split()))}: " if subject else ""
    return f"refused: {named}{_REFUSALS[reason]}"


def problem_reply(state: SessionState, problem: Problem) -> Reply:
    """The open problem."""
    position, tests = state.position, len(problem.task.tests)
    submissions, runs = state.submissions_left(position), state.runs_left(position)
    tier = f" ({problem.tier})" if problem.tier else ""
    data = {
        "problem": problem.id,
        "tier": problem.tier,
        "number": position + 1,
        "problems": len(state.ids),
        "statement": problem.task.statement,
        "tests": tests,
        "submissions_left": submissions,
        "runs_left": runs,
    }
    title = escaped(f"Problem {problem.id}{tier}, {position + 1} of {len(state.ids)}")
    left = f"{plural(tests, 'hidden test')}; left: {plural(submissions, 'submission')}, {_runs(runs)}."
    return Reply("ok", f"{title}\n\n{escaped(problem.task.statement.strip())}\n\n{left}", data)


def run_reply(state: SessionState, verification: Verification) -> Reply:
    """What a program did with an input of the player's; outputs are cut to KEEP_BYTES each."""
    result = verification.tests[0] if verification.tests else TestResult(Verdict.SKIPPED)
    compiled = verification.compile
    message = compiled.message if compiled and not compiled.ok else ""
    data = {
        "verdict": verification.verdict.value,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "stdout": result.stdout,
        "stderr": result.stderr or message,
        "truncated": result.truncated or bool(compiled and compiled.truncated),
        "runs_left": state.runs_left(state.position),
    }
    return Reply("ok", "\n".join(_run_lines(verification.verdict, data)), data)


def _run_lines(verdict: Verdict, data: Mapping[str, Any]) -> Iterator[str]:
    yield _outcome(verdict, data)
    for name in ("stdout", "stderr"):
        if data[name] or name == "stdout":
            yield f"--- {name} ---"
            yield escaped(data[name]).removesuffix("\n")
    if data["truncated"]:
        yield f"--- an output is cut to its first {KEEP_BYTES} bytes ---"
    if data["runs_left"] is not None:
        yield f"--- left: {_runs(data['runs_left'])} ---"


def _outcome(verdict: Verdict, data: Mapping[str, Any]) -> str:
    if verdict is Verdict.NO_PROGRAM:
        return "There is no program in the file."
    if verdict is Verdict.COMPILE_ERROR:
        return "The program does not compile."
    if verdict in _STOPPED:
        return f"The program {_STOPPED[verdict]}."
    if data["signal"]:
        return f"The program was ended by signal {data['signal']}."
    return f"The program ended with exit status {data['exit_code']}."


def submission_reply(state: SessionState, problem_id: str, submission: Submission) -> Reply:
    """The result of a submission: a number of tests or the verdict of each, as the protocol says."""
    left, final = state.submissions_left(state.position), state.is_final(state.position)
    data: dict[str, Any] = {
        "problem": problem_id,
        "passed": submission.passed,
        "total": submission.total,
        "solved": submission.solved,
        "final": final,
        "submissions_left": left,
    }
    lines = [escaped(f"{problem_id}: {submission.passed} of {plural(submission.total, 'hidden test')} passed.")]
    if state.protocol.feedback == "verdicts":
        data["verdicts"] = [result_of_test(verdict) for verdict in submission.verdicts]
        lines += [f"test {number}: {verdict}" for number, verdict in enumerate(data["verdicts"], 1)]
    if submission.solved:
        lines.append("Solved.")
    elif final:
        lines.append("Not solved, and final: it was the last submission.")
    else:
        lines.append(f"Not solved; {plural(left, 'submission')} left.")
    if final:
        lines.append("Every problem is final." if state.all_done else "Fetch the next problem.")
    return Reply("ok", "\n".join(lines), data)


def status_reply(state: SessionState) -> Reply:
    """The progress of a session."""
    problems = list(_progress(state))
    final = sum(problem["final"] for problem in problems)
    current = state.ids[state.position] if state.current else None
    data = {
        "solved": state.solved,
        "final": final,
        "total": len(state.ids),
        "current": current,
        "finished": state.finished,
        "problems": problems,
    }
    lines = [f"{state.solved} of {plural(len(state.ids), 'problem')} solved, {final} final."]
    if current is not None:
        left, runs = state.submissions_left(state.position), state.runs_left(state.position)
        lines.append(escaped(f"{current} is open; left: {plural(left, 'submission')}, {_runs(runs)}."))
    lines += [escaped(_progress_line(problem)) for problem in problems]
    return Reply("ok", "\n".join(lines), data)


def _progress(state: SessionState) -> Iterator[dict[str, Any]]:
    """The problems that were fetched."""
    for position, (name, problem) in enumerate(zip(state.ids, state.problems, strict=True)):
        if problem.fetched:
            yield {
                "problem": name,
                "solved": problem.solved,
                "skipped": problem.skipped,
                "final": state.is_final(position),
                "runs": problem.runs,
                "submissions": [[submission.passed, submission.total] for submission in problem.submissions],
            }


def _progress_line(problem: Mapping[str, Any]) -> str:
    if problem["solved"]:
        outcome = "solved"
    elif problem["skipped"]:
        outcome = "skipped"
    else:
        outcome = "not solved" if problem["final"] else "open"
    passed = ", ".join(f"{passed}/{total}" for passed, total in problem["submissions"])
    return f"{problem['problem']}: {outcome}" + (f" ({passed})" if passed else "")


def _runs(left: int | None) -> str:
    return "any number of runs" if left is None else plural(left, "run")
