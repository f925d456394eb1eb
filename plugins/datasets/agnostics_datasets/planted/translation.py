"""Translation of small programs from a part of Python into other languages.

The part: `n = int(input())` first, assignments, `for NAME in range(a, b)` or `range(a, b, step)`, `while`, `if`, lists
of integers made by `[0] * SIZE`, functions of one integer, whole numbers that are not negative where `//` and `%` are,
and one `print` of a number. A name is a list or an integer, and the name of a loop is assigned nowhere else.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


class _Writer(ABC):
    """Writes a program; a subclass has the forms of a language, in which `{...}` are expressions."""

    end = "end"
    comparisons: ClassVar[dict[str, str]] = {}
    quotient: ClassVar[str]
    remainder: ClassVar[str]
    item: ClassVar[str]

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self.functions = [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        self.body = [node for node in self.tree.body if not isinstance(node, ast.FunctionDef)]
        targets = [node.targets[0] for node in ast.walk(ast.Module(self.body, [])) if isinstance(node, ast.Assign)]
        lists = {node.targets[0].id for node in ast.walk(self.tree) if _is_list(node)}  # type: ignore[attr-defined]
        names = dict.fromkeys(target.id for target in targets if isinstance(target, ast.Name))
        self.lists = [name for name in names if name in lists]
        self.integers = [name for name in names if name not in lists]
        loops = (node for node in ast.walk(ast.Module(self.body, [])) if isinstance(node, ast.For))
        self.counters = list(dict.fromkeys(_name(loop.target) for loop in loops))

    def expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant():
                return self.constant(int(node.value))  # type: ignore[arg-type]
            case ast.Name():
                return self.name(node.id)
            case ast.BinOp():
                left, right = self.expression(node.left), self.expression(node.right)
                if isinstance(node.op, ast.FloorDiv):
                    return self.quotient.format(left, right)
                if isinstance(node.op, ast.Mod):
                    return self.remainder.format(left, right)
                return f"({left} {_OPERATORS[type(node.op)]} {right})"
            case ast.Compare():
                operator = _COMPARISONS[type(node.ops[0])]
                operator = self.comparisons.get(operator, operator)
                return f"{self.expression(node.left)} {operator} {self.expression(node.comparators[0])}"
            case ast.Subscript():
                return self.item.format(self.name(_name(node.value)), self.expression(node.slice))
            case ast.Call():
                return f"{_name(node.func)}({self.expression(node.args[0])})"
        raise ValueError(f"not in the part of Python that is translated: {ast.unparse(node)}")

    def constant(self, value: int) -> str:
        return str(value)

    def name(self, name: str) -> str:
        return name

    def range_of(self, loop: ast.For) -> tuple[str, str, str | None]:
        """The first and the last number of a loop, and its step if it has one."""
        assert isinstance(loop.iter, ast.Call)
        first, end, *step = loop.iter.args
        last = ast.BinOp(end, ast.Sub(), ast.Constant(1))
        return self.expression(first), self.expression(last), self.expression(step[0]) if step else None

    def lines(self, body: Sequence[ast.stmt]) -> list[str]:
        return [line for statement in body for line in self.statement(statement)]

    def block(self, body: Sequence[ast.stmt]) -> list[str]:
        return [f"  {line}" for line in self.lines(body)]

    @abstractmethod
    def text(self) -> str:
        """The program."""

    @abstractmethod
    def statement(self, node: ast.stmt) -> list[str]:
        """The lines of a statement."""


class _Lua(_Writer):
    comparisons: ClassVar = {"!=": "~="}
    quotient, remainder, item = "math.floor({} / {})", "({} % {})", "{}[{}]"

    def text(self) -> str:
        names = ", ".join(name for name in self.integers if name != "n")
        head = [f"local {names}"] if names else []
        return "\n".join([*(line for f in self.functions for line in self.function(f)), *head, *self.lines(self.body)])

    def function(self, node: ast.FunctionDef) -> list[str]:
        return [f"local function {node.name}({node.args.args[0].arg})", *self.block(node.body), "end"]

    def statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Assign() if _is_input(node):
                return ['local n = io.read("*n")']
            case ast.Assign() if _is_list(node):
                name, size = _name(node.targets[0]), self.expression(node.value.right)  # type: ignore[attr-defined]
                return [f"local {name} = {{}}", f"for place = 0, {size} - 1 do {name}[place] = 0 end"]
            case ast.Assign():
                return [f"{self.expression(node.targets[0])} = {self.expression(node.value)}"]
            case ast.For():
                first, last, step = self.range_of(node)
                head = f"for {_name(node.target)} = {first}, {last}{f', {step}' if step else ''} do"
                return [head, *self.block(node.body), "end"]
            case ast.While():
                return [f"while {self.expression(node.test)} do", *self.block(node.body), "end"]
            case ast.If():
                other = ["else", *self.block(node.orelse)] if node.orelse else []
                return [f"if {self.expression(node.test)} then", *self.block(node.body), *other, "end"]
            case ast.Return():
                return [f"return {self.expression(node.value)}"]  # type: ignore[arg-type]
            case ast.Expr(ast.Call() as call):
                return [f"print({self.expression(call.args[0])})"]
        raise ValueError(f"not in the part of Python that is translated: {ast.unparse(node)}")


class _OCaml(_Writer):
    comparisons: ClassVar = {"==": "=", "!=": "<>"}
    quotient, remainder, item = "({} / {})", "({} mod {})", "{}.({})"

    def name(self, name: str) -> str:
        return f"!{name}" if name in {*self.integers, *self.lists} else name

    def text(self) -> str:
        functions = [line for function in self.functions for line in self.function(function)]
        variables = [f"let {name} = ref 0" for name in self.integers] + [
            f"let {name} = ref [||]" for name in self.lists
        ]
        return "\n".join([*functions, *variables, "let () =", *self.block(self.body)])

    def function(self, node: ast.FunctionDef) -> list[str]:
        # A test, its result, and the result otherwise: what the functions of this module are made of.
        test, other = node.body
        assert isinstance(test, ast.If)
        assert isinstance(test.body[0], ast.Return)
        assert isinstance(other, ast.Return)
        return [
            f"let rec {node.name} {node.args.args[0].arg} =",
            f"  if {self.expression(test.test)} then {self.expression(test.body[0].value)}"  # type: ignore[arg-type]
            f" else {self.expression(other.value)}",  # type: ignore[arg-type]
        ]

    def lines(self, body: Sequence[ast.stmt]) -> list[str]:
        written = [self.statement(statement) for statement in body]
        return [line for one in written[:-1] for line in [*one[:-1], f"{one[-1]};"]] + written[-1]

    def statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Assign() if _is_input(node):
                return ["n := int_of_string (String.trim (read_line ()))"]
            case ast.Assign() if _is_list(node):
                return [f"{_name(node.targets[0])} := Array.make {self.expression(node.value.right)} 0"]  # type: ignore[attr-defined]
            case ast.Assign([ast.Subscript()]):
                return [f"{self.expression(node.targets[0])} <- {self.expression(node.value)}"]
            case ast.Assign():
                return [f"{_name(node.targets[0])} := {self.expression(node.value)}"]
            case ast.For():
                first, last, step = self.range_of(node)
                name = _name(node.target)
                if step is None:
                    return [f"for {name} = {first} to {last} do", *self.block(node.body), "done"]
                inner = [f"let {name} = {first} + step * {step} in", *self.lines(node.body)]
                head = f"for step = 0 to ({last} - {first}) / {step} - (if {last} < {first} then 1 else 0) do"
                return [head, *(f"  {line}" for line in inner), "done"]
            case ast.While():
                return [f"while {self.expression(node.test)} do", *self.block(node.body), "done"]
            case ast.If():
                other = ["end else begin", *self.block(node.orelse)] if node.orelse else []
                return [f"if {self.expression(node.test)} then begin", *self.block(node.body), *other, "end"]
            case ast.Expr(ast.Call() as call):
                return [f'Printf.printf "%d\\n" {_atom(self.expression(call.args[0]))}']
        raise ValueError(f"not in the part of Python that is translated: {ast.unparse(node)}")

    def expression(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call):
            return f"({_name(node.func)} {_atom(self.expression(node.args[0]))})"
        return super().expression(node)


class _Fortran(_Writer):
    comparisons: ClassVar = {"!=": "/="}
    quotient, remainder, item = "({} / {})", "mod({}, {})", "{}({})"

    def constant(self, value: int) -> str:
        return f"{value}_8"

    def text(self) -> str:
        head = ["program main", "  implicit none", f"  integer(8) :: {', '.join([*self.integers, *self.counters])}"]
        head += [f"  integer(8), allocatable :: {name}(:)" for name in self.lists]
        functions = [line for function in self.functions for line in self.function(function)]
        tail = ["contains", *functions] if functions else []
        return "\n".join([*head, *self.block(self.body), *tail, "end program"])

    def function(self, node: ast.FunctionDef) -> list[str]:
        argument = node.args.args[0].arg
        head = [f"  recursive function {node.name}({argument}) result(value)", f"    integer(8) :: {argument}, value"]
        return [*head, *(f"  {line}" for line in self.block(node.body)), "  end function"]

    def statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Assign() if _is_input(node):
                return ["read *, n"]
            case ast.Assign() if _is_list(node):
                name, size = _name(node.targets[0]), self.expression(node.value.right)  # type: ignore[attr-defined]
                return [f"allocate({name}(0:{size} - 1))", f"{name} = 0"]
            case ast.Assign():
                return [f"{self.expression(node.targets[0])} = {self.expression(node.value)}"]
            case ast.For():
                first, last, step = self.range_of(node)
                head = f"do {_name(node.target)} = {first}, {last}{f', {step}' if step else ''}"
                return [head, *self.block(node.body), "end do"]
            case ast.While():
                return [f"do while ({self.expression(node.test)})", *self.block(node.body), "end do"]
            case ast.If():
                other = ["else", *self.block(node.orelse)] if node.orelse else []
                return [f"if ({self.expression(node.test)}) then", *self.block(node.body), *other, "end if"]
            case ast.Return():
                return [f"value = {self.expression(node.value)}", "return"]  # type: ignore[arg-type]
            case ast.Expr(ast.Call() as call):
                return [f"print *, {self.expression(call.args[0])}"]
        raise ValueError(f"not in the part of Python that is translated: {ast.unparse(node)}")


def _name(node: ast.expr) -> str:
    assert isinstance(node, ast.Name)
    return node.id


def _atom(text: str) -> str:
    return text if text.isalnum() or text.startswith(("!", "(")) else f"({text})"


def _is_input(node: ast.Assign) -> bool:
    return ast.unparse(node) == "n = int(input())"


def _is_list(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.left, ast.List)


TRANSLATORS: dict[str, Callable[[str], str]] = {
    "lua": lambda source: _Lua(source).text() + "\n",
    "python": lambda source: ast.unparse(ast.parse(source)) + "\n",
    "ocaml": lambda source: _OCaml(source).text() + "\n",
    "fortran": lambda source: _Fortran(source).text() + "\n",
}
"""The translation into each language."""
