"""A compiler from a small language, with the syntax of Python, to Whitespace.

A program has functions, and then statements: assignments (`=`, `+=`, ...), `if`, `while`, `for NAME in range(...)` of
one or two values, calls, and in functions `return`. All values are integers; a text of one character is its code. The
array `memory` has a place for each integer from 0, to be written before it is read. Variables belong to their
function, whose calls must not be recursive. `//` rounds towards zero, as in the benchmark's dialect. The functions
`read_character` (-1 at the end of the input), `read_number`, `print_character`, `print_number` and `print_text` are
built in, and those of `library.small` can be used.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import count
from typing import NoReturn

from agnostics_benchmarks.esolang_programs.assembler import Instruction

SCRATCH = -1
"""The address that input is read to; those of variables are below, those of `memory` above."""
MAIN = ""
BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.FloorDiv: "divide",
    ast.Mod: "modulo",
}
COMPARISONS: dict[type[ast.cmpop], tuple[bool, str, bool]] = {
    ast.Eq: (False, "jump_if_zero", True),
    ast.NotEq: (False, "jump_if_zero", False),
    ast.Lt: (False, "jump_if_negative", True),
    ast.GtE: (False, "jump_if_negative", False),
    ast.Gt: (True, "jump_if_negative", True),
    ast.LtE: (True, "jump_if_negative", False),
}
"""Of each comparison: whether its sides are swapped, the jump on their difference, and whether it jumps if it holds."""


def compile_program(source: str, library: str = "") -> list[Instruction]:
    """The instructions of a program. Raises ValueError with the line of what the language does not have."""
    functions = {each.name: each for each in ast.parse(library).body if isinstance(each, ast.FunctionDef)}
    statements = list[ast.stmt]()
    for each in ast.parse(source).body:
        if isinstance(each, ast.FunctionDef):
            functions[each.name] = each
        else:
            statements.append(each)
    return _Compiler(functions).program(statements)


def _refuse(node: ast.AST, what: str) -> NoReturn:
    raise ValueError(f"line {getattr(node, 'lineno', '?')}: {what}: {ast.unparse(node)}")


class _Compiler:
    """The instructions so far, the addresses of variables by their function and name, and the functions called."""

    def __init__(self, functions: Mapping[str, ast.FunctionDef]) -> None:
        self._functions = functions
        self._code = list[Instruction]()
        self._addresses = dict[tuple[str, str], int]()
        self._function = MAIN
        self._calls = dict[str, set[str]]()
        self._labels = count()

    def program(self, statements: Sequence[ast.stmt]) -> list[Instruction]:
        """The statements, and all functions that they need."""
        self._calls[MAIN] = set()
        self._block(statements)
        self._emit("end")
        while missing := sorted({name for names in self._calls.values() for name in names} - set(self._calls)):
            self._define(self._functions[missing[0]])
        return self._code

    def _define(self, function: ast.FunctionDef) -> None:
        self._function = function.name
        self._calls[function.name] = set()
        self._emit("label", f"function {function.name}")
        for parameter in reversed(function.args.args):
            self._assign(parameter.arg)
        self._block(function.body)
        self._emit("push", 0)
        self._emit("return")
        if self._reaches(function.name, function.name):
            _refuse(function, "a recursive function")

    def _reaches(self, caller: str, name: str) -> bool:
        """Whether `caller` calls the function, itself or through others that are compiled already."""
        reached, new = set[str](), {caller}
        while new:
            called = {each for function in new for each in self._calls.get(function, ())}
            reached, new = reached | called, called - reached
        return name in reached

    def _emit(self, operation: str, operand: int | str | None = None) -> None:
        self._code.append(Instruction(operation, operand))

    def _new_label(self) -> str:
        return f"place {next(self._labels)}"

    def _push_address(self, name: str) -> None:
        """The address of a variable, which is given one if it has none."""
        self._emit("push", self._addresses.setdefault((self._function, name), SCRATCH - 1 - len(self._addresses)))

    def _assign(self, name: str) -> None:
        """Store the top of the stack."""
        self._push_address(name)
        self._emit("swap")
        self._emit("store")

    # --- statements ---

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._store(target, value)
            case ast.AugAssign(target=ast.Name() | ast.Subscript() as target, op=operator, value=value):
                self._store(target, ast.copy_location(ast.BinOp(_loaded(target), operator, value), node))
            case ast.Expr(value=ast.Call() as call):
                if self._call(call):
                    self._emit("discard")
            case ast.If(test=test, body=body, orelse=otherwise):
                self._choice(test, body, otherwise)
            case ast.While(test=test, body=body, orelse=[]):
                self._loop(test, body)
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=limits), body=body, orelse=[]
            ):
                self._count(name, limits, body)
            case ast.Return(value=value) if self._function != MAIN:
                self._value(value or ast.Constant(0))
                self._emit("return")
            case _:
                _refuse(node, "no statement of this language")

    def _store(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self._value(value)
                self._assign(name)
            case ast.Subscript(value=ast.Name(id="memory"), slice=address):
                self._value(address)
                self._value(value)
                self._emit("store")
            case _:
                _refuse(target, "nothing that can be assigned to")

    def _choice(self, test: ast.expr, body: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        other, end = self._new_label(), self._new_label()
        self._jump_unless(test, other)
        self._block(body)
        self._emit("jump", end)
        self._emit("label", other)
        self._block(otherwise)
        self._emit("label", end)

    def _loop(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        start, end = self._new_label(), self._new_label()
        self._emit("label", start)
        self._jump_unless(test, end)
        self._block(body)
        self._emit("jump", start)
        self._emit("label", end)

    def _count(self, name: str, limits: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """The loop with `name` from the first limit, or 0, to before the last, which is evaluated once."""
        start, end = [ast.Constant(0), *limits][-2:]
        last = f"{name} {next(self._labels)}"
        self._value(end)
        self._assign(last)
        self._value(start)
        self._assign(name)
        step = ast.parse(f"{name} += 1").body
        self._loop(ast.Compare(ast.Name(name), [ast.Lt()], [ast.Name(last)]), [*body, *step])

    # --- values ---

    def _value(self, node: ast.expr) -> None:
        """Push the value."""
        match node:
            case ast.Constant(value=bool()):
                _refuse(node, "no value of this language")
            case ast.Constant(value=int(number)):
                self._emit("push", number)
            case ast.Constant(value=str(text)) if len(text) == 1:
                self._emit("push", ord(text))
            case ast.Name(id=name) if (self._function, name) in self._addresses:
                self._push_address(name)
                self._emit("retrieve")
            case ast.Subscript(value=ast.Name(id="memory"), slice=address):
                self._value(address)
                self._emit("retrieve")
            case _:
                self._computed(node)

    def _computed(self, node: ast.expr) -> None:
        """Push the value of an operation, a call or a condition."""
        match node:
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in BINARY:
                self._value(left)
                self._value(right)
                self._emit(BINARY[type(operator)])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self._value(ast.BinOp(ast.Constant(0), ast.Sub(), operand))
            case ast.Call():
                if not self._call(node):
                    _refuse(node, "a call without a value")
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                self._truth(node)
            case _:
                _refuse(node, "no value of this language")

    def _truth(self, node: ast.expr) -> None:
        """Push 1 if the condition holds, else 0."""
        other, end = self._new_label(), self._new_label()
        self._jump_unless(node, other)
        self._emit("push", 1)
        self._emit("jump", end)
        self._emit("label", other)
        self._emit("push", 0)
        self._emit("label", end)

    def _call(self, node: ast.Call) -> bool:
        """The call; whether it pushes a value."""
        match node:
            case ast.Call(func=ast.Name(id="print_text"), args=[ast.Constant(value=str(text))]):
                for character in text:
                    self._emit("push", ord(character))
                    self._emit("put_character")
                return False
            case ast.Call(func=ast.Name(id="print_character" | "print_number" as name), args=[value]):
                self._value(value)
                self._emit(name.replace("print", "put"))
                return False
            case ast.Call(func=ast.Name(id="read_character" | "read_number" as name), args=[]):
                self._emit("push", SCRATCH)
                self._emit(name.replace("read", "get"))
                self._emit("push", SCRATCH)
                self._emit("retrieve")
            case ast.Call(func=ast.Name(id=name), args=values) if self._takes(name, len(values)):
                self._calls[self._function].add(name)
                for value in values:
                    self._value(value)
                self._emit("call", f"function {name}")
            case _:
                _refuse(node, "no call of this language")
        return True

    def _takes(self, name: str, number: int) -> bool:
        return name in self._functions and len(self._functions[name].args.args) == number

    # --- conditions ---

    def _jump_unless(self, node: ast.expr, label: str) -> None:
        """Jump to the label unless the condition holds."""
        match node:
            case ast.Compare(left=ast.Name() as name, ops=[ast.In()], comparators=[ast.Constant(value=str(text))]):
                tests: list[ast.expr] = [ast.Compare(name, [ast.Eq()], [ast.Constant(each)]) for each in text]
                self._jump_unless(ast.BoolOp(ast.Or(), tests), label)
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
                self._jump_unless_compared(left, right, COMPARISONS[type(operator)], label)
            case ast.BoolOp(op=ast.And(), values=values):
                for value in values:
                    self._jump_unless(value, label)
            case ast.BoolOp(op=ast.Or(), values=values):
                self._jump_unless_any(values, label)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._jump_if(operand, label)
            case _:
                self._value(node)
                self._emit("jump_if_zero", label)

    def _jump_if(self, node: ast.expr, label: str) -> None:
        after = self._new_label()
        self._jump_unless(node, after)
        self._emit("jump", label)
        self._emit("label", after)

    def _jump_unless_any(self, values: Sequence[ast.expr], label: str) -> None:
        holds = self._new_label()
        for value in values:
            self._jump_if(value, holds)
        self._emit("jump", label)
        self._emit("label", holds)

    def _jump_unless_compared(
        self, left: ast.expr, right: ast.expr, comparison: tuple[bool, str, bool], label: str
    ) -> None:
        swapped, jump, jumps_if_it_holds = comparison
        self._value(left)
        self._value(right)
        if swapped:
            self._emit("swap")
        self._emit("subtract")
        if not jumps_if_it_holds:
            self._emit(jump, label)
            return
        holds = self._new_label()
        self._emit(jump, holds)
        self._emit("jump", label)
        self._emit("label", holds)


def _loaded(target: ast.Name | ast.Subscript) -> ast.expr:
    """The value of a target."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id)
    return ast.Subscript(target.value, target.slice)
