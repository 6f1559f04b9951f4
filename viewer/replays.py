"""Results of `passhat replay --json`, to be shown beside the conversations they are about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..errors import UsageError
from ..harness.sources import printable

_KEYS: Final = ("source", "agent", "cuts", "agreement", "trials")
_NO_CUT: Final[dict[str, Any]] = {
    "agrees": None,
    "agreement": None,
    "state": "unknown",
    "reason": "",
    "row_differences": [],
    "findings": [],
}


class Place(NamedTuple):
    """A replayed conversation: which file it is in, and where."""

    file: int
    number: int


@dataclass(frozen=True)
class Replayed:
    """One file.

    Attributes:
        name: What it is called.
        about: What it holds, but for the conversations.
        conversations: Each as `harness.replay_json` writes it.
    """

    name: str
    about: Mapping[str, Any]
    conversations: Sequence[Mapping[str, Any]]


class Replays:
    """The files that were given; `read` reads them.

    Args:
        files: As they were read.
    """

    def __init__(self, files: Sequence[Replayed] = ()) -> None:
        self.files = files
        self._by_address: dict[str, list[Place]] = {}
        for place, file in enumerate(files):
            for number, one in enumerate(file.conversations):
                self._by_address.setdefault(one["address"], []).append(Place(place, number))

    @classmethod
    def read(cls, paths: Iterable[Path]) -> Replays:
        """Read files.

        Raises:
            UsageError: One cannot be read, or is no such result.
        """
        return cls([_read(path) for path in paths])

    def of(self, addresses: Iterable[str]) -> list[Place]:
        """Where a conversation was replayed, by any of the addresses it has."""
        return [place for one in addresses for place in self._by_address.get(one, ())]

    def at(self, file: int, number: int) -> tuple[Replayed, Mapping[str, Any]]:
        """A replayed conversation, and the file it is in.

        Raises:
            UsageError: There is none.
        """
        if not 0 <= file < len(self.files):
            raise UsageError(f"there is no replay {file}; {len(self.files)} were given")
        found = self.files[file]
        if not 0 <= number < len(found.conversations):
            raise UsageError(f"replay {found.name!r} has no conversation {number}")
        return found, found.conversations[number]


def _read(path: Path) -> Replayed:
    name = printable(path.name)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except (ValueError, RecursionError):
        raise UsageError(f"{str(path)!r} is no JSON; passhat replay --json writes some") from None
    if not isinstance(found, dict) or not all(key in found for key in _KEYS):
        raise UsageError(f"{str(path)!r} is no result of passhat replay --json")
    if not isinstance(found["agreement"], dict) or not {"equal", "total"} <= {*found["agreement"]}:
        raise UsageError(f"{str(path)!r} does not say at how many cuts the agent agrees")
    conversations = found["trials"]
    if not isinstance(conversations, list) or not all(map(_is_conversation, conversations)):
        raise UsageError(f"{str(path)!r} has conversations that passhat replay did not write")
    about = {key: given for key, given in found.items() if key != "trials"}
    return Replayed(name, {"notes": []} | about, [_filled(one) for one in conversations])


def _filled(conversation: dict[str, Any]) -> dict[str, Any]:
    """A conversation with every key that its page reads."""
    cuts = [_NO_CUT | cut for cut in conversation["cuts"]]
    return {"passed": None, "lost": None} | conversation | {"cuts": cuts}


def _is_conversation(found: object) -> bool:
    return (
        isinstance(found, dict)
        and isinstance(found.get("address"), str)
        and isinstance(found.get("cuts"), list)
        and all(map(_is_cut, found["cuts"]))
    )


def _is_cut(found: object) -> bool:
    return (
        isinstance(found, dict)
        and isinstance(found.get("address"), str)
        and isinstance(found.get("position"), int)
        and isinstance(found.get("recorded"), dict)
    )


def event_of(cut: Mapping[str, Any]) -> int | None:
    """The event before which a cut stands.

    >>> event_of({"address": "last/cancel-lamp/3:7"})
    7
    """
    number = str(cut["address"]).rpartition(":")[2]
    return int(number) if number.isdecimal() else None
