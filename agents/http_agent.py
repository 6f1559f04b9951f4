"""An agent behind an address: ``http:URL``. Every move is one POST, in one of two protocols.

``protocol=passhat`` (the default) sends all that the agent may know and takes an action;
``protocol=openai`` speaks to whatever serves chat completions with tools. docs/agents.md describes
both.

Whose fault a failure is: what the server answers, and that it does not answer, is the agent's own
doing. Nobody is to blame when there is no server, or when it says that it is asked too often.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ..errors import InfrastructureError, RunStoppedError, UsageError
from ..models.masking import masked
from ..models.registry import Options, split_spec
from ..transcript import Observation
from .agent import AgentError, AgentKind, Brief
from .options import no_more_options, seconds_option
from .wire import Conversation, Move, OpenAIWire, PasshatWire, Wire

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

CONNECT_SECONDS: Final = 30.0
"""To reach a server. One that is there but busy accepts connections all the same."""

MOST_BYTES: Final = 1_000_000
"""Of one answer."""

_WRONG_ADDRESS: Final = frozenset({301, 302, 303, 307, 308, 401, 403, 404, 405})
"""Answers to a first move that say something about the address or the headers, not the agent."""


class NoAnswerError(AgentError):
    """The agent behind an address made no move; says what came instead."""


def http_agent_kind(spec: str) -> AgentKind:
    """Agents behind the address that a spec names.

    Args:
        spec: ``http:URL`` or just the URL; options: ``protocol`` (``passhat`` or ``openai``),
            ``model`` (what to send as its name; with ``openai``), ``timeout`` (seconds for one
            move), ``headers`` (name of an environment variable that holds headers, one a line).

    Raises:
        UsageError: No such address or option, or no such variable.
    """
    head, options = split_spec(spec)
    url = head if head.startswith(("http://", "https://")) else head.partition(":")[2]
    address = _address(spec, url, options)
    return AgentKind(spec, lambda brief: HttpAgent(brief, address), check=address.check)


def _address(spec: str, url: str, options: Options) -> Address:
    meant = f"agent {spec.partition('?')[0]!r}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{meant}: {url!r} is no address, e.g. http://127.0.0.1:8000/agent")
    if parts.username or parts.password:
        raise UsageError(
            f"agent 'http:...@{parts.hostname}': a password in an address would be kept with the"
            " run; put it into a variable and name that: headers=VARIABLE"
        )
    protocol = options.pop("protocol", "passhat")
    model = options.pop("model", None)
    timeout = seconds_option(options, "timeout", meant)
    headers = _headers(options.pop("headers", None), meant)
    no_more_options(options, meant, "protocol, model, timeout, headers")
    if protocol == "openai":
        if not parts.path.rstrip("/").endswith("/chat/completions"):
            path = parts.path.rstrip("/") + "/chat/completions"
            url = parts._replace(path=path).geturl()
        return Address(url, OpenAIWire(model or "agent"), timeout, headers)
    if protocol != "passhat":
        raise UsageError(f"{meant}: protocol must be passhat or openai, not {protocol!r}")
    if model is not None:
        raise UsageError(f"{meant}: only protocol=openai has a model to name")
    return Address(url, PasshatWire(), timeout, headers)


def _headers(variable: str | None, meant: str) -> dict[str, str]:
    if variable is None:
        return {}
    if variable not in os.environ:
        raise UsageError(
            f"{meant}: there is no environment variable {variable!r}; set it to headers, one a"
            " line, e.g. 'Authorization: Bearer ...'"
        )
    headers = {}
    for line in filter(str.strip, os.environ[variable].splitlines()):
        name, colon, value = line.partition(":")
        if not (colon and name.strip().replace("-", "").isalnum()):
            raise UsageError(
                f"{meant}: the variable {variable!r} holds a line that is no header; write e.g."
                " 'Authorization: Bearer ...'"
            )
        headers[name.strip()] = value.strip()
    return headers


@dataclass(frozen=True)
class Address:
    """Where agents are, and how to talk to them.

    Attributes:
        url: Where to post.
        wire: The protocol.
        timeout: Seconds for one move; None: as long as the run allows.
        headers: Sent with every request; may hold secrets.
    """

    url: str
    wire: Wire
    timeout: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> str:
        """For messages: a query may hold a secret."""
        return self.url.partition("?")[0]

    async def check(self) -> None:
        """Make sure that there is a server; what it thinks of a HEAD request does not matter.

        Raises:
            RunStoppedError: There is none.
        """
        import aiohttp

        try:
            async with self._session(10.0) as session, session.head(self.url):
                pass
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise RunStoppedError(
                f"there is no agent at {self.shown}: {_said(error)}; start its server first"
            ) from None

    async def post(self, conversation: Conversation) -> object:
        """Ask for the next move; returns what was answered, as JSON.

        Raises:
            NoAnswerError: Something else was answered, or nothing.
            InfrastructureError: There is no server any more, or it refuses so many requests.
            RunStoppedError: The address or the headers are wrong.
        """
        import aiohttp

        body = self.wire.body(conversation)
        about = self.wire.headers(conversation)
        try:
            async with (
                self._session(self.timeout) as session,
                session.post(self.url, json=body, headers=about, allow_redirects=False) as answer,
            ):
                return await self._read(answer, first=not conversation.past)
        except aiohttp.ClientConnectorError as error:
            raise InfrastructureError(f"cannot reach {self.shown}: {_said(error)}") from None
        except aiohttp.ConnectionTimeoutError:
            raise InfrastructureError(
                f"cannot reach {self.shown} within {CONNECT_SECONDS:g} s"
            ) from None
        except TimeoutError:
            raise NoAnswerError(
                f"no answer from {self.shown} within {self.timeout or 0:g} s"
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            await self._check_still_there()
            raise NoAnswerError(f"{self.shown} broke off: {_said(error)}") from None

    async def _read(self, answer: ClientResponse, first: bool) -> object:
        raw = bytearray()
        async for chunk in answer.content.iter_any():
            raw += chunk
            if len(raw) > MOST_BYTES:
                raise NoAnswerError(
                    f"{self.shown} answered with more than {MOST_BYTES:,} bytes, which is too much"
                    " for a move"
                )
        if answer.status != 200:
            self._refused(answer.status, bytes(raw), first)
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            raise NoAnswerError(
                f"{self.shown} answered with no JSON: {self._quoted(raw)}"
            ) from None

    def _refused(self, status: int, raw: bytes, first: bool) -> None:
        what = f"{self.shown} answered with status {status}: {self._quoted(raw)}"
        if first and status in _WRONG_ADDRESS:
            raise RunStoppedError(f"{what}; is this the right address, and are the headers right?")
        if status == 429:
            raise InfrastructureError(f"{what}; ask less at once, with --concurrency")
        raise NoAnswerError(what)

    def _quoted(self, raw: bytes | bytearray) -> str:
        """The beginning of an answer, without the secrets that it may repeat."""
        sent = [word for value in self.headers.values() for word in value.split()]
        return repr(masked(bytes(raw[:800]).decode("utf-8", "replace"), sent))[:200]

    async def _check_still_there(self) -> None:
        """A server that is gone failed at more than this move."""
        try:
            await self.check()
        except RunStoppedError as error:
            raise InfrastructureError(str(error)) from None

    def _session(self, seconds: float | None) -> ClientSession:
        import aiohttp

        # A connection of its own for every move: one that a server closes in between, as it may,
        # would look like a failure of the agent.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True),
            timeout=aiohttp.ClientTimeout(
                total=seconds, sock_connect=CONNECT_SECONDS, connect=CONNECT_SECONDS
            ),
            headers=self.headers,
        )


class HttpAgent:
    """The agent of one conversation, at an address."""

    def __init__(self, brief: Brief, address: Address) -> None:
        self._address = address
        self._account = brief.account
        # Not made from the seed: a trial that is repeated is another conversation.
        self._conversation = Conversation(secrets.token_hex(8), brief)

    async def act(self, observation: Observation) -> Move:
        """The next move, as the server answers.

        Raises:
            UsageError: The answer is no move.
            NoAnswerError, InfrastructureError, RunStoppedError: As `Address.post`.
        """
        self._account.check()
        self._conversation.hear(observation)
        started = time.perf_counter()
        move = self._address.wire.read(await self._address.post(self._conversation))
        seconds = round(time.perf_counter() - started, 6)
        if move.usage is not None:
            self._account.add("agent", move.usage)
        self._conversation.answered(move)
        return move.model_copy(update={"seconds": seconds})

    def observe(self, observation: Observation, taken: Move) -> None:
        """Take a recorded move as the agent's own."""
        self._conversation.hear(observation)
        self._conversation.answered(taken)


def _said(error: BaseException) -> str:
    """What an error of the network says, in one line."""
    said: Any = getattr(error, "os_error", None) or error
    text = getattr(said, "strerror", None) or str(said)
    return " ".join(text.split()) or type(error).__name__
