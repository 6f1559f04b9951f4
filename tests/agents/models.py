"""Models for tests: replies from a list, and every request kept."""

from collections.abc import Callable, Iterable
from typing import Any

from passhat.agents.agent import AgentKind, Brief
from passhat.agents.model_agent import ModelAgent
from passhat.models.model import Model, ModelUse, Reply, Request, StopReason
from passhat.transcript import Usage

Block = dict[str, Any]


def text(words: str) -> Block:
    """A block of words."""
    return {"type": "text", "text": words}


def call(name: str, call_id: str, arguments: object = None) -> Block:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments or {}}


def thought(words: str) -> Block:
    """A block of thinking, signed."""
    return {"type": "thinking", "thinking": words, "signature": f"signed {words}"}


def reply(*content: Block, stop: StopReason = StopReason.END_TURN, detail: str = "") -> Reply:
    """A reply that cost something."""
    usage = Usage(input_tokens=100, output_tokens=10, cost_dollars=0.001)
    return Reply(
        content, stop, usage, model="model-1", request_id="req_1", seconds=0.5, detail=detail
    )


class ListedModel(Model):
    """Gives its replies in order, whatever it is asked."""

    def __init__(self, replies: Iterable[Reply] = (), spec: str = "claude:model-1") -> None:
        self.spec = spec
        self.asked: list[Request] = []
        self._replies = iter(replies)

    async def complete(self, request: Request) -> Reply:
        """The next reply."""
        self.asked.append(request)
        return next(self._replies)


def kind_of(model: Model, make: Callable[[Brief, Model], Any] = ModelAgent) -> AgentKind:
    """Agents that ask this model."""
    return AgentKind(model.spec, lambda brief: make(brief, model), use=ModelUse(model))
