"""LiteLLMModel: any provider that LiteLLM knows, e.g. ``litellm:gemini/gemini-3-flash``.

LiteLLM speaks OpenAI's chat completions to all of them, so requests and replies are translated as
for `OpenAIModel`. It takes seconds to import, and is imported when a model is checked or asked.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ..errors import RunStoppedError, UsageError
from ..transcript import JsonDict
from .limiter import limiter_of
from .model import Reply, Request, StopReason
from .openai_chat import (
    ChatModel,
    context_full,
    raise_for,
    read_options,
    reply_or_blame,
    said,
)
from .openai_messages import chat_body
from .prices import price_of
from .retrying import ask_until_answered

_PROVIDER = "LiteLLM"


class LiteLLMModel(ChatModel):
    """A model of any provider, through LiteLLM.

    Keys come from the environment variables that LiteLLM knows for the provider. The arguments are
    those of `ChatModel`; a connection without ``base_url`` goes where LiteLLM knows.
    """

    kind = "litellm"

    @classmethod
    def from_options(cls, name: str, options: Mapping[str, str]) -> LiteLLMModel:
        """The model of a spec.

        Raises:
            UsageError: No such option, a value that does not do, or the package is missing.
        """
        head = f"litellm:{name}"
        if find_spec("litellm") is None:
            raise UsageError(f"model {head!r} needs a package: pip install 'passhat[litellm]'")
        spec, settings, connection = read_options(head, name, options, "max_tokens")
        # Whoever serves it at an address of their own sets the price.
        provider = _PROVIDER.lower() if connection.base_url is None else connection.base_url
        return cls(settings, connection, price_of(name, provider, options), spec)

    async def complete(self, request: Request) -> Reply:
        """Answer one request, after as many attempts as it takes."""
        litellm = await _litellm()
        arguments = chat_body(request, self.settings) | self._way(litellm)
        limiter = limiter_of(f"litellm:{self.settings.model}", self._connection.max_concurrency)

        async def attempt() -> Reply:
            return await self._attempt(litellm, arguments)

        return await ask_until_answered(
            attempt, provider=_PROVIDER, limiter=limiter, patience=self._connection.patience
        )

    async def check(self) -> None:
        """Make sure that LiteLLM knows the provider, and that there is a key for it."""
        litellm = await _litellm()
        try:
            litellm.get_llm_provider(self.settings.model)
        except litellm.BadRequestError as error:
            raise RunStoppedError(f"{self.spec}: {said(error)}") from error
        missing = self._missing_keys(litellm)
        if missing and self._connection.base_url is None:
            names = " and ".join(missing)
            raise RunStoppedError(f"no key for {self.spec!r}: set the environment variable {names}")

    async def close(self) -> None:
        """Close the connections that LiteLLM has opened."""
        litellm = await _litellm()
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()

    async def _attempt(self, litellm: ModuleType, arguments: JsonDict) -> Reply:
        try:
            response = await litellm.acompletion(**arguments)
        except Exception as error:
            if isinstance(error, litellm.ContextWindowExceededError):
                return Reply((), StopReason.CONTEXT_FULL, detail=said(error))
            if isinstance(error, litellm.ContentPolicyViolationError):
                return Reply((), StopReason.REFUSAL, detail=said(error))
            if (full := context_full(error)) is not None:
                return full
            raise_for(error, _PROVIDER, self.settings.model, "the key of its provider")
        return reply_or_blame(response.model_dump(), self.price, None, _PROVIDER)

    def _way(self, litellm: ModuleType) -> JsonDict:
        """How LiteLLM is to reach the provider. Only one layer retries, and it is ours."""
        way: dict[str, Any] = {
            "timeout": self._connection.timeout,
            "num_retries": 0,
            "max_retries": 0,
        }
        if self._connection.base_url is not None:
            way["api_base"] = self._connection.base_url
            if self._missing_keys(litellm):
                way["api_key"] = "none"  # servers of one's own want none, and LiteLLM wants one
        return way

    def _missing_keys(self, litellm: ModuleType) -> list[str]:
        found = litellm.validate_environment(self.settings.model)
        return [] if found["keys_in_environment"] else list(found["missing_keys"])


async def _litellm() -> ModuleType:
    """The package; the event loop goes on while it is imported."""
    return await asyncio.to_thread(_imported)


def _imported() -> ModuleType:
    # Otherwise it fetches a list of prices from the network, at import.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = importlib.import_module("litellm")

    warnings.filterwarnings("ignore", ".*`ReadOnly` qualifier", UserWarning)  # of its own types
    vars(litellm)["suppress_debug_info"] = True  # it prints advice on stdout
    return litellm
