"""Cassettes: files that keep what models replied, and models that reply from them.

``record=FILE``, an option of every model, appends each reply to a file; ``recorded:FILE`` gives the
replies again, without a network and without cost, to whoever asks exactly the same.

A line is one reply, as JSON:

- ``key``: hash of the request, the conversation's name included;
- ``conversation``, ``head``, ``messages``, ``newest``: what was asked, as far as it takes to say
  what differs: hashes of the parts, and the last message;
- ``model``: who replied; ``synthetic``: true if that was no model;
- ``reply``: what `Reply` holds.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from ..errors import RunStoppedError, UsageError
from ..transcript import NO_USAGE, JsonDict, Usage
from .model import Model, Reply, Request, StopReason, blocks_of
from .options import OptionReader

_SHOWN = 160
"""Characters of a message that differs, in an error."""


class RecordingModel(Model):
    """A model whose replies are kept.

    Args:
        model: The model.
        file: Where; replies are appended to what is there.

    Raises:
        UsageError: The file cannot be written.
    """

    def __init__(self, model: Model, file: str) -> None:
        self.spec = f"{model.spec},record={file}"
        self.synthetic = model.synthetic
        self.priced = model.priced
        self._model = model
        self._file = file
        try:
            _append(file, b"")
        except OSError as error:
            raise UsageError(f"record={file}: {error.strerror}") from None

    async def complete(self, request: Request) -> Reply:
        """The model's reply, once it is kept."""
        reply = await self._model.complete(request)
        asked = _Asked.of(request)
        line = {
            "key": asked.key,
            "conversation": request.conversation,
            "model": self._model.identity_in(request.conversation),
            **({"synthetic": True} if self.synthetic else {}),
            "head": asked.head,
            "messages": asked.messages,
            "newest": asked.newest,
            "reply": _dump(reply),
        }
        _append(self._file, json.dumps(line).encode() + b"\n")
        return reply

    async def check(self) -> None:
        """As the model does."""
        await self._model.check()

    async def warm_up(self, prefix: Request) -> Usage:
        """As the model does; it is not kept, since it is no reply to anybody."""
        return await self._model.warm_up(prefix)

    async def close(self) -> None:
        """As the model does."""
        await self._model.close()


class RecordedModel(Model):
    """Replies from a cassette: to the n-th time that something is asked, the n-th reply to it.

    Usage and cost are those of the recording.

    Args:
        file: The cassette.
        spec: As the user wrote it.

    Raises:
        UsageError: It cannot be read, or is no cassette.
    """

    def __init__(self, file: str, spec: str) -> None:
        self.spec = spec
        self._file = file
        self._lines: defaultdict[str, list[bytes]] = defaultdict(list)
        self._of_conversation: defaultdict[str, list[bytes]] = defaultdict(list)
        self._models: dict[str, str] = {}
        self._given: Counter[str] = Counter()
        try:
            lines = Path(file).read_bytes().splitlines()
        except OSError as error:
            raise UsageError(f"{spec}: {error.strerror}") from None
        for number, line in enumerate(lines, 1):
            self._add(line, number)
        if not self._lines:
            raise UsageError(f"{spec}: the file is empty")

    @classmethod
    def from_options(cls, name: str, options: Mapping[str, str]) -> RecordedModel:
        """The model of a spec.

        Raises:
            UsageError: There is an option, or the file is no cassette.
        """
        return cls(name, OptionReader(f"recorded:{name}", options, ("record",)).spec)

    def identity_in(self, conversation: str) -> str:
        """The model that replied in a conversation."""
        return self._models.get(conversation, self.spec)

    async def complete(self, request: Request) -> Reply:
        """The recorded reply.

        Raises:
            RunStoppedError: This was never asked, or not as often; says what differs.
        """
        asked = _Asked.of(request)
        recorded = self._lines.get(asked.key, [])
        self._given[asked.key] += 1
        if self._given[asked.key] <= len(recorded):
            return _load(json.loads(recorded[self._given[asked.key] - 1])["reply"])
        where = f"{self._file}: conversation {request.conversation!r}"
        if recorded:
            times = f"{self._given[asked.key]} times, and recorded {len(recorded)} times"
            raise RunStoppedError(f"{where}: the same was asked {times}")
        known = [_Asked.recorded(line) for line in self._of_conversation[request.conversation]]
        raise RunStoppedError(f"{where}: {_what_is_new(asked, known)}")

    def _add(self, line: bytes, number: int) -> None:
        try:
            read = json.loads(line)
            _load(read["reply"])
            key, conversation, model = read["key"], read["conversation"], read["model"]
            _Asked.recorded(line)
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{self.spec}: line {number} is none of a cassette ({error!r:.100}); was it"
                " written with record=FILE, and to its end?"
            ) from None
        self._lines[key].append(line)
        self._of_conversation[conversation].append(line)
        self._models[conversation] = model
        self.synthetic = self.synthetic or read.get("synthetic", False)
        usage = Usage(**read["reply"]["usage"])
        self.priced = self.priced and (usage == NO_USAGE or usage.cost_dollars is not None)


# --- comparing requests ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """A request as hashes.

    Attributes:
        key: Of the whole.
        head: Of what comes before the messages, by name.
        messages: Of each message.
        newest: The last message.
    """

    key: str
    head: dict[str, str]
    messages: list[str]
    newest: JsonDict

    @classmethod
    def of(cls, request: Request) -> _Asked:
        head = {
            "system": _hash(request.system),
            "tools": _hash(list(request.tools)),
            "schema": _hash(request.schema),
            "one_tool_at_a_time": _hash(request.one_tool_at_a_time),
        }
        messages = [_hash(message) for message in request.messages]
        key = _hash([request.conversation, head, messages])
        return cls(key, head, messages, request.messages[-1])

    @classmethod
    def recorded(cls, line: bytes) -> _Asked:
        read = json.loads(line)
        return cls(read["key"], read["head"], read["messages"], read["newest"])

    def common(self, other: _Asked) -> int:
        """How many messages are the same, from the first on."""
        pairs = zip(self.messages, other.messages, strict=False)
        same = takewhile(lambda pair: pair[0] == pair[1], pairs)
        return sum(1 for _ in same)


def _what_is_new(asked: _Asked, known: Sequence[_Asked]) -> str:
    """How a request differs from the most similar one of its conversation."""
    if not known:
        return "none of that name was recorded (another seed, task or side?)"
    changed = [name for name, value in asked.head.items() if value != known[0].head[name]]
    if changed:
        return f"{' and '.join(changed)} differ from the recording"
    near = max(known, key=lambda other: (asked.common(other), -len(other.messages)))
    at = asked.common(near)
    if at == len(asked.messages):
        return f"it was recorded with more than these {at} messages"
    told = f"message {at + 1} was never recorded"
    if at == len(asked.messages) - 1:
        told += f": {_shown(asked.newest)}"
    if at == len(near.messages) - 1:
        told += f"; the recording has {_shown(near.newest)}"
    return told


def _shown(message: JsonDict) -> str:
    content = message["content"]
    texts = [content] if isinstance(content, str) else [_text_in(block) for block in content]
    text = " | ".join(texts)
    return f"{text!r:.{_SHOWN}}"


def _text_in(block: JsonDict) -> str:
    return str(block.get("text") or block.get("content") or json.dumps(block, sort_keys=True))


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


# --- the file -------------------------------------------------------------------------------------


def _append(file: str, line: bytes) -> None:
    """Write one line in one piece, so that several writers do not mix."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _dump(reply: Reply) -> JsonDict:
    return {
        **vars(reply),
        "stop": reply.stop.value,
        "usage": reply.usage.model_dump(exclude_none=True),
    }


def _load(read: JsonDict) -> Reply:
    return Reply(
        **{
            **read,
            "content": blocks_of(read["content"]),
            "stop": StopReason(read["stop"]),
            "usage": Usage(**read["usage"]),
        }
    )
