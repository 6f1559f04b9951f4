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
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..transcript import Message, Observation, Stop, ToolCalls, parse_action
from .agent import AgentKind, Brief

EXAMPLE = "python:my_agent:make"
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
    module, _, attribute = spec.removeprefix("python:").partition(":")
    if not module or not attribute:
        raise UsageError(f"agent {spec!r} must be python:module:callable, e.g. {EXAMPLE!r}")
    make = _attribute(_module(module, spec), attribute, spec)
    _check_callable(make, spec)
    name = f"{module}:{attribute}"
    return AgentKind(spec, lambda brief: PythonAgent(make(brief), name), blocking=True)


def _module(name: str, spec: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise UsageError(_failed(name, spec, error)) from error
        raise UsageError(
            f"agent {spec!r}: there is no module {error.name!r}, installed or in this directory"
        ) from None
    except (Exception, SystemExit) as error:  # whatever their code does when it is imported
        raise UsageError(_failed(name, spec, error)) from error


def _failed(module: str, spec: str, error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"agent {spec!r}: importing {module!r} failed: {type(error).__name__}: {said}"


def _attribute(found: object, path: str, spec: str) -> Callable[[Brief], object]:
    for name in path.split("."):
        if not hasattr(found, name):
            public = [known for known in dir(found) if not known.startswith("_")]
            raise UsageError(
                f"agent {spec!r}: there is no {name!r}, but {', '.join(public) or 'nothing'}"
            )
        found = getattr(found, name)
    if not callable(found):
        raise UsageError(
            f"agent {spec!r}: {path!r} is {found!r:.60}, which cannot be called; it must take the"
            " brief and return an agent"
        )
    return found


def _check_callable(make: Callable[[Brief], object], spec: str) -> None:
    try:
        inspect.signature(make).bind("brief")
    except TypeError:
        raise UsageError(
            f"agent {spec!r}: the callable must take one argument, the brief"
        ) from None
    except ValueError:  # written in C: it has no signature to look at
        return
