"""Communication: what the customer must have been told, refused, or handed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..language import refuses, says
from ..task import Refusal, Task, Words
from ..transcript import EndReason, Transcript
from .verdict import Verdict

NAME = "communication"


def grade_communication(task: Task, transcript: Transcript) -> Verdict:
    """Passes if every fact was told, every refusal made with its reason, and hand-over right.

    Facts are looked for in what the agent said to the customer, never in text beside a tool call.
    A number is found as a number (4 is not found in "24 hours"), words as whole words.
    """
    heard = transcript.text_by("agent")
    checks = list(_checks(task, transcript, heard))
    missing = [reason for passed, reason in checks if not passed]
    return Verdict(
        grader=NAME,
        passed=not missing,
        score=1 - len(missing) / len(checks),
        reason="; ".join(missing) or "everything was said that had to be",
        evidence=tuple({"missing": reason} for reason in missing),
    )


def _checks(task: Task, transcript: Transcript, heard: Sequence[str]) -> Iterator[tuple[bool, str]]:
    for fact in task.expect.tell:
        yield any(says(text, fact) for text in heard), f"the customer was not told {_words(fact)}"
    for refusal in task.expect.refuse:
        yield from _refusal_checks(refusal, heard)
    ending = transcript.ending
    handed_over = ending is not None and ending.reason is EndReason.HANDED_OVER
    if task.expect.hand_over:
        yield handed_over, "the customer was not handed over to a human"
    else:
        yield not handed_over, "the customer was handed over to a human though the agent could help"


def _refusal_checks(refusal: Refusal, heard: Sequence[str]) -> Iterator[tuple[bool, str]]:
    refused = any(refuses(text) and says(text, refusal.about) for text in heard)
    yield refused, f"the agent did not refuse ({_words(refusal.about)})"
    for reason in refusal.because:
        said = any(says(text, reason) for text in heard)
        yield said, f"the refusal's reason was not given: {_words(reason)}"


def _words(wording: Words) -> str:
    return repr(wording) if isinstance(wording, str) else " or ".join(map(repr, wording))
