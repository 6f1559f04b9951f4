"""Whoever plays the customer: what every user can do, and how one is made from a script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple, Protocol, Self

from ..errors import UsageError
from ..models.account import Account
from ..models.model import ModelUse
from ..models.registry import is_model, known_models
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

    def reply(self, heard: str | None) -> UserReply | Awaitable[UserReply]:
        """Answer the agent's words; None opens the conversation.

        Raises:
            FaultError: It cannot, and the agent is not to blame; says whose doing it is.
        """
        ...

    def fork(self) -> Self:
        """The same user at the same point; the two never affect each other."""
        ...


@dataclass(frozen=True)
class Setting:
    """What a user is given beside the script, for one conversation.

    Attributes:
        profile: What the customer's row in the world says about them: ``email``, ``name``,
            ``first name``, ``last name``, ``zip``, ``user id``, ``address`` ...
        seed: Chooses among wordings; never what is asked, given or accepted.
        now: The world's clock, ISO date and time; "" if nobody says.
        account: Where what is spent on models is written down, and its limits.
    """

    profile: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    now: str = ""
    account: Account = field(default_factory=Account, repr=False, compare=False)


@dataclass(frozen=True)
class UserKind:
    """How to make users of one kind.

    Attributes:
        spec: As the user wrote it, e.g. ``agenda``.
        make: Takes a script and a setting, gives a user ready to open the conversation.
        use: The model it asks; None if it asks none.
        blocking: Whether it waits for something other than a model, e.g. a person at a keyboard.
    """

    spec: str
    make: Callable[[UserScript, Setting], User]
    use: ModelUse | None = None
    blocking: bool = False


class UserEntry(NamedTuple):
    """One kind of user for a listing: how it is written, and what it is, in one line."""

    spec: str
    description: str


def user_kind(spec: str) -> UserKind:
    """The kind of user that a text such as ``agenda`` or ``claude:claude-haiku-5-5`` names.

    Raises:
        UsageError: No such user, or something is wrong with what follows its name.

    >>> user_kind("agenda").spec
    'agenda'
    """
    name = spec.partition(":")[0].partition(",")[0]
    if name in _KINDS:
        return _KINDS[name].parse(spec)
    if is_model(spec):
        return _model(spec)
    known = {entry.spec.partition(":")[0]: entry.spec for entry in known_users()}
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    every = f"there are: {', '.join(known.values())}"
    hint = f"did you mean {known[near[0]]!r}?" if near else every
    raise UsageError(f"no user {spec!r}; {hint}")


def known_users() -> list[UserEntry]:
    """Every kind of user that `user_kind` knows, in the order in which to show them."""
    own = [UserEntry(kind.spec, kind.description) for kind in _KINDS.values()]
    return [*own, *(UserEntry(*model) for model in known_models())]


# --- one function a kind: imports only what that kind needs ---------------------------------------


def _agenda(spec: str) -> UserKind:
    from .agenda import AgendaUser

    if spec != "agenda":
        raise UsageError(f"user {spec!r}: 'agenda' takes nothing after its name")

    def make(script: UserScript, setting: Setting) -> AgendaUser:
        return AgendaUser(script, setting.profile, setting.seed)

    return UserKind(spec, make)


def _model(spec: str) -> UserKind:
    from .model_user.user import model_user_kind

    return model_user_kind(spec)


class _Kind(NamedTuple):
    spec: str
    description: str
    parse: Callable[[str], UserKind]


_KINDS = {
    "agenda": _Kind("agenda", "plays the script by rules, without a model", _agenda),
}
