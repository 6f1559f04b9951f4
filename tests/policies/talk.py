"""Talks: what was said, and tool calls that really ran on a database."""

from __future__ import annotations

from typing import Self

from passhat.domains.database import Database
from passhat.domains.domain import Domain
from passhat.policies.case import Case
from passhat.policies.engine import Finding, load_rules
from passhat.transcript import MessageEvent, ToolCallEvent, ToolResultEvent, Transcript


class Talk:
    """A conversation under construction; every method returns the talk, so that it reads on."""

    domain: Domain

    def __init__(self, db: Database) -> None:
        self.db = db
        self.events = Transcript()

    def user(self, words: str) -> Self:
        """The customer says something."""
        return self._message("user", words)

    def agent(self, words: str) -> Self:
        """The agent says something."""
        return self._message("agent", words)

    def call(self, name: str, *, beside: str = "", **arguments: object) -> Self:
        """The agent calls a tool, which runs."""
        return self.calls((name, arguments), beside=beside)

    def calls(self, *calls: tuple[str, dict[str, object]], beside: str = "") -> Self:
        """The agent calls several tools in one move."""
        move = len(self.events)
        for number, (name, arguments) in enumerate(calls):
            self.events.append(
                ToolCallEvent(
                    index=len(self.events),
                    turn=0,
                    call_id=f"call-{move + number}",
                    name=name,
                    arguments=arguments,
                    move=move,
                    beside="" if number else beside,
                )
            )
        for number, (name, arguments) in enumerate(calls):
            outcome = self.domain.call(self.db, name, arguments)
            self.events.append(
                ToolResultEvent(
                    index=len(self.events),
                    turn=0,
                    call_id=f"call-{move + number}",
                    name=name,
                    content=outcome.content,
                    error=outcome.error,
                    rows=outcome.rows,
                )
            )
        return self

    @property
    def case(self) -> Case:
        """The talk as rules read it."""
        return Case(self.events, self.domain.policy, self.db.find)

    @property
    def findings(self) -> list[Finding]:
        """What the rules of the domain find wrong with it."""
        return load_rules(self.domain.name).check(self.case)

    @property
    def broken(self) -> list[str]:
        """The names of the rules that it breaks, each once, in order."""
        return list(dict.fromkeys(finding.rule for finding in self.findings))

    def _message(self, by: str, words: str) -> Self:
        self.events.append(
            MessageEvent.model_validate(
                {"index": len(self.events), "turn": 0, "by": by, "content": words}
            )
        )
        return self
