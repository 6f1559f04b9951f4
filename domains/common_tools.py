"""Tools that every desk has: arithmetic, a place to think, and a person to hand over to."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from math import isfinite

from ..errors import ToolError
from .database import Database
from .tool import tool

MAX_EXPRESSION = 500
"""Characters: room for the sum of any order, and nothing that takes long to work out."""

_CHARACTERS = frozenset("0123456789+-*/(). ")
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@tool()
def calculate(db: Database, expression: str) -> str:
    """Work out an arithmetic expression, rounded to two decimals.

    Args:
        expression: Numbers, + - * / and parentheses, e.g. "2 * (34.90 - 12)".

    Raises:
        ToolError: Not such an expression, longer than MAX_EXPRESSION, or without a finite result.
    """
    if len(expression) > MAX_EXPRESSION:
        raise ToolError(f"expression is too long, at most {MAX_EXPRESSION} characters")
    if not _CHARACTERS.issuperset(expression):
        raise ToolError("invalid characters in expression")
    try:
        result = float(_value(ast.parse(expression.strip(), mode="eval").body))
    except ZeroDivisionError:
        raise ToolError("division by zero") from None
    except OverflowError:
        raise ToolError("the result is too large") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise ToolError("invalid syntax in expression") from None
    if not isfinite(result):
        raise ToolError("the result is too large")
    return str(round(result, 2))


def _value(node: ast.expr) -> float:
    """The number a parsed expression stands for; only plain arithmetic has one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        operand = _value(node.operand)
        return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ToolError("only numbers, + - * / and parentheses can be calculated")


@tool()
def think(db: Database, thought: str) -> str:
    """Write a thought down. Nobody else reads it and nothing changes.

    Args:
        thought: What to think about.
    """
    return ""


@tool(hands_over=True)
def transfer_to_human_agents(db: Database, summary: str) -> str:
    """Hand the customer over to a human colleague, which ends the conversation.

    Only for what the policy lets nobody but a human do.

    Args:
        summary: What the customer wants and what was done so far.
    """
    return "Transfer successful"
