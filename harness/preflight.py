"""Before the first trial: will whoever is asked answer, and at what price; afterwards: good-bye."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from ..agents.agent import AgentKind
from ..errors import UsageError
from ..models.model import Model, ModelUse
from ..simulator.user import UserKind
from .attempt import Attempts


def check_prices(attempts: Attempts) -> None:
    """Refuse a limit in dollars where nobody knows what is spent.

    Raises:
        UsageError: The price of a model is not known.
    """
    conditions = attempts.conditions
    if conditions.max_dollars is None and conditions.trial_dollars is None:
        return
    for model in _models(attempts.uses):
        if not model.priced:
            raise UsageError(
                f"no price is known for {model.spec!r}, so that a limit in dollars cannot be kept;"
                " set a limit in tokens, or tell the price (docs/models.md)"
            )


@asynccontextmanager
async def answering(agent: AgentKind, *users: UserKind) -> AsyncIterator[None]:
    """Make sure that the agent and the models will answer; close what they opened in the end.

    Raises:
        RunStoppedError: They will not: no key, a bad key, no such model, no server.
        InfrastructureError: They do not answer now.
    """
    async with closing(agent, *users):
        for model in _models([agent.use, *(user.use for user in users)]):
            await model.check()
        if agent.check is not None:
            await agent.check()
        yield


@asynccontextmanager
async def closing(*kinds: AgentKind | UserKind) -> AsyncIterator[None]:
    """Close, in the end, the connections that models opened in this event loop."""
    try:
        yield
    finally:
        for kind in kinds:
            if kind.use is not None:
                await kind.use.model.close()


def prefixes(uses: Sequence[ModelUse]) -> list[ModelUse]:
    """Of all that is asked, what has something to put into a cache; each once."""
    found: list[ModelUse] = []
    for use in uses:
        known = ((other.model.spec, other.prefix) for other in found)
        if use.prefix is not None and (use.model.spec, use.prefix) not in known:
            found.append(use)
    return found


def _models(uses: Iterable[ModelUse | None]) -> list[Model]:
    """Each once, by its spec."""
    return list({use.model.spec: use.model for use in uses if use is not None}.values())
