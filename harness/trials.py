"""A trial: one attempt at one task, named by task, number and seed, so that it can be repeated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import Fault
from ..grading.verdict import Verdict
from ..models.account import Spending
from ..transcript import Usage


def derive_seed(*parts: object) -> int:
    """A seed made from what it is for, below 2^63 so that every database can hold it.

    >>> derive_seed(1, "retail", "cancel-lamp", 3) == derive_seed(1, "retail", "cancel-lamp", 3)
    True
    >>> derive_seed(1, "retail", "cancel-lamp", 3) == derive_seed(1, "retail", "cancel-lamp", 4)
    False
    """
    text = "\x1f".join(
        map(str, parts)
    )  # a separator no id contains: ("a", "bc") is not ("ab", "c")
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt at a task.

    Attributes:
        task: The task's id.
        number: 1 to k, within the task.
        seed: Decides everything that chance decides in this trial.
        customer_seed: Of the trial whose customer is met again; None: the customer is its own.
    """

    task: str
    number: int
    seed: int
    customer_seed: int | None = None

    @property
    def user_seed(self) -> int:
        """For the user simulator."""
        return derive_seed(self.seed if self.customer_seed is None else self.customer_seed, "user")

    @property
    def agent_seed(self) -> int:
        """For the agent; independent of the user's."""
        return derive_seed(self.seed, "agent")


def customer_of(number: int, user_seeds: int | None) -> int:
    """Number of the first trial that meets the customer whom this one meets.

    Args:
        number: Of the trial, from 1.
        user_seeds: Customers of a task, who come in turn; None: each trial has its own.

    >>> [customer_of(number, 3) for number in range(1, 8)]
    [1, 2, 3, 1, 2, 3, 1]
    """
    return number if user_seeds is None else (number - 1) % user_seeds + 1


def trial_of(
    run_seed: int, domain: str, task: str, number: int, user_seeds: int | None = None
) -> Trial:
    """The trial of that number, with the seed that it has in every run of this seed."""
    met = customer_of(number, user_seeds)
    customer = None if met == number else derive_seed(run_seed, domain, task, met)
    return Trial(task, number, derive_seed(run_seed, domain, task, number), customer)


def plan(
    run_seed: int, domain: str, tasks: Sequence[str], trials: int, user_seeds: int | None = None
) -> Iterator[Trial]:
    """Every trial of a run: all tasks once, then all again, so that an early end has whole passes.

    >>> [(t.task, t.number) for t in plan(1, "retail", ["a", "b"], 2)]
    [('a', 1), ('b', 1), ('a', 2), ('b', 2)]
    """
    for number in range(1, trials + 1):
        for task in tasks:
            yield trial_of(run_seed, domain, task, number, user_seeds)


@dataclass(frozen=True, slots=True)
class FinishedTrial:
    """What became of a trial, ready to be kept.

    Attributes:
        trial: Which one.
        reward: 1.0 or 0.0; None if the trial was lost.
        fault: Whose doing it is that it did not pass; None for a pass.
        reason: Why it did not pass, in one line; "" for a pass.
        ending: How the conversation ended; "" if it never began.
        turns: Moves of the agent.
        tool_calls: Calls the agent made.
        tool_errors: Those that were answered with an error.
        seconds: By the clock, grading included.
        spending: What each side spent on models; empty if none was asked.
        verdicts: One per grader.
        basis: Names of the graders that decided.
        transcript: As `pack_transcript` made it; b"" if the conversation never began.
    """

    trial: Trial
    reward: float | None
    fault: Fault | None
    reason: str
    ending: str = ""
    turns: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    seconds: float = 0.0
    spending: Mapping[str, Spending] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    basis: tuple[str, ...] = ()
    transcript: bytes = b""

    @property
    def passed(self) -> bool | None:
        """Whether it counts as a success; None if it counts as nothing."""
        return None if self.reward is None else self.reward == 1.0

    @property
    def usage(self) -> Usage:
        """What all sides used together."""
        return sum(self.spending.values(), Spending()).usage


def lost_trial(trial: Trial, fault: Fault, reason: str) -> FinishedTrial:
    """A trial that never began, through no doing of the agent."""
    return FinishedTrial(trial, None, fault, reason)
