"""Finds personal data in a record: by the names of fields, by shape, by how people introduce it.

Looked at are all values, the fields of JSON that stands inside a text included.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple


class Kind(StrEnum):
    """Kinds of personal data that are looked for."""

    EMAIL = "e-mail address"
    PHONE = "telephone number"
    CARD = "card number"
    ADDRESS = "postal address"
    ZIP = "postal code"
    USER_NAME = "user name"
    NAME = "name"


class Found(NamedTuple):
    """One piece of personal data as it was written."""

    kind: Kind
    text: str


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FIELDS: Final[dict[Kind, frozenset[str]]] = {
    Kind.EMAIL: frozenset({"email", "emailaddress", "mail"}),
    Kind.PHONE: _listed(
        "phone phonenumber telephone telephonenumber mobile mobilenumber mobilephone cell "
        "cellphone fax"
    ),
    Kind.CARD: frozenset({"cardnumber", "creditcardnumber", "ccnumber", "cardno", "pan"}),
    Kind.ADDRESS: _listed(
        "street streetaddress address1 address2 addressline1 addressline2 fulladdress "
        "mailingaddress shippingaddress billingaddress homeaddress address"
    ),
    Kind.ZIP: frozenset({"zip", "zipcode", "postalcode", "postcode"}),
    Kind.USER_NAME: frozenset({"username", "login", "loginname", "screenname"}),
    Kind.NAME: _listed(
        "firstname lastname middlename givenname familyname surname fullname customername "
        "patientname guestname passengername clientname contactname recipientname "
        "cardholdername accountholder holdername personname"
    ),
}
"""Field names (lower case, letters and digits only) whose values are personal."""

_KIND_OF: Final = {field: kind for kind, fields in _FIELDS.items() for field in fields}
_PERSON: Final = _listed(
    "email emailaddress phone phonenumber dob dateofbirth address membership memberlevel userid "
    "customerid firstname lastname"
)
"""Fields that show that a ``name`` beside them is a person's."""

_DIGITS: Final = re.compile(r"\d\d")
_JSON: Final = re.compile(r"[{\[]\s*[\"{\[]")
_TRIED: Final = 50  # places in a text where JSON may begin; each try costs up to its length
_EMAIL: Final = re.compile(
    r"(?<![\w.+-])[\w+-][\w.+'-]{0,63}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[^\W\d_]{2,24}"
)
_PHONE: Final = re.compile(
    r"(?<![\w.-])(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"
    r"|(?<!\w)\+\d{1,3}(?:[ .-]?\(?\d{2,4}\)?){2,5}(?![\w-])"
)
_CARD: Final = re.compile(r"(?<![\w.-])[2-6]\d{3}(?:[ -]?\d{2,6}){2,4}(?![\w-])")
_NAME: Final = r"[^\W\d_a-z][^\W\d_]+(?:['’-][^\W\d_]+)*"
_INTRODUCED: Final = re.compile(
    rf"\bname(?: is|['’]s|:) +({_NAME}(?: {_NAME}){{0,2}})"
    rf"|\b[Yy]ou are ({_NAME} {_NAME}|{_NAME}(?=[.,]| and\b))"
)
_USER_ID: Final = re.compile(r"(?<![^\W_])([a-z]{2,})_([a-z]{2,})_\d{3,5}(?![^\W_])")

PLACEHOLDER: Final = re.compile(
    r"name\d+|username\d+|email\d+@redacted\.invalid|000-000-\d{4,}|0000 0000 0000 \d{4,}"
    r"|\d+ redacted street|000\d\d",
    re.IGNORECASE,
)
"""What stands in place of personal data."""

NEVER: Final = _listed(
    "user assistant agent customer system tool function developer wizard action text content "
    "message messages role type name id unknown none null na anonymous guest admin test "
    "true false userguide knowledgebase events mr mrs ms miss dr prof sir madam"
)
"""Words that are never taken for a name: formats, titles, and gaps in a form."""

ORDINARY: Final = _listed(
    "a able all am an and any are art as at autumn baker bay best bill bishop black blue brown "
    "butler by can carter case chance chase church cook cross date dawn day do drew earl early "
    "east faith field fields fisher ford forest frank free gene glass gold good grace grant gray "
    "green grey guy hall harmony he head hill ho holly home hope house hunt hunter i if iris is it "
    "ivy jack jasmine jewel joy judge king knight la lake lane law lee lily little long love low "
    "mark marsh mason may me miles miller mills moon more my no noble north of old olive on or "
    "page park parks pat pearl penny peace piper place pollen pond poole pope potter power price "
    "ray read red reed rich river rob robin rock rose royal ruby rush ruth sage sandy short silver "
    "sky skinner small so south spring star stone story strong sue summer sun sunny swan sweet "
    "taylor temple to trip tucker turner van violet wade walker wall ward water waters way weaver "
    "web well wells west white wild will win winter wise wolf wood woods worth york you "
    "young"
)
"""Words that are names too: written in lower case they are taken for the word."""


def personal_data(value: Any) -> Iterator[Found]:
    """Every piece of personal data in a value, in the order in which it stands there."""
    if isinstance(value, dict):
        yield from _in_fields(value)
    elif isinstance(value, list):
        for inner in value:
            yield from personal_data(inner)
    elif isinstance(value, str):
        yield from _in_text(value)


def _in_fields(fields: Mapping[str, Any]) -> Iterator[Found]:
    named = {name: _plain(name) for name in fields}
    person = not _PERSON.isdisjoint(named.values())
    for name, value in fields.items():
        yield from _in_text(name)
        kind = Kind.NAME if named[name] == "name" and person else _KIND_OF.get(named[name])
        if named[name] == "name" and isinstance(value, dict):
            kind = Kind.NAME
        if kind is not None and isinstance(value, str | int) and not isinstance(value, bool):
            yield from _valid(kind, str(value).strip(' "'))
        yield from personal_data(value)


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _valid(kind: Kind, text: str) -> Iterator[Found]:
    """What a field of this kind says, if it can be that."""
    digits = sum(map(str.isdigit, text))
    if len(text) < 2 or len(text) > 200 or text.startswith("<") or text.lower() in NEVER:
        return
    match kind:
        case Kind.NAME:
            yield from _name_parts(text)
        case Kind.PHONE if digits < 7:
            return
        case Kind.CARD if digits < 12:
            return
        case Kind.ADDRESS | Kind.ZIP if not digits:
            return
        case _ if not PLACEHOLDER.fullmatch(text):
            yield Found(kind, text)


def _name_parts(text: str) -> Iterator[Found]:
    for part in re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\d*", text):
        if len(part) > 1 and part.lower() not in NEVER and not PLACEHOLDER.fullmatch(part):
            yield Found(Kind.NAME, part.rstrip("0123456789"))


def _in_text(text: str) -> Iterator[Found]:
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield from _valid(Kind.EMAIL, match[0])
    if _DIGITS.search(text):
        for match in _PHONE.finditer(text):
            if 7 <= sum(map(str.isdigit, match[0])) <= 15:
                yield from _valid(Kind.PHONE, match[0])
        for match in _CARD.finditer(text):
            if _is_card(match[0]):
                yield from _valid(Kind.CARD, match[0])
        for match in _USER_ID.finditer(text):
            yield from _name_parts(f"{match[1]} {match[2]}".title())
    if "name" in text or "ou are" in text:
        for match in _INTRODUCED.finditer(text):
            yield from _name_parts(match[1] or match[2])
    if "{" in text or "[" in text:
        yield from _in_json(text)


def _in_json(text: str) -> Iterator[Found]:
    """What the first JSON object or list inside a text says."""
    for match in islice(_JSON.finditer(text), _TRIED):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, match.start())
            found = list(personal_data(value))
        except (ValueError, RecursionError):
            continue
        yield from found
        return


def _is_card(text: str) -> bool:
    """Whether this many digits have the check digit that card numbers have (Luhn)."""
    digits = [int(character) for character in text if character.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return 13 <= len(digits) <= 19 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
