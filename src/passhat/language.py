"""What plain words mean, as far as rules can tell: yes, no, refusals, proposals, numbers, ids.

Users, rules and graders all read text with these functions, so that a yes is the same yes for the
simulated customer who says it and for the rule that looks for it. English only.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from .task import Words

# --- numbers, money, ids ------------------------------------------------------------------------

# A number standing alone: not inside a word, an id, a time or a longer number.
_NUMBER = re.compile(r"(?<![\w#.,:/-])(-?)\$?\s?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w:]|[.,/-]\d)")
_MONEY = re.compile(r"(-?)\$\s?(\d{1,3}(?:,\d{3})+|\d+)(\.\d{1,2})?(?!\d)")
_ID = re.compile(
    r"#[A-Z]+\d{3,}"  # orders: #W1234567
    r"|\b(?:paypal|[a-z]++(?:_[a-z]++)++)_\d{3,}\b"  # people, payment methods: ana_silva_4471
    r"|\b\d{8,}\b"  # items and products
)
_DIGITS = re.compile(r"\d\d\d")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


def _decimals(pattern: re.Pattern[str], text: str) -> list[Decimal]:
    return [
        Decimal(f"{sign}{whole.replace(',', '')}{fraction or ''}")
        for sign, whole, fraction in pattern.findall(text)
    ]


def numbers(text: str) -> list[Decimal]:
    """Every number that stands alone, in order; "$1,234.50" and "1234.5" are one number.

    >>> numbers("4 of them, $1,234.50 in 24h at 14:00 for #W0000004")
    [Decimal('4'), Decimal('1234.50')]
    """
    return _decimals(_NUMBER, text)


def amounts(text: str) -> list[Decimal]:
    """Every amount of money, in dollars, in order.

    >>> amounts("It is $20, or $1,000.5 for 7")
    [Decimal('20'), Decimal('1000.5')]
    """
    return _decimals(_MONEY, text) if "$" in text else []


def ids(text: str) -> list[str]:
    """Every id: orders, items, payment methods, people.

    >>> ids("Order #W1234567, item 1234567890, on gift_card_1234567.")
    ['#W1234567', '1234567890', 'gift_card_1234567']
    """
    # Most of what is said holds no id, and three digits in a row are quickly looked for.
    return _ID.findall(text) if _DIGITS.search(text) else []


def emails(text: str) -> list[str]:
    """Every e-mail address, lower-cased."""
    return [found.lower() for found in _EMAIL.findall(text)] if "@" in text else []


def dates(text: str) -> list[str]:
    """Every ISO date."""
    return _DATE.findall(text) if "-" in text else []


# --- does the text say this? --------------------------------------------------------------------


_STRAIGHT = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}


def plain(text: str) -> str:
    r"""Lower case, straight quotes, no Markdown emphasis, single spaces: how texts are compared.

    >>> plain("I  can’t **do**\nthat")
    "i can't do that"
    """
    straight = text if text.isascii() else text.translate(_STRAIGHT)
    return " ".join(straight.replace("*", "").replace("`", "").lower().split())


def says(text: str, words: Words) -> bool:
    """Whether the text says one of these wordings: numbers as numbers, words as whole words.

    >>> says("That takes 24 hours", "4"), says("You get $1,234.50", "1234.5")
    (False, True)
    >>> says("It was delivered.", ["arrived", "delivered"])
    True
    """
    return any(
        _says_one(text, wording) for wording in ([words] if isinstance(words, str) else words)
    )


def _says_one(text: str, wording: str) -> bool:
    number = _as_number(wording)
    if number is not None and not _ID.fullmatch(wording.strip()):
        digits = f"{abs(number):f}".partition(".")[0]  # a cheap look before the careful one
        return digits in text.replace(",", "") and number in numbers(text)
    return re.search(rf"(?<!\w){re.escape(plain(wording))}(?!\w)", plain(text)) is not None


def _as_number(wording: str) -> Decimal | None:
    try:
        number = Decimal(wording.strip().replace("$", "", 1).replace(",", ""))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None  # "Infinity" is a name, not a number


# --- speech acts --------------------------------------------------------------------------------


def _any(*phrases: str) -> str:
    return f"(?:{'|'.join(phrases)})"


_FINE = _any("right", "correct", "fine", "perfect", "good", "great", "okay", "ok")
_LEAD = _any(
    "ok(?:ay)?", "great", "perfect", "sure", "well", "right", "alright", "thanks", "thank you",
    "hi", "hello", "hmm",
)  # fmt: skip
_HERE_IS = r"[,.! ]+(?:my|here|it's|it is|i'm|i am|the)\b"  # "Sure, my name is ..." gives a fact
_YES = re.compile(
    rf"^(?:sure|of course|certainly)\b(?!{_HERE_IS})|^(?:{_LEAD}[,.! ]+)?"
    + _any(
        "yes", "yeah", "yep", "yup", "correct", "confirmed", "absolutely", "definitely", "agreed",
        rf"(?:sure|of course|certainly)(?!{_HERE_IS})", "ok(?:ay)?", "go ahead", "do it", "proceed",
        "please (?:do|go ahead|proceed)", "i (?:confirm|agree)", "that works",
        "confirming(?:$| (?:to|that you (?:can|may)) (?:proceed|go ahead))",
        rf"(?:that(?:'s| is)|sounds|looks) {_FINE}",
    )
    + r"\b"
)  # fmt: skip
_YES_INSIDE = re.compile(
    r"\b"
    + _any(
        "yes", "i (?:do )?(?:confirm|agree)", "go ahead", "sounds good", "that works",
        "let's (?:do (?:it|that)|go)",
        "please (?:proceed|go ahead|do(?: it| that| so)?)",
        "you have my (?:ok|okay|permission|consent)",
    )
    + r"\b"
)  # fmt: skip
_DO_NOT = (
    "(?:don't|do not) "
    + _any(
        "do", "cancel", "change", "proceed", "go", "use", "charge", "touch", "modify",
        "make (?:any|the|that|this|those)",
        "return", "exchange", "want (?:that|this|you)", "agree", "confirm",
    )
)  # fmt: skip
_NO = re.compile(
    r"^(?:sorry|hmm|wait|hold on|actually|oh|well)?[,.! ]*"
    + _any(
        "no(?! longer| problem)", "nope", "nah", "not (?:quite|yet|really|that)", "stop", "wait",
        "hold on", "that(?:'s| is)(?: not|n't) (?:right|correct|what)", "incorrect", "wrong",
        _DO_NOT,
    )
    + r"\b"
)  # fmt: skip
_NO_INSIDE = re.compile(
    r"\b"
    + _any(
        _DO_NOT, "please stop", "not what i", "never ?mind",
        "i(?:'d| would) rather not(?! (?:say|share|give|tell|type|reveal))",
        "that(?:'s| is) (?:not (?:right|correct|what)|wrong)", "hold off",
    )
    + r"\b"
)  # fmt: skip
_ABLE = _any("able", "allowed", "permitted", "possible", "eligible", "authori[sz]ed")
_REFUSAL = re.compile(
    r"\b"
    + _any(
        "can(?:not|'t)", "could(?: not|n't)", "unable", rf"(?:is|are)n't {_ABLE}", rf"not {_ABLE}",
        "(?:won't|will not) be (?:able|possible)", "no (?:way|longer possible)", "(?:may|must) not",
        "can no longer", r"only (?:[\w-]+ ){1,4}can be", "(?:have to|must) (?:decline|refuse)",
    )
    + r"\b"
)  # fmt: skip
_IT_ALL = "(?:this|that|these|everything|it|all (?:of )?(?:this|that|these))(?: all)?"
_A_FACT = (  # "confirm your e-mail" and "confirm which order" ask for a fact, not for a yes
    r"(?:with me )?(?:which|what|how|why|where|when|(?:your|the|both)(?: \w+)? "
    + _any("identity", "e-?mail", "names?", "zip", "postal", "phone", "reasons?", "user id",
           r"order (?:id|number)s?")
    + r"\b)"
)  # fmt: skip
_CONFIRMATION = re.compile(
    r"\b"
    + _any(
        rf"confirm\b(?! {_A_FACT})",
        r"(?:shall|should|may) (?:i|we)(?:\?| (?!have|get|ask|know|help))",
        r"(?:can i|can we|ok(?:ay)? to) (?:proceed|go ahead)", "want me to",
        "(?<!which )(?<!what )(?<!one )(?<!item )(?<!items )do you (?:want|wish)",
        "do you (?:agree|confirm|approve|authori[sz]e)", "would you like (?:me|us) to",
        "would you like to (?:proceed|go ahead|continue|confirm)",
        r"(?:go ahead|proceed|correct|right|ok(?:ay)?|alright)\?",
        rf"(?:is|are) {_IT_ALL} (?:all )?{_FINE}",
        rf"do(?:es)? {_IT_ALL} (?:\w+ )?(?:look|sound|work)\b",
        r"(?:reply|say|answer|respond|type)(?: with)? [\"'(]*yes\b",
        r"yes[\"']? ?(?:or|/) ?[\"']?no\b", r"yes[\"']? to (?:proceed|confirm)",
    )
)  # fmt: skip


def agrees(text: str) -> bool:
    """Whether these words say yes to what was asked.

    >>> [agrees(t) for t in ("Yes, please.", "Go ahead!", "No, wait", "What does it cost?")]
    [True, True, False, False]
    >>> agrees("Yes, but don't use the gift card"), agrees("No problem, yes please")
    (False, True)
    >>> agrees("Sure!"), agrees("Sure, my name is Ana Silva")
    (True, False)
    >>> agrees("Confirming to proceed with both actions"), agrees("Confirming my zip is 62701")
    (True, False)
    """
    said = plain(text).replace("no problem", "").strip(" ,.!")
    if declines(said):
        return False
    return bool(_YES.search(said) or _YES_INSIDE.search(said))


def declines(text: str) -> bool:
    """Whether these words say no, or take a yes back.

    >>> [declines(t) for t in ("No.", "Hold on, that is not right", "Yes", "I want to return it")]
    [True, True, False, False]
    """
    said = plain(text)
    return bool(_NO.search(said) or _NO_INSIDE.search(said))


def refuses(text: str) -> bool:
    """Whether these words turn a request down.

    >>> refuses("I'm afraid I can't cancel a delivered order"), refuses("It is cancelled")
    (True, False)
    >>> refuses("It can no longer be changed"), refuses("Only pending orders can be cancelled")
    (True, True)
    """
    return _REFUSAL.search(plain(text)) is not None


def asks_to_confirm(text: str) -> bool:
    """Whether these words ask for a yes before something is done.

    >>> asks_to_confirm("I will cancel #W1. Do you want me to proceed? (yes/no)")
    True
    >>> asks_to_confirm("Could you confirm your e-mail?"), asks_to_confirm("Reply **YES** to do it")
    (False, True)
    >>> asks_to_confirm("I can cancel #W1. Shall I?"), asks_to_confirm("It goes to your Visa, OK?")
    (True, True)
    """
    return _CONFIRMATION.search(plain(text)) is not None
