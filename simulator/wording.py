"""How a customer says things: by persona, chosen by the seed. Never what they say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import cast
from zlib import crc32

from ..task import Persona

Wordings = dict[str, dict[str, list[str]]]


@cache
def wordings() -> Wordings:
    """Every wording, by act and persona; under "said", by topic."""
    return cast(
        Wordings, json.loads(files(__package__).joinpath("wording.json").read_text("utf-8"))
    )


@dataclass(frozen=True, slots=True)
class Voice:
    """One customer's way of talking.

    Attributes:
        persona: Whose wordings are used.
        seed: Chooses among them, together with the turn and the act; no state is kept.

    >>> Voice("terse", 1).say("correct", 3, "order", "#W1")
    'No, order: #W1.'
    """

    persona: Persona
    seed: int

    def say(self, act: str, turn: int, *parts: str) -> str:
        """Words for one act.

        Args:
            act: A key of ``wording.json``.
            turn: The customer's turn, so that the same act is worded differently later.
            parts: What fills the wording's places.
        """
        choices = wordings()[act]
        return self._choose(choices.get(self.persona) or choices["plain"], act, turn, parts)

    def tell(self, topic: str, turn: int, value: str) -> str:
        """One fact as a sentence; a value that is a sentence already is said as it is."""
        value = value.strip()
        if value[-1:] in (".", "!"):
            return value
        if self.persona == "terse":
            return f"{value}."
        choices = wordings()["said"]
        return self._choose(choices.get(topic, choices["other"]), topic, turn, (value, topic))

    def _choose(self, choices: list[str], act: str, turn: int, parts: tuple[str, ...]) -> str:
        chosen = crc32(f"{self.seed}/{turn}/{act}".encode()) % len(choices)
        return choices[chosen].format(*parts)
