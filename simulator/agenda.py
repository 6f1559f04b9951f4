"""A customer without a model: goals on an agenda, answers to what is heard.

Source: Schatzmann et al. 2007, "Agenda-Based User Simulation for Bootstrapping a POMDP Dialogue
System", NAACL: a user is a goal (constraints and requests) and an agenda of what to say about it,
changed by every turn of the system. Here the goals are those of the task's script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Self

from ..language import agrees, emails, plain, says
from ..task import Goal, UserScript
from ..transcript import UserEnd, UserReply
from . import hearing
from .hearing import (
    IDENTITY,
    Heard,
    acts_in,
    hear,
    topic_of,
    topics_asked,
    with_extras,
    without_refusals,
)
from .proposals import RECORDS, Fit, compare, misnamed, values
from .pursuits import (
    OPEN,
    Pursuit,
    Stage,
    acts_refused,
    checked_words,
    inline,
    names_another,
    wants_human,
    wordings_of,
)
from .wording import Voice

PATIENCE = 4
"""Turns without progress after which the customer gives up."""
CORRECTIONS = 3
"""Times the customer corrects a proposal for one goal before giving up."""
REPEATS = 2
"""Times the customer repeats a question that was not answered before dropping it."""


class AgendaUser:
    """Plays a `UserScript` by rules; the same seed and the same lines heard give the same words.

    Args:
        script: What they want, know and do not know.
        profile: What their row in the world says, by topic; the script's ``knows`` goes first.
        seed: Chooses among wordings.

    Example:
        >>> goal = {"ask": "Please cancel order #W1111111.", "check": {"order id": "#W1111111"}}
        >>> script = UserScript.model_validate({"persona": "terse", "goals": [goal]})
        >>> user = AgendaUser(script, {"email": "ana@example.com"}, seed=1)
        >>> user.reply(None).content
        'Please cancel order #W1111111.'
        >>> user.reply("Could you give me your e-mail, please?").content
        'ana@example.com.'
        >>> user.reply("I will cancel order #W2222222. Is that correct (yes/no)?").content
        'No, order id: #W1111111.'
    """

    def __init__(self, script: UserScript, profile: Mapping[str, str], seed: int = 0) -> None:
        self._script = script
        self._unknown = frozenset(topic_of(topic) for topic in script.unknown)
        self.facts: Mapping[str, str] = MappingProxyType(_facts(script, profile, self._unknown))
        self._voice = Voice(script.persona, seed)
        self._agenda = [Pursuit(goal) for goal in script.goals]
        self._turn = 0
        self._idle = 0
        self._given: frozenset[str] = frozenset()
        self._failed: frozenset[str] = frozenset()
        self._before = ""
        self._handed_over = False

    @property
    def never_put(self) -> Sequence[str]:
        """The requests not put to the agent so far."""
        return [p.goal.ask for p in self._agenda if p.stage is Stage.WAITING]

    def fork(self) -> Self:
        """The same user at the same point; what is shared is never written to."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._agenda = self._agenda.copy()
        return twin

    def reply(self, heard: str | None) -> UserReply:
        """Answer the agent's words; None opens the conversation."""
        self._turn += 1
        if heard is None:
            return UserReply(content=self._open())
        words = with_extras(hear(heard), frozenset(self._own_words()))
        self._note_told(words.text)
        before = self._progress()
        reply = self._answer(words)
        self._idle = 0 if self._progress() != before else self._idle + 1
        self._before = words.text
        if reply.end is None and self._idle >= PATIENCE:
            return self._end(UserEnd.GAVE_UP if self._unsettled() else self._how_it_ended())
        return reply

    def _progress(self) -> object:
        stages = [(p.goal, p.stage, p.told, p.insisted) for p in self._agenda]
        return stages, self._given, self._failed

    def _say(self, act: str, *parts: str) -> str:
        return self._voice.say(act, self._turn, *parts)

    # --- the agenda ------------------------------------------------------------------------------

    def _open(self) -> str:
        first = self._agenda[0].goal.ask
        opening = self._script.opening or self._say("greet", first)
        said = plain(opening)
        for place, pursuit in enumerate(self._agenda):
            if plain(pursuit.goal.ask) in said:
                self._set(place, stage=Stage.PUT)
        return opening

    def _set(self, place: int, **changes: object) -> None:
        self._agenda[place] = replace(self._agenda[place], **changes)  # type: ignore[arg-type]

    def _open_places(self) -> list[int]:
        """Places of the goals that are put and not settled."""
        return [i for i, p in enumerate(self._agenda) if p.stage in OPEN]

    def _unsettled(self) -> list[int]:
        """Places of the goals that are not settled, those already put first."""
        waiting = [i for i, p in enumerate(self._agenda) if p.stage is Stage.WAITING]
        return self._open_places() + waiting

    def _note_told(self, text: str) -> None:
        for place, pursuit in enumerate(self._agenda):
            facts = pursuit.goal.until_told
            if len(pursuit.told) == len(facts):
                continue
            told = {i for i, fact in enumerate(facts) if i not in pursuit.told and says(text, fact)}
            if told:
                self._set(place, told=pursuit.told | told)

    # --- one turn --------------------------------------------------------------------------------

    def _answer(self, heard: Heard) -> UserReply:
        if self._handed_over:
            return self._end(UserEnd.HANDED_OVER)
        if not self._unsettled():
            return self._end(self._how_it_ended())
        if heard.transferring:
            self._handed_over = True
            return UserReply(content=self._say("handed over"))
        if not heard.english:
            return UserReply(content=self._say("huh"))
        said: list[str] = list(self._correct_identity(heard))
        self._take_reports(heard)
        said += self._judge(heard)
        if not self._patient():
            return self._end(UserEnd.GAVE_UP)
        said += self._tell(heard)
        self._take_answers(heard, busy=bool(said))
        said += self._go_on(heard, busy=bool(said))
        return self._compose(said)

    def _compose(self, said: list[str]) -> UserReply:
        if not said:
            return self._end(self._how_it_ended())
        words = " ".join(said)
        if (
            len(said) > 1 and agrees(said[0]) and not agrees(words)
        ):  # facts beside a yes must not take it back
            words = said[0]
        return UserReply(content=words)

    def _patient(self) -> bool:
        return all(p.corrected <= CORRECTIONS for p in self._agenda)

    def _how_it_ended(self) -> UserEnd:
        stages = {p.stage for p in self._agenda}
        if Stage.DROPPED in stages:
            return UserEnd.GAVE_UP
        return UserEnd.REFUSED if Stage.REFUSED in stages else UserEnd.GOALS_MET

    def _end(self, end: UserEnd) -> UserReply:
        act = {UserEnd.REFUSED: "close refused", UserEnd.GAVE_UP: "give up"}.get(end, "close")
        return UserReply(content=self._say(act), end=end)

    # --- done, refused, answered -----------------------------------------------------------------

    def _take_reports(self, heard: Heard) -> None:
        """Goals that the agent reports as done are met, if what it names is what was wanted."""
        if not heard.reports:
            return
        report = " ".join(heard.reports)
        acts = acts_in(report)
        agreed = [i for i in self._open_places() if self._agenda[i].stage is Stage.AGREED]
        for place in agreed:
            goal = self._agenda[place].goal
            own = acts_in(goal.ask)
            if (acts & own or not (acts and own)) and not names_another(goal, report):
                self._set(place, stage=Stage.MET)
        if not agreed and acts:  # done without asking
            fits = {i: self._compare(i, heard.text) for i in self._open_places()}
            for place in self._covered(fits):
                goal = self._agenda[place].goal
                if acts & acts_in(goal.ask) and not (goal.until_told or fits[place].missing):
                    self._set(place, stage=Stage.MET)

    def _refused(self, place: int) -> str:
        """What the customer says to a refusal: insists, falls back, or accepts it."""
        pursuit = self._agenda[place]
        goal = pursuit.goal
        if pursuit.insisted < goal.insist:
            self._set(place, insisted=pursuit.insisted + 1, stage=Stage.PUT)
            return self._say("insist", goal.ask)
        if goal.otherwise is not None:
            self._agenda[place] = Pursuit(goal.otherwise, Stage.PUT)
            return self._say("instead", goal.otherwise.ask)
        self._set(place, stage=Stage.REFUSED)
        return self._say("accept")

    def _take_answers(self, heard: Heard, *, busy: bool) -> None:
        """Questions that have been answered are settled."""
        for place in self._open_places():
            pursuit = self._agenda[place]
            if not pursuit.answered:
                continue
            fresh = all(says(heard.text, fact) for fact in pursuit.goal.until_told)
            if fresh or not (heard.requests or heard.waits or busy):
                self._set(place, stage=Stage.MET)

    # --- proposals, offers, refusals -------------------------------------------------------------

    def _harmless(self, place: int) -> Iterator[str]:
        """Texts whose values may stand in a proposal beside those of this goal."""
        yield from self.facts.values()
        for other, pursuit in enumerate(self._agenda):
            if other != place:
                goal = pursuit.goal
                yield goal.ask
                yield from goal.details.values()
                for words in goal.check.values():
                    yield words if isinstance(words, str) else " ".join(words)

    def _judge(self, heard: Heard) -> list[str]:
        """Yes, no, a correction, or what there is to say to a refusal; nothing if none is due."""
        if heard.offers_transfer and (heard.refusals or not heard.asks_yes):
            return self._judge_transfer(heard)
        asked = heard.asks_yes or heard.offers
        fits = self._fits(heard) if asked else {}
        accepted = self._covered(fits)
        if accepted and not (heard.refusals and not any(fits[i].named for i in accepted)):
            return [self._accept(accepted, heard), *self._other_refusals(heard, accepted)]
        if heard.refusals and (place := self._turned_down(heard)) is not None:
            return [self._refused(place)]
        return self._object(heard, fits) if fits else []

    def _fits(self, heard: Heard) -> dict[int, Fit]:
        """How the proposal compares with every goal; details of the line before still count."""
        text = without_refusals(heard.text) if heard.refusals else heard.text
        fits = {i: self._compare(i, text) for i in self._unsettled()}
        if any(fit.named or fit.wrong for fit in fits.values()):
            return fits
        longer = {i: self._compare(i, f"{self._before}\n{text}") for i in fits}
        return longer if any(fit.good and fit.named for fit in longer.values()) else fits

    def _compare(self, place: int, text: str) -> Fit:
        return compare(self._agenda[place].goal, text, self._harmless(place))

    def _covered(self, fits: dict[int, Fit]) -> list[int]:
        """The goals that a proposal is meant for: the one it fits best, others it spells out."""
        current = self._unsettled()[:1]
        likely = [
            i for i, fit in fits.items()
            if fit.good and (fit.named or (i in current and not fit.missing))
        ]  # fmt: skip
        likely.sort(key=lambda i: -len(fits[i].named) / max(1, len(self._agenda[i].goal.check)))
        covered = likely[:1]
        for place in likely[1:]:
            if not fits[place].missing and self._is_new(place, fits[place], covered):
                covered.append(place)
        return covered

    def _is_new(self, place: int, fit: Fit, covered: list[int]) -> bool:
        """Whether it names something of this goal that is not of the covered ones."""
        taken = {word for i in covered for word in checked_words(self._agenda[i].goal)}
        check = self._agenda[place].goal.check
        return any(not taken & {*wordings_of(check[topic])} for topic in fit.named)

    def _accept(self, places: list[int], heard: Heard) -> str:
        for place in places:
            goal = self._agenda[place].goal
            if not goal.until_told and (heard.asks_yes or acts_in(heard.text)):
                self._set(place, stage=Stage.AGREED)
        return self._say("yes")

    def _object(self, heard: Heard, fits: dict[int, Fit]) -> list[str]:
        """Correct the proposal, ask for what it leaves out, or turn it down."""
        place = self._meant(fits)
        fit, pursuit = fits[place], self._agenda[place]
        if topics_asked(heard) and not fit.wrong and not fit.other_act:
            return []  # an open question, not a proposal: it is answered
        if fit.wrong and not fit.other_act:
            self._set(place, corrected=pursuit.corrected + 1)
            return [self._correction(pursuit.goal, fit.wrong)]
        if not fit.other_act and not acts_in(heard.text) and not heard.asks_yes:
            return [self._say("yes")]  # an offer to look something up
        self._set(place, corrected=pursuit.corrected + 1)
        if fit.other_act:
            return [self._say("not asked"), *self._repeat(place)]
        return [self._say("which", (fit.missing or ["details"])[0])]

    def _meant(self, fits: dict[int, Fit]) -> int:
        """The goal that a proposal which fits none most likely means."""
        put = [i for i in fits if self._agenda[i].stage in OPEN] or list(fits)
        return min(put, key=lambda i: (fits[i].other_act, -len(fits[i].named), bool(fits[i].wrong)))

    def _correction(self, goal: Goal, wrong: list[str]) -> str:
        topic = wrong[0]
        named = {topic_of(key): value for key, value in goal.details.items()}
        checked = goal.check[topic]
        value = goal.details.get(topic) or named.get(topic_of(topic))
        value = value or (checked if isinstance(checked, str) else checked[0])
        return self._say("correct", topic, inline(value))

    def _repeat(self, place: int) -> list[str]:
        pursuit = self._agenda[place]
        if pursuit.stage is Stage.WAITING:
            return []
        return [self._say("again", pursuit.goal.ask)]

    def _judge_transfer(self, heard: Heard) -> list[str]:
        """A human is accepted if the script asks for one; else the offer is a refusal."""
        places = self._open_places()
        if any(wants_human(self._agenda[i].goal) for i in places):
            return [self._say("yes")]
        target = self._turned_down(heard) if heard.refusals else None
        if target is None:
            return [self._say("no thanks"), *(self._repeat(places[0]) if places else [])]
        return [self._say("no thanks"), self._refused(target)]

    def _turned_down(self, heard: Heard) -> int | None:
        """The goal that a refusal is about: the one it names, else the one in hand."""
        places = self._open_places()
        if not places or any(topic in (*IDENTITY, "identity") for topic in topics_asked(heard)):
            return None
        refusal = " ".join(heard.refusals)
        named = [i for i in places if compare(self._agenda[i].goal, refusal).named]
        if named:
            return named[0]
        same = [i for i in places if acts_in(self._agenda[i].goal.ask) & acts_refused(refusal)]
        return (same or places)[0]

    def _other_refusals(self, heard: Heard, accepted: list[int]) -> Iterator[str]:
        """Refusals, beside an accepted proposal, of another goal that they name."""
        refusal = " ".join(heard.refusals)
        for place in self._open_places() if refusal else []:
            if place not in accepted and compare(self._agenda[place].goal, refusal).named:
                yield self._refused(place)

    def _correct_identity(self, heard: Heard) -> Iterator[str]:
        for topic in misnamed(heard.text, self.facts):
            yield self._say("correct", topic, self.facts[topic])

    # --- what the agent asks for -----------------------------------------------------------------

    def _tell(self, heard: Heard) -> list[str]:
        asked = topics_asked(heard, frozenset(self._own_words()))
        if heard.not_found:
            self._note_not_found(heard)
        if heard.how_help and not asked:
            return []
        said: list[str] = []
        for topic in self._narrow(asked, heard):
            value = self._fact(topic)
            if value is None:
                if topic not in ("items", "new item") or topic in self._unknown:
                    said.append(self._say("unknown", topic))
                continue
            self._given |= {topic}
            said.append(self._voice.tell(topic, self._turn, value))
        if said and self._given:
            said[0] = self._say("fact", said[0])
        return said

    def _own_words(self) -> Iterator[str]:
        """The script's topics that are none of `TOPICS`."""
        goals = [self._agenda[place].goal.details for place in self._open_places()]
        for key in chain(*goals, self._script.knows, self._script.unknown):
            if (topic := topic_of(key)) not in hearing.TOPICS:
                yield topic

    def _narrow(self, asked: list[str], heard: Heard) -> list[str]:
        """Which of the topics asked for to answer: of several ways to identify, one is enough."""
        ways = [topic for topic in asked if topic in (*IDENTITY, "identity")]
        others = [topic for topic in asked if topic not in ways]
        choice = "identity" in ways or (
            len(ways) > 1 and hearing.either_will_do(heard) and bool({"email", "user id"} & {*ways})
        )
        if self._failed & {*ways}:
            ways = [topic for topic in ways if topic not in self._failed] or ["identity"]
            choice = "identity" in ways
        if not choice:
            return ways + others
        return self._identify(None if "identity" in ways else ways) + others

    def _identify(self, ways: list[str] | None) -> list[str]:
        usable = [t for t in IDENTITY if t in self.facts and t not in self._failed]
        if ways is not None:
            usable = [topic for topic in usable if topic in ways]
        for single in ("email", "user id"):
            if single in usable:
                return [single]
        return usable or (ways or ["email"])

    def _note_not_found(self, heard: Heard) -> None:
        if hearing.about_order(heard):
            return
        mentioned = {"email"} if emails(heard.text) or "mail" in heard.text.lower() else set()
        missed = (mentioned or set(IDENTITY)) & self._given
        self._failed |= missed if missed != self._failed else frozenset()

    def _fact(self, topic: str) -> str | None:
        """What the customer answers: the goal in hand first, then what they know."""
        if topic in self._unknown:
            return None
        for place in self._open_places():
            details = self._agenda[place].goal.details.items()
            if said := [value for key, value in details if topic_of(key) == topic]:
                return " ".join(said)
        if topic in self.facts:
            return self.facts[topic]
        return self._from_goals(topic)

    def _from_goals(self, topic: str) -> str | None:
        shape = topic.removesuffix(" id")
        is_record = shape in RECORDS
        for goal in self._goals_in_hand(before=is_record):
            for key, words in goal.check.items():
                if topic_of(key) == topic:
                    return words if isinstance(words, str) else words[0]
            if is_record and (named := sorted(values(shape, goal.ask))):
                return named[0].upper()
        return None

    def _goals_in_hand(self, *, before: bool) -> Iterator[Goal]:
        """The open goals, and if wanted those settled before, the latest first."""
        yield from (self._agenda[place].goal for place in self._open_places())
        settled = [p for p in self._agenda if p.stage not in (*OPEN, Stage.WAITING)]
        yield from (pursuit.goal for pursuit in reversed(settled) if before)

    # --- and then --------------------------------------------------------------------------------

    def _go_on(self, heard: Heard, *, busy: bool) -> list[str]:
        """What to say when the agent's own points are dealt with: the agenda moves on."""
        places = self._open_places()
        if not places:
            return self._put_next()
        agreed = self._agenda[places[0]].stage is Stage.AGREED
        if heard.anything_else and (heard.before_acting or (busy and agreed)):
            return self._put_next() or [self._say("nothing else")]
        if busy:
            return []
        return self._nudge(places[0], heard)

    def _put_next(self) -> list[str]:
        waiting = [i for i, p in enumerate(self._agenda) if p.stage is Stage.WAITING]
        if not waiting:
            return []
        self._set(waiting[0], stage=Stage.PUT)
        opened = any(p.stage is not Stage.WAITING for p in self._agenda[: waiting[0]])
        ask = self._agenda[waiting[0]].goal.ask
        return [self._say("next", ask) if opened else ask]

    def _nudge(self, place: int, heard: Heard) -> list[str]:
        """Keep an open goal going when the agent neither asked nor settled anything."""
        pursuit = self._agenda[place]
        if heard.waits and not heard.question:
            return [self._say("wait")]
        if pursuit.stage is Stage.AGREED:
            return [self._say("is it done" if heard.anything_else or self._idle else "wait")]
        asked_back = heard.how_help or heard.requests or heard.offers or heard.asks_yes
        if asked_back or not pursuit.goal.until_told:
            return [self._say("again", pursuit.goal.ask)]
        if pursuit.repeated >= REPEATS:
            self._set(place, stage=Stage.DROPPED)
            return self._put_next()
        self._set(place, repeated=pursuit.repeated + 1)
        return [self._say("again", pursuit.goal.ask)]


# --- facts ---------------------------------------------------------------------------------------


def _facts(
    script: UserScript, profile: Mapping[str, str], unknown: frozenset[str]
) -> dict[str, str]:
    facts = {_profile_topic(key): value for key, value in profile.items() if value}
    if "name" not in facts and "first name" in facts:
        facts["name"] = f"{facts['first name']} {facts.get('last name', '')}".strip()
    facts |= {topic_of(key): value for key, value in script.knows.items()}
    hidden = unknown | ({"first name", "last name"} if "name" in unknown else frozenset())
    return {topic: value for topic, value in facts.items() if topic not in hidden}


def _profile_topic(key: str) -> str:
    return key if key in ("first name", "last name") else topic_of(key)
