"""What no simulated customer may do, checked on every line before the agent hears it.

A customer who invents an order number, talks like the agent or quotes the script spoils the trial,
and the agent must not pay for it: such a line ends the trial as the simulator's fault. The checks
look for what is certain; a line that is merely odd passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from ..language import amounts, dates, emails, ids, numbers, plain
from ..task import UserScript
from ..transcript import UserEnd, UserReply
from .proposals import values

_LONG_NUMBER = re.compile(r"(?<![\w.,])\d{5,}(?![\w.,]\d|\w)")
_TELLING = re.compile(r"[\d@]")  # whatever can be invented has one of these in it
_AS_AGENT = re.compile(
    r"\bhow (?:can|may) i (?:help|assist) you\b"
    r"|\b(?:anything|something) else i can (?:help|assist|do)\b"
    r"|\bi(?:'ve| have)(?: now| just| successfully)* (?:cancell?ed|processed|updated|modified"
    r"|exchanged|refunded|submitted|initiated) your\b"
    r"|\bi(?:'ll| will) (?:transfer|connect) you to\b|\blet me (?:transfer|connect) you to\b"
)
_LEAK = re.compile(
    r"\b(?:not|isn't|is|was|wasn't|as) (?:(?:mentioned|stated|given|said|described|written) )?in my"
    r" (?:instructions?|script|scenario|prompt)\b"
    r"|\bmy (?:instructions?|script|scenario|prompt) (?:say|tell|do|don't|is|are|mention|state)"
    r"|(?<!follow )(?<!followed )(?<!following )(?<!read )\bmy (?:instructions|script)\b"
    r"|\b(?:simulated (?:user|customer)|user simulat\w+|role-?playing|system prompt)\b"
    r"|\bas an? (?:ai|language model|llm|simulated|user simulator)\b|\b(?:ai|language) model\b"
    r"|^\s*goals?\s*\d*:|#{3}"
)


class Contract:
    """The checks for one conversation; each line costs time for itself, not for those before it.

    Args:
        script: What the customer wants and knows.
        profile: What their row in the world says about them, by topic.

    Example:
        >>> script = UserScript.model_validate({"goals": [{"ask": "Cancel #W1111111"}]})
        >>> contract = Contract(script, profile={})
        >>> contract.check(UserReply(content="Please cancel #W2222222"))
        "invented '#w2222222': it is in no script, profile or line before"
        >>> contract.hear("I see an order #W2222222, too.")
        >>> contract.check(UserReply(content="Please cancel #W2222222"))
    """

    def __init__(self, script: UserScript, profile: Mapping[str, str]) -> None:
        text = "\n".join((script.text, *profile.values()))
        self._has_reservations, known = _told_at_the_start(text)
        self._known = set(known)

    def hear(self, text: str) -> None:
        """Whatever is named here may be named by the customer from now on."""
        self._known.update(_told(text, self._has_reservations))

    def check(self, reply: UserReply, never_put: Sequence[str] = ()) -> str | None:
        """Why the agent must not hear this line, or None if it may.

        Args:
            reply: What the customer is about to say.
            never_put: Requests of the script not put so far, from users that can tell.
        """
        said = plain(reply.content)
        if not said:
            return "said nothing"
        named = _named(reply.content, self._has_reservations) if _TELLING.search(said) else ()
        for token in named:
            if token not in self._known:
                return f"invented {token!r}: it is in no script, profile or line before"
        if found := _AS_AGENT.search(said):
            return f"spoke as the agent: {found[0]!r}"
        if found := _LEAK.search(said):
            return f"spoke of its script: {found[0]!r}"
        if reply.end is UserEnd.GOALS_MET and never_put:
            return f"ended as if all goals were met, but never asked: {never_put[0]!r}"
        return None

    def fork(self) -> Self:
        """The same contract at the same point; the two never affect each other."""
        twin = object.__new__(type(self))
        twin._known = self._known.copy()
        twin._has_reservations = self._has_reservations
        return twin


@lru_cache(maxsize=1024)
def _told_at_the_start(text: str) -> tuple[bool, frozenset[str]]:
    """Whether a script has reservation numbers, and all it names: the same in all its trials."""
    has_reservations = bool(values("reservation", text))
    return has_reservations, frozenset(_told(text, has_reservations))


def _told(text: str, has_reservations: bool) -> Iterator[str]:
    """All that may be named by somebody who knows this text."""
    if _TELLING.search(text):
        yield from _named(text, has_reservations)
        yield from map(_number, numbers(text))


def _named(text: str, has_reservations: bool) -> Iterator[str]:
    """What cannot be said by chance: ids, e-mails, dates, amounts of money, long numbers."""
    for token in (*ids(text), *emails(text), *dates(text)):
        yield token.lower()
        yield from re.findall(r"\d{5,}", token)
    yield from map(_number, amounts(text))
    yield from _LONG_NUMBER.findall(text)
    if has_reservations:  # elsewhere, "1000ML" is a size
        yield from values("reservation", text)


def _number(number: Any) -> str:
    return f"{abs(number):.2f}"
