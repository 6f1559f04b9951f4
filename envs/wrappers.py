"""Wrappers around the desk: plain text actions, dense reward."""

from __future__ import annotations

from typing import Any

import gymnasium

from .desk import DeskEnv
from .spaces import UnicodeText


class PlainText(gymnasium.ActionWrapper[str, str, Any], gymnasium.utils.RecordConstructorArgs):
    """Takes strings as messages to the customer, for agents that only talk. Calls no tools.

    >>> from gymnasium import make
    >>> env = PlainText(make("passhat/Retail-v0"))
    >>> _ = env.reset(seed=1)
    >>> env.step("How can I help?")[1]
    0.0
    >>> env.close()
    """

    def __init__(self, env: gymnasium.Env[str, Any]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.action_space = UnicodeText()

    def action(self, action: str) -> dict[str, str]:
        """The string as a message."""
        return {"type": "message", "content": action}


class DenseReward(gymnasium.Wrapper[str, Any, str, Any], gymnasium.utils.RecordConstructorArgs):
    """Partial credit on the way: each step is paid what it adds to (or takes from) the score.

    During the conversation the score is the outcome's share of the basis: the rows that are right
    so far. At the end it is the mean score of all verdicts in the basis, rules included. The steps
    of an episode therefore sum up to that final mean, which is 1.0 exactly for a pass (a difference
    of potentials, so the best policy stays the best: Ng, Harada & Russell 1999).
    """

    def __init__(self, env: gymnasium.Env[str, Any]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self._score = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start a new conversation with nothing earned."""
        self._score = 0.0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play one move; the reward is the change of the score."""
        observation, _, terminated, truncated, info = self.env.step(action)
        before, self._score = self._score, self._score_now(info)
        return observation, self._score - before, terminated, truncated, info

    def _score_now(self, info: dict[str, Any]) -> float:
        if (grade := info.get("grade")) is not None:
            return float(grade.partial)
        wrote = any(result.rows for result in info["observation"].results)
        if not wrote:
            return self._score
        desk = self.env.unwrapped
        assert isinstance(desk, DeskEnv)
        assert desk.episode is not None
        verdict = desk.grading.outcome.grade(desk.episode.task, desk.episode.db)
        return verdict.score / len(desk.grading.basis)
