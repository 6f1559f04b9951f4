"""Fidelity: does a simulated customer do what the real one did, at every turn of recorded talks?

At each turn of a recorded customer (a *cut*) the simulator, led along the true past, is asked for
its own line, and both lines are compared: what they do (`UserAct`), which facts they tell, how long
and how polite they are. Then the recorded line is what was said, and the talk goes on.

A user that has ``observe(heard, said)`` takes the true past as its own, and answers on a fork. One
that has not, such as the agenda user, is asked at every cut and its answer dropped, so that it
remembers its own lines. A cut at which the user gives no line is not answered, never a mismatch.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from ..errors import FaultError, InfrastructureError, RunStoppedError
from ..models.account import Account
from ..simulator.saying import UserAct, act_of, courtesies
from ..simulator.telling import Known
from ..simulator.user import Setting, User, UserKind
from ..task import UserScript
from ..transcript import UserReply
from .statistics import Floats, alike_interval, resample


class Turn(NamedTuple):
    """One turn of a recorded customer.

    Attributes:
        heard: What the agent had said since the turn before; None if nothing.
        said: What the customer said.
        ends: Whether they left with it.
    """

    heard: str | None
    said: str
    ends: bool


@dataclass(frozen=True)
class Talk:
    """A recorded conversation, as its customer lived it.

    Attributes:
        address: Where it stands.
        script: What the customer was told.
        turns: Theirs, in order.
        profile: What their row in the world says about them, by topic.
        seed: For the simulator.
        now: The world's clock; "" if nobody says.
    """

    address: str
    script: UserScript
    turns: tuple[Turn, ...]
    profile: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    now: str = ""


class Measures(NamedTuple):
    """What is compared of one line.

    Attributes:
        act: What it mainly does.
        facts: Ids, e-mails, dates, amounts, long numbers and names that it tells.
        words: How many it has.
        questions: Question marks.
        courtesies: Words of courtesy.
    """

    act: UserAct
    facts: frozenset[str]
    words: int
    questions: int
    courtesies: int


@dataclass(frozen=True)
class Cut:
    """One turn of a recorded customer, and what the simulator would have said.

    Attributes:
        turn: Its number, from 1.
        said: The recorded line.
        recorded: What is compared of it.
        answer: The simulator's line; None if it gave none.
        simulated: What is compared of that.
        why_not: Why there is no answer.
    """

    turn: int
    said: str
    recorded: Measures
    answer: str | None = None
    simulated: Measures | None = None
    why_not: str = ""


@dataclass(frozen=True)
class Compared:
    """One conversation with its cuts."""

    address: str
    cuts: tuple[Cut, ...]


# --- asking --------------------------------------------------------------------------------------


def compare_talks(
    talks: Sequence[Talk],
    kind: UserKind,
    *,
    concurrency: int = 1,
    account: Account | None = None,
    watch: Callable[[Compared], None] | None = None,
) -> list[Compared]:
    """Ask a simulator at every turn of recorded customers.

    Args:
        talks: The conversations.
        kind: Makes the simulator, one a conversation.
        concurrency: Conversations at once.
        account: Where what is spent on models is written down.
        watch: Told of each conversation when it is done.

    Raises:
        RunStoppedError: The simulator's model answers nobody.
    """
    return asyncio.run(_compare_all(talks, kind, concurrency, account or Account(), watch))


async def _compare_all(
    talks: Sequence[Talk],
    kind: UserKind,
    concurrency: int,
    account: Account,
    watch: Callable[[Compared], None] | None,
) -> list[Compared]:
    places = asyncio.Semaphore(concurrency)

    async def one(talk: Talk) -> Compared:
        async with places:
            compared = await compare_talk(talk, kind, Account(run=account))
            if watch is not None:
                watch(compared)
            return compared

    try:
        if kind.use is not None:
            await kind.use.model.check()
            await _warm_up(kind, account)
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(one(talk)) for talk in talks]
    except BaseExceptionGroup as several:
        raise _first(several) from None
    finally:
        if kind.use is not None:
            await kind.use.model.close()
    return [task.result() for task in asked]


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first


async def _warm_up(kind: UserKind, account: Account) -> None:
    if kind.use is None or kind.use.prefix is None:
        return
    try:
        account.add("warm-up", await kind.use.model.warm_up(kind.use.prefix))
    except InfrastructureError:
        return  # every request pays for its own beginning, then


async def compare_talk(talk: Talk, kind: UserKind, account: Account) -> Compared:
    """Ask a simulator at every turn of one recorded customer."""
    user = kind.make(talk.script, Setting(talk.profile, talk.seed, talk.now, account))
    measure = _Measure(talk)
    cuts = []
    for number, turn in enumerate(talk.turns, start=1):
        observe = getattr(user, "observe", None)
        reply, why_not = await _answer(user.fork() if observe else user, turn.heard)
        if observe is not None:
            observe(turn.heard, turn.said)
        recorded = measure.line(turn, turn.said, ends=turn.ends, opens=number == 1)
        cut = Cut(number, turn.said, recorded, why_not=why_not)
        if reply is not None:
            ends = reply.end is not None
            simulated = measure.line(turn, reply.content, ends=ends, opens=number == 1)
            cut = Cut(number, turn.said, recorded, reply.content, simulated)
        cuts.append(cut)
    return Compared(talk.address, tuple(cuts))


async def _answer(user: User, heard: str | None) -> tuple[UserReply | None, str]:
    try:
        reply = user.reply(heard)
        return (await reply if inspect.isawaitable(reply) else reply), ""
    except RunStoppedError:
        raise
    except FaultError as error:
        return None, f"{error.fault}: {error}"
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


class _Measure:
    """Takes the measures of lines in one conversation."""

    def __init__(self, talk: Talk) -> None:
        self._known = Known("\n".join((talk.script.text, *talk.profile.values())))
        self._names = names_in(talk)

    def line(self, turn: Turn, said: str, *, ends: bool, opens: bool) -> Measures:
        words = said.split()
        own = {word.strip(".,!?:;()'\"").lower() for word in words}
        return Measures(
            act=act_of(said, turn.heard, opens=opens, ends=ends),
            facts=frozenset({*self._known.told(said), *(self._names & own)}),
            words=len(words),
            questions=said.count("?"),
            courtesies=courtesies(said),
        )


def names_in(talk: Talk) -> frozenset[str]:
    """The customer's names, in lower case: from their row, or from a user id such as ana_silva_12.

    >>> script = UserScript.model_validate({"goals": [{"ask": "You are ana_silva_1234."}]})
    >>> sorted(names_in(Talk("", script, ())))
    ['ana', 'silva']
    """
    named = [talk.profile.get(key, "") for key in ("name", "first name", "last name")]
    users = [
        token.replace("_", " ")
        for token in Known("").told(f"{talk.script.text}\n{talk.script.customer}")
        if token.count("_") == 2 and token.rpartition("_")[2].isdigit()
        and not token.startswith(("credit", "gift", "debit"))
    ]  # fmt: skip
    words = " ".join([*named, *users]).lower().split()
    return frozenset(word for word in words if not word.isdigit())


# --- the report ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Share:
    """How many of how many, with the interval of the share; no interval under two conversations."""

    equal: int
    total: int
    low: float | None
    high: float | None

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.equal / self.total if self.total else None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"equal": self.equal, "of": self.total, "share": self.value,
                "low": self.low, "high": self.high}  # fmt: skip


@dataclass(frozen=True)
class Distance:
    """Means per turn of the recorded and the simulated customer, and their difference."""

    recorded: float | None
    simulated: float | None
    low: float | None
    high: float | None

    @property
    def difference(self) -> float | None:
        """Simulated less recorded."""
        if self.recorded is None or self.simulated is None:
            return None
        return self.simulated - self.recorded

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"recorded": self.recorded, "simulated": self.simulated,
                "difference": self.difference, "low": self.low, "high": self.high}  # fmt: skip


DISTANCES: Final = ("words", "questions", "courtesies")


@dataclass(frozen=True)
class FidelityReport:
    """How a simulator compares with recorded customers.

    Intervals resample conversations: turns of one are alike.

    Attributes:
        sources: What was read.
        user: Spec of the simulator.
        compared: The conversations.
        skipped: Those that could not be used, by why.
        confidence: Of the intervals.
        seed: Of the bootstrap.
    """

    sources: tuple[str, ...]
    user: str
    compared: list[Compared]
    skipped: Mapping[str, int]
    confidence: float = 0.95
    seed: int = 0

    @property
    def cuts(self) -> int:
        """Turns at which the simulator was asked."""
        return sum(len(one.cuts) for one in self.compared)

    @property
    def not_answered(self) -> dict[str, int]:
        """Turns at which it gave no line, by why, most frequent first."""
        cuts = (cut for one in self.compared for cut in one.cuts if cut.simulated is None)
        return dict(Counter(cut.why_not for cut in cuts).most_common())

    @property
    def answered(self) -> int:
        """Turns at which it gave a line."""
        return self.cuts - sum(self.not_answered.values())

    @property
    def same_act(self) -> Share:
        """Lines that do the same."""
        return self._share(lambda real, own: (real.act is own.act, 1))

    def same_act_of(self, act: UserAct) -> Share:
        """The same, of recorded lines that do this."""
        return self._share(lambda real, own: (real.act is own.act is act, real.act is act))

    @property
    def same_facts(self) -> Share:
        """Lines with the same facts, of those where either tells one."""

        def count(real: Measures, own: Measures) -> tuple[int, int]:
            either = bool(real.facts | own.facts)
            return either and real.facts == own.facts, either

        return self._share(count)

    @property
    def facts_told(self) -> Share:
        """Of all facts that the recorded customer told, those that the simulator told there."""
        return self._share(lambda real, own: (len(real.facts & own.facts), len(real.facts)))

    @property
    def facts_shared(self) -> Share:
        """Of all facts that the simulator told, those that the recorded customer told there."""
        return self._share(lambda real, own: (len(real.facts & own.facts), len(own.facts)))

    def distance(self, what: str) -> Distance:
        """How far apart they are in one of `DISTANCES`, per turn."""
        pairs = [
            [(getattr(real, what), getattr(own, what)) for real, own in _answered(one)]
            for one in self.compared
        ]
        rows = np.array([[*map(sum, zip(*p, strict=True)), len(p)] for p in pairs if p], np.float64)
        if not rows.size:
            return Distance(None, None, None, None)
        real, own, turns = rows.sum(axis=0)
        differences = np.stack([rows[:, 1] - rows[:, 0], rows[:, 2]], axis=1)
        return Distance(real / turns, own / turns, *self._interval(differences, share=False))

    def instead(self) -> dict[UserAct, dict[UserAct, int]]:
        """What the simulator does where the recorded customer does this: counts by both acts."""
        table: dict[UserAct, Counter[UserAct]] = {}
        for one in self.compared:
            for real, own in _answered(one):
                table.setdefault(real.act, Counter())[own.act] += 1
        return {act: dict(table[act].most_common()) for act in UserAct if act in table}

    def _share(self, count: Callable[[Measures, Measures], tuple[int, int]]) -> Share:
        pairs = [[count(real, own) for real, own in _answered(one)] for one in self.compared]
        rows = np.array([list(map(sum, zip(*p, strict=True))) for p in pairs if p], np.float64)
        if not rows.size:
            return Share(0, 0, None, None)
        equal, total = rows.sum(axis=0)
        return Share(int(equal), int(total), *self._interval(rows[rows[:, 1] > 0]))

    def _interval(self, rows: Floats, *, share: bool = True) -> tuple[float | None, float | None]:
        """Ends of the bootstrap interval of a ratio of sums; rows are conversations."""
        if len(rows) < 2:
            return None, None
        each = rows[:, 0] / rows[:, 1]
        if np.ptp(each) < 1e-12:  # resampling would claim a width of zero
            return self._alike(float(each[0]), len(rows)) if share else (None, None)
        draws = resample(np.ones(len(rows), np.int64), self.seed)
        ratios = (draws @ rows[:, 0]) / (draws @ rows[:, 1])
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(ratios, [tail, 1 - tail])
        return float(low), float(high)

    def _alike(self, value: float, conversations: int) -> tuple[float | None, float | None]:
        """The interval of a share that is the same in all conversations."""
        low, high = alike_interval(np.array([value]), np.array([conversations]), self.confidence)
        return float(low[0]), float(high[0])

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; what is undefined is null."""
        return {
            "sources": list(self.sources),
            "user": self.user,
            "conversations": len(self.compared),
            "skipped": dict(self.skipped),
            "cuts": self.cuts,
            "answered": self.answered,
            "not_answered": self.not_answered,
            "confidence": self.confidence,
            "same_act": self.same_act.to_json(),
            "by_act": {
                act.value: self.same_act_of(act).to_json()
                | {"instead": {own.value: n for own, n in owns.items()}}
                for act, owns in self.instead().items()
            },
            "same_facts": self.same_facts.to_json(),
            "facts_told": self.facts_told.to_json(),
            "facts_shared": self.facts_shared.to_json(),
            "per_turn": {what: self.distance(what).to_json() for what in DISTANCES},
        }


def _answered(compared: Compared) -> Iterator[tuple[Measures, Measures]]:
    for cut in compared.cuts:
        if cut.simulated is not None:
            yield cut.recorded, cut.simulated
