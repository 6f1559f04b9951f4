"""What the server does with a request, whatever brings it."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from logging import getLogger
from typing import Any
from urllib.parse import unquote

from pydantic_core import from_json

from ...errors import UsageError
from .answers import TOO_FEW_TOKENS, Brain, ask, compose
from .batches import Batches
from .caching import CacheUse, PromptCache
from .catalogue import MODELS, FakeModel
from .faults import FaultPlan, FaultRate
from .prompts import Prompt, PromptReader, hashed
from .refusals import RefusedError, invalid
from .responses import Response, as_response, as_stream, page
from .validation import check_count

Json = dict[str, Any]


@dataclass
class Seen:
    """One request that was answered.

    Attributes:
        method: ``GET``, ``POST`` ...
        path: Without the query.
        headers: Names in lower case.
        body: Parsed; None if there was none, or if it was no JSON.
        status: Of the answer; 0 if there was none: cut, or not waited for.
        faults: Names of those that hit it.
        answer: The message, or the error, that was answered; None for anything else.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: Any = None
    status: int = 0
    faults: list[str] = field(default_factory=list)
    answer: Json | None = None

    @property
    def model(self) -> str:
        """That was asked; "" if none was."""
        return self._asked(self.body, "model")

    @property
    def conversation(self) -> str:
        """``metadata.user_id`` of the request; "" if there was none."""
        metadata = self.body.get("metadata") if isinstance(self.body, dict) else None
        return self._asked(metadata, "user_id")

    @staticmethod
    def _asked(where: Any, name: str) -> str:
        found = where.get(name) if isinstance(where, dict) else None
        return found if isinstance(found, str) else ""

    @property
    def usage(self) -> Json:
        """Of the message that was answered; empty if none was."""
        usage: Json = (self.answer or {}).get("usage", {})
        return usage


@dataclass(eq=False)
class FakeClaude:
    """The server's state and settings. Settings may be changed while it runs.

    Attributes:
        brain: Answers messages; one that is not async keeps all others waiting. A UsageError that
            it raises is answered as a refusal, with its words.
        faults: What goes wrong, and how often.
        latency: Seconds that every answer of ``/v1/messages`` takes at least.
        seed: Of the faults.
        models: By id.
        max_body_bytes: Longer requests are refused.
        keep: How many of the last requests are kept in ``requests``.
        on_seen: Told of every request after it was answered.
        url: Where it listens.
        requests: The last requests, oldest first.
        counts: Of all requests, by status.
        at_work: How many are being answered.
    """

    brain: Brain
    faults: Sequence[FaultRate] = ()
    latency: float = 0.0
    seed: int = 0
    models: dict[str, FakeModel] = field(default_factory=lambda: dict(MODELS))
    max_body_bytes: int = 32_000_000
    keep: int = 1000
    on_seen: Callable[[Seen], None] | None = None
    url: str = ""

    def __post_init__(self) -> None:
        self.requests: deque[Seen] = deque(maxlen=self.keep)
        self.counts: Counter[int] = Counter()
        self.at_work = 0
        self._reader = PromptReader(hashed("passhat", str(self.seed)))
        self._cache = PromptCache()
        self._plan = FaultPlan(self.seed)
        self._batches = Batches(self._batched_answer, self._plan)
        self._numbered = 0

    async def close(self) -> None:
        """Stop what is still being worked on."""
        await self._batches.close()

    async def handle(self, seen: Seen, query: Mapping[str, str], body: bytes | None) -> Response:
        """Answer one request.

        Args:
            seen: Method, path and headers of it; what comes of it is noted there.
            query: What stands behind the question mark.
            body: Undecoded; None if it was too long.
        """
        self._numbered += 1
        name = f"req_{hashed(str(self.seed), str(self._numbered)).hex()[:24]}"
        self.at_work += 1
        try:
            response = await self._response(seen, query, body, name)
            seen.status = response.status
        finally:
            self.at_work -= 1
            self._note(seen)
        return response.called(name)

    def _note(self, seen: Seen) -> None:
        self.requests.append(seen)
        self.counts[seen.status] += 1
        if self.on_seen is not None:
            self.on_seen(seen)

    async def _response(
        self, seen: Seen, query: Mapping[str, str], body: bytes | None, name: str
    ) -> Response:
        try:
            self._check_access(seen.headers)
            seen.body = self._parse(body)
            return await self._routed(seen, query)
        except RefusedError as error:
            seen.answer = error.body(name)
            return as_response(seen.answer, error.status, error.headers)

    async def _routed(self, seen: Seen, query: Mapping[str, str]) -> Response:
        match [seen.method, *seen.path.strip("/").split("/")]:
            case ["POST", "v1", "messages"]:
                return await self._messages(_object(seen.body), seen)
            case ["POST", "v1", "messages", "count_tokens"]:
                return as_response(self._count(_object(seen.body)))
            case ["GET", "v1", "models"]:
                return as_response(page([m.info() for m in self.models.values()], query))
            case ["GET", "v1", "models", name]:
                return as_response(self._model(unquote(name)).info())
            case ["POST", "v1", "messages", "batches"]:
                return as_response(self._create_batch(_object(seen.body)))
            case ["GET", "v1", "messages", "batches"]:
                return as_response(page(self._batches.all(), query))
            case ["GET", "v1", "messages", "batches", name]:
                return as_response(self._batches.get(name).info())
            case ["DELETE", "v1", "messages", "batches", name]:
                return as_response(self._batches.delete(name))
            case ["POST", "v1", "messages", "batches", name, "cancel"]:
                return as_response(self._batches.cancel(name))
            case ["GET", "v1", "messages", "batches", name, "results"]:
                return Response(self._batches.results(name), kind="application/x-jsonl")
        raise RefusedError("not_found_error", f"no {seen.method} {seen.path}")

    @staticmethod
    def _check_access(headers: Mapping[str, str]) -> None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if not ((scheme.lower() == "bearer" and token) or headers.get("x-api-key")):
            raise RefusedError(
                "authentication_error",
                "authorization: Bearer KEY, or x-api-key, header is required",
            )
        if "anthropic-version" not in headers:
            raise invalid("anthropic-version: header is required")

    def _parse(self, body: bytes | None) -> Any:
        if body is None:
            raise RefusedError(
                "request_too_large",
                f"Request exceeds the maximum size of {self.max_body_bytes} bytes",
            )
        if not body:
            return None
        try:
            return from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise invalid(f"The request body is not valid JSON: {error}") from None

    def _model(self, name: Any) -> FakeModel:
        if not isinstance(name, str):
            raise invalid(f"model: Input should be a valid string, not {name!r}")
        if name not in self.models:
            raise RefusedError("not_found_error", f"model: {name}")
        return self.models[name]

    def _count(self, body: Json) -> Json:
        check_count(body)
        model = self._model(_required(body, "model"))
        prompt = self._reader.read({**body, "max_tokens": 0}, model)
        return {"input_tokens": prompt.tokens}

    # --- messages ---------------------------------------------------------------------------------

    async def _messages(self, body: Json, seen: Seen) -> Response:
        model, prompt = self._read(body)
        struck = {fault.kind: fault for fault in self._plan.strike(self._live(), prompt.key)}
        seen.faults = list(struck)
        if (limited := struck.get("rate-limit")) is not None:
            raise _rate_limited(limited.seconds)
        if "overloaded" in struck:
            raise RefusedError("overloaded_error", "Overloaded")
        if "error" in struck:
            raise RefusedError("api_error", "Internal server error")
        used = self._cache.use(prompt, model.cache_floor_tokens, self.latency)
        wait = self.latency + (struck["slow"].seconds if "slow" in struck else 0.0)
        if wait:
            await asyncio.sleep(wait)
        silent = "empty" in struck or body["max_tokens"] <= TOO_FEW_TOKENS
        brain = _silent if silent else self.brain
        seen.answer = await self._answer(brain, body, model, prompt, used)
        response = as_stream(seen.answer) if body.get("stream") else as_response(seen.answer)
        if "cut" in struck:
            return response.cut(self._plan.draw("how far", prompt.key))
        return response

    def _live(self) -> list[FaultRate]:
        return [fault for fault in self.faults if fault.kind != "expired"]

    def _read(self, body: Json) -> tuple[FakeModel, Prompt]:
        model = self._model(_required(body, "model"))
        return model, self._reader.read(body, model)

    async def _answer(
        self, brain: Brain, body: Json, model: FakeModel, prompt: Prompt, used: CacheUse
    ) -> Json:
        try:
            return compose(await ask(brain, body), body, model, prompt, used, self._reader)
        except UsageError as error:
            raise invalid(str(error)) from None
        except Exception:
            getLogger("passhat.fake_claude").exception("the brain failed")
            raise RefusedError("api_error", "the brain of this server failed") from None

    async def _batched_answer(self, body: Json) -> Json:
        """The message that answers one entry of a batch."""
        model, prompt = self._read(body)
        used = self._cache.use(prompt, model.cache_floor_tokens)
        message = await self._answer(self.brain, body, model, prompt, used)
        message["usage"]["service_tier"] = "batch"
        return message

    def _create_batch(self, body: Json) -> Json:
        expiring = [fault for fault in self.faults if fault.kind == "expired"]
        return self._batches.create(body, self.latency, self.url, expiring)


def _silent(body: Json) -> list[Json]:
    return []


def _rate_limited(seconds: float) -> RefusedError:
    """Whole seconds as the standard has it, and milliseconds for clients that read them."""
    wait = {"retry-after": str(-int(-seconds // 1)), "retry-after-ms": str(round(seconds * 1000))}
    return RefusedError("rate_limit_error", "This request would exceed your rate limit.", wait)


# --- bodies ---------------------------------------------------------------------------------------


def _object(body: Any) -> Json:
    if not isinstance(body, dict):
        raise invalid("Input should be a valid dictionary")
    return body


def _required(body: Json, name: str) -> Any:
    if name not in body:
        raise invalid(f"{name}: Field required")
    return body[name]
