"""An agent of your own: ``python:module:callable``, a Python callable that is given the brief.

What the callable returns is the agent of one conversation: an object with ``act(observation)``, or
a function of the observation. So a class whose constructor takes the brief will do, and so will a
function that returns a function::

    def make(brief):  # in my_agent.py, so that it is python:my_agent:make
        def act(observation):
            if "@" in observation.text:
                email = next(word for word in observation.text.split() if "@" in word)
                arguments = {"email": email.strip(".,!")}
                call = {"name": "find_user_id_by_email", "arguments": arguments}
                return {"type": "tool_calls", "calls": [call]}
            return "What is your e-mail address?"

        return act

``act`` returns an action (`Message`, `ToolCalls`, `Stop`), a dict of the same shape, or a plain
string, which is said to the customer. It may be a coroutine function.

An object may also define ``observe(observation, taken)``, a plain function that remembers a move
made by somebody else: replay then gives it the past of a recorded conversation. See
`FollowingAgent`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from ..errors import UsageError
from ..plugins import load_callable
from ..transcript import Message, Observation, Stop, ToolCalls, parse_action
from .agent import AgentKind

_Move = Message | ToolCalls | Stop


class PythonAgent:
    """Gives the observations of one conversation to somebody's own code, and reads its answers.

    Args:
        agent: What their callable returned.
        name: What to call it in messages, e.g. ``my_agent:make``.

    Raises:
        UsageError: It has no ``act`` and cannot be called either.
    """

    def __init__(self, agent: object, name: str) -> None:
        act = getattr(agent, "act", agent)
        if not callable(act):
            raise UsageError(
                f"{name} returned {agent!r:.100}, which is no agent; it takes the brief and returns"
                " an object with act(observation), or a function of the observation"
            )
        self._act: Callable[[Observation], Any] = act
        observe = getattr(agent, "observe", None)
        if callable(observe):
            if inspect.iscoroutinefunction(observe):
                raise UsageError(f"{name}: observe must be a plain function, not a coroutine one")
            self.observe: Callable[[Observation, _Move], None] = observe

    def act(self, observation: Observation) -> _Move | Awaitable[_Move]:
        """What the code answers, as an action.

        Raises:
            UsageError: The answer is no action; the message says what is wrong with it.
        """
        answer = self._act(observation)
        return _awaited(answer) if inspect.isawaitable(answer) else _as_action(answer)


async def _awaited(answer: Awaitable[object]) -> _Move:
    return _as_action(await answer)


def _as_action(answer: object) -> _Move:
    return Message(content=answer) if isinstance(answer, str) else parse_action(answer)


def python_agent_kind(spec: str) -> AgentKind:
    """Agents made by the callable that ``python:module:callable`` names.

    The module may be installed, or a file in the current directory. It is imported at once, so
    that a mistake shows before the first trial.

    Raises:
        UsageError: Malformed, no such module or attribute, the import fails, or it cannot be called
            with one argument.
    """
    make = load_callable(spec, f"agent {spec!r}", ["the brief"])
    name = spec.removeprefix("python:")
    return AgentKind(spec, lambda brief: PythonAgent(make(brief), name), blocking=True)
