"""Plays an agent against a customer and tools that say anything."""

import json

from hypothesis import strategies as st

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.transcript import (
    ErrorKind,
    Message,
    MessageEvent,
    Observation,
    Stop,
    ToolCalls,
    ToolResultEvent,
)


def play_at_random(
    spec: str,
    brief: Brief,
    data: st.DataObject,
    lines: st.SearchStrategy[str],
    results: st.SearchStrategy[tuple[str, ErrorKind | None]],
) -> None:
    """Up to 25 moves, each of which must be one that an episode takes."""
    agent = agent_kind(spec).make(brief)
    action: object = Message(content="")
    for _ in range(25):
        if isinstance(action, Stop):
            return
        event: MessageEvent | ToolResultEvent
        if isinstance(action, ToolCalls):
            json.dumps([call.arguments for call in action.calls])
            content, error = data.draw(results)
            event = ToolResultEvent(
                index=0, turn=0, call_id="", name="", content=content, error=error
            )
        else:
            event = MessageEvent(index=0, turn=0, by="user", content=data.draw(lines))
        action = agent.act(Observation(events=(event,)))
        assert isinstance(action, Message | ToolCalls | Stop)
