"""The Gymnasium environment: one agent at one service desk."""

from __future__ import annotations

from typing import Any

import gymnasium

from ..domains.domain import load_domain
from ..errors import UsageError
from ..grading.grading import Grading
from ..models.waiting import wait_for
from ..simulator.user import UserKind, user_kind
from ..task import Task
from ..transcript import MessageEvent, ToolCallEvent, ToolResultEvent, Transcript
from .episode import MAX_TURNS, Episode
from .spaces import Moves, UnicodeText


class DeskEnv(gymnasium.Env[str, Any]):
    """A customer talks to the agent; the agent works a database through tools, under a policy.

    ## Task
    One of the domain's tasks: ``task=`` an id, or a list of ids, or None for all. `reset` draws one
    with the env's generator, or takes ``options={"task": id}``. The policy the agent must obey is
    ``env.unwrapped.policy``, its tools are ``env.unwrapped.tools`` (JSON Schema). ``user=`` says
    who plays the customer: ``agenda``, ``claude:claude-haiku-5-5`` ...; a model is waited for.

    ## Action
    ``Moves``: ``{"type": "message", "content": str}``, ``{"type": "tool_calls", "calls": [{"name":
    str, "arguments": dict}, ...]}`` or ``{"type": "stop"}``, as dicts or as `passhat.transcript`
    objects. The wrapper `PlainText` takes strings as messages.

    ## Observation
    ``UnicodeText``: the customer's words, or the results of the tool calls, one line each. The same
    with its structure is ``info["observation"]``.

    ## Reward
    0.0 until the conversation ends; then 1.0 exactly if every grader of the basis passed (rows,
    communication, policy). The wrapper `DenseReward` gives partial credit on the way.

    ## Episode end
    Terminated: the conversation ended (customer or agent stopped, or it was handed over).
    Truncated: we cut it, at ``max_turns`` agent moves, or because the trial was lost to something
    that is not the agent's fault (``info["fault"]`` says what).

    ## Info
    ``task`` (id), ``turn`` (agent moves so far), ``observation``; at the end also ``grade`` (every
    verdict with its reason) and ``fault`` (None after a pass).

    ## Example
    >>> env = gymnasium.make("passhat/Retail-v0")
    >>> observation, info = env.reset(seed=7)
    >>> action = {"type": "message", "content": "May I have your e-mail address, please?"}
    >>> observation, reward, terminated, truncated, info = env.step(action)
    >>> reward, terminated, truncated, info["turn"]
    (0.0, False, False, 1)
    >>> env.close()
    """

    # Text has no frame rate; Gymnasium warns of an env that names none.
    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (as Gymnasium has it)

    def __init__(
        self,
        domain: str = "retail",
        task: str | list[str] | None = None,
        user: str | UserKind = "agenda",
        basis: str = "default",
        max_turns: int = MAX_TURNS,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise UsageError(f"no render mode {render_mode!r}; there is 'ansi'")
        self.render_mode = render_mode
        self.domain = load_domain(domain)
        self.grading = Grading(self.domain, basis)
        self.user = user_kind(user) if isinstance(user, str) else user
        self.max_turns = max_turns
        ids = [task] if isinstance(task, str) else task
        self.tasks = [self.domain.task(i) for i in ids] if ids else list(self.domain.tasks.values())
        self.tools = tuple(tool.schema for tool in self.domain.tools.values())
        self.policy = self.domain.policy
        self.observation_space = UnicodeText()
        self.action_space = Moves(self.tools)
        self.episode: Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start a new conversation; the customer opens it."""
        super().reset(seed=seed)
        self._close_episode()
        task = self._choose((options or {}).get("task"))
        self.episode = Episode.start(
            self.domain,
            task,
            user=self.user,
            seed=int(self.np_random.integers(2**63)),
            max_turns=self.max_turns,
        )
        self.episode.user_turn()
        return self.episode.observation.text, self._info(self.episode)

    def _choose(self, task_id: str | None) -> Task:
        if task_id is not None:
            return self.domain.task(task_id)
        return self.tasks[int(self.np_random.integers(len(self.tasks)))]

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play one move of the agent; the class docstring describes what comes back."""
        episode = self._running()
        episode.act(action)
        if episode.needs == "user":
            episode.user_turn()
        info = self._info(episode)
        if episode.needs is not None:
            return episode.observation.text, 0.0, False, False, info
        grade = self.grading.grade(episode.task, episode.transcript, episode.db)
        info |= {"grade": grade, "fault": grade.fault}
        cut = episode.truncated or grade.reward is None
        return episode.observation.text, grade.reward or 0.0, not cut, cut, info

    def _running(self) -> Episode:
        if self.episode is None:
            raise UsageError("call reset() before step()")
        return self.episode

    def _info(self, episode: Episode) -> dict[str, Any]:
        return {
            "task": episode.task.id,
            "turn": episode.turn,
            "observation": episode.observation,
        }

    def render(self) -> str | None:
        """The conversation so far as text (``render_mode="ansi"``)."""
        if self.render_mode is None:
            return None
        return conversation(self._running().transcript)

    def close(self) -> None:
        """Give the rows of the last episode back, and the connections of the user's model."""
        self._close_episode()
        if self.user.use is not None:
            wait_for(self.user.use.model.close())

    def _close_episode(self) -> None:
        if self.episode is not None:
            self.episode.close()
            self.episode = None


def conversation(transcript: Transcript) -> str:
    """A transcript as plain text, one line an event.

    >>> conversation(Transcript([MessageEvent(index=0, turn=0, by="user", content="Hi")]))
    'user:  Hi'
    """
    lines = []
    for event in transcript:
        match event:
            case MessageEvent(by=by, content=content):
                lines.append(f"{by + ':':6} {content}")
            case ToolCallEvent(name=name, arguments=arguments):
                given = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
                lines.append(f"  call {name}({given})")
            case ToolResultEvent(content=content):
                lines.append(f"    -> {content}")
            case _:
                lines.append(f"[{event.reason}]")
    return "\n".join(lines)
