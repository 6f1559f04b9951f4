"""Tools that behave as another benchmark's do, defects included, on worlds of documents.

They are kept apart from a domain's own tools, which do the right thing. What they share is here:
the tool class that takes arguments as loosely as the benchmarks do, and the tools that both of
their domains have.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple

from sqlalchemy import MetaData

from ..transcript import ErrorKind
from .database import Database
from .tool import Tool, ToolOutcome

Function = Callable[..., Any]

TRANSFERRED = "Transfer successful"


class Refused(Exception):  # noqa: N818 - what the tool answers, not a fault of ours
    """A tool's answer that starts with "Error: "; each benchmark words it in its own case."""


def lower(text: str) -> str:
    """tau-bench's refusals are sentences without a capital letter."""
    return text


def capital(text: str) -> str:
    """tau2's refusals are the same sentences with one."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class CompatTool(Tool):
    """A tool that passes arguments on unchecked and turns any exception into an answer.

    What was written before the exception stays written, as it does there.

    Attributes:
        wording: How this benchmark words a refusal.
    """

    wording: Callable[[str], str] = lower

    def run(self, db: Database, arguments: object) -> ToolOutcome:
        """Call the function with whatever was given; nothing escapes."""
        position = db.position
        content = self.answer(db, arguments)
        error = ErrorKind.REFUSED if content.startswith("Error: ") else None
        return ToolOutcome(content, error, db.changes(position))

    def answer(self, db: Database, arguments: object) -> str:
        """The tool's answer alone, for those who look at the rows only at the end."""
        try:
            result = self.function(db, **arguments)  # type: ignore[arg-type]
        except Refused as refusal:
            return f"Error: {self.wording(str(refusal))}"
        except Exception as error:
            return f"Error: {error}"
        return result if isinstance(result, str) else json.dumps(result)


class Toolset(NamedTuple):
    """A benchmark's tools in one domain.

    Attributes:
        tables: Of the documents they work on.
        tools: By name, sorted by name.
        unknown: What a call of a tool that is not there is answered, with ``{name}`` in it.
    """

    tables: MetaData
    tools: Mapping[str, CompatTool]
    unknown: str


def tau_bench_tools(
    tables: MetaData, reading: Iterable[Function], writing: Iterable[Function]
) -> Toolset:
    """Functions as tools of tau-bench."""

    def called(name: str) -> str:
        return "".join(word.capitalize() for word in name.split("_")) + ".invoke"

    tools = _tools(reading, writing, called, lower)
    return Toolset(tables, tools, "Unknown action {name}")


def tau2_tools(
    tables: MetaData, owner: str, reading: Iterable[Function], writing: Iterable[Function]
) -> Toolset:
    """Functions as tools of tau2-bench, where they are methods of one class, the owner."""
    tools = _tools(reading, writing, lambda name: f"{owner}.{name}", capital)
    return Toolset(tables, tools, "Error: Tool '{name}' not found.")


def _tools(
    reading: Iterable[Function],
    writing: Iterable[Function],
    called: Callable[[str], str],
    wording: Callable[[str], str],
) -> dict[str, CompatTool]:
    """Functions as tools; ``called`` says what Python calls the function of a tool there.

    That is part of the answer when an argument is missing.
    """
    marked = dict.fromkeys(reading, False) | dict.fromkeys(writing, True)
    return {
        function.__name__: CompatTool(
            _renamed(function, called(function.__name__)),
            writes=writes,
            hands_over=function is transfer_to_human_agents,
            wording=wording,
        )
        for function, writes in sorted(marked.items(), key=lambda item: item[0].__name__)
    }


def _renamed(function: Function, qualified_name: str) -> Function:
    """A twin of a function that Python calls by another name when a call does not fit."""
    assert isinstance(function, FunctionType)
    twin = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    twin.__qualname__ = qualified_name
    twin.__doc__ = function.__doc__
    twin.__annotations__ = function.__annotations__
    return twin


def call_compat(
    tools: Mapping[str, Tool], db: Database, name: str, arguments: object, unknown: str
) -> ToolOutcome:
    """Run one call; a name that is not known is answered as the benchmark answers it."""
    known = tools.get(name)
    if known is None:
        return ToolOutcome(unknown.format(name=name), ErrorKind.UNKNOWN_TOOL)
    return known.run(db, arguments)


# --- tools of both domains ----------------------------------------------------------------------


def transfer_to_human_agents(db: Database, summary: str) -> str:
    """Hand the customer over to a person; only when the request is beyond the tools.

    Args:
        summary: What the customer wants, for the person who takes over.
    """
    return TRANSFERRED


def think(db: Database, thought: str) -> str:
    """Write a thought down; nothing is looked up or changed.

    Args:
        thought: The thought.
    """
    return ""


def calculate(db: Database, expression: str) -> str:
    """Work out an arithmetic expression, rounded to two decimals.

    Args:
        expression: Digits, + - * / ( ) . and spaces.
    """
    if not all(character in "0123456789+-*/(). " for character in expression):
        raise Refused("invalid characters in expression")
    tree = ast.parse(expression.lstrip(" "), filename="<string>", mode="eval")
    return str(round(float(_value(tree.body)), 2))


MAX_POWER = 10_000
"""Bits of a power's result. There a larger one hangs the program; here it is refused."""

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: lambda base, exponent: _power(base, exponent),
}


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand)
        case ast.UnaryOp(ast.UAdd(), operand):
            return +_value(operand)
        case ast.BinOp(left, kind, right):
            return _OPERATORS[type(kind)](_value(left), _value(right))
        case ast.Call(function):
            raise TypeError(f"{type(_value(function)).__name__!r} object is not callable")
        case ast.Tuple():
            return ()
    raise SyntaxError("invalid syntax (<string>, line 1)")


def _power(base: Any, exponent: Any) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and base.bit_length() * abs(exponent) > MAX_POWER:
        raise OverflowError("the result is too large")
    return base**exponent
