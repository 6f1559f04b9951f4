"""What a reference agent has to do about each of the customer's goals, in their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..language import ids, plain, says
from ..task import Goal, ReferenceAction, Refusal, Task, Words

HAND_OVER = "transfer_to_human_agents"
_NUMBERED = re.compile(r"\b(?=\d*[A-Z])(?=[A-Z]*\d)[A-Z\d]{6}\b")  # "8A3XK2", "WRN104"


@dataclass
class Stage:
    """One goal, and what the reference does about it, in this order.

    Attributes:
        goal: What the customer asks for.
        reads: Look-ups that the reference lists.
        refusals: What must be turned down.
        writes: What must be changed.
        tells: What must be told.
        hand_over: Whether a human takes over.
    """

    goal: Goal
    reads: list[ReferenceAction] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    writes: list[ReferenceAction] = field(default_factory=list)
    tells: list[Words] = field(default_factory=list)
    hand_over: bool = False

    @property
    def refuses(self) -> bool:
        """Whether this request is turned down, be it without a reason that must be given."""
        answered = self.writes or self.tells or self.hand_over
        return bool(self.refusals or self.goal.otherwise) or not (self.goal.confirm or answered)

    @cached_property
    def text(self) -> str:
        """All that the script says about this goal."""
        return " ".join([self.goal.ask, *self.goal.details.values(), *_flat(self.goal.check)])

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids in it, reservation and flight numbers among them."""
        return frozenset([*ids(self.text), *_NUMBERED.findall(self.text)])

    @cached_property
    def words(self) -> str:
        """Its words, in the form in which texts are compared."""
        return plain(self.text)


def plan(task: Task, writers: frozenset[str]) -> list[Stage]:
    """The stages of a task; its first accepted outcome is the one that is carried out.

    Args:
        task: The task.
        writers: Names of the tools that change something.
    """
    stages = [Stage(goal) for first in task.user.goals for goal in _chain(first)]
    _share_out_refusals(stages, task.expect.refuse)
    outcomes = task.expect.outcomes
    _share_out_actions(stages, outcomes[0].actions if outcomes else [], writers)
    _share_out_facts(stages, task.expect.tell)
    if task.expect.hand_over:
        idle = [s for s in stages if not (s.writes or s.refusals or s.tells)]
        (idle or stages)[-1].hand_over = True
    return stages


def _chain(goal: Goal | None) -> Iterator[Goal]:
    """A goal, and what is asked instead once it is refused."""
    while goal is not None:
        yield goal
        goal = goal.otherwise


def _share_out_refusals(stages: list[Stage], refusals: list[Refusal]) -> None:
    for refusal in refusals:
        free = [s for s in stages if not s.refusals and not s.goal.until_told]
        about = [s for s in free if says(s.goal.ask, refusal.about)]
        likely = [s for s in free if s.goal.otherwise or not s.goal.confirm]
        both = [s for s in likely if s in about]
        (both or likely or about or free or stages)[0].refusals.append(refusal)


def _share_out_actions(
    stages: list[Stage], actions: list[ReferenceAction], writers: frozenset[str]
) -> None:
    """Each write to the goal that shares most ids with it; each read with the next write."""
    waiting: list[ReferenceAction] = []
    for action in actions:
        if action.name in writers:
            stage = _stage_for_write(stages, action)
            _head(stages, stage).reads += waiting
            stage.writes.append(action)
            waiting = []
        elif action.name != HAND_OVER:
            waiting.append(action)
    for read in waiting:
        asking = [s for s in stages if s.goal.until_told or s.refusals] or stages
        max(asking, key=lambda s: _shared(s, read.arguments)).reads.append(read)


def _head(stages: list[Stage], stage: Stage) -> Stage:
    """Where the customer first asks for this: the start of the chain of fall-backs."""
    for before in reversed(stages[: stages.index(stage)]):
        if before.goal.otherwise is stage.goal:
            stage = before
    return stage


def _stage_for_write(stages: list[Stage], action: ReferenceAction) -> Stage:
    free = [s for s in stages if s.goal.confirm and not s.refusals] or stages
    best = max(_shared(s, action.arguments) for s in free)
    if best:
        # Of several that fit equally well, one that has nothing to do yet.
        return min(
            (s for s in free if _shared(s, action.arguments) == best), key=lambda s: len(s.writes)
        )
    return next((s for s in free if not s.writes), free[-1])


def _shared(stage: Stage, arguments: Mapping[str, Any]) -> int:
    """How much of these arguments the script names at this goal; ids count most."""
    values = [str(value) for value in _flat(arguments)]
    return sum(
        10 if value in stage.ids else int(len(value) > 3 and plain(value) in stage.words)
        for value in values
    )


def _share_out_facts(stages: list[Stage], facts: list[Words]) -> None:
    """Each question gets the facts that answer it; other facts go with the last thing done."""
    for stage in stages:
        stage.tells += stage.goal.until_told
    told = [fact for stage in stages for fact in stage.tells]
    rest = [fact for fact in facts if fact not in told]
    busy = [s for s in stages if s.tells] or [s for s in stages if s.writes] or stages
    if busy:
        busy[-1].tells += rest


def _flat(values: Mapping[str, Any]) -> Iterator[Any]:
    """Every value, those of lists and of what they list one by one."""
    for value in values.values():
        for part in value if isinstance(value, list) else [value]:
            yield from _flat(part) if isinstance(part, Mapping) else [part]
