"""ClaudeModel: Claude through Anthropic's Messages API."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import anthropic
import httpx2

from ..errors import InfrastructureError, PasshatError, RunStoppedError
from ..transcript import JsonDict, Usage
from .claude_messages import (
    DEFAULT_MAX_TOKENS,
    ClaudeSettings,
    StreamedMessage,
    reply_of,
    request_body,
    says_too_long,
    warm_up_body,
)
from .limiter import CEILING, Limiter, affordable, limiter_of
from .masking import masked
from .model import Model, Reply, Request, StopReason, no_such_model
from .options import OptionReader
from .prices import PRICE_OPTIONS, Price, price_of
from .retrying import (
    Patience,
    TransientError,
    ask_until_answered,
    is_too_much,
    is_transient,
    seconds_asked_for,
    until_it_works,
)

PROVIDER = "Anthropic"
TIMEOUT = 600.0
CONNECT_TIMEOUT = 60.0
"""Seconds; the SDK's 5 run out when the event loop is busy with a thousand conversations."""
STREAM_ABOVE = 21_333
"""Tokens; the SDK wants longer replies streamed, since a silent connection would be cut."""
PAUSES = 10
CHECKS = 4
"""Attempts at finding out whether there is such a model, while the user waits."""

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_THINKING = ("adaptive", "between_tools", "disabled")
_OPTIONS = (
    "effort",
    "max_tokens",
    "thinking",
    "base_url",
    "timeout",
    "stream",
    "cache",
    "max_concurrency",
    "batch",
)
_NO_SUCH_THING = (404, 405, 501)
_STATUS_IN_STREAM = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "rate_limit_error": 429,
    "overloaded_error": 529,
    "api_error": 500,
    "timeout_error": 504,
}


class ClaudeModel(Model):
    """A model of Anthropic's.

    The key comes from ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, or from where else the SDK looks
    for one, and is kept nowhere else. ANTHROPIC_BASE_URL is heeded too.

    Args:
        settings: What every request says.
        base_url: Address of the API; None: the SDK's, which the environment may set.
        timeout: Seconds for one attempt.
        stream: Whether replies are streamed; long ones always are.
        max_concurrency: Requests under way at most, in this event loop and to this model.
        price: None: unknown.
        spec: As the user wrote it; "": made from the settings.
        patience: When to give up on a request.
    """

    def __init__(
        self,
        settings: ClaudeSettings,
        *,
        base_url: str | None = None,
        timeout: float = TIMEOUT,
        stream: bool = False,
        max_concurrency: int = CEILING,
        price: Price | None = None,
        spec: str = "",
        patience: Patience = Patience(),  # noqa: B008 - frozen
    ) -> None:
        self.settings = settings
        self.spec = spec or f"claude:{settings.model}"
        self.price = price
        self.priced = price is not None
        self.patience = patience
        self._base_url = base_url
        self._timeout = httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT)
        self._stream = stream or settings.max_tokens > STREAM_ABOVE
        self._max_concurrency = affordable(max_concurrency)
        self._clients: WeakKeyDictionary[Any, anthropic.AsyncAnthropic] = WeakKeyDictionary()

    @classmethod
    def from_options(cls, name: str, options: Mapping[str, str]) -> Model:
        """The model of a spec.

        Raises:
            UsageError: No such option, or a value that does not do.
        """
        read = OptionReader(f"claude:{name}", options, (*_OPTIONS, *PRICE_OPTIONS))
        model = cls(
            ClaudeSettings(
                model=name,
                max_tokens=read.whole("max_tokens") or DEFAULT_MAX_TOKENS,
                effort=read.one_of("effort", _EFFORTS),
                thinking=_thinking(read, options),
                cache=read.switch("cache", default=True),
            ),
            base_url=read.url("base_url"),
            timeout=read.whole("timeout") or TIMEOUT,
            stream=read.switch("stream", default=False),
            max_concurrency=read.whole("max_concurrency") or CEILING,
            price=price_of(name, "anthropic", options),
            spec=read.spec,
        )
        if "batch" not in options:
            return model
        from .batching import Batched

        return Batched(model, options["batch"])

    async def complete(self, request: Request) -> Reply:
        """Answer one request, after as many attempts as it takes."""
        body = request_body(request, self.settings)

        async def attempt() -> Reply:
            return await self._attempt(body)

        return await ask_until_answered(
            attempt, provider=PROVIDER, limiter=self._limiter(), patience=self.patience
        )

    async def check(self) -> None:
        """Make sure that there is a key, that it is accepted, and that there is such a model."""
        client = self.client()

        async def attempt() -> JsonDict | None:
            try:
                info: object = await client.models.retrieve(self.settings.model)
                if isinstance(info, anthropic.types.ModelInfo):
                    return info.to_dict()
                raise RunStoppedError(
                    f"{self._where()} tells nothing about a model, but {masked(repr(info)):.60};"
                    " is the address right?"
                )
            except Exception as error:
                if _status(error) not in _NO_SUCH_THING:
                    self.raise_for(error)
            await self._missing()
            return None

        try:
            patience = replace(self.patience, attempts=CHECKS)
            info = await until_it_works(attempt, PROVIDER, patience)
        except InfrastructureError as error:
            raise RunStoppedError(f"{self._where()}: {error}; is the address right?") from error
        if info is not None:
            self._check_limits(info)

    async def warm_up(self, prefix: Request) -> Usage:
        """Put tools and system into the cache. One that is refused is no reason to stop."""
        if not self.settings.cache or not (prefix.system or prefix.tools):
            return await super().warm_up(prefix)
        body = warm_up_body(prefix, self.settings)

        async def attempt() -> Reply:
            return await self._attempt(body, stream=False)

        try:
            reply = await until_it_works(attempt, PROVIDER, self.patience)
        except InfrastructureError:
            return await super().warm_up(prefix)
        return reply.usage

    async def close(self) -> None:
        """Close the connections that the running event loop has opened."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def client(self) -> anthropic.AsyncAnthropic:
        """The SDK's client for the running event loop.

        Raises:
            RunStoppedError: There is no key.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = self._connected()
        return self._clients[loop]

    def raise_for(self, error: Exception) -> NoReturn:
        """Raise what an error of the SDK means here.

        Raises:
            TransientError: Another attempt may succeed.
            RunStoppedError: No request will be answered.
            InfrastructureError: This request will not be.
        """
        if isinstance(error, anthropic.APIStatusError):
            self._raise_for_status(error)
        if isinstance(error, anthropic.CredentialsError):
            raise RunStoppedError(f"no key: {error}") from error
        if isinstance(error, anthropic.APIError | httpx2.TransportError | OSError | ValueError):
            # Lost connections and garbage. The SDK's words hide what happened; the cause tells.
            reason = f"{type(error).__name__}: {error.__cause__ or error}"
            raise TransientError(reason) from error
        if isinstance(error, PasshatError | TransientError):
            raise error
        raise InfrastructureError(masked(f"{PROVIDER}'s SDK failed: {error!r}")) from error

    # --- one attempt ------------------------------------------------------------------------------

    async def _attempt(self, body: JsonDict, stream: bool | None = None) -> Reply:
        """One reply, with the turns that the provider paused in between."""
        stream = self._stream if stream is None else stream
        parts: list[Reply] = []
        for _ in range(PAUSES):
            try:
                message, request_id = await (self._streamed(body) if stream else self._sent(body))
            except anthropic.BadRequestError as error:
                if not says_too_long(str(error)):
                    self.raise_for(error)
                return Reply((), StopReason.CONTEXT_FULL, detail=_said(error))
            except Exception as error:
                if _status(error) not in _NO_SUCH_THING:
                    self.raise_for(error)
                await self._missing()
                raise RunStoppedError(f"{self._where()} has no Messages API") from None
            paused = message.get("stop_reason") == "pause_turn"
            if paused:
                message["stop_reason"] = StopReason.END_TURN
            parts.append(self._reply(message, request_id))
            if not paused:
                return _joined(parts)
            turn = {"role": "assistant", "content": message["content"]}
            body = {**body, "messages": [*body["messages"], turn]}
        raise InfrastructureError(f"{PROVIDER} paused a turn {PAUSES} times")

    async def _sent(self, body: JsonDict) -> tuple[JsonDict, str | None]:
        # Written here and sent as bytes, since the SDK would copy the whole conversation first;
        # read here, so that blocks stay as they came.
        response = await self.client().post(
            "/v1/messages",
            cast_to=httpx2.Response,
            content=json.dumps(body, separators=(",", ":")).encode(),
            options={"headers": {"Content-Type": "application/json"}},
        )
        request_id = response.headers.get("request-id")
        message = json.loads(response.content)
        if not isinstance(message, dict):
            raise TransientError(f"{message!r:.100} instead of a message", request_id=request_id)
        return message, request_id

    async def _streamed(self, body: JsonDict) -> tuple[JsonDict, str | None]:
        events: anthropic.AsyncStream[object] = await self.client().post(
            "/v1/messages",
            cast_to=object,
            content=json.dumps({**body, "stream": True}, separators=(",", ":")).encode(),
            options={"headers": {"Content-Type": "application/json"}},
            stream=True,
            stream_cls=anthropic.AsyncStream[object],
        )
        request_id = events.response.headers.get("request-id")
        streamed = StreamedMessage()
        try:
            async with events:
                async for event in events:
                    if isinstance(event, dict):
                        streamed.add(event)
        except (LookupError, TypeError, AttributeError) as error:
            reason = f"a stream that makes no sense: {error!r}"
            raise TransientError(reason, request_id=request_id) from error
        if streamed.message is None or not streamed.complete:
            raise TransientError("the stream was cut", request_id=request_id)
        return streamed.message, request_id

    def _reply(self, message: JsonDict, request_id: str | None) -> Reply:
        try:
            return reply_of(message, price=self.price, request_id=request_id)
        except (KeyError, TypeError, AttributeError) as error:
            raise InfrastructureError(
                f"{self._where()} answered with what is no message (request id {request_id}): "
                f"{error!r} in {masked(repr(message)):.200}"
            ) from error

    # --- the client and the errors of the provider ------------------------------------------------

    def _connected(self) -> anthropic.AsyncAnthropic:
        limits = httpx2.Limits(
            max_connections=self._max_concurrency, max_keepalive_connections=self._max_concurrency
        )
        try:
            client = anthropic.AsyncAnthropic(
                base_url=self._base_url,
                max_retries=0,
                timeout=self._timeout,
                http_client=anthropic.DefaultAioHttpClient(limits=limits, timeout=self._timeout),
            )
        except anthropic.CredentialsError as error:
            raise RunStoppedError(f"no key: {error}") from error
        sent = {name.lower() for name in client.default_headers}
        if client.credentials is None and not sent & {"authorization", "x-api-key"}:
            raise RunStoppedError(
                "no key for Anthropic's API: set the environment variable ANTHROPIC_API_KEY"
            )
        return client

    def _limiter(self) -> Limiter:
        # Anthropic limits each model by itself.
        name = f"{self.client().base_url} {self.settings.model}"
        return limiter_of(name, self._max_concurrency)

    def _where(self) -> str:
        """The address, without what may be secret in it."""
        url = self.client().base_url
        return f"{url.scheme}://{url.netloc.decode()}"

    def _raise_for_status(self, error: anthropic.APIStatusError) -> NoReturn:
        status, headers = error.status_code, error.response.headers
        if status < 400:  # an error that came in the middle of a stream
            status = _STATUS_IN_STREAM.get(str(error.type), 400)
        what = f"{status} {_said(error)}"
        if advice := self._advice(status, error):
            raise RunStoppedError(f"{self._where()}: {what}; {advice}") from error
        if is_transient(status, headers):
            raise TransientError(
                what,
                status=status,
                request_id=error.request_id,
                retry_after=seconds_asked_for(headers),
                too_much=is_too_much(status),
            ) from error
        raise InfrastructureError(
            f"{PROVIDER} refused the request as it is configured: {what} "
            f"(request id {error.request_id})"
        ) from error

    def _advice(self, status: int, error: anthropic.APIStatusError) -> str | None:
        """What the user can do about an error that no waiting helps against."""
        if str(error.error_code).endswith("spend_limit_reached"):  # a 429 as well
            return "raise the account's spend limit"
        if error.type == "billing_error" or "credit balance" in str(error.api_message):
            status = 402
        return {
            401: f"check {_key_variable()}",
            402: "see to the billing of the account",
            403: f"may the key in {_key_variable()} use {self.settings.model!r}?",
        }.get(status)

    async def _missing(self) -> None:
        """Say that there is no such model, if the provider knows which there are.

        Raises:
            RunStoppedError: It has others.
        """
        try:
            known = [model.id async for model in self.client().models.list(limit=1000)]
        except Exception as error:
            if _status(error) in _NO_SUCH_THING:  # a gateway that tells nothing about its models
                return
            self.raise_for(error)
        name = self.settings.model
        if name not in known:
            raise no_such_model(self._where(), name, known)

    def _check_limits(self, info: JsonDict) -> None:
        name, wanted = self.settings.model, self.settings.max_tokens
        most = info.get("max_tokens")
        if most and wanted > most:
            raise RunStoppedError(
                f"{name!r} writes {most:,} tokens at most, not {wanted:,}; add max_tokens={most}"
            )
        if info.get("lifecycle") == "retired":
            raise RunStoppedError(f"{name!r} is retired and answers no more")
        levels = (info.get("capabilities") or {}).get("effort") or {}
        effort = self.settings.effort
        if effort and effort in levels and not levels[effort]["supported"]:
            able = [level for level in _EFFORTS if (levels.get(level) or {}).get("supported")]
            raise RunStoppedError(f"{name!r} has no effort={effort}; it has {', '.join(able)}")


def _status(error: Exception) -> int | None:
    return error.status_code if isinstance(error, anthropic.APIStatusError) else None


def _joined(parts: list[Reply]) -> Reply:
    """One reply from the parts of a turn that was paused."""
    last = parts[-1]
    for part in reversed(parts[:-1]):
        last = replace(last, content=part.content + last.content, usage=part.usage + last.usage)
    return last


def _said(error: anthropic.APIStatusError) -> str:
    """What the API said, in one line."""
    words = error.api_message or str(error.body or error.message)
    return masked(" ".join(f"{error.type or ''} {words}".split()))[:500]


def _key_variable() -> str:
    """The environment variable that the key was taken from."""
    named = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    return next((name for name in named if os.environ.get(name)), named[0])


def _thinking(read: OptionReader, options: Mapping[str, str]) -> JsonDict | None:
    """What the option says: a kind of thinking, or a number of tokens for models before 5."""
    if options.get("thinking", "").isdecimal():
        return {"type": "enabled", "budget_tokens": read.whole("thinking")}
    kind = read.one_of("thinking", _THINKING)
    return {"type": kind} if kind else None
