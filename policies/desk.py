"""Desk: what the rules of conduct must know of a domain."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..language import ids
from .case import Call, Case


@dataclass(frozen=True, eq=False)
class Desk:
    """A service desk, as the rules that hold at every desk see it.

    Attributes:
        document: File name of the policy, which the rules cite.
        noun: What most calls are about, in the customer's words: "order".
        subject: The argument that holds its id: "order_id".
        shows: The tool that shows one of them.
        reads: Tools that show something personal, `shows` among them.
        actions: Every tool that writes, and the words that say what it does.
        needs_a_human: What customers say who should be handed over without a look.
        identifications: Customers as they are identified: index of the event, and user id.
        names_a_subject: Whether a text says the id of some subject.
        tells_a_plan: Whether a text says what would be done; one that does not leans on the text
            before it, as "Shall I go ahead?" does.
        owner: User id of whose subject this is; None if it does not exist.
        whose: User id of whose data a call reads or writes; empty if that is nobody.
        secrets: What only the owner of the subject that a call has shown may hear.
        unnamed: What a change does that neither the plan (what was said when the customer agreed)
            nor the settled words (the same with the customer's last answer) name, the action and
            the subject aside. Both are `plain`.
        chooses: Whether an answer, `plain`, names something that the call then does.
        charged: Cents that a call has charged; negative if it refunded.
        forbidden: The first condition of the policy that a change does not meet, or None.
        limits: The section of the document that says what may be changed.
        ids_in: Finds ids in a text.
        finds: Tools that identify people.
    """

    document: str
    noun: str
    subject: str
    shows: str
    reads: frozenset[str]
    actions: Mapping[str, re.Pattern[str]]
    needs_a_human: re.Pattern[str]
    identifications: Callable[[Case], list[tuple[int, str]]]
    names_a_subject: Callable[[str], bool]
    tells_a_plan: Callable[[str], bool]
    owner: Callable[[Case, str], str | None]
    whose: Callable[[Case, Call], str]
    secrets: Callable[[Call], Iterator[str]]
    unnamed: Callable[[Case, Call, str, str], Iterator[str]]
    chooses: Callable[[Case, Call, str], bool]
    charged: Callable[[Case, Call], int]
    forbidden: Callable[[Case, Call], str | None]
    limits: str
    ids_in: Callable[[str], list[str]] = ids
    finds: frozenset[str] = frozenset()

    def customer(self, case: Case) -> str | None:
        """User id of the customer who was identified first; None if nobody was."""
        found = case.once(self.identifications)
        return found[0][1] if found else None
