"""A run that another benchmark recorded: what was called, what came back, how it was graded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..domains.packs import BenchmarkTask
from ..results import TrialResult


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One tool call of a recording.

    Attributes:
        name: Of the tool.
        arguments: As they were given.
        output: What came back; None if the recording does not say.
        message: Place of the message that made the call, counted from 0.
        by: Who called.
    """

    name: str
    arguments: Any
    output: str | None
    message: int
    by: Literal["agent", "user"] = "agent"


def text(value: Any) -> str:
    """A text of a recording, which must be one.

    Raises:
        TypeError: It is something else; the record is broken.
    """
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} where a text belongs")
    return value


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One recorded conversation, as far as it takes to carry it out and grade it again.

    Attributes:
        result: What the recording says became of it; a lost run is not graded again.
        calls: Every tool call, in order.
        said: The agent's words to the customer, one string a message.
        ended: Whether the conversation came to an end of its own.
        task: The task as the recording defines it; None where it names the task only.
        state_hash: The recorded hash of the right end state; None if none was recorded.
        reward: The recorded reward; None where the run was never graded.
        components: Recorded reward of each component, e.g. ``{"DB": 1.0}``; empty where there are
            none.
        basis: Names of the components that decided; empty if the recording does not say.
        policy: The policy the agent was given; "" if the recording does not hold it.
    """

    result: TrialResult
    calls: tuple[RecordedCall, ...] = ()
    said: tuple[str, ...] = ()
    ended: bool = False
    task: BenchmarkTask | None = None
    state_hash: str | None = None
    reward: float | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    basis: tuple[str, ...] = ()
    policy: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """A results file.

    Attributes:
        name: Of the file.
        benchmark: Whose format it has: "tau-bench" or "tau2".
        domain: The domain it names; "" if it does not.
        runs: Its runs one at a time, in order; reading goes on as they are asked for.
    """

    name: str
    benchmark: str
    domain: str
    runs: Iterator[RecordedRun]
