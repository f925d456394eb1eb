"""Clusters of failed programs whose messages differ only in names, numbers, paths and quotations."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agnostics.types.failed_program import FailedProgram, most_informative_line
from agnostics.types.verification import Verdict

_WITH_MESSAGE = (Verdict.COMPILE_ERROR, Verdict.RUNTIME_ERROR)
_MAX_CHARS = 200
_PLACEHOLDER = "…"
_WORD = re.compile(r"[^\W\d]\w*")
_FOLDER = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?")
_BEFORE_QUOTE = re.compile(r"(?<!\w)\d*+([^\W\d]\w*+) ['\"`\u2018]")  # begins once in a word, so it is linear
_CALL = re.compile(r"(?<=^Error in ).*?(?= : )")  # R names the call
_QUOTED = re.compile(r"(?<!\w)(?:'[^'\n]*'|\"[^\"\n]*\"|`[^`'\n]*[`']|\u2018[^\u2019\n]*\u2019)(?!\w)")


@dataclass(frozen=True, slots=True)
class FailureCluster:
    """Failed programs with the same mistake: the template of their messages, and one of them as an example.

    `message` is empty for verdicts that come without a message, such as a wrong answer.
    """

    verdict: Verdict
    message: str
    programs: int
    example: FailedProgram


def cluster_failures(failures: Sequence[FailedProgram]) -> list[FailureCluster]:
    """Clusters of `failures`, all in one language, by verdict and message template, the largest first.

    A word of a message that is also in the program is a name and left out, unless it is the compiler's own: it occurs
    in the message of a program without it, or right before a quotation, as in "global 'x'".
    """
    lines = [most_informative_line(failed.message) if failed.verdict in _WITH_MESSAGE else "" for failed in failures]
    names = [frozenset(_WORD.findall(failed.program)) for failed in failures]
    own = {word for line, known in zip(lines, names, strict=True) for word in _WORD.findall(line) if word not in known}
    own |= {word for line in lines for word in _BEFORE_QUOTE.findall(line)}
    groups = defaultdict[tuple[Verdict, str], list[FailedProgram]](list)
    for failed, line, known in zip(failures, lines, names, strict=True):
        groups[failed.verdict, message_template(line, known - own)].append(failed)
    clusters = [FailureCluster(verdict, message, len(group), group[0]) for (verdict, message), group in groups.items()]
    return sorted(clusters, key=lambda cluster: -cluster.programs)


def message_template(line: str, names: Collection[str]) -> str:
    """`line` without folders, calls, `names`, numbers and quotations of several words, in at most 200 characters."""
    line = _CALL.sub(_PLACEHOLDER, _FOLDER.sub("", line))
    line = _WORD.sub(lambda word: _PLACEHOLDER if word[0] in names else word[0], line)
    line = _NUMBER.sub(_PLACEHOLDER, line)
    quoted = _QUOTED.sub(lambda part: part[0] if len(part[0].split()) == 1 else f"'{_PLACEHOLDER}'", line)
    return quoted[:_MAX_CHARS]
