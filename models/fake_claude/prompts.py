"""Prompts: a request as a row of blocks, each with a hash of all that stands before it.

Caching, signatures and ids all rest on these hashes. A conversation is sent whole with every turn,
so what was read of it before is remembered, and only what is new is checked and hashed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from .catalogue import FakeModel
from .refusals import invalid
from .validation import (
    START,
    Mark,
    Turn,
    check_end,
    check_mark,
    check_metadata,
    check_options,
    check_system,
    check_tools,
    next_turn,
)

MARKS = 4
"""Cache marks that a request may hold."""
MAX_MESSAGES = 100_000
CHARACTERS_A_TOKEN = 4
"""The server's tokenizer: as many characters of a block's JSON are one token, rounded up."""

FRAMES = 32
"""How many are kept: one for each kind of request that a run makes."""
_NO_OPTIONS = frozenset({"messages", "tools", "system", "metadata"})
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def tokens_in(characters: int) -> int:
    """How many tokens so many characters are.

    >>> tokens_in(9)
    3
    """
    return -(-characters // CHARACTERS_A_TOKEN)


def as_json(value: Any) -> str:
    """A value as JSON in one way of writing it."""
    return _ENCODE(value)


def hashed(*parts: str | bytes, key: bytes = b"") -> bytes:
    """A hash of 16 bytes."""
    hasher = blake2b(digest_size=16, key=key)
    for part in parts:
        hasher.update(part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass"))
        hasher.update(b"\0")
    return hasher.digest()


@dataclass
class Row:
    """Blocks in order, as parallel lists.

    Attributes:
        hashes: Of all blocks up to and with this one.
        tokens: Of all blocks up to and with this one.
        marks: Where the cache is to be written, as (place of a block, time to live).
    """

    hashes: list[bytes] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def add(self, start: bytes, role: str, block: dict[str, Any], where: str) -> str:
        """Add a block; gives its JSON.

        Args:
            start: What the first block's hash begins with.
            role: In which role it stands.
            block: As in the request.
            where: Its place in the request, for messages.
        """
        if (mark := block.get("cache_control")) is not None:
            self.marks.append((len(self.hashes), check_mark(mark, f"{where}.cache_control")))
            block = {name: value for name, value in block.items() if name != "cache_control"}
        written = as_json(block)
        self.hashes.append(hashed(self.hashes[-1] if self.hashes else start, role, written))
        self.tokens.append((self.tokens[-1] if self.tokens else 0) + tokens_in(len(written)))
        return written

    def cut(self, length: int) -> None:
        """Forget all blocks behind the first so many."""
        del self.hashes[length:], self.tokens[length:]
        while self.marks and self.marks[-1][0] >= length:
            self.marks.pop()


@dataclass(frozen=True)
class Head:
    """What stands before the messages: tools, then system.

    Attributes:
        row: Its blocks.
        tools: Names of the tools.
        hash: Of the model and all of it.
    """

    row: Row
    tools: frozenset[str]
    hash: bytes


@dataclass(frozen=True)
class _Frame:
    """What does not change while a conversation goes on; it is checked and hashed once.

    Attributes:
        parts: The model, and of the request: tools, system, and all other options.
        head: Tools and system.
        start: What the first message's hash begins with.
        options: Hash of what else the answer depends on.
    """

    parts: tuple[FakeModel, Any, Any, dict[str, Any]]
    head: Head
    start: bytes
    options: bytes


@dataclass
class _Past:
    """A conversation as it was last sent."""

    start: bytes
    messages: list[Any] = field(default_factory=list)
    row: Row = field(default_factory=Row)
    ends: list[int] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    spoken: list[bytes] = field(default_factory=list)

    def keep(self, messages: list[Any], start: bytes) -> int:
        """Forget what these messages do not begin with; gives how many are left."""
        same = 0
        if start == self.start:
            for known, message in zip(self.messages, messages, strict=False):
                if known != message:
                    break
                same += 1
        self.start = start
        del self.messages[same:], self.ends[same:], self.turns[same:], self.spoken[same:]
        self.row.cut(self.ends[-1] if self.ends else 0)
        return same


@dataclass(frozen=True)
class Prompt:
    """A request that is in order.

    Attributes:
        head: Tools and system.
        row: The messages' blocks; good until the next request is read.
        marks: All marks in order; places count from the first block of the head.
        spoken: Hash of everything but thinking: what a thinking block is signed with.
        key: Hash of all that the answer depends on.
    """

    head: Head
    row: Row
    marks: list[Mark]
    spoken: bytes
    key: bytes

    @property
    def tokens(self) -> int:
        """Of the whole request."""
        return self.tokens_before(len(self.head.row.hashes) + len(self.row.hashes))

    def tokens_before(self, place: int) -> int:
        """Of all blocks before this one."""
        in_head = self.head.row.tokens
        if place <= len(in_head):
            return in_head[place - 1] if place else 0
        return (in_head[-1] if in_head else 0) + self.row.tokens[place - len(in_head) - 1]

    def hash_at(self, place: int) -> bytes:
        """Of all blocks up to and with this one."""
        in_head = self.head.row.hashes
        if place < len(in_head):
            return in_head[place]
        return self.row.hashes[place - len(in_head)]


class PromptReader:
    """Reads requests, and refuses those that the API would refuse.

    Args:
        secret: What thinking blocks are signed with.
        conversations: How many are remembered.
    """

    def __init__(self, secret: bytes, conversations: int = 4096) -> None:
        self._secret = secret
        self._conversations = conversations
        self._frames: list[_Frame] = []
        self._pasts: OrderedDict[bytes, _Past] = OrderedDict()

    def read(self, body: dict[str, Any], model: FakeModel) -> Prompt:
        """The prompt in a request.

        Args:
            body: Of the request.
            model: The one that is asked.

        Raises:
            RefusedError: Something is not as it must be; names the field.
        """
        user = check_metadata(body.get("metadata"))
        frame = self._frame(body, model)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise invalid("messages: at least one message is required")
        if len(messages) > MAX_MESSAGES:
            raise invalid(f"messages: at most {MAX_MESSAGES} messages, not {len(messages)}")
        head = frame.head
        past = self._past(head, user, messages[0])
        row = self._read_messages(past, head, messages, frame.start)
        check_end(past.turns[-1])
        key = hashed(row.hashes[-1], user, frame.options)
        prompt = Prompt(head, row, _marks(body, head, row), past.spoken[-1], key)
        if prompt.tokens > model.max_input_tokens:
            raise invalid(
                f"prompt is too long: {prompt.tokens} tokens > {model.max_input_tokens} maximum"
            )
        return prompt

    def sign(self, spoken: bytes, thinking: str) -> str:
        """The signature of a thinking block.

        Args:
            spoken: Hash of the conversation that it was thought about.
            thinking: The thought.
        """
        return hashed(spoken, thinking, key=self._secret).hex()

    def _frame(self, body: dict[str, Any], model: FakeModel) -> _Frame:
        options = {name: value for name, value in body.items() if name not in _NO_OPTIONS}
        parts = (model, body.get("tools"), body.get("system"), options)
        for place, frame in enumerate(self._frames):
            if frame.parts == parts:
                if place:
                    self._frames.insert(0, self._frames.pop(place))
                return frame
        head = _read_head(body.get("tools"), body.get("system"), model)
        check_options(body, model)
        start = hashed(head.hash, as_json([body.get("tool_choice"), body.get("thinking")]))
        written = as_json([body["max_tokens"], body.get("output_config")])
        frame = _Frame(parts, head, start, hashed(written))
        self._frames.insert(0, frame)
        del self._frames[FRAMES:]
        return frame

    def _past(self, head: Head, user: str, first: Any) -> _Past:
        key = hashed(head.hash, user or as_json(first))
        past = self._pasts.pop(key, None) or _Past(b"")
        self._pasts[key] = past
        if len(self._pasts) > self._conversations:
            self._pasts.popitem(last=False)
        return past

    def _read_messages(self, past: _Past, head: Head, messages: list[Any], start: bytes) -> Row:
        for index in range(past.keep(messages, start), len(messages)):
            self._read_message(past, head, index, messages[index])
        return past.row

    def _read_message(self, past: _Past, head: Head, index: int, message: Any) -> None:
        before = past.turns[-1] if past.turns else START
        spoken = past.spoken[-1] if past.spoken else head.hash
        turn, blocks = next_turn(before, index, message, head.tools)
        said = []
        length = len(past.row.hashes)
        try:
            for place, block in enumerate(blocks):
                where = f"messages.{index}.content.{place}"
                if block["type"] == "thinking" and block["signature"] != self.sign(
                    spoken, block["thinking"]
                ):
                    raise invalid(
                        f"{where}: Invalid `signature` in `thinking` block: it was made by another "
                        "model or for another conversation, or was changed"
                    )
                written = past.row.add(past.start, turn.role, block, where)
                if block["type"] != "thinking":
                    said.append(written)
        except Exception:
            past.row.cut(length)
            raise
        past.messages.append(message)
        past.turns.append(turn)
        past.ends.append(len(past.row.hashes))
        past.spoken.append(hashed(spoken, turn.role, *said))


def _read_head(tools: Any, system: Any, model: FakeModel) -> Head:
    row = Row()
    start = hashed(model.id)
    declared = check_tools(tools)
    for place, tool in enumerate(declared):
        row.add(start, "tool", tool, f"tools.{place}")
    for place, block in enumerate(check_system(system)):
        row.add(start, "system", block, f"system.{place}")
    return Head(
        row,
        frozenset(tool["name"] for tool in declared),
        row.hashes[-1] if row.hashes else start,
    )


def _marks(body: dict[str, Any], head: Head, row: Row) -> list[Mark]:
    in_head = len(head.row.hashes)
    marks = [*head.row.marks, *((in_head + place, ttl) for place, ttl in row.marks)]
    if (automatic := body.get("cache_control")) is not None:
        last = in_head + len(row.hashes) - 1
        marks.append((last, check_mark(automatic, "cache_control")))
    if len(marks) > MARKS:
        raise invalid(
            f"A maximum of {MARKS} blocks with cache_control may be provided. Found {len(marks)}."
        )
    for (_, earlier), (_, later) in pairwise(marks):
        if later > earlier:
            raise invalid(
                "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block; blocks are processed in the order tools, system, messages"
            )
    return marks
