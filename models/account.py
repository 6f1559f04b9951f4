"""Account: what the sides of a trial spend on models, and the limits they keep to."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields, replace

from ..errors import InfrastructureError, RunStoppedError
from ..transcript import NO_USAGE, Usage
from .model import Model, Reply, Request


@dataclass(frozen=True)
class Budget:
    """Limits; None: none.

    Attributes:
        tokens: Input and output of all sides.
        dollars: Of all sides.
        seconds: By the clock.
    """

    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None

    def __bool__(self) -> bool:
        """Whether there is any limit."""
        return any(getattr(self, f.name) is not None for f in fields(self))


@dataclass(frozen=True)
class Spending:
    """What one side spent: how many replies, and what they cost together."""

    requests: int = 0
    usage: Usage = NO_USAGE

    def __add__(self, other: Spending) -> Spending:
        """Both together."""
        return Spending(self.requests + other.requests, self.usage + other.usage)


class BudgetError(InfrastructureError):
    """A trial has spent what it may; it ends there, and nobody is to blame."""


@dataclass
class Account:
    """What a trial spends, by side. A run has one too, which its trials' accounts add up to.

    Attributes:
        budget: What may be spent; looked at before each request, so that the last one may exceed.
        run: The account of the run; None: there is none to keep to.
        spent: By side: ``agent``, ``user``, ``warm-up``.
        started: On the monotonic clock, in seconds.

    Example:
        >>> account = Account(Budget(tokens=100))
        >>> account.add("agent", Usage(input_tokens=90, output_tokens=20))
        >>> account.check()
        Traceback (most recent call last):
        ...
        passhat.models.account.BudgetError: the trial has spent 110 of its 100 tokens (agent 110)
    """

    budget: Budget = field(default_factory=Budget)
    run: Account | None = None
    spent: dict[str, Spending] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    @property
    def total(self) -> Spending:
        """Of all sides."""
        return sum(self.spent.values(), Spending())

    def add(self, side: str, usage: Usage, requests: int = 1) -> None:
        """One more reply, or several together, have come for this side."""
        self.spent[side] = self.spent.get(side, Spending()) + Spending(requests, usage)
        if self.run is not None:
            self.run.add(side, usage, requests)

    def check(self) -> None:
        """Make sure that another request may be made.

        Raises:
            BudgetError: The trial's budget is spent.
            RunStoppedError: The run's is.
        """
        if self.run is not None and (spent := self.run.exceeded()):
            raise RunStoppedError(f"the run has spent {spent}")
        if self.budget and (spent := self.exceeded()):
            raise BudgetError(f"the trial has spent {spent}")

    def exceeded(self) -> str | None:
        """Which limit is reached, in words; None if none is."""
        budget, usage = self.budget, self.total.usage
        if budget.tokens is not None and usage.all_tokens >= budget.tokens:
            sides = ", ".join(f"{side} {s.usage.all_tokens:,}" for side, s in self.spent.items())
            return f"{usage.all_tokens:,} of its {budget.tokens:,} tokens ({sides})"
        cost = usage.cost_dollars or 0.0
        if budget.dollars is not None and cost >= budget.dollars:
            return f"${cost:.4f} of its ${budget.dollars:.4f}"
        seconds = time.monotonic() - self.started
        if budget.seconds is not None and seconds >= budget.seconds:
            return f"{seconds:.0f} of its {budget.seconds:g} seconds"
        return None


@dataclass(frozen=True)
class Channel:
    """One side's way to a model during one conversation: what it asks is accounted for.

    Attributes:
        model: Who answers.
        account: Of the trial.
        side: Who asks: ``agent`` or ``user``.
        conversation: Opaque name of the conversation; put into every request.
    """

    model: Model
    account: Account
    side: str
    conversation: str

    async def ask(self, request: Request) -> Reply:
        """The model's reply, paid for.

        Raises:
            BudgetError, RunStoppedError: There is nothing left to pay with.
            InfrastructureError, RunStoppedError: As `Model.complete`.
        """
        self.account.check()
        named = replace(request, conversation=self.conversation)
        reply = await self.model.complete(named)
        self.account.add(self.side, reply.usage)
        return reply
