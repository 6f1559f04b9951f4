"""Task: one problem for the agent, and the script of the customer who brings it.

Tasks are authored as YAML in ``data/<domain>/tasks/*.yaml``, one list of tasks a file. The smallest
task is six lines::

    - id: cancel-lamp
      user:
        customer: ana_silva_4471
        goals:
          - ask: Please cancel my order #W8240155, I no longer need it.
      expect: {outcomes: [{actions: [{name: cancel_pending_order, arguments: {...}}]}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Persona = Literal["plain", "terse", "chatty", "impatient", "forgetful"]
Words = str | list[str]
"""One wording, or several of which any will do."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Goal(_Strict):
    """One thing the customer wants.

    Attributes:
        ask: How the customer puts the request, in their own words.
        details: What the customer answers when asked about this goal, by topic in plain words
            (``reason``, ``payment method``, ``new item``, ``address`` ...), or offers when due.
        check: What the customer verifies before saying yes, by topic. A proposal that names a
            different value of the same shape (another order id, another amount, another payment
            method) or contradicts the words is corrected, not accepted.
        until_told: For a question: the goal is met when the agent has said one of these words or
            numbers. A list of lists: each inner list is one fact, any wording of it will do.
        confirm: False when this goal needs no proposal and yes (a question, or a request that the
            policy forbids).
        otherwise: What the customer asks instead when this is refused; None = accepts the refusal.
        insist: How many times the customer repeats the request before taking no for an answer.
    """

    ask: str = Field(min_length=1)
    details: dict[str, str] = Field(default_factory=dict)
    check: dict[str, Words] = Field(default_factory=dict)
    until_told: list[Words] = Field(default_factory=list)
    confirm: bool = True
    otherwise: Goal | None = None
    insist: int = Field(default=0, ge=0, le=5)


class UserScript(_Strict):
    """Who the customer is, what they want, know and do not know.

    Attributes:
        customer: Id of the customer's row in the world; their name, zip and e-mail come from there.
        persona: How they talk; never what they want.
        opening: First line; by default a greeting with the first goal.
        goals: In the order in which they are put.
        knows: Facts they give when asked, by topic (``email``, ``name``, ``zip``, ``user id``,
            ``order id`` ...).
        unknown: Topics they say they do not know when asked.
        instruction: The same script as free text, for a user played by a model or a person.
    """

    customer: str = ""
    persona: Persona = "plain"
    opening: str = ""
    goals: list[Goal] = Field(min_length=1)
    knows: dict[str, str] = Field(default_factory=dict)
    unknown: list[str] = Field(default_factory=list)
    instruction: str = ""

    @cached_property
    def text(self) -> str:
        """Every text of the script, one a line: all that its customer can know from it."""
        return "\n".join(_texts(self.model_dump()))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


class ReferenceAction(_Strict):
    """One tool call of a reference."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class RowAssertion(_Strict):
    """A statement about rows at the end: the rows matching ``where`` have these values.

    ``count`` asks for that many matching rows instead (0: none).
    """

    table: str
    where: dict[str, Any]
    values: dict[str, Any] = Field(default_factory=dict)
    count: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _says_something(self) -> RowAssertion:
        if not self.values and self.count is None:
            raise ValueError("a row assertion needs 'values' or 'count'")
        return self


class Outcome(_Strict):
    """One accepted end: what these reference actions leave, or what these rows must be."""

    actions: list[ReferenceAction] = Field(default_factory=list)
    rows: list[RowAssertion] = Field(default_factory=list)


class Refusal(_Strict):
    """A request the agent must turn down, in words the customer can understand.

    Passed by a message of the agent that refuses (cannot, not able ...) and, there or in another
    message, says one wording of each item of ``because``: the reason, which only somebody who
    looked it up can give.
    """

    about: Words
    because: list[Words] = Field(min_length=1)


class Expected(_Strict):
    """What must be true at the end.

    Attributes:
        outcomes: Accepted ends of the database; empty means that nothing may change.
        tell: Facts the customer must have been told; each item is one fact, any wording will do.
            Numbers are compared as numbers: "4" is not found in "24 hours".
        refuse: Requests that must be refused, with the reason.
        hand_over: True: the agent must hand over to a human; False: it must not.
    """

    outcomes: list[Outcome] = Field(default_factory=list)
    tell: list[Words] = Field(default_factory=list)
    refuse: list[Refusal] = Field(default_factory=list)
    hand_over: bool = False


class Write(_Strict):
    """A change to the seed world before the conversation starts."""

    table: str
    where: dict[str, Any]
    values: dict[str, Any]


class Task(_Strict):
    """One problem: starting rows, the customer's script, and what is expected."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    domain: str = ""
    purpose: str = ""
    user: UserScript
    setup: list[Write] = Field(default_factory=list)
    expect: Expected
    graders: list[str] = Field(default_factory=list)
    tags: list[str] = Field(default_factory=list)
    split: str = "test"

    @model_validator(mode="after")
    def _expects_something(self) -> Task:
        expect = self.expect
        writes = any(outcome.actions or outcome.rows for outcome in expect.outcomes)
        if not (writes or expect.tell or expect.refuse or expect.hand_over):
            raise ValueError(
                f"task {self.id!r} expects nothing, so doing nothing would pass it; add an outcome,"
                " a fact to tell, a refusal or a hand-over"
            )
        return self
