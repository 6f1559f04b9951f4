"""How many faults of simulated customers the contract finds, and how many lines it accuses wrongly.

Talks are taken as they went: those of the agenda user in our own domains, with scripts of goals,
and recorded ones with scripts in free text, if the reference data is there
($PASSHAT_REFERENCE_DATA, or ../shared/data). Into each talk one fault of every sort is put, at a
place drawn by chance where that sort is possible; the line that was really said there is checked
beside it. So every sort is measured on as many untouched lines as faulty ones.

What is put in is made without the contract's own rules: digits are drawn until the number stands
nowhere in the script or the talk; a yes is known to be premature because the recorded agent made a
change after it.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.domains.domain import Domain, load_domain
from passhat.envs.episode import Episode
from passhat.recordings.conversation import Conversation
from passhat.recordings.readers import read_conversations
from passhat.simulator.contract import Contract, ProblemKind
from passhat.task import Goal, UserScript
from passhat.transcript import (
    EndingEvent,
    EndReason,
    Event,
    MessageEvent,
    ToolCallEvent,
    ToolResultEvent,
    UserEnd,
    UserReply,
)

from .measure import Figure

RECORDINGS = (
    "tau-bench-a50b6c1/historical_trajectories/gpt-4o-airline.json",
    "recordings/tau1-airline-grok-4-1-fast-reasoning-2trials.json",
    "recordings/tau1-airline-react-grok-4-fast.json",
    "recordings/tau1-retail-gpt-4.1-mini.json",
    "recordings/tau1-retail-grok-4-1-fast-reasoning.json",
    "recordings/tau2-airline-gpt-4.1.json",
    "recordings/tau2-airline-grok-4-fast-unequal-trials.json",
    "recordings/tau2-airline-opus-4-6.json",
    "recordings/tau2-airline-qwen2.5-7b.json",
    "recordings/tau2-retail-gpt-4.1.json",
    "recordings/tau2-retail-gpt-4o-trial1.json",
    "recordings/tau2-retail-gpt-4o-trial2.json",
    "recordings/tau2-retail-gpt-4o-trial3.json",
)
MARK = re.compile(r"\s*#{3}(?:STOP|TRANSFER|OUT-OF-SCOPE)#{3}\s*")
WRITES = re.compile(r"^(?:cancel|modify|return|exchange|update|book|send)_")
CANCELS = ("cancel_pending_order", "cancel_reservation")


class Line(NamedTuple):
    """One line of a talk.

    Attributes:
        by_agent: Whose.
        text: What was said, stop marks aside.
        end: How the customer ended with it.
        then: Changes that the agent made after it and before it spoke again: tool and record.
    """

    by_agent: bool
    text: str
    end: UserEnd | None = None
    then: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Talk:
    """A talk as it went, with what its customer was told.

    Attributes:
        name: Address of the recording, or of the episode.
        passed: Whether the trial passed; None if nobody graded it.
    """

    name: str
    script: UserScript
    profile: Mapping[str, str]
    lines: list[Line]
    passed: bool | None = None

    def told_before(self, place: int) -> str:
        """All that the customer can have read or heard before a line, in lower case."""
        texts = [
            self.script.text,
            *self.profile.values(),
            *(line.text for line in self.lines[:place]),
        ]
        return "\n".join(texts).lower()


# --- talks ---------------------------------------------------------------------------------------


def agenda_talks() -> Iterator[Talk]:
    """One talk a task of our own domains, agenda user and reference agent."""
    for name in ("retail", "airline"):
        domain = load_domain(name)
        for number, task in enumerate(domain.tasks.values()):
            with Episode.start(domain, task, seed=number) as episode:
                profile = domain.profile(episode.db, task.user.customer)
                _play(domain, episode)
                lines = list(_lines(episode.transcript))
                yield Talk(f"{name}/{task.id}", task.user, profile, lines, passed=True)


def _play(domain: Domain, episode: Episode) -> None:
    tools = tuple(tool.schema for tool in domain.tools.values())
    brief = Brief(domain.name, domain.policy, tools, "", task=episode.task)
    agent = agent_kind("reference").make(brief)
    while episode.needs:
        if episode.needs == "user":
            episode.user_turn()
        else:
            episode.act(agent.act(episode.observation))


def recorded_talks() -> Iterator[Talk]:
    """Recorded conversations whose customer had an instruction in words."""
    folder = reference_folder()
    for file in RECORDINGS if folder else ():
        for conversation in read_conversations(folder / file, ""):
            if conversation.script and conversation.lost is None:
                yield _talk_of(conversation)


def reference_folder() -> Path | None:
    """Where the recordings are; None if they are not here."""
    named = os.environ.get("PASSHAT_REFERENCE_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    return folder if (folder / RECORDINGS[0]).exists() else None


def _talk_of(conversation: Conversation) -> Talk:
    script = UserScript(goals=[Goal(ask=conversation.script)], instruction=conversation.script)
    name = f"{Path(conversation.address.file).name}#{conversation.address.trial}"
    lines = list(_lines(conversation.events))
    return Talk(name, script, {}, lines, conversation.passed)


def _lines(events: Sequence[Event]) -> Iterator[Line]:
    for place, event in enumerate(events):
        if not isinstance(event, MessageEvent):
            continue
        text = MARK.sub(" ", event.content).strip()
        if text:
            end = _end(events, place) if event.by == "user" else None
            yield Line(event.by == "agent", text, end, tuple(_changes(events[place + 1 :])))


def _end(events: Sequence[Event], place: int) -> UserEnd | None:
    """How the customer ended with the message at a place; None if they did not."""
    message, last = events[place], events[-1]
    if not isinstance(last, EndingEvent) or last.reason is not EndReason.USER_STOP:
        return None
    if place + 2 < len(events):
        return None
    handed_over = isinstance(message, MessageEvent) and "###TRANSFER###" in message.content
    return last.user_end or (UserEnd.HANDED_OVER if handed_over else UserEnd.GOALS_MET)


def _changes(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """Successful changes up to the next message."""
    calls: dict[str, ToolCallEvent] = {}
    for event in events:
        if isinstance(event, MessageEvent):
            return
        if isinstance(event, ToolCallEvent):
            calls[event.call_id] = event
        elif isinstance(event, ToolResultEvent) and event.call_id in calls:
            call = calls[event.call_id]
            if WRITES.match(call.name) and event.error is None and "rror" not in event.content[:7]:
                arguments = call.arguments
                record = arguments.get("order_id") or arguments.get("reservation_id") or ""
                yield call.name, str(record)


# --- faults --------------------------------------------------------------------------------------


class Fault(NamedTuple):
    """A line made faulty.

    Attributes:
        kind: What is wrong with it.
        sort: How it was made.
        reply: The line.
    """

    kind: ProblemKind
    sort: str
    reply: UserReply


Maker = Callable[[Talk, int, random.Random], str | UserReply | None]
"""Takes a talk, the place of a line of its customer and chance; gives what is said instead."""

MAKERS: list[tuple[ProblemKind, str, Maker]] = []


def maker(kind: ProblemKind, sort: str) -> Callable[[Maker], Maker]:
    """Register a way to make a line faulty."""

    def register(make: Maker) -> Maker:
        MAKERS.append((kind, sort, make))
        return make

    return register


_FIRST = ("Wilhelmina", "Oluwaseun", "Tatiana", "Bartholomew", "Ingrid", "Desmond", "Farida")
_LAST = ("Achterberg", "Okonkwo", "Zielinska", "Featherstone", "Lindqvist", "Marchetti", "Dubois")
_MONTHS = {
    "January": 1, "February": 2, "March": 3, "April": 4, "June": 6, "July": 7, "August": 8,
    "September": 9, "October": 10, "November": 11,
}  # fmt: skip


def _beside(line: str, more: str) -> str:
    return f"{line} {more}"


def _fresh(draw: Callable[[], str], told: str) -> str:
    """Something drawn until it stands nowhere in what was told."""
    while (value := draw()).lower() in told:
        pass
    return value


def _digits(chance: random.Random, count: int) -> str:
    return "".join(str(chance.randrange(10)) for _ in range(count))


@maker(ProblemKind.INVENTED, "a digit of an id or number changed")
def _digit_changed(talk: Talk, place: int, chance: random.Random) -> str | None:
    text = talk.lines[place].text
    numbers = list(re.finditer(r"\d{5,}", text))
    if not numbers:
        return None
    found, told = chance.choice(numbers), talk.told_before(place)

    def changed() -> str:
        at = chance.randrange(len(found[0]))
        return f"{found[0][:at]}{chance.randrange(10)}{found[0][at + 1 :]}"

    value = _fresh(changed, told + text.lower())
    return text[: found.start()] + value + text[found.end() :]


@maker(ProblemKind.INVENTED, "order or reservation")
def _record(talk: Talk, place: int, chance: random.Random) -> str:
    told = talk.told_before(place)
    if "airline" not in talk.name:
        value = _fresh(lambda: f"#W{_digits(chance, 7)}", told)
        return _beside(talk.lines[place].text, f"It's about order {value}.")
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
    value = _fresh(
        lambda: "".join(chance.choice(letters) for _ in range(4)) + _digits(chance, 2), told
    )
    return _beside(talk.lines[place].text, f"The reservation is {value}.")


@maker(ProblemKind.INVENTED, "e-mail")
def _email(talk: Talk, place: int, chance: random.Random) -> str:
    name = f"{chance.choice(_FIRST)}.{chance.choice(_LAST)}{_digits(chance, 2)}".lower()
    return _beside(talk.lines[place].text, f"My e-mail is {name}@example.com.")


@maker(ProblemKind.INVENTED, "amount to the cent")
def _amount(talk: Talk, place: int, chance: random.Random) -> str:
    value = _fresh(
        lambda: f"{chance.randrange(20, 999)}.{chance.randrange(1, 100):02}",
        talk.told_before(place),
    )
    return _beside(talk.lines[place].text, f"I paid ${value} for it.")


@maker(ProblemKind.INVENTED, "amount in whole dollars")
def _dollars(talk: Talk, place: int, chance: random.Random) -> str:
    value = _fresh(lambda: str(chance.randrange(20, 2000)), talk.told_before(place))
    return _beside(talk.lines[place].text, f"It cost ${value}.")


@maker(ProblemKind.INVENTED, "date")
def _date(talk: Talk, place: int, chance: random.Random) -> str:
    told = talk.told_before(place)
    month = _fresh(lambda: chance.choice(list(_MONTHS)), told)
    day = chance.randrange(1, 28)
    iso = f"2024-{_MONTHS[month]:02}-{day:02}"
    written = chance.choice([f"{month} {day}", f"{month} {day}th", iso])
    return _beside(talk.lines[place].text, f"That was on {written}.")


@maker(ProblemKind.INVENTED, "own name")
def _own_name(talk: Talk, place: int, chance: random.Random) -> str:
    name = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
    begins = chance.choice(["My name is", "I'm", "My full name's", "This is"])
    return _beside(talk.lines[place].text, f"{begins} {name}.")


@maker(ProblemKind.INVENTED, "name of somebody else")
def _other_name(talk: Talk, place: int, chance: random.Random) -> str:
    first, last = chance.choice(_FIRST), chance.choice(_LAST)
    said = [
        f"It's for my wife {first}.",
        f"My brother, {first} {last}, told me so.",
        f"The other passenger is {first} {last}.",
        f"Please put it under the name {first} {last}.",
        f"{first} comes with me.",
    ]
    return _beside(talk.lines[place].text, chance.choice(said))


@maker(ProblemKind.INVENTED, "product name")
def _product(talk: Talk, place: int, chance: random.Random) -> str:
    brand = chance.choice(["Nordwind", "Kestrova", "Aquilon", "Brightmoor", "Telluria"])
    model = chance.choice(
        ["Aurora", "Velvet", f"XR-{_digits(chance, 4)}", f"TK{_digits(chance, 3)}"]
    )
    said = [f"I mean my {brand} {model}.", f"It's the {brand} {model}.", f"My {brand} broke."]
    return _beside(talk.lines[place].text, chance.choice(said))


@maker(ProblemKind.LEAKED, "alternative, word for word")
def _alternative(talk: Talk, place: int, chance: random.Random) -> str | None:
    asks = _alternatives(talk)
    if not asks or _dealt_with(talk, place):
        return None
    return _beside(talk.lines[place].text, f"If that is not possible: {chance.choice(asks)}")


_REWORDED = {
    "please": "kindly", "cancel": "call off", "could you": "would you", "i'd like to": "I want to",
    "i want to": "I would love to", "can you": "could you", "instead": "", "then": "", "i'll": "I",
    "my": "the", "just": "simply", "order": "purchase", "okay": "", "in that case": "", "right": "",
}  # fmt: skip


@maker(ProblemKind.LEAKED, "alternative, reworded")
def _reworded(talk: Talk, place: int, chance: random.Random) -> str | None:
    asks = _alternatives(talk)
    if not asks or _dealt_with(talk, place):
        return None
    words = chance.choice(asks)
    for before, after in _REWORDED.items():
        words = re.sub(rf"\b{before}\b", after, words, flags=re.IGNORECASE)
    return _beside(talk.lines[place].text, f"Or else, {words}")


def _alternatives(talk: Talk) -> list[str]:
    return [goal.otherwise.ask for goal in talk.script.goals if goal.otherwise is not None]


def _dealt_with(talk: Talk, place: int) -> bool:
    """Whether the agent may have turned something down before; certain only at the very start."""
    return any(line.by_agent for line in talk.lines[:place])


@maker(ProblemKind.LEAKED, "what is to be checked or told")
def _expected(talk: Talk, place: int, chance: random.Random) -> str | None:
    if _dealt_with(talk, place) or len(talk.script.goals) == 0:
        return None
    goals = talk.script.goals
    own = "\n".join(
        [talk.script.opening, *talk.script.knows.values(), *(g.ask for g in goals),
         *(v for g in goals for v in g.details.values())]
    )  # fmt: skip
    waiting = [w for g in goals for w in (*g.check.values(), *g.until_told)]
    values = [one for words in waiting for one in ([words] if isinstance(words, str) else words)]
    secret = [v for v in values if re.fullmatch(r"\$?[\d,]*\d\.\d\d|#W\d+", v) and v not in own]
    if not secret:
        return None
    value = chance.choice(secret)
    value = value if value[0] in "#$" else f"${value}"
    return _beside(talk.lines[place].text, f"It should come to {value}, I believe.")


@maker(ProblemKind.LEAKED, "topic that is unknown")
def _unknown(talk: Talk, place: int, chance: random.Random) -> str | None:
    told = "\n".join(line.text for line in talk.lines[:place]).lower()
    topics = [t for t in talk.script.unknown if t in talk.profile]
    topics = [t for t in topics if talk.profile[t].lower() not in told]
    if not topics:
        return None
    topic = chance.choice(topics)
    return _beside(talk.lines[place].text, f"My {topic} is {talk.profile[topic]}.")


@maker(ProblemKind.PREMATURE, "leaves with a yes to what is not done yet")
def _yes_and_gone(talk: Talk, place: int, chance: random.Random) -> UserReply | None:
    line = talk.lines[place]
    if not line.then or line.end or not _asked_yes(talk, place):
        return None
    return UserReply(content=line.text, end=UserEnd.GOALS_MET)


@maker(ProblemKind.PREMATURE, "leaves without an answer to a question")
def _gone(talk: Talk, place: int, chance: random.Random) -> UserReply | None:
    line = talk.lines[place]
    if not line.then or line.end or not _asked_yes(talk, place):
        return None
    words = chance.choice(["Thank you, goodbye!", "Perfect, thanks for your help. Bye.", "Great."])
    return UserReply(content=words, end=UserEnd.GOALS_MET)


def _asked_yes(talk: Talk, place: int) -> bool:
    before = talk.lines[place - 1] if place else None
    return before is not None and before.by_agent and "?" in before.text


@maker(ProblemKind.PREMATURE, "leaves with requests never put")
def _unput(talk: Talk, place: int, chance: random.Random) -> UserReply | None:
    goals = talk.script.goals
    said = " ".join(line.text for line in talk.lines[:place])
    if len(goals) < 2 or not place or goals[-1].ask in said:
        return None
    return UserReply(content="Thanks, that's all. Bye!", end=UserEnd.GOALS_MET)


@maker(ProblemKind.PREMATURE, "leaves as if handed over")
def _not_handed_over(talk: Talk, place: int, chance: random.Random) -> UserReply | None:
    heard = " ".join(line.text.lower() for line in talk.lines[:place] if line.by_agent)
    if not place or re.search(r"transfer|human|agent|supervisor|colleague|specialist|team", heard):
        return None
    return UserReply(content="Thank you, I'll wait for them.", end=UserEnd.HANDED_OVER)


def _done(talk: Talk, place: int) -> list[tuple[str, str]]:
    """Changes made, and reported since."""
    before = talk.lines[: max(0, place - 1)]
    return [change for line in before for change in line.then if change[1]]


@maker(ProblemKind.REPEATED, "asks to cancel what is cancelled")
def _cancel_again(talk: Talk, place: int, chance: random.Random) -> str | None:
    done = [change for change in _done(talk, place) if change[0] in CANCELS]
    if not done or talk.lines[place].end:
        return None
    record = chance.choice(done)[1]
    asks = [f"Please cancel {record}.", f"Could you cancel {record} for me?"]
    return chance.choice(asks)


@maker(ProblemKind.REPEATED, "asks in the same words for what is done")
def _same_again(talk: Talk, place: int, chance: random.Random) -> str | None:
    records = [record for _, record in _done(talk, place)]
    before = [line.text for line in talk.lines[: max(0, place - 1)] if not line.by_agent]
    asked = [
        sentence
        for text in before
        for sentence in re.split(r"(?<=[.?!])\s+", text)
        if re.search(r"\b(?:cancel|return|exchange|change|modify|book)\b", sentence.lower())
        and any(record in sentence for record in records)
    ]
    return chance.choice(asked) if asked and not talk.lines[place].end else None


@maker(ProblemKind.AS_AGENT, "a line of an agent's, typical")
def _typical(talk: Talk, place: int, chance: random.Random) -> str:
    lines = [
        "How can I help you today?",
        "Is there anything else I can help you with?",
        "I'd be happy to help. Could you please provide your order ID?",
        "Thank you for contacting us. May I have your e-mail address?",
        "I've cancelled your order, and the refund will be processed within 5 to 7 days.",
        "Your reservation has been successfully updated.",
        "I will transfer you to a human agent.",
        "Let me look up your account.",
        "I have processed your refund. Is there anything else I can assist you with?",
        "I'm sorry, but I can't cancel your order since it has already been delivered.",
    ]
    return chance.choice(lines)


@maker(ProblemKind.AS_AGENT, "a recorded agent's line")
def _recorded_agent(talk: Talk, place: int, chance: random.Random) -> str | None:
    own = [line.text for line in talk.lines if line.by_agent and len(line.text) < 300]
    return chance.choice(own) if own and talk.profile == {} else None


@maker(ProblemKind.OF_SCRIPT, "speaks of its instructions")
def _of_script(talk: Talk, place: int, chance: random.Random) -> str:
    said = [
        "That is not mentioned in my instructions.",
        "My instructions don't say anything about that.",
        "According to my script, I want a refund.",
        "As a simulated customer, I have no access to that.",
        "As an AI language model, I don't have an order number.",
        "The scenario doesn't specify that.",
        "I was told to play a customer who wants a refund.",
        "[The user would like to cancel the order.]",
    ]
    return _beside(talk.lines[place].text, chance.choice(said))


@maker(ProblemKind.EMPTY, "nothing")
def _nothing(talk: Talk, place: int, chance: random.Random) -> str:
    return chance.choice(["", " ", "\n"])


# --- measuring -----------------------------------------------------------------------------------


@dataclass
class Count:
    """What became of the lines of one sort.

    Attributes:
        made: Faulty lines.
        caught: Those that are no line to be said, whatever is called wrong with them.
        named: ... because of the right thing.
        accused: Untouched lines, as many as faulty ones, that are called this.
        missed: Some that were not caught.
    """

    made: int = 0
    caught: int = 0
    named: int = 0
    accused: int = 0
    missed: list[str] = field(default_factory=list)


class Untouched(NamedTuple):
    """A line as it was said, and what the contract holds against it."""

    talk: Talk
    place: int
    problem: str
    kind: ProblemKind


@dataclass
class Measured:
    """Everything that was measured on some talks."""

    talks: int = 0
    lines: int = 0
    sorts: dict[tuple[ProblemKind, str], Count] = field(default_factory=lambda: defaultdict(Count))
    untouched: list[Untouched] = field(default_factory=list)
    results: Counter[bool | None] = field(default_factory=Counter)

    def of_kind(self, kind: ProblemKind) -> Count:
        """All sorts of a kind together."""
        counts = [count for (k, _), count in self.sorts.items() if k is kind]
        return Count(*(sum(getattr(c, f) for c in counts) for f in ("made", "caught", "named")),
                     accused=sum(c.accused for c in counts))  # fmt: skip


def measure(talks: Iterator[Talk]) -> Measured:
    """Check every line of the talks as it was said, and one fault of each sort a talk."""
    found = Measured()
    for talk in talks:
        found.talks += 1
        found.results[talk.passed] += 1
        _measure_one(talk, found)
    return found


def _measure_one(talk: Talk, found: Measured) -> None:
    faults = _faults(talk)
    contract = Contract(talk.script, talk.profile)
    for place, line in enumerate(talk.lines):
        if line.by_agent:
            contract.hear(line.text)
            continue
        found.lines += 1
        said = UserReply(content=line.text, end=line.end)
        real = contract.fork().check(said)
        if real is not None:
            found.untouched.append(Untouched(talk, place, str(real), real.kind))
        for fault in faults.get(place, ()):
            problem = contract.fork().check(fault.reply)
            count = found.sorts[fault.kind, fault.sort]
            count.made += 1
            count.caught += problem is not None
            count.named += problem is not None and problem.kind is fault.kind
            count.accused += real is not None and real.kind is fault.kind
            if problem is None:
                count.missed.append(f"{talk.name}: {fault.reply.content[-160:]!r}")
        contract.check(said)


def _faults(talk: Talk) -> dict[int, list[Fault]]:
    """One fault of every sort that is possible in this talk, by place."""
    faults: dict[int, list[Fault]] = {}
    places = [place for place, line in enumerate(talk.lines) if not line.by_agent]
    for kind, sort, make in MAKERS:
        chance = random.Random(f"{talk.name}/{sort}")
        for place in chance.sample(places, len(places)):
            made = make(talk, place, chance)
            if made is not None:
                reply = UserReply(content=made) if isinstance(made, str) else made
                faults.setdefault(place, []).append(Fault(kind, sort, reply))
                break
    return faults


@cache
def measured() -> dict[str, Measured]:
    """Both kinds of talks."""
    results = {"agenda": measure(agenda_talks())}
    if reference_folder() is not None:
        results["recorded"] = measure(recorded_talks())
    return results


def figures() -> Iterator[Figure]:
    """Recall and precision by kind, recall by sort, and what untouched lines are called."""
    for source, found in measured().items():
        for kind in ProblemKind:
            yield from _of_kind(source, found, kind)
        yield Figure(f"{source}: untouched lines", found.lines, f"in {found.talks:,} talks")
        accused = Counter(one.kind.value for one in found.untouched)
        for name, number in accused.most_common():
            yield Figure(f"    called {name!r}", number, "lines")
        talks = {one.talk.name: one.talk.passed for one in found.untouched}
        yield Figure("    in failed talks", _count(talks, False), f"of {found.results[False]:,}")
        yield Figure("    in passed talks", _count(talks, True), f"of {found.results[True]:,}")


def _of_kind(source: str, found: Measured, kind: ProblemKind) -> Iterator[Figure]:
    count = found.of_kind(kind)
    if not count.made:
        return
    yield Figure(f"{source}: {kind.value}: recall", count.caught / count.made, _of(count.made))
    called = count.named + count.accused
    precision = count.named / called if called else 0.0
    yield Figure(f"{source}: {kind.value}: precision", precision, _of(called))
    for (own, sort), one in found.sorts.items():
        if own is kind:
            yield Figure(f"    {sort}", one.caught / one.made, _of(one.made))


def _count(results: Mapping[str, bool | None], wanted: bool) -> int:
    return sum(passed is wanted for passed in results.values())


def _of(total: int) -> str:
    return f"of {total:,}"
