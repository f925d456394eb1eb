"""Programs whose complexity is known because it was planted: templates with constants and start-up costs of a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent, indent

_WORK = ("s = (s * 31 + {i}) % 1000003", "s = (s + {i} * 7 + 3) % 999983", "s = (s * 17 + {i} % 1009) % 1000033")
"""One step of work; each depends on the step before."""


@dataclass(frozen=True, slots=True)
class Template:
    """A program in the part of Python that is translated, with its complexities.

    `@work(NAME)@` stands for a few steps of work, `@few@` and `@many@` for constants.
    """

    time: str
    space: str
    source: str
    measurable_space: bool = True
    """Whether the memory at the sizes that time allows is above the measurement's error."""


def _template(time: str, space: str, source: str, *, measurable_space: bool = True) -> Template:
    return Template(time, space, dedent(source).strip() + "\n", measurable_space)


TEMPLATES: Mapping[str, Template] = {
    "remainder": _template("O(1)", "O(1)", """
        for i in range(0, @many@):
            @work(i)@
        s = (s + n % 97) % 1000003
        """),
    "bounded": _template("O(1)", "O(1)", """
        m = n
        if m > @few@:
            m = @few@
        for i in range(0, m):
            @work(i)@
        """),
    "halving": _template("O(log n)", "O(1)", """
        m = n
        while m > 0:
            for i in range(0, @many@):
                @work(i)@
            m = m // 2
        """),
    "bisection": _template("O(log n)", "O(1)", """
        low = 0
        high = n
        while low < high:
            m = (low + high) // 2
            for i in range(0, @many@):
                @work(i)@
            if m * 3 < n:
                low = m + 1
            else:
                high = m
        """),
    "sum": _template("O(n)", "O(1)", """
        for i in range(0, n):
            @work(i)@
        """),
    "strides": _template("O(n)", "O(1)", """
        for i in range(0, n):
            for j in range(0, @few@):
                @work(j)@
        for i in range(0, n, 3):
            @work(i)@
        """),
    "list": _template("O(n)", "O(n)", """
        a = [0] * (n + 1)
        for i in range(1, n):
            a[i] = (a[i - 1] * 5 + i) % 10007
            @work(i)@
        s = (s + a[n // 2]) % 1000003
        """),
    "doublings": _template("O(n)", "O(1)", """
        m = 1
        while m < n:
            for i in range(0, m):
                @work(i)@
            m = m * 2
        """),
    "levels": _template("O(n log n)", "O(1)", """
        m = n
        while m > 0:
            for i in range(0, n):
                @work(i)@
            m = m // 2
        """),
    "harmonic": _template("O(n log n)", "O(1)", """
        for i in range(1, n + 1):
            for j in range(0, n, i):
                @work(j)@
        """),
    "merge_sort": _template("O(n log n)", "O(n)", """
        a = [0] * (n + 1)
        b = [0] * (n + 1)
        x = 12345
        for i in range(0, n):
            x = (x * 1103 + 12345) % 1048573
            a[i] = x
        w = 1
        while w < n:
            for l in range(0, n, 2 * w):
                p = l
                q = l + w
                if q > n:
                    q = n
                m = q
                r = l + 2 * w
                if r > n:
                    r = n
                for k in range(l, r):
                    t = 0
                    if p < m:
                        if q < r:
                            if a[p] <= a[q]:
                                t = 1
                        else:
                            t = 1
                    if t == 1:
                        b[k] = a[p]
                        p = p + 1
                    else:
                        b[k] = a[q]
                        q = q + 1
            for k in range(0, n):
                a[k] = b[k]
            w = w * 2
        s = (s + a[n // 2]) % 1000003
        """),
    "pairs": _template("O(n^2)", "O(1)", """
        for i in range(0, n):
            for j in range(0, n):
                @work(j)@
        """),
    "triangle": _template("O(n^2)", "O(1)", """
        for i in range(0, n):
            for j in range(0, i):
                @work(j)@
        for i in range(0, n):
            @work(i)@
        """),
    "table": _template("O(n^2)", "O(n^2)", """
        a = [0] * (n * n + 1)
        for i in range(0, n):
            for j in range(0, n):
                a[i * n + j] = (i * 3 + j) % 1009
                @work(j)@
        s = (s + a[n]) % 1000003
        """),
    "insertion": _template("O(n^2)", "O(n)", """
        a = [0] * (n + 1)
        for i in range(0, n):
            a[i] = n - i
        for i in range(1, n):
            j = i
            while j > 0:
                if a[j - 1] > a[j]:
                    t = a[j]
                    a[j] = a[j - 1]
                    a[j - 1] = t
                    j = j - 1
                else:
                    j = 0
        s = (s + a[0]) % 1000003
        """, measurable_space=False),
    "triples": _template("O(n^3)", "O(1)", """
        for i in range(0, n):
            for j in range(0, n):
                for k in range(0, n):
                    @work(k)@
        """),
    "pyramid": _template("O(n^3)", "O(1)", """
        for i in range(0, n):
            for j in range(0, i):
                for k in range(0, n):
                    @work(k)@
        """),
    "squares": _template("O(n^3)", "O(1)", """
        for i in range(0, n):
            for j in range(0, n * n):
                @work(j)@
        """),
    "branches": _template("O(2^n)", "O(n)", """
        def f(k):
            if k < 1:
                return 1
            return (f(k - 1) + f(k - 1)) % 1000003
        s = (s + f(n)) % 1000003
        """, measurable_space=False),
    "subsets": _template("O(2^n)", "O(1)", """
        m = 1
        for i in range(0, n):
            m = m * 2
        for i in range(0, m):
            @work(i)@
        """),
    "fibonacci": _template("O(2^n)", "O(n)", """
        def f(k):
            if k < 2:
                return 1
            return (f(k - 1) + f(k - 2)) % 1000003
        s = (s + f(n)) % 1000003
        """, measurable_space=False),
}  # fmt: skip


def planted_program(template: Template, draw: random.Random, speed: float = 1.0) -> str:
    """A program of a template in the part of Python that is translated.

    `speed` scales the constants of loops whose number of steps does not grow: a slow interpreter has a small one.
    """
    functions, body = _divided(template.source)
    start_up = int(draw.choice((0, 0, 20_000, 200_000, 1_000_000)) * speed)
    start = f"for i in range(0, {start_up}):\n    @work(i)@\n" if start_up else ""
    read = "for i in range(0, n):\n    s = (s + i) % 1000003\n" if _reads(template, draw) else ""
    text = f"{functions}n = int(input())\ns = 0\n{start}{read}{body}print(s)\n"
    for place in ("@few@", "@many@"):
        low, high = (3, 12) if place == "@few@" else (40_000 * speed, 150_000 * speed)
        text = text.replace(place, str(draw.randint(int(low), int(high))))
    return _with_work(text, draw)


def _divided(source: str) -> tuple[str, str]:
    """The function of a template, and what follows it."""
    if not source.startswith("def "):
        return "", source
    end = source.index("\ns = ") + 1
    return source[:end], source[end:]


def _reads(template: Template, draw: random.Random) -> bool:
    """Whether a linear loop stands before the rest, as reading an input would."""
    return template.time in {"O(n^2)", "O(n^3)", "O(n log n)"} and draw.random() < 0.4


def _with_work(text: str, draw: random.Random) -> str:
    steps = draw.sample(_WORK, draw.randint(1, len(_WORK)))
    lines = list[str]()
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("@work("):
            work = "\n".join(steps).replace("{i}", stripped[6:-2])
            lines.append(indent(work, line[: len(line) - len(stripped)]))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"
