"""Replaying recorded conversations: an agent is asked at every cut, and what it does is kept.

One conversation after the other, or several at once; each has a desk of its own, and an agent that
is given what the recorded one had seen. See `envs.replay` for what a cut is.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from typing import Any, Final, Literal, NamedTuple, Protocol

from ..agents.agent import Agent, AgentKind, AnyAction, Brief, ClosingAgent, FollowingAgent
from ..envs.desks import Desk, Recorded
from ..envs.episode import Episode
from ..envs.judgement import Cut
from ..envs.led import Led, NotContinuedError, along
from ..envs.moves import Move, RecordedMove, moves_of, signature
from ..envs.replay import Drift, Replay
from ..errors import (
    Fault,
    FaultError,
    InfrastructureError,
    RunStoppedError,
    TaskError,
    UsageError,
)
from ..grading.grading import Grading
from ..models.account import Account
from ..policies.engine import Finding, Rulebook
from ..task import Task
from ..transcript import NO_USAGE, Observation, parse_action
from .attempt import TURN_TIMEOUT
from .play import play
from .preflight import answering
from .work import all_of

Cuts = Literal["all", "last"] | int
"""Which cuts to judge: every one, the last of each conversation, or that of one position."""


MOST_MOVES: Final = 500
"""Of the recorded agent in one conversation; the rules read the whole prefix at each cut."""


def parse_cuts(text: str) -> Cuts:
    """What the user writes after ``--cut``.

    Raises:
        UsageError: It is none of ``all``, ``last``, or a position from 1.

    >>> parse_cuts("all"), parse_cuts("3")
    ('all', 3)
    """
    if text == "all":
        return "all"
    if text == "last":
        return "last"
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise UsageError(f"--cut must be all, last, or a position from 1, not {text!r}")


Conceal = Callable[[Any], Any]
"""Replaces personal data in a JSON value."""


@dataclass(frozen=True)
class Live:
    """What it takes to let a conversation go on from a cut.

    Attributes:
        start: Starts the recorded episode again, with its customer and its seed.
        task: What its end is graded by.
        grading: Who grades it.
    """

    start: Callable[[], Episode]
    task: Task
    grading: Grading


@dataclass(frozen=True)
class Session:
    """A recorded conversation, and what it takes to replay it.

    Attributes:
        address: Of the conversation; that of an event is this, a colon and its index.
        recorded: Its events.
        brief: What the agent is told.
        open_desk: Makes the desk its calls are carried out at.
        rules: What new moves are checked against.
        task: Its task's id; "" if there is none.
        passed: Whether the recorded trial passed; None if nobody knows.
        lost: Why it cannot be replayed; None if it can.
        live: How it can go on from a cut; None if it cannot.
        not_live: Why not.
        conceal: Replaces personal data in whatever is kept of this conversation; None: nothing to.
    """

    address: str
    recorded: Recorded = field(repr=False)
    brief: Brief = field(repr=False)
    open_desk: Callable[[], Desk] = field(repr=False)
    rules: Rulebook = field(default_factory=Rulebook, repr=False)
    task: str = ""
    passed: bool | None = None
    lost: str | None = None
    live: Live | None = field(default=None, repr=False)
    not_live: str = ""
    conceal: Conceal | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Asking:
    """How agents are asked.

    Attributes:
        kind: The agent.
        cuts: Where.
        continuing: Whether each conversation is played to its end from there, and graded.
        turn_timeout: Seconds an agent may take for one move; None: for ever.
        ahead: Whether the agent is asked at all cuts of all conversations at once, before any of
            its moves is judged; only for one that takes the past as its own and asks a model.
        account: Where what is spent on models is written down.
    """

    kind: AgentKind
    cuts: Cuts = "all"
    continuing: bool = False
    turn_timeout: float | None = TURN_TIMEOUT
    ahead: bool = False
    account: Account = field(default_factory=Account, repr=False, compare=False)


@dataclass(frozen=True)
class Continuation:
    """A conversation that the agent played to its end from a cut.

    Attributes:
        position: Of the cut.
        reward: 1.0 or 0.0; None if it was lost.
        reason: Why it did not pass, in one line; "" for a pass.
    """

    position: int
    reward: float | None
    reason: str = ""


@dataclass(frozen=True)
class Replayed:
    """What became of one conversation.

    Attributes:
        address: Of the conversation.
        task: Its task's id.
        passed: Whether the recorded trial passed.
        lost: Why it was not replayed; None if it was.
        cuts: What was found at each cut that was wanted.
        outputs: Recorded results that came out equal, cosmetic or different.
        drift: The first different one.
        recorded_findings: What the rules say against the recorded agent.
        follows: Whether the agent took the recorded past as its own (`FollowingAgent`).
        signatures: Each recorded move as a value, to compare recordings with each other.
        events: Index of the first event of each recorded move.
        continued: Where the agent played on.
        not_continued: Why it did not, if it was to.
    """

    address: str
    task: str = ""
    passed: bool | None = None
    lost: str | None = None
    cuts: tuple[Cut, ...] = ()
    outputs: Counter[str] = field(default_factory=Counter)
    drift: Drift | None = None
    recorded_findings: tuple[Finding, ...] = ()
    follows: bool | None = None
    signatures: tuple[str, ...] = ()
    events: tuple[int, ...] = ()
    continued: tuple[Continuation, ...] = ()
    not_continued: str = ""


def replay_all(
    sessions: Iterable[Session],
    asking: Asking,
    *,
    concurrency: int = 1,
    watch: Callable[[Replayed], None] = lambda _: None,
) -> list[Replayed]:
    """Replay conversations, several at once; results in the order of the sessions.

    What the agents print goes to stderr. A conversation that makes passhat itself fail is lost, and
    takes no other with it.

    Args:
        sessions: Read as they are needed.
        asking: How agents are asked.
        concurrency: How many conversations at once; of an agent that is asked ahead, how many cuts.
            Helps where agents wait.
        watch: Is told of each conversation that is done.

    Raises:
        UsageError: A concurrency under 1, or an agent that cannot be asked like that.
        RunStoppedError: The agent's model will not answer, before or in the midst of it.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency must be 1 or more, not {concurrency!r}")
    if asking.ahead and asking.continuing:
        raise UsageError("a conversation that goes on needs each answer before the next question")
    results: dict[int, Replayed] = {}

    def keep(number: int, replayed: Replayed) -> None:
        results[number] = replayed
        watch(replayed)

    async def everything() -> None:
        async with answering(asking.kind):
            waiting = await _warmed_up(iter(sessions), asking, concurrency)
            if asking.ahead:
                await _replay_ahead(enumerate(waiting), asking, concurrency, keep)
                return
            numbered = enumerate(waiting)
            lanes = (_lane(numbered, asking, keep) for _ in range(concurrency))
            await all_of([asyncio.create_task(lane) for lane in lanes])

    with redirect_stdout(sys.stderr):
        asyncio.run(everything())
    return [results[number] for number in sorted(results)]


Keep = Callable[[int, Replayed], None]


async def _lane(numbered: Iterator[tuple[int, Session]], asking: Asking, keep: Keep) -> None:
    for number, session in numbered:  # shared by all lanes
        keep(number, await replay_one(session, asking))
        await asyncio.sleep(0)  # scripted agents never wait; let others and signals in


async def _warmed_up(
    sessions: Iterator[Session], asking: Asking, concurrency: int
) -> Iterator[Session]:
    """The same sessions, after what the first one begins with was put into the cache."""
    use, prefix = asking.kind.use, asking.kind.prefix
    if concurrency == 1 or use is None or prefix is None:
        return sessions
    first = next((session for session in sessions), None)
    if first is None:
        return sessions
    try:
        usage = await use.model.warm_up(prefix(first.brief))
    except InfrastructureError:  # every request will pay for it, if they are answered at all
        usage = NO_USAGE
    if usage != NO_USAGE:
        asking.account.add("warm-up", usage)
    return chain([first], sessions)


async def replay_one(session: Session, asking: Asking) -> Replayed:
    """Replay one conversation. Faults make it a lost one; they never escape."""
    replayed = await _replayed(session, asking)
    return replayed if session.conceal is None else concealed(replayed, session.conceal)


async def _replayed(session: Session, asking: Asking) -> Replayed:
    about = Replayed(session.address, session.task, session.passed)
    if session.lost is not None:
        return replace(about, lost=session.lost)
    try:
        return await _replay(session, asking, about)
    except RunStoppedError:
        raise
    except FaultError as error:
        return replace(about, lost=str(error))
    except RecursionError:
        return replace(about, lost="its values are nested too deeply")
    except Exception as error:  # ours: one conversation must not take the others with it
        said = " ".join(str(error).split())
        return replace(about, lost=f"passhat itself failed: {type(error).__name__}: {said:.200}")


async def _replay(session: Session, asking: Asking, about: Replayed) -> Replayed:
    moves = _moves(session)
    brief = replace(session.brief, account=Account(run=asking.account))
    with _opened(session, moves, asking) as replay:
        continued: list[Continuation] = []
        not_continued = ""
        if asking.continuing:
            not_continued = await _ask_and_go_on(replay, session, brief, asking, continued)
        follows = await _ask(replay, brief, asking)
        handing_over = frozenset(
            name for move in moves for name in _tools(move) if replay.desk.hands_over(name)
        )
        return replace(
            about,
            cuts=tuple(replay.cuts),
            outputs=replay.outputs,
            drift=replay.drift,
            recorded_findings=tuple(replay.recorded_findings),
            follows=follows,
            signatures=tuple(signature(move, handing_over) for move in moves),
            events=tuple(move.event for move in moves),
            continued=tuple(continued),
            not_continued=not_continued,
        )


def _moves(session: Session) -> list[RecordedMove]:
    moves = moves_of(session.recorded.transcript, session.recorded.labels)
    if len(moves) > MOST_MOVES:
        raise TaskError(f"has {len(moves)} moves; at most {MOST_MOVES} are replayed")
    return moves


def _opened(session: Session, moves: list[RecordedMove], asking: Asking) -> Replay:
    return Replay(
        session.recorded,
        session.open_desk(),
        policy=session.brief.policy,
        rules=session.rules,
        wanted=_wanted(moves, asking.cuts),
    )


def _wanted(moves: list[RecordedMove], cuts: Cuts) -> frozenset[int] | None:
    if cuts == "all":
        return None
    if cuts == "last":
        return frozenset(move.position for move in moves[-1:])
    return frozenset({cuts})


def _tools(move: RecordedMove) -> Iterator[str]:
    yield from (call.name for call in getattr(move.action, "calls", ()))


# --- asking ---------------------------------------------------------------------------------------


async def _ask(replay: Replay, brief: Brief, asking: Asking) -> bool | None:
    """Ask at every cut that is left; whether the agent follows, None if it was never made."""
    follows = None
    while replay.needs is not None or replay.go_on():
        followers: list[_Follower] = []
        kind = _following(asking.kind, replay, followers)
        await play(replay, kind, brief, asking.turn_timeout)
        follows = followers[-1].follows if followers else None
        if not follows:
            replay.give_up("not asked after a cut that failed")
    return follows


async def _ask_and_go_on(
    replay: Replay, session: Session, brief: Brief, asking: Asking, continued: list[Continuation]
) -> str:
    """Ask at every cut and play on from there; why that was not possible, if so."""
    live = session.live
    if live is None:
        return session.not_live
    with live.start() as episode:
        try:
            for number, move in enumerate(along(episode, replay.moves)):
                if replay.needs is None or replay.move.event != move.event:
                    continue
                if not replay.judging:
                    replay.act(move.action)
                    continue
                with episode.fork() as fork:
                    led = Led(fork, replay.moves[:number])
                    kind = _following(asking.kind, led, [])
                    await play(led, kind, brief, asking.turn_timeout)
                    continued.append(_graded(move.position, live, fork))
                    _tell(replay, led.first, fork)
        except NotContinuedError as error:
            return str(error)
    return ""


def _graded(position: int, live: Live, ended: Episode) -> Continuation:
    grade = live.grading.grade(live.task, ended.transcript, ended.db)
    if grade.reward is None:
        return Continuation(position, None, "; ".join(v.reason for v in grade.verdicts))
    return Continuation(position, grade.reward, "; ".join(grade.reasons()))


def _tell(replay: Replay, first: Move | None, ended: Episode) -> None:
    """Have the first move that an agent made on its own judged, or say that it made none."""
    ending = ended.transcript.ending
    assert ending is not None, "play ends the episode"
    try:
        if first is not None:
            replay.act(first)
            return
        if ending.fault is None or ending.fault is Fault.AGENT:
            replay.agent_crashed(ending.detail)
        else:
            replay.lose(ending.fault, ending.detail)
    except FaultError as error:
        replay.lose(error.fault, str(error))
    replay.go_on()


class _Past(Protocol):
    """Where an agent is led along a recording."""

    @property
    def judging(self) -> bool: ...
    @property
    def move(self) -> RecordedMove: ...
    @property
    def history(self) -> list[tuple[Observation, Move]]: ...


def _following(kind: AgentKind, past: _Past, made: list[_Follower]) -> AgentKind:
    """The same kind of agent, each led along a past; those that are made are added to a list."""

    def make(brief: Brief) -> Agent:
        made.append(_Follower(kind, brief, past))
        return made[-1]

    return replace(kind, make=make)


class _Follower:
    """Gives an agent the past in the way it can take it.

    One that can follow is made anew at each cut and told the whole past. One that cannot is asked
    at every recorded move, so that at a cut it has seen what the recorded agent had seen.
    """

    def __init__(self, kind: AgentKind, brief: Brief, past: _Past) -> None:
        self._kind = kind
        self._brief = brief
        self._past = past
        self._agent = kind.make(brief)
        self._told: int | None = None
        self.follows = isinstance(self._agent, FollowingAgent)

    def act(self, observation: Observation) -> AnyAction | Awaitable[AnyAction]:
        """The agent's own move, or, where it is only led past, the recorded one."""
        if self.follows:
            if not self._past.judging:
                return self._past.move.action
            self._tell(self._past.history)
        return self._agent.act(observation)

    async def close(self, last: Observation) -> None:
        """Let the agent put down what it holds."""
        if isinstance(self._agent, ClosingAgent):
            await self._agent.close(last)

    def _tell(self, history: list[tuple[Observation, Move]]) -> None:
        if self._told == len(history):
            return
        if self._told is not None:
            self._agent = self._kind.make(self._brief)
        assert isinstance(self._agent, FollowingAgent)
        for observation, taken in history:
            self._agent.observe(observation, taken)
        self._told = len(history)


# --- asking ahead ---------------------------------------------------------------------------------


async def _replay_ahead(
    numbered: Iterator[tuple[int, Session]], asking: Asking, most: int, keep: Keep
) -> None:
    """Ask at every cut without waiting for any answer; judge a conversation when all are there.

    No database is open while answers are waited for, so that thousands may be.
    """
    free = asyncio.Semaphore(most)

    async def ask(cut: _Cut, brief: Brief) -> tuple[int, AnyAction | Exception]:
        try:
            return len(cut.history), await _answer(asking.kind, brief, cut)
        finally:
            free.release()

    async def judge(number: int, session: Session, asked: list[_Asked]) -> None:
        kind = _answering(asking.kind, dict(await asyncio.gather(*asked)))
        keep(number, await replay_one(session, replace(asking, kind=kind)))

    try:
        async with asyncio.TaskGroup() as group:
            for number, session in numbered:
                brief = replace(session.brief, account=Account(run=asking.account))
                asked = []
                for cut in _cuts_to_ask(session, asking):
                    await free.acquire()
                    asked.append(group.create_task(ask(cut, brief)))
                group.create_task(judge(number, session, asked))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None  # one is enough to say


_Asked = asyncio.Task[tuple[int, AnyAction | Exception]]


class _Cut(NamedTuple):
    """What an agent is given at a cut."""

    history: list[tuple[Observation, Move]]
    observation: Observation


def _cuts_to_ask(session: Session, asking: Asking) -> list[_Cut]:
    """The cuts at which an answer will be judged; none where the replay itself will say why."""
    found: list[_Cut] = []
    if session.lost is not None:
        return found
    try:
        with _opened(session, _moves(session), asking) as replay:
            while replay.needs is not None or replay.go_on():
                if replay.judging:
                    found.append(_Cut(replay.history, replay.observation))
                replay.lose(Fault.INFRASTRUCTURE, "not asked yet")
    except Exception:  # it will be met again, and reported, when the answers are judged
        return []
    return found


async def _answer(kind: AgentKind, brief: Brief, cut: _Cut) -> AnyAction | Exception:
    """The agent's move at a cut, or what it raised instead."""
    try:
        agent = kind.make(brief)
        assert isinstance(agent, FollowingAgent), "only such agents are asked ahead"
        for observation, taken in cut.history:
            agent.observe(observation, taken)
        answer = agent.act(cut.observation)
        return await answer if inspect.isawaitable(answer) else answer
    except RunStoppedError:
        raise
    except Exception as error:
        return error


def _answering(kind: AgentKind, answers: Mapping[int, AnyAction | Exception]) -> AgentKind:
    """Agents that give the answers another kind has given; by how many moves were made before."""
    return AgentKind(kind.spec, lambda _: _Answered(answers), synthetic=kind.synthetic)


class _Answered:
    def __init__(self, answers: Mapping[int, AnyAction | Exception]) -> None:
        self._answers = answers
        self._made = 0

    def observe(self, observation: Observation, taken: Move) -> None:
        self._made += 1

    def act(self, observation: Observation) -> AnyAction:
        answer = self._answers[self._made]
        if isinstance(answer, Exception):
            raise answer
        return answer


# --- concealing -----------------------------------------------------------------------------------


def concealed(one: Replayed, conceal: Conceal) -> Replayed:
    """The same without personal data, all of it replaced at once so that it stays consistent.

    Signatures keep the names of tools, and of their arguments only whether they are equal.
    """
    found = {
        "address": one.address,
        "lost": one.lost,
        "drift": None if one.drift is None else one.drift._asdict(),
        "cuts": [_open_texts(cut) for cut in one.cuts],
        "findings": [finding.reason for finding in one.recorded_findings],
        "continued": [end.reason for end in one.continued],
    }
    hidden = conceal(found)
    return replace(
        one,
        address=hidden["address"],
        lost=hidden["lost"],
        drift=None if one.drift is None else Drift(**hidden["drift"]),
        cuts=tuple(map(_with_texts, one.cuts, hidden["cuts"])),
        recorded_findings=tuple(
            replace(finding, reason=reason)
            for finding, reason in zip(one.recorded_findings, hidden["findings"], strict=True)
        ),
        continued=tuple(
            replace(end, reason=reason)
            for end, reason in zip(one.continued, hidden["continued"], strict=True)
        ),
        signatures=tuple(map(_hashed, one.signatures)),
    )


def _open_texts(cut: Cut) -> dict[str, Any]:
    """What of a cut may show something personal."""
    judgement = cut.judgement
    if judgement is None:
        return {"reason": cut.reason}
    return {
        "reason": cut.reason,
        "move": judgement.move.model_dump(mode="json", exclude={"provider"}),
        "rows": list(judgement.row_differences),
        "missing": list(judgement.facts_missing),
        "added": list(judgement.facts_added),
        "findings": [finding.reason for finding in judgement.findings],
    }


def _with_texts(cut: Cut, texts: dict[str, Any]) -> Cut:
    judgement = cut.judgement
    if judgement is None:
        return replace(cut, reason=texts["reason"])
    changed = replace(
        judgement,
        move=parse_action(texts["move"]),
        row_differences=tuple(texts["rows"]),
        facts_missing=tuple(texts["missing"]),
        facts_added=tuple(texts["added"]),
        findings=tuple(
            replace(finding, reason=reason)
            for finding, reason in zip(judgement.findings, texts["findings"], strict=True)
        ),
    )
    return replace(cut, reason=texts["reason"], judgement=changed)


def _hashed(value: str) -> str:
    name = value.partition(" ")[0]
    return value if name == value else f"{name} {sha256(value.encode()).hexdigest()[:8]}"
