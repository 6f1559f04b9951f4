"""Gymnasium spaces for conversations: any text, and the agent's moves.

``gymnasium.spaces.Text`` admits only the characters it is given; customers write what they like.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from typing import Any

from gymnasium import Space

from ..errors import UsageError
from ..transcript import Message, Stop, ToolCalls, parse_action

_SAMPLE_LETTERS = string.ascii_letters + string.digits + " .,!?#$@äéßñ中文"


class UnicodeText(Space[str]):
    """Every text up to `max_length` characters.

    >>> "Grüß Gott, #W1!" in UnicodeText()
    True
    """

    def __init__(self, max_length: int = 1_000_000, seed: int | None = None) -> None:
        self.max_length = max_length
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Text cannot become an array of fixed size."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A random text of up to 60 characters; there are no masks here."""
        length = int(self.np_random.integers(0, min(60, self.max_length) + 1))
        return "".join(self.np_random.choice(list(_SAMPLE_LETTERS), size=length))

    def contains(self, x: Any) -> bool:
        """Whether `x` is a text that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash((UnicodeText, self.max_length))

    def __repr__(self) -> str:
        return f"UnicodeText(max_length={self.max_length})"


class Moves(Space[Any]):
    """Every move an agent can make: a message, tool calls, or stop, as objects or as dicts.

    Args:
        tools: Tool schemas (name, description, input_schema), from which calls are sampled. A call
            of a tool that does not exist is a move too: the agent reads the error.
        seed: For `sample`.
    """

    def __init__(self, tools: Sequence[dict[str, Any]] = (), seed: int | None = None) -> None:
        self.tools = tuple(tools)
        self._text = UnicodeText()
        super().__init__(dtype=object, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Moves cannot become an array of fixed size."""
        return False

    def seed(self, seed: int | None = None) -> int | list[int] | dict[str, int]:
        """Seed this space and the texts it samples."""
        self._text.seed(seed)
        return super().seed(seed)

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """A random move as a dict: mostly messages and well-formed calls, now and then a stop."""
        draw = self.np_random.random()
        if draw < 0.05:
            return {"type": "stop"}
        if draw < 0.5 or not self.tools:
            return {"type": "message", "content": self._text.sample() or "Hello"}
        tool = self.tools[int(self.np_random.integers(len(self.tools)))]
        call = {"name": tool["name"], "arguments": self._arguments(tool["input_schema"])}
        return {"type": "tool_calls", "calls": [call]}

    def _arguments(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {name: self._value(about) for name, about in schema["properties"].items()}

    def _value(self, about: dict[str, Any]) -> Any:
        if "enum" in about:
            return about["enum"][int(self.np_random.integers(len(about["enum"])))]
        match about.get("type"):
            case "integer":
                return int(self.np_random.integers(0, 100))
            case "number":
                return round(float(self.np_random.random()) * 100, 2)
            case "boolean":
                return bool(self.np_random.integers(2))
            case "array":
                return [self._value(about.get("items", {})) for _ in range(2)]
            case "object":
                return self._arguments({"properties": {}} | about)
        return self._text.sample()

    def contains(self, x: Any) -> bool:
        """Whether `x` is a move."""
        try:
            parse_action(x)
        except UsageError:
            return False
        return True

    def to_jsonable(self, sample_n: Iterable[Any]) -> list[dict[str, Any]]:
        """Moves as JSON-ready dicts."""
        return [parse_action(move).model_dump(mode="json") for move in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[Message | ToolCalls | Stop]:
        """Moves from what `to_jsonable` gave."""
        return [parse_action(move) for move in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moves) and other.tools == self.tools

    def __hash__(self) -> int:
        return hash((Moves, tuple(tool["name"] for tool in self.tools)))

    def __repr__(self) -> str:
        return f"Moves({len(self.tools)} tools)"
