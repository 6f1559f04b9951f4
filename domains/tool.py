"""Tools: plain functions on an open database; signature and docstring are their JSON schema."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, get_type_hints

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from ..errors import BrokenToolError, ToolError
from ..transcript import ErrorKind, RowChange
from .database import Database

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__passhat_tool__"


class ToolOutcome(NamedTuple):
    """What a call gave: text for the caller, why it did not work (or None), and rows written."""

    content: str
    error: ErrorKind | None = None
    rows: tuple[RowChange, ...] = ()


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes:
        function: Takes the open database first, then the arguments as given; returns a string, or
            something JSON can hold; raises ToolError to refuse.
        writes: Whether it may change rows; a read that does is a broken tool.
        hands_over: Whether a call ends the conversation by handing it to a person.
    """

    function: Callable[..., Any]
    writes: bool = False
    hands_over: bool = False

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @cached_property
    def _docstring(self) -> docstring_parser.Docstring:
        return docstring_parser.parse(self.function.__doc__ or "")

    @cached_property
    def description(self) -> str:
        """The docstring without its sections: what the agent reads about this tool."""
        return (self._docstring.description or "").strip()

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """A strict pydantic model of the arguments, the database left out."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        hints = get_type_hints(self.function, include_extras=True)
        about = {p.arg_name: p.description for p in self._docstring.params}
        fields: dict[str, Any] = {
            p.name: (
                hints[p.name],
                Field(
                    default=... if p.default is inspect.Parameter.empty else p.default,
                    description=about.get(p.name),
                ),
            )
            for p in parameters
        }
        config = ConfigDict(strict=True, extra="forbid")
        return create_model(self.name, __config__=config, **fields)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        schema = self.arguments.model_json_schema()
        schema.setdefault("properties", {})
        schema.pop("title", None)
        for described in schema["properties"].values():
            described.pop("title", None)
        return schema

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as the Messages API takes it: name, description, input_schema."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }

    def problems(self, arguments: object) -> str | None:
        """What is wrong with these arguments, in one line for the agent; None if nothing is."""
        if not isinstance(arguments, dict):
            return f"arguments must be an object, not {arguments!r:.100}"
        try:
            self.arguments.__pydantic_validator__.validate_python(arguments)
        except ValidationError as error:
            return "; ".join(self._problem(details) for details in error.errors())
        return next(_unstorable(arguments), None)

    def _problem(self, details: Any) -> str:
        where = ".".join(str(part) for part in details["loc"])
        if details["type"] == "missing":
            return f"argument {where!r} is missing"
        if details["type"] == "extra_forbidden":
            takes = ", ".join(self.arguments.model_fields) or "no arguments"
            return f"argument {where!r} is not known; {self.name} takes {takes}"
        message = details["msg"][0].lower() + details["msg"][1:]
        return f"argument {where!r}: {message}, not {details['input']!r:.100}"

    def run(self, db: Database, arguments: object) -> ToolOutcome:
        """Validate the arguments, then run the function; a refused or bad call writes nothing.

        Raises:
            BrokenToolError: The function raised something other than ToolError, returned what JSON
                cannot hold, or wrote rows though it is marked as a read.
        """
        if problem := self.problems(arguments):
            return ToolOutcome(f"Error: invalid arguments: {problem}", ErrorKind.BAD_ARGUMENT)
        assert isinstance(arguments, dict)
        try:
            return self._run_writing(db, arguments) if self.writes else self._read(db, arguments)
        except ToolError as refusal:
            return ToolOutcome(f"Error: {refusal}", ErrorKind.REFUSED)
        except BrokenToolError:
            raise
        except Exception as error:
            raise BrokenToolError(f"{self.name}: {type(error).__name__}: {error}") from error

    def _read(self, db: Database, arguments: dict[str, Any]) -> ToolOutcome:
        written = db.connection.total_changes
        content = _as_text(self.function(db, **arguments))
        if db.connection.total_changes != written:
            raise BrokenToolError(f"{self.name} wrote rows but is not marked writes=True")
        return ToolOutcome(content)

    def _run_writing(self, db: Database, arguments: dict[str, Any]) -> ToolOutcome:
        position = db.position
        with db.atomic():
            content = _as_text(self.function(db, **arguments))
        return ToolOutcome(content, None, db.changes(position))


def _unstorable(value: object, where: str = "") -> Iterator[str]:
    """What the types allow and a database cannot hold: lone surrogates, numbers over 64 bits."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _unstorable(inner, f"{where}.{key}".lstrip("."))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unstorable(inner, f"{where}.{number}")
    elif isinstance(value, str) and not value.isascii():
        if any(0xD800 <= ord(letter) < 0xE000 for letter in value):
            yield f"argument {where!r}: not valid Unicode text, {ascii(value)[:100]}"
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield f"argument {where!r}: a number of more than 64 bits"


def _as_text(result: object) -> str:
    return result if isinstance(result, str) else json.dumps(result)


def tool(*, writes: bool = False, hands_over: bool = False) -> Callable[[F], F]:
    """Mark a function as a tool; it stays an ordinary function.

    >>> @tool(writes=True)
    ... def renew_loan(db: Database, loan_id: str, days: int = 14) -> str:
    ...     '''Give a member more time with a book.
    ...
    ...     Args:
    ...         loan_id: As printed on the slip.
    ...         days: Days to add.
    ...     '''
    >>> Tool(renew_loan).problems({"loan_id": 3})
    "argument 'loan_id': input should be a valid string, not 3"
    """

    def mark(function: F) -> F:
        setattr(function, _MARK, Tool(function, writes=writes, hands_over=hands_over))
        return function

    return mark


def tools_in(*modules: ModuleType) -> dict[str, Tool]:
    """Every marked function of these modules, by name, sorted by name."""
    found = [
        getattr(value, _MARK)
        for m in modules
        for value in vars(m).values()
        if hasattr(value, _MARK)
    ]
    return {t.name: t for t in sorted(found, key=lambda t: t.name)}


def call_tool(tools: Mapping[str, Tool], db: Database, name: str, arguments: object) -> ToolOutcome:
    """Run one call; an unknown name is answered with the nearest known ones."""
    known = tools.get(name)
    if known is None:
        near = get_close_matches(name, tools, n=3) or sorted(tools)
        content = f"Error: there is no tool {name!r}; did you mean {' or '.join(near)}?"
        return ToolOutcome(content, ErrorKind.UNKNOWN_TOOL)
    return known.run(db, arguments)
