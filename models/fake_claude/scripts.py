r"""Scripts: what a model that is no model answers, as rules in a YAML or JSON file.

The first rule that fits answers. A rule fits if all that stands under ``when`` is so::

    - when: {turn: 1}
      text: Hello! What is your e-mail address?

    - when: {says: '(?P<email>\S+@\S+)'}
      thinking: I look them up.
      calls:
        - find_customer_by_email: {email: $email}

    - text: I am sorry, but I cannot help with that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from ...errors import UsageError
from ...transcript import JsonDict
from ..model import Reply, StopReason


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class When(_Strict):
    """What must be so for a rule to fit; what is not given does not matter.

    Attributes:
        turn: Which reply of the conversation this is, the first is 1; or a list of such numbers.
        says: Regular expression to be found in the words of the newest message, in any case of
            letters. Its named groups can be used in the answer as ``$name``.
        result: The same for the newest tool results.
        result_of: A tool that was called just before.
        system: The same as ``says`` for the system prompt.
    """

    turn: int | list[int] | None = None
    says: str | None = None
    result: str | None = None
    result_of: str | None = None
    system: str | None = None

    @field_validator("says", "result", "system")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return pattern


class Rule(_Strict):
    """What is answered when.

    Attributes:
        when: What must be so; empty: it always fits.
        thinking: A thought, before anything else.
        text: Words.
        json_: Words that are this value as JSON (``json`` in the file).
        calls: Tool calls, made at once: each is ``{name of the tool: its input}``. An input that is
            no mapping is one that a model got wrong.
        stop: Why the model stops, if not for the usual reason.
        detail: What the provider says about a refusal.
        empty: Whether nothing at all is said.
    """

    when: When = When()
    thinking: str | None = None
    text: str | None = None
    json_: Any = Field(default=None, alias="json")
    calls: list[dict[str, Any]] = []
    stop: Literal["max_tokens", "refusal", "model_context_window_exceeded"] | None = None
    detail: str = ""
    empty: bool = False

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if any(len(call) != 1 for call in self.calls):
            raise ValueError("each of calls must be {name of the tool: its input}")
        says = bool(self.text or self.json_ is not None or self.calls or self.thinking)
        if says == self.empty or (self.text and self.json_ is not None):
            raise ValueError("give text or json, calls, thinking ... or empty: true")
        return self

    def reply(self, turn: int, found: Mapping[str, str]) -> Reply:
        """The rule's answer, as the so manieth reply, with what was found put in."""
        blocks = [_filled(block, found) for block in self._blocks(turn)]
        usual = StopReason.TOOL_USE if self.calls else StopReason.END_TURN
        return Reply(
            tuple(blocks), StopReason(self.stop) if self.stop else usual, detail=self.detail
        )

    def _blocks(self, turn: int) -> Iterator[JsonDict]:
        if self.thinking:
            yield {"type": "thinking", "thinking": self.thinking}
        if self.text:
            yield {"type": "text", "text": self.text}
        if self.json_ is not None:
            yield {"type": "text", "text": json.dumps(self.json_, ensure_ascii=False)}
        for place, call in enumerate(self.calls):
            ((name, given),) = call.items()
            id = f"toolu_script_{turn}_{place + 1}"
            yield {"type": "tool_use", "id": id, "name": name, "input": given}


_RULES = TypeAdapter(list[Rule])


class Script:
    """Rules, in the order in which they are tried.

    Args:
        rules: As in a file.
        name: For messages.

    Raises:
        UsageError: They are no rules; says which and why.

    >>> script = Script([{"when": {"says": "hello"}, "text": "Hi!"}, {"text": "Pardon?"}])
    >>> script.reply([{"role": "user", "content": "Hello there"}]).text
    'Hi!'
    """

    def __init__(self, rules: object, name: str = "script") -> None:
        self.name = name
        try:
            self._rules = _RULES.validate_python(rules)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the whole"
            raise UsageError(
                f"{name}: {where}: {first['msg']}; a script is a list of rules, e.g. "
                '- {when: {turn: 1}, text: "Hello!"}'
            ) from None

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The script in a YAML or JSON file.

        Raises:
            UsageError: It cannot be read, or holds no script.
        """
        import yaml

        path = Path(path)
        try:
            rules = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise UsageError(f"cannot read the script {str(path)!r}: {_why(error)}") from None
        return cls(rules, path.name)

    def find(self, messages: Sequence[JsonDict], system: str = "") -> Reply | None:
        """The answer to a conversation, the same whenever it is asked; None if no rule fits.

        Args:
            messages: As in `Request.messages`.
            system: The instructions.
        """
        said = _Said(messages, system)
        for rule in self._rules:
            found = said.fits(rule.when)
            if found is not None:
                return rule.reply(said.turn, found)
        return None

    def reply(self, messages: Sequence[JsonDict], system: str = "") -> Reply:
        """The answer to a conversation, the same whenever it is asked.

        Args:
            messages: As in `Request.messages`.
            system: The instructions.

        Raises:
            UsageError: No rule fits.
        """
        reply = self.find(messages, system)
        if reply is None:
            said = _Said(messages, system)
            heard = said.words or said.results
            raise UsageError(
                f"{self.name}: no rule fits reply {said.turn}, to {heard!r:.200}; "
                "a last rule without `when` would"
            )
        return reply

    def brain(self, body: JsonDict) -> Reply:
        """The answer to the body of a request to the server."""
        return self.reply(body["messages"], system_text(body))


def _why(error: Exception) -> str:
    """What is wrong with a file, in one line, and in which line of it if that is known."""
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    mark = getattr(error, "problem_mark", None)
    return problem if mark is None else f"line {mark.line + 1}: {problem}"


def system_text(body: JsonDict) -> str:
    """The system prompt in the body of a request, whichever way it is written."""
    system = body.get("system") or ""
    return system if isinstance(system, str) else _texts(system, "text")


class _Said:
    """The newest message of a conversation, as rules look at it."""

    def __init__(self, messages: Sequence[JsonDict], system: str) -> None:
        self.turn = 1 + sum(message["role"] == "assistant" for message in messages)
        newest = _blocks(messages[-1])
        self.words = _texts(newest, "text")
        results = [block for block in newest if block.get("type") == "tool_result"]
        self.results = "\n".join(_result_text(block) for block in results)
        calls = _blocks(messages[-2]) if len(messages) > 1 else []
        self._called = {block["name"] for block in calls if block.get("type") == "tool_use"}
        self._system = system

    def fits(self, when: When) -> dict[str, str] | None:
        """What the named groups of the patterns hold if all is so; else None."""
        if when.turn is not None:
            turns = when.turn if isinstance(when.turn, list) else [when.turn]
            if self.turn not in turns:
                return None
        if when.result_of is not None and when.result_of not in self._called:
            return None
        found: dict[str, str] = {}
        looked_at = ((when.says, self.words), (when.result, self.results))
        for pattern, text in (*looked_at, (when.system, self._system)):
            if pattern is None:
                continue
            match = re.search(pattern, text, re.IGNORECASE)
            if match is None:
                return None
            found |= {name: value or "" for name, value in match.groupdict().items()}
        return found


def _blocks(message: JsonDict) -> list[JsonDict]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(blocks: Sequence[JsonDict], kind: str) -> str:
    return "\n".join(block["text"] for block in blocks if block.get("type") == kind)


def _result_text(block: JsonDict) -> str:
    content = block.get("content") or ""
    return content if isinstance(content, str) else _texts(content, "text")


def _filled(value: Any, found: Mapping[str, str]) -> Any:
    """A value with ``$name`` replaced in all its texts."""
    if isinstance(value, str):
        return Template(value).safe_substitute(found) if found else value
    if isinstance(value, dict):
        return {key: _filled(part, found) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, found) for part in value]
    return value
