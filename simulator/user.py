"""Whoever plays the customer: what every user can do, and how one is made from a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self

from ..errors import UsageError
from ..task import UserScript
from ..transcript import UserReply


class User(Protocol):
    """A customer in one conversation.

    Attributes:
        facts: What the customer knows about themselves, by topic (``email``, ``zip`` ...).
    """

    @property
    def facts(self) -> Mapping[str, str]:
        """What the customer knows about themselves, by topic."""
        ...

    @property
    def never_put(self) -> Sequence[str]:
        """The requests not put to the agent so far; empty for users that cannot tell."""
        ...

    def reply(self, heard: str | None) -> UserReply:
        """Answer the agent's words; None opens the conversation."""
        ...

    def fork(self) -> Self:
        """The same user at the same point; the two never affect each other."""
        ...


def make_user(spec: str, script: UserScript, profile: Mapping[str, str], seed: int = 0) -> User:
    """The user that ``spec`` names, ready to open the conversation.

    Args:
        spec: One of `USERS`, e.g. "agenda".
        script: What they want, know and do not know.
        profile: What the customer's row in the world says about them: ``email``, ``name``,
            ``first name``, ``last name``, ``zip``, ``user id``, ``address`` ...
        seed: Chooses among wordings; never what is asked, given or accepted.

    Raises:
        UsageError: No user of that name.
    """
    if spec not in USERS:
        raise UsageError(f"no user {spec!r}; there are: {', '.join(sorted(USERS))}")
    return USERS[spec](script, profile, seed)


def _agenda(script: UserScript, profile: Mapping[str, str], seed: int) -> User:
    from .agenda import AgendaUser

    return AgendaUser(script, profile, seed)


USERS: dict[str, Callable[[UserScript, Mapping[str, str], int], User]] = {"agenda": _agenda}
"""How each kind of user is made."""
