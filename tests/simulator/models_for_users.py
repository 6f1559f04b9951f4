"""Models for tests that play a customer without being one: in this process, free, repeatable."""

from collections.abc import Sequence
from typing import Any

from passhat.models.model import Model, Reply, Request, StopReason, text_block
from passhat.simulator.agenda import AgendaUser
from passhat.simulator.model_user.protocol import Answer, parse_script
from passhat.transcript import Usage

PAID = Usage(input_tokens=100, output_tokens=10, cost_dollars=0.001)


class Scripted(Model):
    """Gives these replies, one after the other; a text stands for a reply that says it.

    Attributes:
        asked: Every request, in order.
    """

    spec = "scripted:lines"

    def __init__(self, *replies: str | Reply) -> None:
        self.asked: list[Request] = []
        self._replies = replies

    async def complete(self, request: Request) -> Reply:
        """The reply that is due; its place is that of the request in all requests."""
        self.asked.append(request)
        reply = self._replies[len(self.asked) - 1]
        return reply if isinstance(reply, Reply) else said(reply)


class AgendaModel(Model):
    """Plays the script that it is shown as the agenda user would."""

    spec = "scripted:agenda"

    async def complete(self, request: Request) -> Reply:
        """The agenda user's next line, in the schema that was asked for."""
        first, *others = [m for m in request.messages if m["role"] == "user"]
        seed = int(request.conversation.removeprefix("user-"), 16)
        user = AgendaUser(*parse_script(first["content"][0]["text"]), seed)
        line = user.reply(None)
        for message in others:
            line = user.reply(message["content"][0]["text"])
        return said(Answer.of(line).dump(request.schema))


def said(text: str, stop: StopReason = StopReason.END_TURN, **about: Any) -> Reply:
    """A reply that says this, and was paid for."""
    content = (text_block(text),) if text else ()
    return Reply(content, stop, **{"usage": PAID, "seconds": 0.5, "model": "m-1", **about})


def says(text: str, **private: str) -> str:
    """An answer that says something and goes on."""
    return Answer(action="say", text=text, **private).dump(
        {"properties": dict.fromkeys([*private, "action", "text", "reason"])}
    )


def texts(message: dict[str, Any]) -> Sequence[str]:
    """The texts of a message's blocks."""
    return [block["text"] for block in message["content"]]
