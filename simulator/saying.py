"""What a customer does with a line, by rules: the same rules for a person, a model and a script."""

from __future__ import annotations

import re
from enum import StrEnum

from ..language import agrees, declines, plain
from .hearing import hear


class UserAct(StrEnum):
    """What a line of a customer mainly is, in the order in which one is recognised."""

    ENDS = "ends"
    OPENS = "opens"
    CONFIRMS = "confirms"
    DECLINES = "declines"
    REFUSES = "refuses"
    ASKS = "asks"
    ANSWERS = "answers"
    REMARKS = "remarks"


_CANNOT_SAY = re.compile(
    r"\b(?:(?:do|can|did|could)(?: not|n't)|not sure|cannot|no idea|never|wish i)\b[^.?!]{0,40}"
    r"\b(?:know|remember|recall|have|find|tell|share|say|provide|give)\b"
    r"|\b(?:rather not|prefer not|forgot|forgotten|no longer have|not with me|not at hand)\b"
)
_WANTS = re.compile(
    r"\b(?:please|(?:can|could|will|would) you|i(?:'d| would)(?: also| still)?"
    r" (?:like|love|prefer)|i(?: also| still| just)? (?:want|need)"
    r"|i(?:'m| am) looking|let's|help me)\b"
)
_COURTESY = re.compile(
    r"\b(?:please|thank(?:s| you)|sorry|apologi\w+|appreciate\w*|grateful|hello|hi|hey|good"
    r" (?:morning|afternoon|evening|day)|goodbye|bye|have a (?:nice|great|good|lovely)|kind(?:ly)?"
    r"|welcome|excuse me|pardon)\b"
)


def act_of(said: str, heard: str | None, *, opens: bool = False, ends: bool = False) -> UserAct:
    """What a line mainly does.

    Args:
        said: The customer's line.
        heard: What it answers; None if the agent has said nothing.
        opens: Whether it is the customer's first.
        ends: Whether the customer leaves with it.

    >>> act_of("Yes, go ahead.", "I will cancel #W1111111. Do you want me to proceed?").value
    'confirms'
    >>> act_of("No, the other one.", "I will cancel #W1111111. Do you want me to proceed?").value
    'declines'
    >>> act_of("I don't remember it.", "What is your e-mail?").value
    'refuses'
    >>> act_of("ana@example.com", "What is your e-mail?").value
    'answers'
    """
    if ends:
        return UserAct.ENDS
    if opens or heard is None:
        return UserAct.OPENS
    words, understood = plain(said), hear(heard)
    if declines(said):
        return UserAct.DECLINES
    if (understood.asks_yes or understood.offers) and agrees(said):
        return UserAct.CONFIRMS
    if understood.requests and _CANNOT_SAY.search(words):
        return UserAct.REFUSES
    if understood.requests and not ("?" in said and _WANTS.search(words)):
        return UserAct.ANSWERS
    if "?" in said or _WANTS.search(words):
        return UserAct.ASKS
    return UserAct.REMARKS


def courtesies(said: str) -> int:
    """How many words of courtesy a line has: greetings, please, thanks, apologies.

    >>> courtesies("Hello, could you please help me? Thank you!")
    3
    """
    return len(_COURTESY.findall(plain(said)))
