"""Going on from a cut: an episode is brought there, and its agent is led there."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence

from ..errors import Fault
from ..transcript import Observation, parse_action
from .episode import Episode, Need
from .moves import Move, RecordedMove


class NotContinuedError(Exception):
    """An episode cannot be brought to a cut; says why."""


def along(episode: Episode, moves: Sequence[RecordedMove]) -> Iterator[RecordedMove]:
    """Bring an episode along the moves of its own recording; it may be forked at every cut.

    Args:
        episode: Just started, with the user and the seed of the recorded one.
        moves: Of the recording.

    Yields:
        Each move, just before it is made.

    Raises:
        NotContinuedError: The customer or a tool says something else than in the recording, so
            that this is another conversation.
    """
    for move in moves:
        while episode.needs == "user":
            episode.user_turn()
        seen, now = (_contents_seen(o) for o in (move.observation, episode.observation))
        if episode.needs != "agent" or seen != now:
            raise NotContinuedError(f"before event {move.event} it goes another way")
        yield move
        episode.act(move.action)


def _contents_seen(observation: Observation) -> list[str]:
    return [event.content for event in observation.events]


class Led:
    """An episode whose agent is first led along a recorded past, then left alone.

    Looks to its agent like the episode; while it is led, what it answers is not looked at.

    Args:
        episode: At a cut.
        moves: The recorded moves before the cut.

    Attributes:
        first: The agent's own first move; None if it has made none.
    """

    def __init__(self, episode: Episode, moves: Sequence[RecordedMove]) -> None:
        self.first: Move | None = None
        self._episode = episode
        self._moves = moves
        self._at = 0

    @property
    def judging(self) -> bool:
        """Whether the agent is on its own."""
        return self._at >= len(self._moves)

    @property
    def move(self) -> RecordedMove:
        """The recorded move while the agent is led."""
        return self._moves[self._at]

    @property
    def history(self) -> list[tuple[Observation, Move]]:
        """The recorded past."""
        return [(move.observation, move.action) for move in self._moves]

    @property
    def needs(self) -> Need | None:
        """Whose turn it is."""
        return self._episode.needs if self.judging else "agent"

    @property
    def observation(self) -> Observation:
        """What happened since the agent's last move."""
        return self._episode.observation if self.judging else self.move.observation

    def act(self, action: object) -> None:
        """Take the agent's move, or drop it while it is led."""
        if not self.judging:
            self._at += 1
            return
        move = parse_action(action)
        self.first = self.first or move
        self._episode.act(move)

    def begin_user_turn(self) -> Awaitable[None] | None:
        """Let the customer speak; what is returned must be awaited."""
        return self._episode.begin_user_turn()

    def agent_crashed(self, detail: str) -> None:
        """The agent failed, which ends the episode."""
        self._at = len(self._moves)
        self._episode.agent_crashed(detail)

    def lose(self, fault: Fault, detail: str) -> None:
        """The episode cannot be scored."""
        self._at = len(self._moves)
        self._episode.lose(fault, detail)
