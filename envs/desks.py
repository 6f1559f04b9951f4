"""Desks: where the calls of a replayed conversation are carried out.

`WorldDesk` has rows, which are rebuilt by making the recorded calls again. `TapeDesk` has none: it
answers from the recording, and says so when it cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..domains.database import Database
from ..domains.domain import Domain
from ..domains.tool import ToolOutcome
from ..grading.outcome import differences
from ..transcript import EndReason, RowChange, Transcript
from .moves import call_key, canonical

TRANSFER = "transfer_to_human_agents"
"""The tool that hands over in most recordings; on a tape nothing else says which one it is."""


@dataclass(frozen=True)
class Recorded:
    """A recorded conversation, as far as replay needs it.

    Attributes:
        transcript: Its events; the index of an event is its place.
        labels: What a data set calls single messages of the agent, by index.
        unreadable: Indices of tool calls whose arguments could not be read.
    """

    transcript: Transcript
    labels: Mapping[int, str] = field(default_factory=dict)
    unreadable: frozenset[int] = frozenset()


class Desk(Protocol):
    """Where calls are carried out.

    Attributes:
        rebuilds: Whether there are rows behind it, so that recorded calls are carried out too.
    """

    rebuilds: bool

    def call(self, name: str, arguments: object) -> ToolOutcome | None:
        """Carry out one call; None if nobody can know what it would have answered."""
        ...

    def hands_over(self, name: str) -> bool:
        """Whether a tool hands the customer over to a person."""
        ...

    def find(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows by equal columns; none where there are no rows."""
        ...

    def mark(self) -> int:
        """A moment to ask `changes` from."""
        ...

    def changes(self, since: int) -> tuple[RowChange, ...]:
        """Net changes of rows since a `mark`."""
        ...

    def differences(self, recorded: Sequence[RowChange], now: Sequence[RowChange]) -> list[str]:
        """Where two sets of net changes from the same rows end differently, in words."""
        ...

    def fork(self) -> Desk:
        """An independent copy; the two never affect each other."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class WorldDesk:
    """A desk with rows.

    Args:
        domain: Whose tools run.
        db: As the conversation found it; closed with the desk.
    """

    rebuilds = True

    def __init__(self, domain: Domain, db: Database) -> None:
        self.domain = domain
        self.db = db

    def call(self, name: str, arguments: object) -> ToolOutcome:
        """Run a tool.

        Raises:
            BrokenToolError: The tool itself broke.
        """
        return self.domain.call(self.db, name, arguments)

    def hands_over(self, name: str) -> bool:
        """As the tool says."""
        tool = self.domain.tools.get(name)
        return tool is not None and tool.hands_over

    def find(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows by equal columns."""
        return self.db.find(table, where)

    def mark(self) -> int:
        """How much has been written."""
        return self.db.position

    def changes(self, since: int) -> tuple[RowChange, ...]:
        """Net changes of rows since then."""
        return self.db.changes(since)

    def differences(self, recorded: Sequence[RowChange], now: Sequence[RowChange]) -> list[str]:
        """Where they end differently, value by value."""
        return [str(found) for found in differences(self.domain.tables, recorded, now)]

    def fork(self) -> WorldDesk:
        """A desk with the same rows."""
        return WorldDesk(self.domain, self.db.fork())

    def close(self) -> None:
        """Throw the rows away."""
        self.db.close()


class TapeDesk:
    """A desk without rows: a call that the recording holds is answered from it, no other is.

    Args:
        recorded: The conversation. Where it holds a call several times, the first answer counts.
    """

    rebuilds = False

    def __init__(self, recorded: Recorded) -> None:
        self._answers: dict[tuple[str, str], ToolOutcome] = {}
        self._handing_over = {TRANSFER}
        name = ""
        for call, result in ((p.call, p.result) for p in recorded.transcript.calls()):
            name = call.name
            if result is not None and call.index not in recorded.unreadable:
                outcome = ToolOutcome(result.content, result.error, result.rows)
                self._answers.setdefault(call_key(call), outcome)
        ending = recorded.transcript.ending
        if name and ending is not None and ending.reason is EndReason.HANDED_OVER:
            self._handing_over.add(name)

    def call(self, name: str, arguments: object) -> ToolOutcome | None:
        """The recorded answer to the same tool with the same arguments; None if there is none."""
        return self._answers.get((name, canonical(arguments)))

    def hands_over(self, name: str) -> bool:
        """Whether it ended this conversation, or is called as such tools usually are."""
        return name in self._handing_over

    def find(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        """There are no rows."""
        return []

    def mark(self) -> int:
        """Nothing is ever written."""
        return 0

    def changes(self, since: int) -> tuple[RowChange, ...]:
        """None."""
        return ()

    def differences(self, recorded: Sequence[RowChange], now: Sequence[RowChange]) -> list[str]:
        """None."""
        return []

    def fork(self) -> TapeDesk:
        """The same desk: nothing changes on a tape."""
        return self

    def close(self) -> None:
        """Nothing to give back."""
