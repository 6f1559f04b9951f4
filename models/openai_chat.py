"""OpenAIModel: any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ..errors import InfrastructureError, PasshatError, RunStoppedError, UsageError
from .limiter import CEILING, limiter_of
from .masking import masked
from .model import Model, Reply, Request, StopReason, no_such_model
from .openai_messages import SCHEMA_FORMS, ChatSettings, chat_body, chat_reply, says_too_long
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

if TYPE_CHECKING:
    import openai

KEY = "OPENAI_API_KEY"
HOST = "api.openai.com"
TIMEOUT = 600
CONNECT_TIMEOUT = 60.0
"""Seconds; the SDK's 5 run out when the event loop is busy with a thousand conversations."""
CHAT_OPTIONS = (
    "base_url",
    "max_tokens",
    "temperature",
    "effort",
    "schema",
    "timeout",
    "max_concurrency",
)
_CHECK = Patience(attempts=4, seconds=60)


@dataclass(frozen=True)
class Connection:
    """How a server is reached.

    Attributes:
        base_url: Its address; None: from OPENAI_BASE_URL, or OpenAI's own.
        timeout: Seconds for one attempt.
        max_concurrency: Requests under way at most, in one event loop and to one model.
        patience: When to give up on a request.
    """

    base_url: str | None = None
    timeout: float = TIMEOUT
    max_concurrency: int = CEILING
    patience: Patience = field(default_factory=Patience)


DEFAULT_CONNECTION = Connection()


def read_options(
    head: str, name: str, options: Mapping[str, str], limit_name: str
) -> tuple[str, ChatSettings, Connection]:
    """What the options of a spec say: the spec in one way of writing it, and what it means.

    Raises:
        UsageError: No such option, or a value that does not do.
    """
    read = OptionReader(head, options, (*CHAT_OPTIONS, *PRICE_OPTIONS))
    settings = ChatSettings(
        model=name,
        max_tokens=read.whole("max_tokens"),
        limit_name=limit_name,
        temperature=read.number("temperature"),
        effort=options.get("effort"),
        schema_form=read.one_of("schema", SCHEMA_FORMS, SCHEMA_FORMS[0]) or "",
    )
    connection = Connection(
        base_url=read.url("base_url"),
        timeout=read.whole("timeout") or TIMEOUT,
        max_concurrency=read.whole("max_concurrency") or CEILING,
    )
    return read.spec, settings, connection


class ChatModel(Model):
    """A model that is spoken to in OpenAI's chat completions, by whatever way.

    Attributes:
        kind: What its specs begin with.

    Args:
        settings: What every request says.
        connection: How it is reached.
        price: None: unknown.
        spec: As the user wrote it; "": made from the settings.
    """

    kind: str

    def __init__(
        self,
        settings: ChatSettings,
        connection: Connection = DEFAULT_CONNECTION,
        price: Price | None = None,
        spec: str = "",
    ) -> None:
        self.spec = spec or f"{self.kind}:{settings.model}"
        self.priced = price is not None
        self.settings = settings
        self.price = price
        self._connection = connection


class OpenAIModel(ChatModel):
    """A model behind OpenAI's chat completions, at OpenAI or at any server that speaks them.

    The key comes from OPENAI_API_KEY and is kept nowhere else; servers at another address than
    OpenAI's may do without. The arguments are those of `ChatModel`.
    """

    kind = "openai"

    def __init__(
        self,
        settings: ChatSettings,
        connection: Connection = DEFAULT_CONNECTION,
        price: Price | None = None,
        spec: str = "",
    ) -> None:
        super().__init__(settings, connection, price, spec)
        self._clients: WeakKeyDictionary[Any, openai.AsyncOpenAI] = WeakKeyDictionary()

    @classmethod
    def from_options(cls, name: str, options: Mapping[str, str]) -> OpenAIModel:
        """The model of a spec.

        Raises:
            UsageError: No such option, a value that does not do, or the package is missing.
        """
        need_sdk(f"openai:{name}")
        host = _host(options.get("base_url"))
        at_openai = host == HOST
        new = at_openai or host.endswith(".openai.azure.com")
        limit_name = "max_completion_tokens" if new else "max_tokens"
        spec, settings, connection = read_options(f"openai:{name}", name, options, limit_name)
        # Another server's model of the same name costs something else.
        price = price_of(name, "openai" if at_openai else host, options)
        return cls(settings, connection, price, spec)

    async def complete(self, request: Request) -> Reply:
        """Answer one request, after as many attempts as it takes."""
        body = json.dumps(chat_body(request, self.settings), separators=(",", ":")).encode()

        async def attempt() -> Reply:
            return await self._attempt(body)

        client, most = self.client(), self._connection.max_concurrency
        limiter = limiter_of(f"{client.base_url} {self.settings.model}", most)
        return await ask_until_answered(
            attempt, provider=self._where(), limiter=limiter, patience=self._connection.patience
        )

    async def check(self) -> None:
        """Make sure that there are a key and a server, and that it has this model, if it tells."""
        try:
            known = await until_it_works(self._known_models, self._where(), _CHECK)
        except InfrastructureError as error:
            raise RunStoppedError(f"{error}; is the address right?") from error
        name = self.settings.model
        if known is None or any(one == name or one.endswith(f"/{name}") for one in known):
            return
        raise no_such_model(self._where(), name, known)

    async def close(self) -> None:
        """Close the connections that the running event loop has opened."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def client(self) -> openai.AsyncOpenAI:
        """The SDK's client for the running event loop.

        Raises:
            RunStoppedError: There is no key, and OpenAI wants one.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = self._connected()
        return self._clients[loop]

    # --- one attempt ------------------------------------------------------------------------------

    async def _attempt(self, body: bytes) -> Reply:
        import httpx2

        try:
            # Written and read here, so that nothing is copied and blocks stay as they came.
            response = await self.client().post(
                "/chat/completions",
                cast_to=httpx2.Response,
                content=body,
                options={"headers": {"Content-Type": "application/json"}},
            )
            completion = json.loads(response.content)
        except Exception as error:
            if (full := context_full(error)) is not None:
                return full
            raise_for(error, self._where(), self.settings.model)
        request_id = response.headers.get("x-request-id")
        return reply_or_blame(completion, self.price, request_id, self._where())

    async def _known_models(self) -> list[str] | None:
        """Ids of the server's models; None if it does not tell."""
        import openai

        try:
            return [model.id async for model in self.client().models.list()]
        except (openai.NotFoundError, openai.APIResponseValidationError, json.JSONDecodeError):
            return None
        except (AttributeError, TypeError):  # of the SDK, at what is no list of models
            return None
        except openai.APIStatusError as error:
            if error.status_code in (405, 501):
                return None
            raise_for(error, self._where(), self.settings.model)
        except Exception as error:
            raise_for(error, self._where(), self.settings.model)

    # --- the client -------------------------------------------------------------------------------

    def _connected(self) -> openai.AsyncOpenAI:
        import httpx2
        import openai

        key = os.environ.get(KEY)
        if not key and _host(self._connection.base_url) == HOST:
            raise RunStoppedError(f"no key for OpenAI's API: set the environment variable {KEY}")
        most = self._connection.max_concurrency
        timeout = httpx2.Timeout(self._connection.timeout, connect=CONNECT_TIMEOUT)
        limits = httpx2.Limits(max_connections=most, max_keepalive_connections=most)
        return openai.AsyncOpenAI(
            api_key=key or "none",  # the SDK insists on one
            base_url=self._connection.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=openai.DefaultAioHttpClient(limits=limits, timeout=timeout),
        )

    def _where(self) -> str:
        """The address, without what may be secret in it."""
        url = self.client().base_url
        return f"{url.scheme}://{url.netloc.decode()}"


def need_sdk(spec: str) -> None:
    """Make sure that the package is there.

    Raises:
        UsageError: It is not; says how to get it.
    """
    if find_spec("openai") is None:
        raise UsageError(f"model {spec!r} needs a package: pip install 'passhat[openai]'")


def _host(base_url: str | None) -> str:
    """Name of the server that will be asked."""
    address = base_url or os.environ.get("OPENAI_BASE_URL") or f"https://{HOST}"
    return urlsplit(address).hostname or address


# --- what errors of the SDK mean; LiteLLM's are of the same classes -------------------------------


def context_full(error: Exception) -> Reply | None:
    """The reply that an error is: the conversation no longer fits. None if it is another one."""
    status = getattr(error, "status_code", None)
    if status in (400, 413, 422, 500) and says_too_long(f"{getattr(error, 'code', '')} {error}"):
        return Reply((), StopReason.CONTEXT_FULL, detail=said(error))
    return None


def reply_or_blame(
    completion: Any, price: Price | None, request_id: str | None, where: str
) -> Reply:
    """The reply in what a server sent.

    Raises:
        InfrastructureError: It is no completion.
    """
    try:
        return chat_reply(completion, price=price, request_id=request_id)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise InfrastructureError(
            f"{where} answered with what is no chat completion: {error!r} in "
            f"{masked(repr(completion)):.200}"
        ) from error


def raise_for(error: Exception, where: str, model: str, key: str = KEY) -> NoReturn:
    """Raise what an error of the SDK means here.

    Args:
        error: From the SDK, or from reading what it brought.
        where: Address of the server, for messages.
        model: That was asked for.
        key: Where the key comes from.

    Raises:
        TransientError: Another attempt may succeed.
        RunStoppedError: No request will be answered.
        InfrastructureError: This request will not be.
    """
    import aiohttp
    import httpx2
    import openai

    if isinstance(error, openai.APIError) and hasattr(error, "status_code"):
        _raise_for_status(error, where, model, key)
    lost = httpx2.TransportError | aiohttp.ClientError | OSError | ValueError
    if isinstance(error, openai.APIError | lost):
        # Lost connections and garbage. The SDK's words hide what happened; the cause tells.
        raise TransientError(f"{type(error).__name__}: {error.__cause__ or error}") from error
    if isinstance(error, PasshatError | TransientError):
        raise error
    raise InfrastructureError(masked(f"{where}: the SDK failed: {error!r}")) from error


def _raise_for_status(error: openai.APIError, where: str, model: str, key: str) -> NoReturn:
    response = getattr(error, "response", None)
    headers = {} if response is None else response.headers
    status = int(getattr(error, "status_code", 0))
    what, request_id = f"{status} {said(error)}", getattr(error, "request_id", None)
    no_money = "insufficient_quota" in (error.code, error.type, _code_in(error.body))
    if is_transient(status, headers) and not no_money:  # that is a 429 too, but no wait helps
        raise TransientError(
            what,
            status=status,
            request_id=request_id,
            retry_after=seconds_asked_for(headers),
            too_much=is_too_much(status),
        ) from error
    if status in (401, 402, 403, 404, 405, 501) or no_money:
        advice = {
            401: f"check {key}",
            403: f"the key may not use {model!r}",
            404: f"is there a model {model!r} at this address?",
            405: "is the address right?",
            501: "is the address right?",
        }
        hint = advice.get(status, "see to the billing of the account")
        raise RunStoppedError(f"{where}: {what}; {hint}") from error
    raise InfrastructureError(
        f"{where} refused the request as it is configured: {what} (request id {request_id})"
    ) from error


def _code_in(body: object) -> object:
    return body.get("code") if isinstance(body, dict) else None


def said(error: Exception) -> str:
    """What an error says, in one line."""
    body = getattr(error, "body", None)
    words = body.get("message") if isinstance(body, dict) else None
    return masked(" ".join(str(words or error).split()))[:500]
