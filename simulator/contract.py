"""What no simulated customer may do, checked on every line before the agent hears it.

A customer who invents an order number, tells the second choice first or talks like the agent spoils
the trial, and the agent must not pay for it: such a line ends the trial as the simulator's fault.
The checks look for what is certain; a line that is merely odd passes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Self

from ..language import plain
from ..task import UserScript
from ..transcript import UserReply
from .due import Waiting, is_free_text, not_due
from .settled import Dealings
from .telling import Known


class ProblemKind(StrEnum):
    """What is wrong with a customer's line; also the words with which a `Problem` begins."""

    INVENTED = "invented"
    LEAKED = "leaked"
    PREMATURE = "premature"
    REPEATED = "repeated"
    AS_AGENT = "spoke as the agent"
    OF_SCRIPT = "spoke of its script"
    EMPTY = "said nothing"

    @classmethod
    def of(cls, reason: str) -> ProblemKind | None:
        """The kind of problem by which a trial was lost; None if it was lost otherwise.

        Args:
            reason: As the trial's ending and the store keep it.

        >>> ProblemKind.of("invented '#w2222222': it is in no script, profile or line before").name
        'INVENTED'
        >>> ProblemKind.of("TimeoutError: no answer") is None
        True
        """
        return next((kind for kind in cls if reason.startswith(kind.value)), None)


class Problem(str):
    """Why the agent must not hear a line: a sentence, which knows its kind and begins with it."""

    kind: ProblemKind

    def __new__(cls, kind: ProblemKind, about: str = "") -> Self:
        """The words of the kind, and what comes behind them."""
        problem = super().__new__(cls, f"{kind.value}{about}")
        problem.kind = kind
        return problem

    def __reduce__(self) -> tuple[type[Problem], tuple[ProblemKind, str]]:
        """What copies are made from."""
        return type(self), (self.kind, self.removeprefix(self.kind.value))


_AS_AGENT = re.compile(
    r"\b(?:how (?:can|may) i (?:help|assist) you\b"
    r"|(?:anything|something) else i can (?:help|assist)\b(?! (?:you )?(?:find|prove))"
    r"|(?:anything|something) else i can do for you\b"
    r"|i(?:'ve| have)(?: now| just| successfully)* (?:cancell?ed|processed|updated|modified"
    r"|exchanged|refunded|submitted|initiated) your\b"
    r"|i(?:'ll| will) (?:transfer|connect) you to\b|let me (?:transfer|connect) you to\b"
    r"|i(?:'ll| will| can)(?: now| also)? (?:cancel|process|update|modify|exchange|refund"
    r"|look up) your\b"
    r"|let me (?:look up|pull up|process|cancel|update) your\b"
    r"|let me (?:check|verify) your (?:account|order|reservation|booking|details|profile)\b"
    r"|i(?:'d| would) be happy to (?:help|assist)\b(?! (?:find|by))"
    r"|(?:could|can|would|may) (?:you|i) (?:please )?(?:provide|share|have|get|confirm|tell me)"
    r"(?: me(?: with)?)? your (?:e-?mail|zip|order (?:id|number)|user id|reservation)\b"
    r"|your (?:\w+ ){1,4}has been successfully\b"
    r"|thank you for (?:contacting|calling|reaching out to) (?:us|our|customer)\b)"
)
_OF_SCRIPT_HINT = re.compile(  # without one of these there is nothing to look for
    r"instruct|script|scenario|prompt|simulat|role|play|user|customer|\bai\b|llm|model|goal|#"
)
_OF_SCRIPT = re.compile(
    r"\b(?:not|isn't|is|was|wasn't|as) (?:(?:mentioned|stated|given|said|described|written) )?in my"
    r" (?:instructions?|script|scenario|prompt)\b"
    r"|\bmy (?:instructions?|script|scenario|prompt) (?:say|tell|do|don't|is|are|mention|state)"
    r"|(?<!follow )(?<!followed )(?<!following )(?<!read )\bmy (?:instructions|script)\b"
    r"|\b(?:simulated (?:user|customer)|user simulat\w+|role-?playing|system prompt)\b"
    r"|\bas an? (?:ai|language model|llm|simulated|user simulator)\b|\b(?:ai|language) model\b"
    r"|\bthe scenario (?:says|states|does|doesn't|specif|mention)"
    r"|\bplay(?:ing)? (?:the role of )?an? (?:simulated )?(?:customer|user)\b"
    r"|^\W*the (?:user|customer) (?:would|wants|is|asks|says|has)\b"
    r"|^\s*goals?\s*\d*:|#{3}"
)


class Contract:
    """The checks for one conversation; each line costs time for itself, not for those before it.

    A line that passes is taken as said.

    Args:
        script: What the customer wants and knows.
        profile: What their row in the world says about them, by topic.
        now: The world's clock, which everybody can read: ISO date and time; "" if nobody says.

    Example:
        >>> script = UserScript.model_validate({"goals": [{"ask": "Cancel #W1111111"}]})
        >>> contract = Contract(script, profile={})
        >>> contract.check(UserReply(content="Please cancel #W2222222"))
        "invented '#w2222222': it is in no script, profile or line before"
        >>> contract.hear("I see an order #W2222222, too.")
        >>> contract.check(UserReply(content="Please cancel #W2222222"))
    """

    def __init__(self, script: UserScript, profile: Mapping[str, str], now: str = "") -> None:
        today = now[: len("2026-05-15")]
        self._known = Known("\n".join((script.text, *profile.values(), today)))
        self._waiting = Waiting(not_due(script, profile, today))
        self._dealings = Dealings(() if is_free_text(script) else script.goals)

    def hear(self, text: str) -> None:
        """Whatever is named here may be named by the customer from now on."""
        self._known.hear(text)
        self._waiting.hear(text)
        self._dealings.hear(text)

    def check(self, reply: UserReply, never_put: Sequence[str] = ()) -> Problem | None:
        """Why the agent must not hear this line, or None if it may.

        Args:
            reply: What the customer is about to say.
            never_put: Requests of the script not put so far, from users that can tell.
        """
        problem = self._problem(reply, never_put)
        if problem is None:
            self._dealings.say(reply.content)
        return problem

    def _problem(self, reply: UserReply, never_put: Sequence[str]) -> Problem | None:
        text = reply.content
        if not (said := plain(text)):
            return Problem(ProblemKind.EMPTY)
        if found := _AS_AGENT.search(said):
            return Problem(ProblemKind.AS_AGENT, f": {found[0]!r}")
        if _OF_SCRIPT_HINT.search(said) and (found := _OF_SCRIPT.search(said)):
            return Problem(ProblemKind.OF_SCRIPT, f": {found[0]!r}")
        tokens = self._known.told(text)
        if stranger := self._known.stranger(text, tokens):
            about = f" {stranger!r}: it is in no script, profile or line before"
            return Problem(ProblemKind.INVENTED, about)
        if leak := self._waiting.leak(text, tokens, self._known):
            return Problem(ProblemKind.LEAKED, f" {leak}")
        if again := self._dealings.asked_again(text):
            return Problem(ProblemKind.REPEATED, f" {again}")
        if reply.end and (early := self._dealings.too_early(reply.end, text, never_put)):
            return Problem(ProblemKind.PREMATURE, f": {early}")
        return None

    def fork(self) -> Self:
        """The same contract at the same point; the two never affect each other."""
        twin = object.__new__(type(self))
        twin._known = self._known.fork()
        twin._waiting = self._waiting.fork()
        twin._dealings = self._dealings.fork()
        return twin
