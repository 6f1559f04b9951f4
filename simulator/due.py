"""When a customer may tell what the script says: some of it is not due from the start.

Three things are certain, in scripts with goals:

- what only an alternative (``otherwise``) says is due when the agent has turned something down;
- what the customer only verifies (``check``) or waits to be told (``until_told``) is due when the
  agent has begun to deal with the request;
- a topic that the script calls ``unknown`` is never due, whatever the customer's row says about it.

Details of a request may come with the request: volunteering them is no fault. What the agent names
is due for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from itertools import chain

from ..language import plain
from ..task import Goal, UserScript
from .hearing import IDENTITY, Heard, acts_in, hear, sentences, topic_of, topics_asked
from .pursuits import checked_words, wordings_of
from .telling import Known

_NEGATIVE = re.compile(  # wider than a refusal: whatever may be taken for one
    r"\b(?:no|not|none|nor|cannot|unable|only|sorry|apologi[sz]e|unfortunately|afraid|regret"
    r"|already|however|but|outside|past|expired|ineligible|instead|alternatively|alternatives?"
    r"|other options?|declined?|refuse|impossible|unavailable|out of stock|restricted|prohibited"
    r"|too late)\b|n't\b"
)
_WITHOUT = re.compile(
    r"\b(?:(?:not|without|instead of|rather than|never|avoid)|\w+n't)\b[^,;.!?]{0,30}"
    r"\b(?:cancel|return|book|compensat|add)\w*"
)
_ALL_OF_IT = re.compile(
    r"\b(?:whole|entire\w*|all|everything|complete\w*|full|if|otherwise|or|else|unless)\b"
)
_PLAIN_ACTS = frozenset(["cancel", "return", "book", "compensate", "add bags"])
_TELLING_WORDS = 3
"""Words of an alternative, found nowhere else, that a line must share with it to tell it."""
_SHARE = 0.6
"""... and the share of them."""
_SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        "about after again also another because been before could does from have here instead into"
        " just like make maybe more much need okay only other please possible rather really should"
        " some something than thank thanks that their them then there these they thing think this"
        " those want wanted well what when where which will with would your yours",
    )
)


class Until(Enum):
    """What makes something due."""

    REFUSAL = "the agent has turned nothing down"
    PROPOSAL = "the agent has not come to it"
    NEVER = "the script says that the customer does not know it"


@dataclass(frozen=True)
class Alternative:
    """What is asked instead, as far as it can be recognised.

    Attributes:
        ask: In plain form.
        words: Words that stand nowhere else in the script.
        acts: Acts that nothing else in the script speaks of.
        things: Words of the requests that come first, which it does not share.
    """

    ask: str
    words: frozenset[str]
    acts: frozenset[str]
    things: frozenset[str] = frozenset()

    def told_in(self, said: str) -> bool:
        """Whether a line, in plain form, tells it, agent's words aside."""
        if self.ask in said:
            return True
        shared = self.words & content_words(said)
        return len(shared) >= max(_TELLING_WORDS, _SHARE * len(self.words))

    def acts_asked(self, text: str) -> frozenset[str]:
        """Its acts, as far as a line asks for them.

        Not with a thing of the first request alone ("cancel just the bike"), which is that request
        in other words, and not with a no ("I don't want to cancel it").
        """
        asked = (part for part in sentences(text) if not self._is_first_request(plain(part)))
        return self.acts & frozenset[str]().union(*map(acts_in, asked))

    def _is_first_request(self, said: str) -> bool:
        if _WITHOUT.search(said):
            return True
        return bool(self.things & content_words(said)) and not _ALL_OF_IT.search(said)


@dataclass(frozen=True)
class NotDue:
    """What a script holds back.

    Attributes:
        tokens: What cannot be said by chance (`Known.told`), and until when not.
        alternatives: What is asked instead.
    """

    tokens: Mapping[str, Until] = field(default_factory=dict)
    alternatives: Sequence[Alternative] = ()

    def __bool__(self) -> bool:
        return bool(self.tokens or self.alternatives)


class Waiting:
    """What one customer must not tell yet; what the agent says makes it due.

    Args:
        held_back: From the script.
    """

    def __init__(self, held_back: NotDue) -> None:
        self._held_back = held_back
        self._heard: list[str] = []
        self._due: frozenset[Until] = frozenset()
        self._acts: frozenset[str] = frozenset()

    def hear(self, text: str) -> None:
        """The agent says this. It is looked at when it matters."""
        if self._held_back:
            self._heard.append(text)

    def fork(self) -> Waiting:
        """The same for another customer."""
        twin = object.__new__(Waiting)
        twin.__dict__.update(self.__dict__)
        twin._heard = self._heard.copy()
        return twin

    def leak(self, text: str, tokens: Sequence[str], known: Known) -> str | None:
        """What this line tells too early, and why it is too early; None if nothing."""
        if not self._held_back:
            return None
        for token in tokens:
            until = self._held_back.tokens.get(token)
            if until and not known.has_heard(token) and not self._is_due(until):
                return f"{token!r}: {until.value}"
        return self._alternative(text)

    def _alternative(self, text: str) -> str | None:
        said = plain(text)
        for alternative in self._held_back.alternatives:
            told = alternative.told_in(said) or self._new_acts(alternative, text)
            if told and not self._is_due(Until.REFUSAL):
                return f"{alternative.ask!r}: {Until.REFUSAL.value}"
        return None

    def _new_acts(self, alternative: Alternative, text: str) -> bool:
        """Whether the line asks to do what only the alternative speaks of."""
        if not alternative.acts or not (new := alternative.acts_asked(text)):
            return False
        self._listen()
        return bool(new - self._acts)

    def _is_due(self, until: Until) -> bool:
        self._listen()
        return until in self._due

    def _listen(self) -> None:
        for text in self._heard:
            heard = hear(text)
            self._acts |= acts_in(text)
            if _NEGATIVE.search(plain(text)):
                self._due |= {Until.REFUSAL}
            if _deals_with_it(heard):
                self._due |= {Until.PROPOSAL}
        self._heard = []


def _deals_with_it(heard: Heard) -> bool:
    """Whether the agent does more than greet and ask who somebody is."""
    beyond = set(topics_asked(heard)) - {*IDENTITY, "identity"}
    numbers = any(character.isdigit() for character in heard.text)
    return bool(beyond or heard.asks_yes or heard.offers or heard.reports or numbers)


def content_words(said: str) -> frozenset[str]:
    """The words of a text in plain form that say what it is about."""
    words = re.findall(r"[a-z][a-z'-]{3,}", said)
    return frozenset(word.removesuffix("'s") for word in words) - _SMALL_WORDS


# --- what a script holds back --------------------------------------------------------------------


class _Same:
    """A script as a key that is compared by identity, since scripts hold dicts."""

    def __init__(self, script: UserScript) -> None:
        self.script = script

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.script is other.script

    def __hash__(self) -> int:
        return id(self.script)


def not_due(script: UserScript, profile: Mapping[str, str], now: str = "") -> NotDue:
    """What a script holds back; nothing, if it is free text.

    Args:
        script: What the customer wants and knows.
        profile: What their row in the world says about them, by topic.
        now: Today's ISO date, from which others can be worked out; "" if nobody says.
    """
    return _not_due(_Same(script), tuple(profile.items()), now)


@lru_cache(maxsize=1024)
def _not_due(key: _Same, profile: tuple[tuple[str, str], ...], now: str) -> NotDue:
    script = key.script
    if is_free_text(script):
        return NotDue()
    open_text = "\n".join(_open_texts(script, dict(profile)))
    teller = Known("\n".join((script.text, *dict(profile).values())))
    free, derived = frozenset(teller.told(open_text)), Known(f"{open_text}\n{now}")
    tokens: dict[str, Until] = {}
    for text, until in _held_back(script, profile):
        for token in teller.told(text):
            if token not in free and not derived.can_tell(token, text):
                tokens.setdefault(token, until)
    asks = [alternative for goal in script.goals for alternative in _alternatives(goal)]
    hidden = [goal for goal in asks if plain(goal.ask) not in plain(open_text)]
    return NotDue(tokens, [_recognisable(goal, open_text) for goal in hidden])


def is_free_text(script: UserScript) -> bool:
    """Whether the one goal is the whole instruction, as other benchmarks have it."""
    return len(script.goals) == 1 and script.goals[0].ask == script.instruction


def _open_texts(script: UserScript, profile: Mapping[str, str]) -> Iterator[str]:
    unknown = _unknown(script)
    yield script.opening
    yield from script.knows.values()
    yield from (value for key, value in profile.items() if topic_of(key) not in unknown)
    if "user id" not in unknown:
        yield script.customer
    for goal in script.goals:
        yield goal.ask
        yield from goal.details.values()


def _unknown(script: UserScript) -> set[str]:
    return {topic_of(topic) for topic in script.unknown}


def _held_back(
    script: UserScript, profile: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, Until]]:
    """Texts that are not due, those that wait for less first."""
    for goal in script.goals:
        yield from ((words, Until.PROPOSAL) for words in _verified(goal))
    for goal in (g for first in script.goals for g in _alternatives(first)):
        told = (goal.ask, *goal.details.values(), *_verified(goal))
        yield from ((words, Until.REFUSAL) for words in told)
    unknown = _unknown(script)
    yield from ((value, Until.NEVER) for key, value in profile if topic_of(key) in unknown)


def _verified(goal: Goal) -> Iterator[str]:
    yield from checked_words(goal)
    yield from chain.from_iterable(map(wordings_of, goal.until_told))


def _alternatives(goal: Goal) -> Iterator[Goal]:
    while goal.otherwise is not None:
        goal = goal.otherwise
        yield goal


def _recognisable(goal: Goal, open_text: str) -> Alternative:
    elsewhere = plain(open_text)
    words = content_words(plain(goal.ask)) - content_words(elsewhere)
    acts = acts_in(goal.ask) & _PLAIN_ACTS - acts_in(open_text)
    things = content_words(elsewhere) - content_words(plain(goal.ask))
    return Alternative(plain(goal.ask), words, acts, things)
