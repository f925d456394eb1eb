"""Extraction of the text and the samples from HTML statements of contest sites."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from agnostics import Test

_INPUT = re.compile(r"sample\s*input|入力例|サンプル入力", re.IGNORECASE)
_OUTPUT = re.compile(r"sample\s*output|output\s+for\s+(?:the\s+)?sample|出力例|サンプル出力", re.IGNORECASE)
_HEADINGS = {f"h{level}" for level in range(1, 7)}
_BLOCKS = {"p", "div", "section", "ul", "ol", "table", "tr", "pre", "hr", *_HEADINGS}
_BREAK = re.compile(r"<br\s*/?>\n?", re.IGNORECASE)


class StatementParser(HTMLParser):
    """Parser of a statement. A sample is the preformatted text below a heading such as "Sample Input 1"."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self._text: list[str] = []
        self._cut: int | None = None
        self._samples: list[Test] = []
        self._heading: str | None = None
        self._pre: str | None = None
        self._kind = ""
        self._input: tuple[str, int] | None = None
        self._place = 0
        self.feed(_BREAK.sub("\n", html))
        self.close()

    @property
    def samples(self) -> tuple[Test, ...]:
        """The samples, in order."""
        return tuple(self._samples)

    @property
    def statement(self) -> str:
        """The text before the last sample, so that one of the tests is hidden."""
        return _tidy("".join(self._text[: self._cut]))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self._text.append("\n\n")
        if tag == "li":
            self._text.append("\n- ")
        if tag in _HEADINGS:
            self._heading, self._place = "", len(self._text)
        elif tag == "pre":
            self._pre = ""

    def handle_data(self, data: str) -> None:
        self._text.append(data)
        if self._heading is not None:
            self._heading += data
        elif self._pre is not None:
            self._pre += data

    def handle_endtag(self, tag: str) -> None:
        if tag in _HEADINGS and self._heading is not None:
            self._kind = "output" if _OUTPUT.search(self._heading) else "input" if _INPUT.search(self._heading) else ""
            self._heading = None
        elif tag == "pre" and self._pre is not None:
            self._sample_part(self._pre.removeprefix("\r\n").removeprefix("\n"))
            self._pre = None
        if tag in _BLOCKS:
            self._text.append("\n")

    def _sample_part(self, text: str) -> None:
        if self._kind == "input":
            self._input = text, self._place
        elif self._kind == "output" and self._input is not None:
            given, self._cut = self._input
            self._samples.append(Test(input=given, output=text))
            self._input = None
        self._kind = ""


def _tidy(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
