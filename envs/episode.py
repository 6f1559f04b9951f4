"""Episode: one trial as a state machine. It does no I/O and holds no thread.

It says what it needs next (`needs`: a turn of the customer or of the agent) and is told the answer
(`hear`, `act`). The Gymnasium env drives it synchronously, the harness drives hundreds at once, a
replay drives it from a recording; all of them run this same code.

    start -> needs "user" -> hear(opening) -> needs "agent" -> act(message)    -> needs "user" ...
                                                            -> act(tool calls) -> needs "agent" ...
                                                            -> act(stop), a hand-over -> None
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence
from typing import Any, Literal

from ..domains.database import Database
from ..domains.domain import Domain
from ..errors import BrokenToolError, Fault, FaultError, RunStoppedError, UsageError
from ..grading.outcome import start_rows
from ..models.account import Account
from ..models.waiting import wait_for
from ..simulator.contract import Contract
from ..simulator.user import Setting, User, UserKind, user_kind
from ..task import Task
from ..transcript import (
    EndingEvent,
    EndReason,
    Message,
    MessageEvent,
    Observation,
    Stop,
    ToolCall,
    ToolCallEvent,
    ToolCalls,
    ToolResultEvent,
    Transcript,
    UserReply,
    parse_action,
)

MAX_TURNS = 40
"""Agent moves before the conversation is cut off, unless said otherwise."""

Need = Literal["user", "agent"]


class Episode:
    """One conversation in progress, its rows, and the customer's state.

    Attributes:
        domain: The business.
        task: What the customer wants and what is expected.
        user: Who plays the customer.
        db: This episode's rows; closed with the episode.
        transcript: What happened so far.
        needs: ``"user"``, ``"agent"``, or None when the conversation has ended.
        turn: How many moves the agent has made.
    """

    def __init__(
        self,
        domain: Domain,
        task: Task,
        user: User,
        contract: Contract,
        db: Database,
        max_turns: int = MAX_TURNS,
    ) -> None:
        self.domain = domain
        self.task = task
        self.user = user
        self.contract = contract
        self.db = db
        self.max_turns = max_turns
        self.transcript = Transcript()
        self.needs: Need | None = "user"
        self.turn = 0
        self._heard: str | None = None
        self._seen = 0
        self._calls: set[str] = set()

    @classmethod
    def start(
        cls,
        domain: Domain,
        task: Task,
        *,
        user: str | UserKind = "agenda",
        seed: int = 0,
        max_turns: int = MAX_TURNS,
        account: Account | None = None,
    ) -> Episode:
        """An episode of `task` on rows of its own.

        Args:
            domain: The business.
            task: What the customer wants.
            user: Who plays the customer: a kind of user simulator, or its spec.
            seed: Of the customer.
            max_turns: Moves of the agent before the conversation is cut off.
            account: What the customer spends on a model is written down here.

        Raises:
            TaskError: The task's setup or customer does not fit the world.
            UsageError: No such user simulator, or no move is allowed.
        """
        if max_turns < 1:
            raise UsageError(f"max_turns must be 1 or more, not {max_turns!r}")
        kind = user_kind(user) if isinstance(user, str) else user
        db = start_rows(domain, task)
        try:
            profile = domain.profile(db, task.user.customer) if task.user.customer else {}
            now = domain.world.now.isoformat()
            setting = Setting(profile, seed, now, account or Account())
            player = kind.make(task.user, setting)
            return cls(domain, task, player, Contract(task.user, profile, now), db, max_turns)
        except BaseException:
            db.close()
            raise

    # --- the customer's turn ------------------------------------------------------------------

    @property
    def heard(self) -> str | None:
        """What the customer has to answer; None at the start."""
        return self._heard

    def hear(self, reply: UserReply, never_put: Sequence[str] = ()) -> None:
        """Take the customer's turn.

        A line that breaks the simulator's contract ends the episode as the simulator's fault.

        Args:
            reply: What the customer says.
            never_put: Requests not put to the agent so far, if whoever plays the customer can tell.
        """
        self._expect("user")
        if problem := self.contract.check(reply, never_put):
            self.lose(Fault.SIMULATOR, problem)
            return
        self._add(
            MessageEvent, by="user", content=reply.content, seconds=reply.seconds,
            usage=reply.usage, provider=reply.provider,
        )  # fmt: skip
        if reply.end is not None:
            self._end(EndReason.USER_STOP, detail=reply.end, user_end=reply.end)
        else:
            self._ask_agent()

    def user_turn(self) -> None:
        """Let this episode's own user speak; if it crashes, that is the simulator's fault."""
        if (later := self.begin_user_turn()) is not None:
            wait_for(later)

    def begin_user_turn(self) -> Awaitable[None] | None:
        """`user_turn` for drivers that can wait by themselves.

        Returns:
            What must be awaited before anything else happens; None if the user has spoken already.

        Raises:
            RunStoppedError: The user's model answers nobody; so may what is returned.
        """
        self._expect("user")
        try:
            reply = self.user.reply(self._heard)
        except Exception as error:
            self._user_failed(error)
            return None
        if inspect.isawaitable(reply):
            return self._hear_later(reply)
        self.hear(reply, self.user.never_put)
        return None

    async def _hear_later(self, answer: Awaitable[UserReply]) -> None:
        try:
            reply = await answer
        except Exception as error:
            self._user_failed(error)
        else:
            self.hear(reply, self.user.never_put)

    def _user_failed(self, error: Exception) -> None:
        if isinstance(error, RunStoppedError):
            raise error
        if isinstance(error, FaultError):
            self.lose(error.fault, str(error))
        else:
            self.lose(Fault.SIMULATOR, f"{type(error).__name__}: {error}")

    # --- the agent's turn ---------------------------------------------------------------------

    @property
    def observation(self) -> Observation:
        """What happened since the agent's last move, as the agent may see it."""
        recent = self.transcript[self._seen :]
        return Observation(
            events=tuple(
                event
                for event in recent
                if isinstance(event, ToolResultEvent)
                or (isinstance(event, MessageEvent) and event.by == "user")
            )
        )

    def act(self, action: object) -> None:
        """Take the agent's move: an action, or a dict of the same shape.

        Raises:
            UsageError: It is no action, or it is not the agent's turn.
        """
        move = parse_action(action)
        self._expect("agent")
        self.turn += 1
        self._seen = len(self.transcript)
        match move:
            case Message():
                self._say(move)
            case ToolCalls():
                self._call(move)
            case Stop():
                self._end(EndReason.AGENT_STOP, detail=move.reason)

    def _say(self, move: Message) -> None:
        self._add(
            MessageEvent, by="agent", content=move.content, seconds=move.seconds,
            usage=move.usage, provider=move.provider,
        )  # fmt: skip
        self.contract.hear(move.content)
        self._heard = move.content
        self.needs = "user"

    def _call(self, move: ToolCalls) -> None:
        first = len(self.transcript)
        about: dict[str, Any] = {
            "beside": move.content, "seconds": move.seconds, "usage": move.usage,
            "provider": move.provider,
        }  # fmt: skip
        handed_over = False
        for call in move.calls:
            handed_over |= self._carry_out(call, first, about)
            if self.needs is None:
                return
            about = {}  # What the move carries is kept on its first call.
        if handed_over:
            self._end(EndReason.HANDED_OVER)
        else:
            self._ask_agent()

    def _carry_out(self, call: ToolCall, move: int, about: dict[str, Any]) -> bool:
        """Run one call and keep it with its result; returns whether it handed over."""
        call_id = self._call_id(call)
        self._add(
            ToolCallEvent, call_id=call_id, name=call.name, arguments=call.arguments, move=move,
            **about,
        )  # fmt: skip
        try:
            outcome = self.domain.call(self.db, call.name, call.arguments)
        except BrokenToolError as error:
            self.lose(Fault.TOOL, str(error))
            return False
        self._add(
            ToolResultEvent, call_id=call_id, name=call.name, content=outcome.content,
            error=outcome.error, rows=outcome.rows,
        )  # fmt: skip
        tool = self.domain.tools.get(call.name)
        return tool is not None and tool.hands_over and outcome.error is None

    def _call_id(self, call: ToolCall) -> str:
        # Ids must be unique in the transcript, whatever the agent's provider does.
        name = call.id or f"call-{len(self._calls) + 1}"
        if name in self._calls:
            name += f"~{len(self._calls) + 1}"
        self._calls.add(name)
        return name

    # --- endings ------------------------------------------------------------------------------

    def agent_crashed(self, detail: str) -> None:
        """The agent raised, or answered with something that is no action: its own failure."""
        self._end(EndReason.AGENT_CRASHED, detail=detail, fault=Fault.AGENT)

    def lose(self, fault: Fault, detail: str) -> None:
        """The trial cannot be scored, and it is not the agent's doing."""
        self._end(EndReason.LOST, detail=detail, fault=fault)

    @property
    def truncated(self) -> bool:
        """Whether the conversation was cut off by the turn limit."""
        ending = self.transcript.ending
        return ending is not None and ending.reason is EndReason.TURN_LIMIT

    def _end(self, reason: EndReason, **about: Any) -> None:
        if self.needs is not None:
            self._add(EndingEvent, reason=reason, **about)
            self.needs = None

    def _ask_agent(self) -> None:
        self.needs = "agent"
        if self.turn >= self.max_turns:
            self._end(EndReason.TURN_LIMIT, detail=f"after {self.turn} moves of the agent")

    def _expect(self, who: Need) -> None:
        if self.needs != who:
            now = f"it is the {self.needs}'s turn" if self.needs else "the episode has ended"
            raise UsageError(f"not the {who}'s turn: {now}")

    def _add(self, kind: Any, **fields: Any) -> None:
        self.transcript.append(kind(index=len(self.transcript), turn=self.turn, **fields))

    # --- life ---------------------------------------------------------------------------------

    def fork(self) -> Episode:
        """An independent copy: rows, transcript, customer. Neither affects the other any more."""
        twin = Episode(
            self.domain, self.task, self.user.fork(), self.contract.fork(), self.db.fork(),
            self.max_turns,
        )  # fmt: skip
        twin.transcript = Transcript(self.transcript)
        twin.needs, twin.turn = self.needs, self.turn
        twin._heard, twin._seen, twin._calls = self._heard, self._seen, set(self._calls)
        return twin

    def close(self) -> None:
        """Give the rows back. The transcript stays readable."""
        self.db.close()

    def __enter__(self) -> Episode:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
