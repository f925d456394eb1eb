r"""String normalisation of an answer: one spelling for what LaTeX and Unicode spell in several ways.

It runs on hostile text in the trainer's own process, so every step takes time linear in the length of the text: one
pass of `str.translate` or of a regular expression that never looks twice at a character.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_UNICODE = str.maketrans(
    {
        **dict.fromkeys("−–—‐", "-"),
        **{"×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ", "±": r"\pm "},
        **{"≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "≈": r"\approx "},
        **{"∈": r"\in ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ", "∞": r"\infty "},
        **{"π": r"\pi ", "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "λ": r"\lambda "},
        **{"½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}"},
        **{
            "²": "^2",
            "³": "^3",
            "°": r"^\circ ",
            "％": "%",
            "€": " ",
            "£": " ",
            "¢": " cents ",
            "\u00a0": " ",
            "\u2009": r"\,",
            "\u202f": r"\,",
        },
    }
)
_ROOT = re.compile(r"√\s*(?:\(([^()]*)\)|(\d+|.))")
_BOLD = re.compile(r"\\(?:boldsymbol|bm|mathsf)(?![A-Za-z])")
_COMMANDS = {
    **dict.fromkeys(("left", "right", "displaystyle", "textstyle", "limits", "bigl", "bigr", "Bigl", "Bigr"), ""),
    **dict.fromkeys(("mathrm", "mathbf", "mathit", "operatorname", "rm", "bf", "(", ")", "[", "]", "$"), ""),
    **dict.fromkeys((",", ";", ":", " ", "quad", "qquad", "enspace"), " "),
    **dict.fromkeys(("dfrac", "tfrac", "cfrac"), r"\frac"),
    **{"leq": r"\le", "geq": r"\ge", "neq": r"\ne", "lbrace": r"\{", "rbrace": r"\}", "degree": r"^\circ"},
    **{"bigcup": r"\cup", "varnothing": r"\emptyset", "ldots": r"\dots", "cdots": r"\dots", "%": "%"},
}
"""What stands for a command; the others stay."""


def _command(match: re.Match[str]) -> str:
    return _COMMANDS.get(match[1], match[0])


Replacement = str | Callable[[re.Match[str]], str]
_STEPS: tuple[tuple[re.Pattern[str], Replacement], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\!\s*", ""),
        (r"(?<=\d)\\,(?=\d{3}(?!\d))", ""),
        (r"\\\\\s*\[-?[\d.]+ ?(?:pt|em|ex|mm|cm)\]", r"\\\\"),
        (r"\\(?:text|textbf|textit|textrm|mathrm|mbox)\s*\{([^{}]*)\}", r" \1 "),
        (r"\\(?:left|right)\.", ""),
        (r"\\([A-Za-z]+|.)", _command),
        (r"\$|~", " "),
        (r"\^\s*(?:\\circ(?![A-Za-z])|\{\s*\\circ\s*\})", ""),
        (r"\{,\}", ","),
        (r"\\frac\s*([0-9])\s*([0-9])", r"\\frac{\1}{\2}"),
        (r"\\frac\s*([0-9])\s*\{", r"\\frac{\1}{"),
        (r"\\frac\s*\{([^{}]*)\}\s*([0-9A-Za-z])", r"\\frac{\1}{\2}"),
        (r"\\sqrt\s*([0-9A-Za-z])", r"\\sqrt{\1}"),
        (r"[(\[]\s*\\begin\{array\}\s*\{[clr| ]*\}", r"\\begin{pmatrix}"),
        (r"\\end\{array\}\s*[)\]]", r"\\end{pmatrix}"),
        (r", (?=\d{3}(?!\d))", ",{}"),
        (r"([\^_])\{([0-9A-Za-z])\}", r"\1\2"),
        (r"\s+", " "),
        (r"(\\[A-Za-z]+) (?![A-Za-z])", r"\1"),
        (r" (?!\w)|(?<!\w) ", ""),
        (r"^\\(?:approx|sim)", ""),
        (r",\{\}", ", "),
    )
)
_WORDS = re.compile(r"[^\W\d_]{2,}(?: [^\W\d_]+)*+")


def to_latex(answer: str) -> str:
    """`answer` with LaTeX in place of symbols of Unicode."""
    return _BOLD.sub("", _ROOT.sub(r"\\sqrt{\1\2}", answer.translate(_UNICODE)))


def normalise(answer: str) -> str:
    """`answer` in its normal spelling. Equal spellings are equal answers; different ones may be.

    Spaces stay between letters and digits (`1 2` is not `12`); words lose their case.
    """
    text = to_latex(answer)
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    text = text.rstrip(" .,;:")
    return text.casefold() if _WORDS.fullmatch(text) else text
