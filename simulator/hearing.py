"""What an agent's words ask, offer, refuse and report, as far as rules can tell.

The agent may be anything from a script to a large model, so nothing here expects a protocol: text
is cut into sentences, and each sentence is looked at for what it does. English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from ..language import asks_to_confirm, plain, refuses

LONGEST = 20_000
"""Characters of a message that are read; of a longer one, the first and the last half of these."""


def _any(*phrases: str) -> str:
    return f"(?:{'|'.join(phrases)})"


def _words(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b{_any(*phrases)}")


# --- topics: what a customer can be asked for ----------------------------------------------------

TOPICS: dict[str, re.Pattern[str]] = {
    "email": _words(r"e-?mail"),
    "user id": _words(
        r"(?:user|customer|account|member(?:ship)?|profile)[ -]?(?:id|number|name)\b", "username"
    ),
    "name": _words(
        r"(?:full|first|last|sur|family|your|and|or|,) ?names?\b(?! of the)", r"names? (?:and|on)\b"
    ),
    "zip": _words(r"zip", "postal", r"post ?code"),
    "phone": _words(r"(?:tele)?phone", "mobile number"),
    "date of birth": _words("date of birth", "birth ?(?:day|date)"),
    "order id": _words(
        r"orders? ?(?:ids?|numbers?|no)\b", r"(?:which|what|order are you) order", "which orders?",
        r"(?:id|number) of (?:the|your) order",
    ),
    "reservation id": _words(
        r"(?:reservations?|bookings?|confirmation) ?(?:ids?|numbers?|codes?|reference)\b",
        r"which (?:of your )?(?:reservations?|bookings?)\b", "record locator",
        r"(?:id|number) of (?:the|your) (?:reservation|booking)",
    ),
    "address": re.compile(
        r"(?<!email )(?<!e-mail )(?<!mail )\baddress|\bstreet\b|ship (?:it|them) to"
        r"|(?<!departure )(?<!arrival )(?<!destination )(?<!which )(?<!what )\bcity\b"
    ),
    "payment method": _words(
        "payment", r"pay (?:for|with)\b", r"refund(?:ed)? (?:to|method|go)", r"like to pay",
        r"which (?:\w+ )?card", "receive (?:the|your) refund", r"like the refund",
    ),
    "reason": _words(r"reasons?\b", "why", "what(?:'s| is) wrong"),
    "new item": _words(
        "replacement", r"new (?:items?|variants?|options?|ones?|product)\b",
        "exchange (?:it|them) for",
        r"(?:which|what) (?:variant|option|colou?r|size|style|model|version|specific)", "prefer",
        r"(?:item|one|option)s? (?:would|do) you (?:like|want) (?:instead|to receive)",
    ),
    "items": _words(
        r"(?:which|what|specific|exact) (?:items?|products?|ones?)\b", r"items? ids?\b",
        r"items? (?:you|to|that)\b", r"the items?\b",
    ),
}  # fmt: skip
OWN_TOPICS: dict[str, re.Pattern[str]] = {
    "passengers": _words(
        "(?<!a )(?<!per )(?<!each )passengers?", "travell?ers?",
        r"who(?:'s| is| are| will be) (?:flying|travell?ing)",
    ),
    "bags": _words(r"bags?\b", r"baggages?\b", "luggage", "suitcase"),
    "insurance": _words("insur"),
    "cabin": _words("cabin", r"(?:travel|service|fare|which|what) class\b", "economy"),
    "flight": _words(
        r"which (?:\w+ ){0,3}flights?\b", "(?:what|which) options?", "prefer",
        r"(?:new|what|specific) flights?\b", "flight numbers?", "flights? (?:would|do) you",
    ),
    "date": _words(
        r"dates?\b(?! of birth)", "(?:what|which) days?", "when (?:would|do) you", "travel days?"
    ),
    "origin": _words("origin", r"(?:depart|fly|travel|leav)\w* from", "departure (?:city|airport)"),
    "destination": _words(
        "destination", "(?:fly|travel|go)(?:ing)? to", "arrival (?:city|airport)"
    ),
    "trip": _words("one[- ]way", "round[- ]trip", "(?:type|kind) of trip"),
}  # fmt: skip
"""Topics that are heard only by customers whose script has something to say about them."""
IDENTITY = ("email", "user id", "name", "zip")
"""Topics that say who somebody is, in the order in which a customer thinks of them."""

_IDENTIFY = _words(
    "identity", "authenticat", r"verify (?:you\b|your account|who you)", "who i am speaking",
    r"(?:locate|find|access|look up|pull up) your (?:account|profile)",
)  # fmt: skip
_ORDER = re.compile(r"\b(?:orders?|reservations?|bookings?)\b")


_IN_SHORT = {
    "item": "items", "name": "name", "order": "order id", "reservation": "reservation id"
}  # fmt: skip


@lru_cache(maxsize=1024)
def topic_of(key: str) -> str:
    """The topic that a script's own word for it means; the word itself if it is none of ours.

    >>> topic_of("E-mail address"), topic_of("refund method"), topic_of("Colour")
    ('email', 'payment method', 'color')
    """
    word = _american(plain(key))
    if word in _IN_SHORT:
        return _IN_SHORT[word]
    return next((topic for topic, pattern in TOPICS.items() if pattern.search(word)), word)


def _american(text: str) -> str:
    return text.replace("colour", "color")


# --- sentences -----------------------------------------------------------------------------------

_BREAK = re.compile(r"(?<=[.?!])[\"')*_]*\s+(?=\S)")
_BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+")


def sentences(text: str) -> list[str]:
    r"""The text cut at sentence ends and at lines; the bullets under a heading stay with it.

    >>> sentences("Hi! I need:\n- your e-mail\n- your zip\nThanks.")
    ['Hi!', 'I need: your e-mail, your zip', 'Thanks.']
    """
    found: list[str] = []
    heading = False
    for line in text.splitlines():
        if not (bare := line.strip()):
            continue
        bullet = _BULLET.match(line)
        if bullet and heading:
            glue = " " if found[-1].endswith(":") else ", "
            found[-1] += glue + line[bullet.end() :].strip()
            continue
        found += _BREAK.split(bare)
        heading = found[-1].rstrip("*_ ").endswith(":")
        if heading:
            found[-1] = found[-1].rstrip("*_ ")
    return found


# --- what a sentence does ------------------------------------------------------------------------

_TELL = _any(
    "provide", "share", "tell", "give", "let (?:me|us) know", "specify", "indicate", "supply",
    "send", "enter", "select", "choose", "pick", "include", "state", "reply with", "confirm",
    "verify", "clarify", "check",
)  # fmt: skip
_REQUEST = re.compile(
    rf"^{_TELL}\b|\b"
    + _any(
        rf"(?:please|kindly|(?:could|can|would|will) you|you to|if you)\b[^.?!]{{0,40}}\b{_TELL}\b",
        r"(?:i|we)(?:'ll| will|'d| would)?(?: also| just| first| still)* (?:need|require)\b",
        r"(?:may|can|could|might) (?:i|we) (?:please )?(?:have|get|know|ask)\b",
        r"how (?:would you like|do you (?:like|want)|should)\b",
        r"wh(?:at|ich|y|ere|o)(?:'s)?\b[^?]{0,200}\?",
        r"(?:are you able|do you (?:have|know|remember))\b[^?]{0,120}\?",
        r"your (?:\w+ ){0,3}(?:e-?mail|names?|zip|id|number)\b[^.!]{0,120}(?:\?|\bplease\b)",
    )
)  # fmt: skip
_THOSE = re.compile(r"\b(?:those|these|this|that) (?:details?|information|info)\b")
_OFFER = re.compile(
    r"\b"
    + _any(
        "would you (?:like|prefer|want)", "do you (?:want|wish)", "sh?oudl?d? (?:i|we|it|the)",
        "shall (?:i|we)", "(?:can|could|may) i (?!have|get|ask|help|assist|know|do )",
        "want me to", "how about", "are you (?:ok(?:ay)?|happy|interested)",
        "would (?:that|this|it) (?:be|work)",
    )
    + r"[^?]{0,400}\?"
)  # fmt: skip
_OPEN_QUESTION = re.compile(  # asks for a fact, however it goes on: "which ... would you like?"
    r"^(?:(?:to|on|from|at|in|with|for|and|so|then|also|now|great|okay|ok|thanks)[,.!]? )*"
    r"(?:which|what|when|where|who|how many|how much)\b"
    r"(?!.*\b(?:proceed|go ahead|yes|confirm)\b)"
)
_EXTRA = re.compile(
    r"\b"
    + _any(
        "(?:would|do) you (?:also |still )?(?:like|want|need|wish|prefer|have)",
        r"will you (?:be )?(?:check|bring|need|want)\w*", r"are you (?:check|bring)\w*",
    )
    + r"\b(?! (?:me|us)\b| to (?:proceed|go ahead|continue|confirm))[^?]{0,300}\?"
)  # fmt: skip
_ANYTHING_ELSE = re.compile(
    r"\b"
    + _any(
        "(?:any|some)(?:thing|one)? (?:else|more|other|further|additional)",
        r"other (?:items?|questions?|requests?|changes?)\b[^.!]{0,60}\?",
        r"further (?:assist|help)\w*", "more i can",
    )
    + r"\b"
)  # fmt: skip
_BEFORE = re.compile(r"\bbefore (?:i|we|proceeding|continuing|submitting|doing)\b")
_HOW_HELP = re.compile(
    r"\bhow (?:can|may) (?:i|we) (?:help|assist|be of)|\bwhat (?:can|may) (?:i|we) do for you"
    r"|\bwhat (?:would|do) you (?:like|want|need)(?: me)?(?: to do)?\b"
    r"|\b(?:assist|help) you (?:with )?today\?"
)
_WAIT = _words(
    "(?:hold on|hang on|bear with)", r"(?:one|a) (?:moment|second|minute|sec)\b", "please wait",
    r"let me (?:now |first |just )?\w+", "(?:working on|looking into|checking)",
    r"i(?:'ll| will|'m going to) (?:now |just )?(?:check|look|pull|review|proceed|process|verify)",
)  # fmt: skip
_DONE = _any(
    "cancel+[e]?d", "returned", "exchanged", "modified", "updated", "changed", "switched", "done",
    "processed", "requested", "submitted", "initiated", "completed?", "placed", "refunded",
    "replaced", "set up", "booked", "added", "removed", "upgraded", "applied", "scheduled", "fixed",
    "swapped", "gone through", "issued", "charged", "redirected", "started", "handled", "sent",
    "rebooked", "downgraded", "corrected", "credited",
)  # fmt: skip
_REPORT = re.compile(
    r"^(?:all )?(?:done|set)\b|ed successfully\b|\b"
    + _any(
        rf"(?:has|have|was|were|is|are|been|got|i'?ve|it's)(?: (?:now|just|been|all|both|also"
        rf"|already|successfully|officially|being)){{0,3}} {_DONE}\b",
        rf"i (?:successfully |just |also )?{_DONE}\b", rf"successfully (?:{_DONE}|made)\b",
        r"(?:was|is|were|are) (?:now )?(?:successful|complete|in place|all set)\b",
        r"all (?:done|set|taken care of)\b", r"went through\b",
        r"(?:status|address|method)\b[^.?!]{0,40} is now\b",
    )
)  # fmt: skip
_NOT_YET = re.compile(
    r"(?:\b(?:will|would|once|if|when|can|cannot|could|should|may|must|be|not|never|unless|before"
    r"|after|until|unable|since|no|because)\b|n't\b)[^,;]{0,60}$"
)
_TRANSFER = re.compile(
    r"\b(?:transferr?(?:ing|ed)? (?:you|this|the|your)|connect(?:ing|ed)? you (?:to|with)"
    r"|pass(?:ing)? you (?:to|on)|hand(?:ing|ed)? (?:you|this) (?:over|off)|being transferred"
    r"|escalat(?:e|ing|ed) (?:you|this|your))\b"
)
_TRANSFER_OFFER = re.compile(
    r"\b(?:transfer\w*|human (?:agent|representative)|live agent|representative|escalat\w+"
    r"|(?:connect|pass) you)\b"
)
_MAYBE = re.compile(
    r"\b(?:can|could|would|like|may|want|prefer|if|unless|not|no need|cannot)\b|n't\b"
)
_NOT_FOUND = re.compile(
    r"\b(?:(?:can(?:not|'t)|could(?: not|n't)|unable to|not able to|(?:did|do|does|was|have|has)"
    r"(?: not|n't)|isn't) (?:\w+ ){0,3}?(?:find|found|locate|match\w*|verify|identify|recogni[sz]e)"
    r"|(?:is|was) not found|no (?:such |matching )?(?:account|user|customer|profile|order"
    r"|reservation|booking))\b"
)
_NO_REFUSAL = re.compile(
    r"^(?:please note[:,]? )?(?:that )?(?:once|after|afterwards|if)\b(?![^,]{0,80}, (?:i|we)\b)|\b"
    + _any(
        "(?:without|until|unless|before) (?:you|your|i|we|verif\\w+|confirm\\w*|first)",
        "can(?:not|'t| not) be (?:undone|reversed|reverted)", "after which",
        "if you (?:can't|cannot|don't|are unable)", "can't wait", "cannot guarantee",
        "(?:will not|won't) be able to [^.]{0,80}\\b(?:afterwards?|any ?more|further|after)",
        "understand (?:that )?you (?:want|would like)",
    )
    + r"\b"
)  # fmt: skip
_SOFT_REFUSAL = re.compile(
    r"\b(?:unfortunately|i'm afraid|i(?:'m| am) sorry,? but|regrettably|sorry, but|we only"
    r"|i can only)\b[^.!?]{0,300}?(?:\b(?:not?|only|already|unavailable|out of|outside|past"
    r"|against|ineligible|none)\b|n't\b)|\b(?:against (?:our|the) policy|not something (?:i|we)"
    r"|ineligible|(?:isn't|is not|aren't|are not) (?:available|supported))\b"
)
_ENGLISH = re.compile(
    r"\b(?:the|you|your|i|to|is|it|a|an|and|of|we|for|please|can|yes|no|ok|okay|done|thanks|hello|hi"
    r"|sorry|what|which|not|have|has|been|was|are|by|with|on|all|this|that|order|bye|good|who|will)\b|\d"
)

# What is done for a customer; "change" and "exchange" are one, since customers mix them up.
_ACTS: dict[str, re.Pattern[str]] = {
    "cancel": _words(r"cancel"),
    "return": re.compile(
        r"\breturn(?:s|ed|ing)?\b(?! (?:instructions?|label|shipping|process|policy|window|email"
        r"|of the old|on|flights?|trips?|legs?|journeys?|tickets?|dates?)\b)"
        r"|\b(?:send|ship)(?:ing)? (?:\w+ ){1,3}back\b|\bmoney back\b"
    ),
    "alter": _words(
        r"(?:exchang|swap|modif|chang|updat|switch|replac|edit|alter|upgrad|downgrad|rebook)\w*",
        r"(?:different|another) (?:size|colou?r|item|model|one)",
        "mov(?:e|ing) (?:you|it|them|your|the (?:flight|trip))",
    ),
    "book": _words(
        r"book(?:ing)? (?:an?|the|this|that|these|those|it|me|us|you|two|flights?"
        r"|your (?:flight|trip))\b"
    ),
    "add bags": re.compile(r"\badd(?:ing)?\b[^.?!]{0,40}\b(?:bags?|luggage|suitcases?)\b"),
    "compensate": _words(
        "compensat",
        r"(?:send|issue|give|offer)\w* (?:you |me )?an? (?:\$[\d.,]+ )?"
        "(?:certificate|voucher)",
    ),
}
_NOT_ACTS = re.compile(
    r"\b(?:(?:can|could|will)(?:not|n't| not| no longer)|can't|won't|no to cancel|in exchange"
    r"|status (?:will )?[^.?!]{0,60}|changed? (?:your|my) mind|any (?:other )?changes?|unchanged"
    r"|without changes?|let me know if[^.?!]{0,80})(?: be)?(?: \w+)?"
)


@lru_cache(maxsize=256)
def acts_in(text: str) -> frozenset[str]:
    """What the text speaks of doing: cancel, return, alter (change or exchange), book ...

    >>> sorted(acts_in("I can return it, or swap it for another size")), acts_in("It's blue")
    (['alter', 'return'], frozenset())
    """
    said = _NOT_ACTS.sub(" ", plain(text))
    return frozenset(act for act, pattern in _ACTS.items() if pattern.search(said))


@dataclass(frozen=True, slots=True)
class Heard:
    """One message of the agent, understood.

    Attributes:
        text: The message as it came, shortened to `LONGEST`.
        requests: Sentences that ask for a fact, in plain form.
        asks_yes: It asks for a yes before something is done.
        offers: It asks whether something is wanted.
        extras: Sentences that ask whether something is wanted beside what was asked for: bags,
            insurance; see `with_extras`.
        asks_beyond: It asks for a yes, or offers something, in other sentences than these.
        refusals: Sentences that turn a request down.
        reports: Sentences that say something has been done.
        not_found: Something the customer said could not be found.
        waits: The agent asks for patience.
        anything_else: It asks whether there is more.
        before_acting: ... before it does what was spoken of.
        how_help: It asks what the customer wants.
        offers_transfer: It asks whether a human should take over.
        transferring: It says that a human takes over.
        question: There is a question mark.
        english: There are words we know, or at least numbers.
    """

    text: str
    requests: tuple[str, ...]
    asks_yes: bool
    offers: bool
    extras: tuple[str, ...]
    asks_beyond: bool
    refusals: tuple[str, ...]
    reports: tuple[str, ...]
    not_found: bool
    waits: bool
    anything_else: bool
    before_acting: bool
    how_help: bool
    offers_transfer: bool
    transferring: bool
    question: bool
    english: bool


def hear(text: str) -> Heard:
    """Understand one message of the agent; time is linear in its length, up to `LONGEST`.

    >>> heard = hear("Sorry, delivered orders can't be cancelled. Would you like to return it?")
    >>> heard.offers, heard.asks_yes, heard.refusals
    (True, False, ("sorry, delivered orders can't be cancelled.",))
    """
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    return _understood(text)


@lru_cache(maxsize=256)  # trials of one task hear the same lines; a message is never large here
def _understood(text: str) -> Heard:
    parts = [_american(plain(part)) for part in sentences(text)]
    whole = "\n".join(parts)
    more = {part for part in parts if _ANYTHING_ELSE.search(part)}
    rest = [part for part in parts if part not in more]
    human = {part for part in rest if _TRANSFER_OFFER.search(part)}
    closed = [part for part in rest if not _OPEN_QUESTION.search(part)]
    asks_yes = {part for part in closed if asks_to_confirm(part)}
    offers = {part for part in closed if _OFFER.search(part)}
    extras = {part for part in rest if _EXTRA.search(part)}
    return Heard(
        text=text,
        requests=tuple(_requests(rest)),
        asks_yes=bool(asks_yes - human),
        offers=bool(offers - human),
        extras=tuple(part for part in rest if part in extras - human),
        asks_beyond=bool((asks_yes | offers) - human - extras),
        refusals=tuple(part for part in parts if _is_refusal(part)),
        reports=tuple(part for part in parts if _is_report(part)),
        not_found=bool(_NOT_FOUND.search(whole)),
        waits=bool(_WAIT.search(whole)),
        anything_else=bool(more),
        before_acting=bool(_BEFORE.search(whole)),
        how_help=bool(_HOW_HELP.search(whole)),
        offers_transfer=bool(human & (asks_yes | offers)),
        transferring=any(_is_transfer(part) for part in human),
        question="?" in text,
        english=bool(_ENGLISH.search(whole)),
    )


def _requests(parts: list[str]) -> Iterator[str]:
    for before, part in zip(["", *parts], parts, strict=False):
        if _REQUEST.search(part):
            yield f"{before} {part}" if _THOSE.search(part) else part


def _is_transfer(sentence: str) -> bool:
    found = _TRANSFER.search(sentence)
    if found is None or sentence.endswith("?"):
        return False
    return not _MAYBE.search(sentence[: found.start()])


def _is_refusal(sentence: str) -> bool:
    if not (refuses(sentence) or _SOFT_REFUSAL.search(sentence)):
        return False
    return not (_NOT_FOUND.search(sentence) or _NO_REFUSAL.search(sentence))


def _is_report(sentence: str) -> bool:
    found = _REPORT.search(sentence)
    if found is None or sentence.endswith("?"):
        return False
    return not _NOT_YET.search(sentence[max(0, found.start() - 80) : found.start()])


def with_extras(heard: Heard, own_words: frozenset[str]) -> Heard:
    """The message with extras understood as questions, if the script has an answer to them.

    >>> heard = hear("Would you like travel insurance?")
    >>> with_extras(heard, frozenset()).offers, with_extras(heard, frozenset({"insurance"})).offers
    (True, False)
    """
    about = [OWN_TOPICS[word] for word in own_words if word in OWN_TOPICS]
    questions = tuple(part for part in heard.extras if any(p.search(part) for p in about))
    if not questions:
        return heard
    return replace(
        heard,
        requests=(*heard.requests, *(part for part in questions if part not in heard.requests)),
        asks_yes=heard.asks_yes and heard.asks_beyond,
        offers=heard.offers and heard.asks_beyond,
    )


def without_refusals(text: str) -> str:
    """The text less the sentences that turn something down: what it still proposes."""
    pieces = (piece for line in text.split("\n") for piece in _BREAK.split(line))
    return "\n".join(piece for piece in pieces if not _is_refusal(plain(piece)))


def topics_asked(heard: Heard, own_words: frozenset[str] = frozenset()) -> list[str]:
    """The topics that the message asks for, in the order in which it does.

    Args:
        heard: The message.
        own_words: Topics of the script that are none of `TOPICS`, e.g. "color".

    >>> topics_asked(hear("Please share your e-mail, or your first and last name with your zip."))
    ['email', 'name', 'zip']
    """
    asked = " | ".join(heard.requests)
    places = {topic: found.start() for topic in TOPICS if (found := TOPICS[topic].search(asked))}
    if "new item" in places and not TOPICS["items"].search(TOPICS["new item"].sub(" ", asked)):
        places.pop("items", None)
    if "address" in places and "name" not in places:
        places.pop("zip", None)
    for word in own_words:
        if (place := _place_of(word, asked)) is not None:
            places[word] = place
    if "passengers" in places:  # whose names and dates of birth are asked for
        places = {topic: at for topic, at in places.items() if topic not in _OF_A_PERSON}
    if not places.keys() & {*IDENTITY} and (found := _IDENTIFY.search(asked)):
        places["identity"] = found.start()
    return sorted(places, key=lambda topic: (places[topic], topic))


_OF_A_PERSON = ("name", "date of birth")


def _place_of(word: str, asked: str) -> int | None:
    """Where one of the script's own topics is asked for; None if it is not."""
    if (pattern := OWN_TOPICS.get(word)) and (found := pattern.search(asked)):
        return found.start()
    parts = word.split()
    return asked.find(parts[0]) if all(part in asked for part in parts) else None


def either_will_do(heard: Heard) -> bool:
    """Whether one of the ways to identify oneself is enough: "your e-mail or your name and zip"."""
    asked = " ".join(heard.requests)
    return bool(re.search(r"\bor\b|\balternatively\b|\beither\b", asked))


def about_order(heard: Heard) -> bool:
    """Whether what could not be found is an order."""
    return any(
        _NOT_FOUND.search(part) and _ORDER.search(part)
        for part in map(plain, sentences(heard.text))
    )
