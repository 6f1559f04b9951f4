"""The models that the server pretends to have, and what the API says about each.

Sources: platform.claude.com, the models' overview pages and "Prompt caching", October 2026. From
which length on the 5.5 family caches was on no page: 1,024 tokens are taken for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class FakeModel:
    """What the API says about a model.

    Attributes:
        id: As in requests.
        name: For people.
        released: ISO date.
        max_input_tokens: Of a whole request.
        max_tokens: Of a reply.
        cache_floor_tokens: Shorter prefixes are not cached.
        family: ``5.5`` for those that refuse forced tools and thinking that is turned off.
        thinks: When: ``always``, ``unless told`` otherwise, or ``if told``.
    """

    id: str
    name: str
    released: str
    max_input_tokens: int = 1_000_000
    max_tokens: int = 128_000
    cache_floor_tokens: int = 1024
    family: str = "5.5"
    thinks: Literal["always", "unless told", "if told"] = "unless told"

    @property
    def is_5_5(self) -> bool:
        """Whether it is one of the newest family, which takes fewer options."""
        return self.family == "5.5"

    def info(self) -> dict[str, Any]:
        """As ``GET /v1/models/{id}`` answers."""
        return {
            "type": "model",
            "id": self.id,
            "display_name": self.name,
            "created_at": f"{self.released}T00:00:00Z",
            "lifecycle": "active",
            "deprecated_at": None,
            "retires_at": None,
            "line": self.id.split("-")[1] if self.id.count("-") > 1 else None,
            "max_input_tokens": self.max_input_tokens,
            "max_tokens": self.max_tokens,
            "capabilities": self._capabilities(),
        }

    def _capabilities(self) -> dict[str, Any]:
        """What this server does with the model, not what the model could do elsewhere."""
        yes, no = {"supported": True}, {"supported": False}
        levels = dict.fromkeys(("low", "medium", "high", "xhigh", "max"), yes)
        types = {
            "adaptive": yes if self.thinks != "if told" else no,
            "between_tools": yes if self.is_5_5 and self.thinks != "always" else no,
            "disabled": no if self.is_5_5 else yes,
            "enabled": no if self.is_5_5 else yes,
        }
        return {
            "batch": yes,
            "citations": no,
            "code_execution": no,
            "context_management": no,
            "effort": {"supported": True, **levels},
            "image_input": no,
            "pdf_input": no,
            "server_tools": {"supported": False, "code_execution": no, "web_search": no},
            "structured_outputs": yes,
            "thinking": {"supported": True, "types": types},
        }


MODELS = {
    model.id: model
    for model in (
        FakeModel("claude-fable-5-2", "Claude Fable 5.2", "2026-11-12", thinks="always"),
        FakeModel("claude-fable-5-1", "Claude Fable 5.1", "2026-10-21", thinks="always"),
        FakeModel("claude-opus-5-5", "Claude Opus 5.5", "2026-09-22", thinks="always"),
        FakeModel("claude-sonnet-5-5", "Claude Sonnet 5.5", "2026-09-29"),
        FakeModel("claude-haiku-5-5", "Claude Haiku 5.5", "2026-10-07"),
        FakeModel(
            "claude-opus-5", "Claude Opus 5", "2026-07-24", family="5", cache_floor_tokens=512
        ),
        FakeModel("claude-sonnet-5", "Claude Sonnet 5", "2026-06-30", family="5"),
        FakeModel(
            "claude-haiku-4-5",
            "Claude Haiku 4.5",
            "2025-10-01",
            max_input_tokens=200_000,
            max_tokens=64_000,
            cache_floor_tokens=4096,
            family="4.5",
            thinks="if told",
        ),
    )
}
"""By id, the newest first."""
