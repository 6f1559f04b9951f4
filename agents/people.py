"""Who is writing: e-mail address, name and zip code in a customer's words."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any

from ..language import emails
from ..transcript import Observation
from .scripted import Step, StepKind, call, say

_ZIP = re.compile(r"(?<![\w#$-])\d{5}(?!\w)")
_INTRODUCED = re.compile(
    r"(?i:\b(?:names?(?: is|'s|:)?|i am|i'm|this is|it is|it's|call me))[\s,:-]+"
    r"([^\W\d_][\w'’-]*(?:\s+[^\W\d_][\w'’-]*)+)"
)
_CAPITALS = re.compile(r"[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)+")
_NO_NAMES = frozenset(
    """i i'm i've i'd it it's its my me the a an and or is in on at so sure yes yeah ok okay well hi
    hello hey thanks thank you name zip code e-mail email postal here this that oh of course no with
    from living live but please let zipcode not just as for""".split()  # noqa: SIM905
)


def person_in(texts: Sequence[str]) -> dict[str, str]:
    """The newest ``email``, ``first_name`` and ``last_name``, ``zip`` in these words, if any.

    >>> person_in(["Hi!", "I'm Ana Silva, zip 60601"])
    {'first_name': 'Ana', 'last_name': 'Silva', 'zip': '60601'}
    """
    person: dict[str, str] = {}
    for text in texts:
        if found := emails(text):
            person["email"] = found[-1]
        if name := _name_in(text):
            person |= {"first_name": name[0], "last_name": " ".join(name[1:])}
        if zips := _ZIP.findall(text):
            person["zip"] = zips[-1]
    return person


def _name_in(text: str) -> list[str]:
    for pattern in (_INTRODUCED, _CAPITALS):
        for found in pattern.findall(text):
            words: list[str] = found.split()
            while words and words[0].lower() in _NO_NAMES:
                words = words[1:]
            stop = next((i for i, w in enumerate(words) if w.lower() in _NO_NAMES), len(words))
            if stop >= 2:
                return words[: min(stop, 3 if pattern is _CAPITALS else 2)]
    return []


def identify(heard: list[str]) -> Generator[Step, Observation, str | None]:
    """Ask until the customer is found; gives the user id, or None after a few tries.

    Args:
        heard: What the customer has said so far; their answers are added.
    """
    tried: list[dict[str, Any]] = []
    question = "To look into this, may I have the e-mail address of your account, please?"
    for _ in range(4):
        for name, arguments in _look_ups(person_in(heard)):
            if arguments not in tried:
                tried.append(arguments)
                result = yield from call(StepKind.LOOK_UP, name, arguments)
                if result is not None and result.error is None and result.content:
                    return result.content.strip()
                question = (
                    "I could not find an account with that. Could you give me your first and last"
                    " name and your zip code?"
                )
        answer = yield from say(StepKind.ASK, question)
        heard.append(answer)
        if not person_in([answer]):
            question = "Could you then tell me your first and last name and your zip code?"
        elif "zip" not in person_in(heard):
            question = "Thank you. And what is the zip code of your address?"
        else:
            question = "Thank you. And what are your first and last name?"
    return None


def _look_ups(person: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    found = []
    if "email" in person:
        found.append(("find_user_id_by_email", {"email": person["email"]}))
    if "first_name" in person and "zip" in person:
        by = {key: person[key] for key in ("first_name", "last_name", "zip")}
        found.append(("find_user_id_by_name_zip", by))
    return found
