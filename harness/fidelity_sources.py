"""Recorded customers to compare with: conversations in files, and runs of the store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from ..domains.domain import Domain
from ..errors import UsageError
from ..grading.outcome import start_rows
from ..recordings.conversation import Conversation
from ..recordings.readers import read_conversations
from ..simulator.due import is_free_text
from ..simulator.user import UserKind
from ..task import Goal, Task, UserScript
from ..transcript import EndReason, MessageEvent, Transcript
from .attempt import load_domain_of
from .fidelity import Talk, Turn
from .store import open_store

_MARK: Final = re.compile(r"\s*#{3}[A-Z-]+#{3}\s*")  # how customers of other benchmarks leave
_NO_SCRIPT: Final = "nobody wrote down what the customer wanted"
_NEEDS_GOALS: Final = "the script is free text, and this user needs goals: name a model's"


@dataclass(frozen=True)
class Recorded:
    """What was found.

    Attributes:
        talks: Conversations whose customer can be played again.
        skipped: The others, by why.
    """

    talks: list[Talk]
    skipped: Counter[str] = field(default_factory=Counter)


def find_talks(
    names: Sequence[str],
    kind: UserKind,
    *,
    store: str | None = None,
    domain: str | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Recorded:
    """The recorded customers that files, folders and runs hold.

    Args:
        names: Files or folders of conversations, or runs in the store.
        kind: The simulator that is to play them.
        store: Of runs; None: the default one.
        domain: Whose tasks the conversations of files are of; their scripts have goals. None: the
            instruction in words that is recorded beside them.
        limit: Conversations at most; None: all.
        seed: For the simulator, where the recording has none.

    Raises:
        UsageError: There is nothing of that name, or no customer that this simulator can play.
    """
    if kind.blocking:
        raise UsageError(f"user {kind.spec!r} waits for a person, so it cannot be compared here")
    found = Recorded([])
    opened = load_domain_of(domain) if domain is not None else None
    for name in names:
        if Path(name).exists():
            talks = _in_file(Path(name), opened, seed, found.skipped)
        else:
            talks = _in_run(name, store, found.skipped)
        for talk in islice(talks, limit and limit - len(found.talks)):
            if kind.use is None and is_free_text(talk.script):
                found.skipped[_NEEDS_GOALS] += 1
            elif not talk.turns:
                found.skipped["the customer says nothing"] += 1
            else:
                found.talks.append(talk)
    if not found.talks:
        why = "; ".join(f"{number} x {reason}" for reason, number in found.skipped.items())
        raise UsageError(f"no recorded customer to compare {kind.spec!r} with: {why or 'no talk'}")
    return found


# --- files ---------------------------------------------------------------------------------------


def _in_file(path: Path, domain: Domain | None, seed: int, skipped: Counter[str]) -> Iterator[Talk]:
    for conversation in read_conversations(path, ""):
        if conversation.lost is not None:
            skipped["lost"] += 1
        elif domain is not None and conversation.task in domain.tasks:
            task = domain.task(conversation.task)
            yield talk_of(str(conversation.address), conversation.events, domain, task, seed)
        elif not conversation.script:
            skipped[_NO_SCRIPT] += 1
        else:
            yield _in_words(conversation, seed)


def _in_words(conversation: Conversation, seed: int) -> Talk:
    told = conversation.script
    script = UserScript(goals=[Goal(ask=told)], instruction=told)
    return Talk(str(conversation.address), script, turns_of(conversation.events), seed=seed)


# --- runs ----------------------------------------------------------------------------------------


def _in_run(name: str, store: str | None, skipped: Counter[str]) -> Iterator[Talk]:
    if Path(name).suffix or "/" in name:
        raise UsageError(f"no such file: {name!r}")
    with open_store(store) as opened:
        run = opened.find_run(name)
        domain = load_domain_of(run.conditions["domain"])
        for row in opened.trials(run):
            if row.reward is None or row.task not in domain.tasks:
                skipped["lost" if row.reward is None else "its task is there no more"] += 1
                continue
            transcript = opened.trial(run, row.task, row.trial).transcript
            seed = run.planned_trial(row.task, row.trial).user_seed
            yield talk_of(row.address, transcript, domain, domain.task(row.task), seed)


def talk_of(address: str, transcript: Transcript, domain: Domain, task: Task, seed: int) -> Talk:
    """A conversation about a task, as its customer lived it."""
    profile = {}
    if task.user.customer:
        with start_rows(domain, task) as db:
            profile = domain.profile(db, task.user.customer)
    now = domain.world.now.isoformat()
    return Talk(address, task.user, turns_of(transcript), profile, seed, now)


def turns_of(transcript: Transcript) -> tuple[Turn, ...]:
    r"""The customer's turns; messages in a row are one, and stop marks are no words.

    >>> said = [("agent", "Hello!"), ("user", "Hi."), ("user", "Cancel it."), ("agent", "Done.")]
    >>> events = [MessageEvent(index=i, turn=0, by=b, content=c) for i, (b, c) in enumerate(said)]
    >>> turns_of(Transcript(events))
    (Turn(heard='Hello!', said='Hi.\nCancel it.', ends=False),)
    """
    turns: list[Turn] = []
    heard: list[str] = []
    before: MessageEvent | None = None
    for event in transcript.messages():
        if event.by == "agent":
            heard.append(event.content)
        else:
            said = _MARK.sub(" ", event.content).strip()
            left = _MARK.search(event.content) is not None
            if before is not None and before.by == "user" and turns:
                last = turns.pop()
                turns.append(Turn(last.heard, f"{last.said}\n{said}", left))
            else:
                turns.append(Turn("\n".join(heard) or None, said, left))
            heard = []
        before = event
    ending = transcript.ending
    if turns and not heard and ending is not None and ending.reason is EndReason.USER_STOP:
        turns[-1] = turns[-1]._replace(ends=True)
    return tuple(turns)
