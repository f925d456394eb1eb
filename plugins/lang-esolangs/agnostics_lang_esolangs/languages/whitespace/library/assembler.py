"""An assembler for Whitespace: instructions and labels by name."""

from __future__ import annotations

OPERATIONS = {
    **{"dup": "SLS", "swap": "SLT", "pop": "SLL", "add": "TSSS", "sub": "TSST", "mul": "TSSL", "div": "TSTS"},
    **{"mod": "TSTT", "store": "TTS", "retrieve": "TTT", "out_char": "TLSS", "out_num": "TLST", "read_char": "TLTS"},
    **{"read_num": "TLTT", "return": "LTL", "end": "LLL"},
}
BRANCHES = {"label": "LSS", "call": "LST", "jump": "LSL", "jump_if_zero": "LTS", "jump_if_negative": "LTT"}
CHARACTERS = str.maketrans("STL", " \t\n")


class Assembler:
    """A program in the order of its instructions."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.labels: dict[str, int] = {}

    def __str__(self) -> str:
        return "".join(self.parts).translate(CHARACTERS)

    def op(self, *names: str) -> None:
        """Instructions without an argument."""
        self.parts += [OPERATIONS[name] for name in names]

    def push(self, value: int) -> None:
        """Push a constant."""
        sign = "T" if value < 0 else "S"
        self.parts.append(f"SS{sign}{_bits(abs(value))}L")

    def branch(self, kind: str, label: str) -> None:
        """A label, or a branch to one: `label`, `call`, `jump`, `jump_if_zero` or `jump_if_negative`."""
        code = self.labels.setdefault(label, len(self.labels))
        self.parts.append(f"{BRANCHES[kind]}S{_bits(code)}L")

    def load(self, address: int) -> None:
        """Push the cell of the heap at a constant address."""
        self.push(address)
        self.op("retrieve")

    def keep(self, address: int) -> None:
        """Pop into the cell of the heap at a constant address."""
        self.push(address)
        self.op("swap", "store")

    def read(self, address: int, kind: str = "read_char") -> None:
        """Read a character, or with `read_num` a number, into the heap at a constant address."""
        self.push(address)
        self.op(kind)

    def text(self, text: str) -> None:
        """Print a constant text."""
        for one in text:
            self.push(ord(one))
            self.op("out_char")


def _bits(value: int) -> str:
    return f"{value:b}".replace("0", "S").replace("1", "T")
