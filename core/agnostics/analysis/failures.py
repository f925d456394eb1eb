"""What compilers and runs say, in clusters: messages that differ only in names, numbers, places and quotations."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agnostics.types.failed_program import FailedProgram, error_line
from agnostics.types.verification import Verdict

_SPEAKING = (Verdict.COMPILE_ERROR, Verdict.RUNTIME_ERROR)
_LONGEST = 200
_ANY = "…"
_WORD = re.compile(r"[^\W\d]\w*")
_FOLDER = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?")
_KIND = re.compile(r"([^\W\d]\w*) ['\"`\u2018]")
_CALL = re.compile(r"(?<=^Error in ).*?(?= : )")  # R names it
_QUOTED = re.compile(r"(?<!\w)(?:'[^'\n]*'|\"[^\"\n]*\"|`[^`'\n]*[`']|\u2018[^\u2019\n]*\u2019)(?!\w)")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Programs with one fault: what their messages have in common, and one of them with what was said of it.

    `message` is empty where the verdict says it all, as of a wrong answer.
    """

    verdict: Verdict
    message: str
    programs: int
    example: FailedProgram


def clusters(faults: Sequence[FailedProgram]) -> list[Cluster]:
    """`faults`, all in one language, by verdict and message, the commonest first.

    A word of a message that stands in the program too is a name, and left out, unless it is the compiler's own: said of
    another program that does not have it, or right before a quotation, as in "global 'x'".
    """
    said = [error_line(fault.message) if fault.verdict in _SPEAKING else "" for fault in faults]
    names = [frozenset(_WORD.findall(fault.program)) for fault in faults]
    own = {word for line, held in zip(said, names, strict=True) for word in _WORD.findall(line) if word not in held}
    own |= {kind for line in said for kind in _KIND.findall(line)}
    groups = defaultdict[tuple[Verdict, str], list[FailedProgram]](list)
    for fault, line, held in zip(faults, said, names, strict=True):
        groups[fault.verdict, shape(line, held - own)].append(fault)
    found = [Cluster(verdict, message, len(alike), alike[0]) for (verdict, message), alike in groups.items()]
    return sorted(found, key=lambda cluster: -cluster.programs)


def shape(line: str, names: Collection[str]) -> str:
    """`line` without folders, calls, `names`, numbers and quotations of more than a word."""
    line = _WORD.sub(lambda word: _ANY if word[0] in names else word[0], _CALL.sub(_ANY, _FOLDER.sub("", line)))
    line = _NUMBER.sub(_ANY, line)
    return _QUOTED.sub(lambda part: part[0] if len(part[0].split()) == 1 else f"'{_ANY}'", line)[:_LONGEST]
