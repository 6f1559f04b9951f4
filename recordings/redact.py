"""Replaces personal data in a conversation, everywhere in it, before it is stored or shown.

The record is changed and read again, so that the events say what the record says. The same text is
always replaced by the same placeholder within a conversation, whatever its case or punctuation.
Placeholders have the shape of what they replace, so that what reads them goes on working; but a
database knows them not, and a redacted conversation says that it is one.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from ..transcript import JsonDict, ToolCallEvent
from .conversation import Address, Conversation
from .personal import ORDINARY, Found, Kind, personal_data
from .readers import reread

NOT_LOOKED_FOR: Final = (
    "names and addresses that stand in free text only, unless introduced (my name is ...)",
    "cities, states and countries",
    "dates of birth",
    "PINs, passwords and security answers",
    "ids of accounts, orders and payments, and the last digits of cards",
    "anything in pictures or sound",
    "the same data misspelt, spelt out, or in another script",
)
"""What a redaction cannot know or leaves alone, in words."""

_ROUNDS: Final = 5  # a replacement may show what was hidden beside it; this many are never needed

_SHAPES: Final[Mapping[Kind, Callable[[int], str]]] = {
    Kind.EMAIL: "email{}@redacted.invalid".format,
    Kind.PHONE: "000-000-{:04}".format,
    Kind.CARD: "0000 0000 0000 {:04}".format,
    Kind.ADDRESS: "{} Redacted Street".format,
    Kind.ZIP: "000{:02}".format,
    Kind.USER_NAME: "username{}".format,
    Kind.NAME: "Name{}".format,
}

_FIELD: Final = re.compile("[a-z_]+")
_BEFORE: Final = r"(?:(?<![^\W\d_])|(?<=\\[nrt]))"  # no letter, except that of a written \n
_AFTER: Final = r"(?![^\W\d_])"
_NO_FIELD: Final = r"(?![a-z_]{0,60}\\{0,8}\"\s{0,8}:)"  # not the name of a field in a JSON text


@dataclass(frozen=True, slots=True)
class RedactionReport:
    """What was replaced, and what was never looked for. It holds none of the originals.

    Attributes:
        replaced: How many different texts of each kind were replaced.
        places: How many times any of them was.
        calls: Tool calls of the conversation.
        calls_changed: Those whose arguments changed: they cannot be carried out again.
        looked_for: The kinds that were looked for.
        not_looked_for: What may still be there.
    """

    replaced: Mapping[str, int]
    places: int
    calls: int
    calls_changed: int
    looked_for: tuple[str, ...] = tuple(map(str, Kind))
    not_looked_for: tuple[str, ...] = NOT_LOOKED_FOR

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} × {kind}" for kind, count in self.replaced.items())
        what = f"replaced in {self.places} places: {kinds}" if kinds else "nothing to replace"
        return (
            f"{what}; {self.calls_changed} of {self.calls} tool calls changed; "
            f"not looked for: {'; '.join(self.not_looked_for)}"
        )


def redact(conversation: Conversation) -> tuple[Conversation, RedactionReport]:
    """The conversation without the personal data that its own records show, and a report.

    Redacting twice changes nothing more.
    """
    numbers: dict[tuple[Kind, str], int] = {}
    seen: set[Found] = set()
    record, context = conversation.record, conversation.context
    address = conversation.address
    places = 0
    for _ in range(_ROUNDS):
        found = _new(chain(personal_data(record), personal_data(context)), seen, numbers)
        if not found:
            break
        writer = _Writer(found, numbers, _tool_names(conversation))
        record, context = writer.written(record), writer.written(context)
        address = Address(writer.text(address.file), writer.text(address.trial), address.event)
        places += writer.places
    changed = replace(
        reread(replace(conversation, address=address), record, context), redacted=True
    )
    report = RedactionReport(
        replaced=dict(Counter(str(kind) for kind, _ in numbers)),
        places=places,
        calls=sum(1 for _ in _calls(conversation)),
        calls_changed=sum(
            before.arguments != after.arguments
            for before, after in zip(_calls(conversation), _calls(changed), strict=True)
        ),
    )
    return changed, report


def _calls(conversation: Conversation) -> Iterable[ToolCallEvent]:
    return (event for event in conversation.events if isinstance(event, ToolCallEvent))


def _tool_names(conversation: Conversation) -> set[str]:
    """Names of tools, which stay as they are, even where a person's name is part of them."""
    return {event.name for event in _calls(conversation) if event.name}


def _same(found: Found) -> str:
    """What two writings of the same thing have in common."""
    if found.kind in (Kind.PHONE, Kind.CARD):
        return "".join(filter(str.isdigit, found.text))[-10 if found.kind is Kind.PHONE else 0 :]
    return unicodedata.normalize("NFC", " ".join(found.text.split())).casefold()


def _new(
    found: Iterable[Found], seen: set[Found], numbers: dict[tuple[Kind, str], int]
) -> list[Found]:
    """What was not seen before, each once; things are numbered, by kind, as they appear."""
    new = [one for one in dict.fromkeys(found) if one not in seen]
    seen.update(new)
    counts = Counter(kind for kind, _ in numbers)
    for one in new:
        thing = (one.kind, _same(one))
        if thing not in numbers:
            counts[one.kind] += 1
            numbers[thing] = counts[one.kind]
    return new


@dataclass
class _Writer:
    """Writes values anew with placeholders in place of what was found.

    Attributes:
        found: What to replace.
        numbers: The number of each placeholder.
        kept: Words that stay.
        places: How many replacements were made.
    """

    found: list[Found]
    numbers: Mapping[tuple[Kind, str], int]
    kept: set[str] = field(default_factory=set)
    places: int = 0

    def __post_init__(self) -> None:
        self._order = sorted(self.found, key=lambda one: (-len(one.text), one.kind, one.text))
        parts = [rf"(?P<f{number}>{_pattern(one)})" for number, one in enumerate(self._order)]
        if self.kept:
            names = "|".join(map(re.escape, sorted(self.kept, key=len, reverse=True)))
            parts.insert(0, rf"(?<!\w)(?:{names})(?!\w)")
        firsts = _firsts([*(one.text for one in self.found), *self.kept])
        self._pattern = re.compile(rf"(?=[{firsts}])(?:{'|'.join(parts)})")

    def written(self, value: Any) -> Any:
        """A value with its texts replaced, the names of its fields included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._fields(value)
        if isinstance(value, list):
            return [self.written(inner) for inner in value]
        if isinstance(value, int) and not isinstance(value, bool) and value > 9999:
            text = self.text(str(value))
            return value if text == str(value) else text
        return value

    def text(self, text: str) -> str:
        """A text with everything found replaced."""
        return self._pattern.sub(self._placeholder, text)

    def _fields(self, fields: JsonDict) -> JsonDict:
        changed: JsonDict = {}
        for name, value in fields.items():
            written = name if _FIELD.fullmatch(name) else self.text(name)
            while written in changed:  # two names that became one
                written += "~"
            changed[written] = self.written(value)
        return changed

    def _placeholder(self, match: re.Match[str]) -> str:
        if match.lastgroup is None:
            return match[0]
        self.places += 1
        one = self._order[int(match.lastgroup[1:])]
        text = _SHAPES[one.kind](self.numbers[one.kind, _same(one)])
        if one.kind is not Kind.NAME:
            return text
        return text.lower() if match[0].islower() else text.upper() if match[0].isupper() else text


def _firsts(texts: Iterable[str]) -> str:
    """Characters that any writing of these texts may begin with, for a quick look ahead."""
    ways = (w for text in texts for w in (text[0], unicodedata.normalize("NFD", text[0])[0]))
    cases = {case for way in ways for case in (way.lower()[0], way.upper()[0], way)}
    return re.escape("".join(sorted(cases | {"+", "(", "\\"})))


def _pattern(one: Found) -> str:
    """How a thing may be written: in other case and spacing, escaped in a JSON text."""
    match one.kind:
        case Kind.PHONE | Kind.CARD:
            digits = filter(str.isdigit, one.text)
            return r"(?<!\d)\+?\(?" + r"[\s().-]{0,3}".join(digits) + r"(?!\d)"
        case Kind.ZIP:
            return rf"(?<![^\W_])(?i:{re.escape(one.text)})(?![^\W_])"
        case Kind.USER_NAME:
            return rf"(?<![^\W_])(?i:{_spellings(one.text)})(?![^\W_])"
        case Kind.ADDRESS:
            words = r"(?:[\s,]|\\+n)+".join(map(_spellings, one.text.replace(",", " ").split()))
            return rf"(?<![^\W_])(?i:{words})(?![^\W_])"
        case Kind.EMAIL:
            return f"(?i:{_spellings(one.text)})"
    if one.text.lower() in ORDINARY:
        ways = {one.text, one.text.capitalize(), one.text.upper()}
        in_id = rf"(?<=_){one.text.lower()}|{one.text.lower()}(?=_)"
        written = "|".join([*map(_spellings, sorted(ways)), in_id])
        return f"{_BEFORE}(?:{written}){_AFTER}{_NO_FIELD}"
    return f"{_BEFORE}(?i:{_spellings(one.text)}){_AFTER}{_NO_FIELD}"


def _spellings(word: str) -> str:
    """A word as text, composed and decomposed, and as JSON texts of it, one in the other."""
    ways = {word, *(unicodedata.normalize(form, word) for form in ("NFC", "NFD"))}
    for _ in range(2):
        ways |= {json.dumps(way)[1:-1] for way in ways}
    return "(?:" + "|".join(re.escape(way) for way in sorted(ways, key=len, reverse=True)) + ")"
