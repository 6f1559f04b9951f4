"""N-1 replay: a recorded conversation, stopped before every move of its agent. No I/O.

At each of these cuts another agent, which has seen exactly what the recorded one had, is asked for
its next move. The move is carried out on a fork and judged against the recorded one; then the
recorded move is carried out, whatever was answered, and the conversation goes on to the next cut.
So a conversation of n calls costs n calls and those of the new moves, however many cuts it has.

`Replay` looks to its agent like an `Episode`: `needs`, `observation`, `act`. Behind it stands a
`Desk`: a database that is rebuilt call by call (`WorldDesk`), or, where there is none, what the
recording itself holds (`TapeDesk`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..domains.tool import ToolOutcome
from ..errors import BrokenToolError, Fault, UsageError
from ..language import plain
from ..policies.engine import Case, Finding, Rulebook
from ..transcript import (
    EndingEvent,
    EndReason,
    Event,
    Message,
    MessageEvent,
    Observation,
    ToolCallEvent,
    ToolCalls,
    ToolResultEvent,
    Transcript,
    parse_action,
)
from .desks import Desk, Recorded
from .episode import Need
from .judgement import Came, Cut, CutState, Judgement, compare
from .moves import Move, MoveKind, RecordedMove, json_equal, moves_of


class Drift(NamedTuple):
    """The first recorded result that our tools do not give: from here on the rows are not theirs.

    Attributes:
        event: Index of the result; of the call, if the tool itself broke.
        tool: Whose.
        recorded: What the recording holds.
        rebuilt: What came now.
    """

    event: int
    tool: str
    recorded: str
    rebuilt: str


EQUAL, COSMETIC, DIFFERENT = "equal", "cosmetic", "different"
NO_RULES = Rulebook()


class Replay:
    """One recorded conversation, replayed; it stops at each cut until it is told a move.

    Args:
        recorded: The conversation.
        desk: As the conversation found it; closed with the replay.
        policy: The document, for the rules.
        rules: What a new move is checked against; they may read the rows of a `WorldDesk`.
        wanted: Positions of the cuts to judge; None: all. At the others the recorded agent is
            followed (`judging` is False), and whatever is told is not looked at.

    Attributes:
        needs: ``"agent"`` at a cut, None when there are no more (or until `go_on`).
        cuts: What was found so far.
        transcript: The prefix: events as recorded, with the rows that calls wrote here.
        outputs: How many recorded results came out equal, cosmetic (equal as JSON) or different.
        drift: The first different one; no cut after it is scored.
    """

    def __init__(
        self,
        recorded: Recorded,
        desk: Desk,
        *,
        policy: str = "",
        rules: Rulebook = NO_RULES,
        wanted: frozenset[int] | None = None,
    ) -> None:
        self.desk = desk
        self.cuts: list[Cut] = []
        self.transcript = Transcript()
        self.outputs: Counter[str] = Counter()
        self.drift: Drift | None = None
        self.needs: Need | None = None
        self._recorded = recorded
        self._moves = moves_of(recorded.transcript, recorded.labels)
        self._policy = policy
        self._rules = rules
        self._wanted = wanted
        self._at = -1
        self._outcomes: dict[str, ToolOutcome] = {}
        self._unanswered: dict[str, int] = {}
        self._on_path = True
        self._labels = {
            plain(event.content): recorded.labels[event.index]
            for event in recorded.transcript.messages()
            if event.index in recorded.labels
        }
        self.go_on()

    # --- what an agent is given -----------------------------------------------------------------

    @property
    def move(self) -> RecordedMove:
        """The recorded move at this cut."""
        return self._moves[self._at]

    @property
    def observation(self) -> Observation:
        """What the recorded agent had seen since its last move; empty if it simply went on."""
        if self._at == len(self._moves):
            return Observation(events=())
        return self.move.observation

    @property
    def history(self) -> list[tuple[Observation, Move]]:
        """The prefix as an agent lived it: what it saw, and the move it made then."""
        return [(move.observation, move.action) for move in self._moves[: self._at]]

    @property
    def judging(self) -> bool:
        """Whether the agent is asked here, or only led past."""
        wanted = self._wanted is None or self.move.position in self._wanted
        return wanted and self.move.position > 0

    @property
    def moves(self) -> list[RecordedMove]:
        """Every move of the recorded agent."""
        return self._moves

    # --- what is told ---------------------------------------------------------------------------

    def act(self, action: object) -> None:
        """Judge the agent's move, carry out the recorded one, and go on to the next cut.

        Raises:
            UsageError: It is no action, or no move is wanted now.
            BrokenToolError: A tool broke; nothing happened, and `lose` is the way on.
        """
        move = parse_action(action)
        self._expect_agent()
        if not self.judging:
            self._advance()
            return
        tried = self._try(move)
        judgement = self._judge(move, tried, self._carry_out_recorded())
        self._keep(CutState.JUDGED, judgement=judgement)
        self._stop_at_next()

    def agent_crashed(self, detail: str) -> None:
        """The agent failed to make a move here; `go_on` goes to the next cut."""
        self._fail(CutState.CRASHED, detail, Fault.AGENT)

    def lose(self, fault: Fault, detail: str) -> None:
        """This cut cannot be judged, and it is not the agent's doing; `go_on` goes on."""
        self._fail(CutState.LOST, detail, fault)

    def begin_user_turn(self) -> None:
        """Never: the customer's words come from the recording."""
        raise UsageError("the customer's words come from the recording")

    def go_on(self) -> bool:
        """Go on to the first or, after a failure, to the next cut; whether there is one."""
        if self.needs is None and self._at < len(self._moves):
            self._advance()
        return self.needs is not None

    def give_up(self, reason: str) -> None:
        """Nobody is asked any more; the cuts that are left are not scored."""
        while self.needs is not None or self.go_on():
            if self.judging:
                self._keep(CutState.NOT_ASKED, reason)
            self._advance()

    def _fail(self, state: CutState, detail: str, fault: Fault) -> None:
        self._expect_agent()
        if self.judging:
            self._keep(state, detail, fault=fault)
        self.needs = None

    def _expect_agent(self) -> None:
        if self.needs is None:
            raise UsageError("the replay waits for no move")

    def _keep(
        self,
        state: CutState,
        reason: str = "",
        *,
        judgement: Judgement | None = None,
        fault: Fault | None = None,
    ) -> None:
        move = self.move
        calls = move.action.calls if isinstance(move.action, ToolCalls) else ()
        cut = Cut(
            position=move.position,
            event=move.event,
            kind=self._kind(move.action),
            tools=tuple(call.name for call in calls),
            state=state,
            judgement=judgement,
            on_path=self._on_path,
            reason=reason,
            fault=fault,
        )
        self.cuts.append(cut)
        if state is not CutState.NOT_ASKED and cut.agrees is not True:
            self._on_path = False

    # --- along the recording ----------------------------------------------------------------------

    def _advance(self) -> None:
        self._carry_out_recorded()
        self._stop_at_next()

    def _stop_at_next(self) -> None:
        """Stop at the next cut whose prefix is what the recorded agent saw; pass by the others."""
        self.needs = None
        self._at += 1
        while self._at < len(self._moves):
            problem = self._problem()
            if self.move.position and problem is None and not self._past_wanted:
                self.needs = "agent"
                return
            if self.judging and problem is not None:
                self._keep(*problem)
            self._carry_out_recorded()
            self._at += 1

    @property
    def _past_wanted(self) -> bool:
        return self._wanted is not None and self.move.position > max(self._wanted, default=0)

    def _problem(self) -> tuple[CutState, str] | None:
        """Why nobody can be asked here, if so."""
        if self.drift is not None:
            what = f"event {self.drift.event}: {self.drift.tool} gives another result here"
            return CutState.DRIFTED, what
        first = 0 if self.desk.rebuilds else self.move.event
        for event in sorted(self._recorded.unreadable):
            if first <= event < self._following:
                return CutState.LOST, f"the arguments of event {event} could not be read"
        for event in self._unanswered.values():
            return CutState.LOST, f"the recording lacks the result of event {event}"
        return None

    def _carry_out_recorded(self) -> Came:
        """The recorded events up to the next cut, on the desk, comparing what comes back."""
        mark = self.desk.mark()
        for event in self._recorded.transcript[len(self.transcript) : self._following]:
            if isinstance(event, ToolCallEvent) and event.by == "agent":
                self._call_again(event)
            elif isinstance(event, ToolResultEvent) and event.by == "agent":
                event = self._compared(event)
            self.transcript.append(event)
        action = self.move.action if 0 <= self._at < len(self._moves) else None
        calls = action.calls if isinstance(action, ToolCalls) else ()
        return Came([self._outcomes.get(c.id) for c in calls], self.desk.changes(mark))

    @property
    def _following(self) -> int:
        """Index of the event at which the next move begins, or the end."""
        following = self._at + 1
        if following < len(self._moves):
            return self._moves[following].event
        return len(self._recorded.transcript)

    def _call_again(self, event: ToolCallEvent) -> None:
        self._unanswered[event.call_id] = event.index
        if not self.desk.rebuilds or self.drift is not None:
            return
        try:
            outcome = self.desk.call(event.name, event.arguments)
        except BrokenToolError as error:
            self.drift = Drift(event.index, event.name, "", f"the tool broke: {error}")
            return
        assert outcome is not None, "a desk that rebuilds answers every call"
        self._outcomes[event.call_id] = outcome

    def _compared(self, event: ToolResultEvent) -> ToolResultEvent:
        """A recorded result, compared with ours, and with the rows that the call wrote here."""
        self._unanswered.pop(event.call_id, None)
        if not self.desk.rebuilds:
            self._outcomes[event.call_id] = ToolOutcome(event.content, event.error)
            return event
        outcome = self._outcomes.get(event.call_id)
        if outcome is None:
            return event
        if outcome.content == event.content:
            self.outputs[EQUAL] += 1
        elif json_equal(outcome.content, event.content):
            self.outputs[COSMETIC] += 1
        else:
            self.outputs[DIFFERENT] += 1
            if self.drift is None:
                self.drift = Drift(event.index, event.name, event.content, outcome.content)
        return event.model_copy(update={"error": outcome.error, "rows": outcome.rows})

    # --- judging ----------------------------------------------------------------------------------

    def _try(self, move: Move) -> _Tried:
        """What a move comes to, on a fork."""
        with self._desk_for(move) as desk:
            mark = desk.mark()
            outcomes: list[ToolOutcome | None] = []
            events = list(self._events(move, desk, outcomes))
            findings = self._findings(events, desk)
            return _Tried(Came(outcomes, desk.changes(mark)), findings)

    @contextmanager
    def _desk_for(self, move: Move) -> Iterator[Desk]:
        if not isinstance(move, ToolCalls):
            yield self.desk  # words write nothing
            return
        desk = self.desk.fork()
        try:
            yield desk
        finally:
            desk.close()

    def _events(
        self, move: Move, desk: Desk, outcomes: list[ToolOutcome | None]
    ) -> Iterator[Event]:
        """The events that a move makes of itself, as an episode would write them down."""
        first, turn = len(self.transcript), self._at + 1
        match move:
            case Message(content=said):
                yield MessageEvent(index=first, turn=turn, by="agent", content=said)
            case ToolCalls(calls=calls):
                for number, call in enumerate(calls):
                    index, name, call_id = first + 2 * number, call.name, f"new-{number + 1}"
                    yield ToolCallEvent(
                        index=index, turn=turn, call_id=call_id, name=name, move=first,
                        arguments=call.arguments, beside="" if number else move.content,
                    )  # fmt: skip
                    outcomes.append(desk.call(name, call.arguments))
                    content, error, rows = outcomes[-1] or ToolOutcome("")
                    yield ToolResultEvent(
                        index=index + 1, turn=turn, call_id=call_id, name=name, content=content,
                        error=error, rows=rows,
                    )  # fmt: skip
            case _:
                yield EndingEvent(
                    index=first, turn=turn, reason=EndReason.AGENT_STOP, detail=move.reason
                )

    def _findings(self, events: Sequence[Event], desk: Desk) -> tuple[Finding, ...]:
        if not self._rules.rules or not desk.rebuilds:
            return ()
        first = len(self.transcript)
        case = Case(Transcript([*self.transcript, *events]), self._policy, desk.find)
        return tuple(found for found in self._rules.check(case) if found.event >= first)

    @property
    def recorded_findings(self) -> list[Finding]:
        """What the rules say against the recorded agent, as far as the recording was rebuilt.

        Raises:
            GraderError: A rule crashed.
        """
        if not self._rules.rules or not self.desk.rebuilds or self.drift is not None:
            return []
        return self._rules.check(Case(self.transcript, self._policy, self.desk.find))

    def _kind(self, move: Move) -> MoveKind:
        if isinstance(move, Message):
            return MoveKind.MESSAGE
        if not isinstance(move, ToolCalls):
            return MoveKind.STOP
        handing_over = any(self.desk.hands_over(call.name) for call in move.calls)
        return MoveKind.HAND_OVER if handing_over else MoveKind.TOOL_CALL

    def _judge(self, move: Move, tried: _Tried, theirs: Came) -> Judgement:
        recorded, kind = self.move, self._kind(move)
        same_kind = kind is self._kind(recorded.action)
        ours = tried.came
        wrote = bool(ours.changes or theirs.changes) and self.drift is None
        wrong = self.desk.differences(theirs.changes, ours.changes) if wrote else []
        checks = compare(recorded, move, theirs, ours)
        if same_kind and kind is MoveKind.HAND_OVER:
            checks["same_arguments"] = None  # what the person who takes over is told is words
        return Judgement(
            move=move.model_copy(update={"provider": None}),
            kind=kind,
            same_kind=same_kind,
            same_rows=not wrong if wrote else None,
            row_differences=tuple(wrong),
            same_label=self._same_label(recorded, move),
            off_tape=_off_tape(move, ours) if kind is MoveKind.TOOL_CALL else (),
            findings=tried.findings,
            **checks,
        )

    def _same_label(self, recorded: RecordedMove, move: Move) -> bool | None:
        """Whether a message has the recorded one's label: its agent names it, or its words do."""
        if not recorded.labels or not isinstance(move, Message):
            return None
        block = move.provider
        label = block.get("label") if isinstance(block, Mapping) else None
        label = label or self._labels.get(plain(move.content))
        return label in recorded.labels if label else None

    # --- life -------------------------------------------------------------------------------------

    def close(self) -> None:
        """Give the rows back. What was found stays readable."""
        self.desk.close()

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Tried(NamedTuple):
    """What a new move came to on a fork, and what the rules say against it."""

    came: Came
    findings: tuple[Finding, ...]


def _off_tape(move: Move, came: Came) -> tuple[str, ...]:
    """Names of the calls that nobody knows the answer of."""
    if not isinstance(move, ToolCalls):
        return ()
    pairs = zip(move.calls, came.outcomes, strict=True)
    return tuple(call.name for call, outcome in pairs if outcome is None)
