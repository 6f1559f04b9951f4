"""What a replay shows: agreement by position, by tool, by rule, and where failing runs depart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

from ..envs.judgement import Agreement, Cut, CutState, Judgement
from ..envs.moves import MoveKind
from ..envs.replay import COSMETIC, DIFFERENT, EQUAL
from .curve import MAX_LOST
from .replay import Cuts, Replayed
from .replay_json import CHECKS, conversation_json


class Tally(NamedTuple):
    """How many of how many."""

    equal: int
    total: int

    @property
    def share(self) -> float | None:
        """As a share; None of nothing."""
        return self.equal / self.total if self.total else None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"equal": self.equal, "total": self.total}


class Step(NamedTuple):
    """One position of a survival curve.

    Attributes:
        position: Of the cut, from 1.
        at_risk: Conversations in which every move before agreed and this one can be judged.
        departed: Those in which this one does not agree.
        survival: Share that still agrees after it (Kaplan-Meier): a conversation that ends, or can
            no longer be judged, leaves without having departed.
    """

    position: int
    at_risk: int
    departed: int
    survival: float


class Departure(NamedTuple):
    """Where a failing run first does what no passing run of its task did after the same start.

    Attributes:
        run: Address of the failing run.
        position: Of the move, from 1.
        event: Address of its first event.
        did: What it did, as a signature; "" if it ended there.
        instead: What the passing runs with the same start did; "" stands for the end.
    """

    run: str
    position: int
    event: str
    did: str
    instead: tuple[str, ...]


class ToolRow(NamedTuple):
    """Agreement at the cuts where the recorded agent called one tool.

    Attributes:
        tool: Its name.
        cuts: How many could be scored.
        same: The same call.
        same_outcome: Another call that came to the same.
        different: Something else.
        off_tape: Nobody can know; not in ``cuts``.
        instead: What was done where it was different, and how often.
    """

    tool: str
    cuts: int
    same: int
    same_outcome: int
    different: int
    off_tape: int
    instead: dict[str, int]


class RuleRow(NamedTuple):
    """Findings of one rule: against the new moves, and against the recorded agent's.

    Both count moves at the cuts that were judged; the recorded agent's are those of its own moves
    there.
    """

    rule: str
    severity: str
    agent: int
    recorded: int


@dataclass(frozen=True)
class ReplayReport:
    """A replay in numbers.

    Attributes:
        source: What was replayed, as the user named it.
        agent: Spec of the agent.
        synthetic: Whether its numbers say nothing about a real agent.
        cut: Which cuts were judged.
        world: Whose tools carried the calls out; "" where the tape answered.
        conversations: What became of each.
        notes: What a reader must know.
    """

    source: str
    agent: str
    synthetic: bool
    cut: Cuts
    world: str
    conversations: Sequence[Replayed]
    notes: tuple[str, ...] = ()

    # --- counts ---------------------------------------------------------------------------------

    @cached_property
    def cuts(self) -> list[Cut]:
        """Every cut of every conversation."""
        return [cut for one in self.conversations for cut in one.cuts]

    @cached_property
    def judgements(self) -> list[Judgement]:
        """Every judged move."""
        return [cut.judgement for cut in self.cuts if cut.judgement is not None]

    @property
    def counts(self) -> dict[str, int]:
        """Cuts by what became of them; the parts add up to ``planned``."""
        states = Counter(cut.state for cut in self.cuts)
        agreements = Counter(judgement.agreement for judgement in self.judgements)
        return {
            "planned": len(self.cuts),
            "same": agreements[Agreement.SAME],
            "same_outcome": agreements[Agreement.SAME_OUTCOME],
            "different": agreements[Agreement.DIFFERENT],
            "crashed": states[CutState.CRASHED],
            "off_tape": agreements[Agreement.OFF_TAPE],
            "drifted": states[CutState.DRIFTED],
            "lost": states[CutState.LOST],
            "not_asked": states[CutState.NOT_ASKED],
        }

    @property
    def agreement(self) -> Tally:
        """Cuts at which the move agrees, of those that could be scored."""
        return _agreeing(self.cuts)

    @property
    def lost_because(self) -> dict[str, int]:
        """Why conversations and cuts could not be judged, and how often, most frequent first."""
        reasons = Counter(one.lost for one in self.conversations if one.lost is not None)
        unscored = (CutState.LOST, CutState.DRIFTED)
        reasons.update(cut.reason for cut in self.cuts if cut.state in unscored)
        return dict(reasons.most_common())

    @property
    def too_much_lost(self) -> bool:
        """Whether more than a tenth of the conversations or of the cuts is lost or drifted."""
        lost = sum(one.lost is not None for one in self.conversations)
        counts = self.counts
        unscored = counts["lost"] + counts["drifted"]
        return lost > MAX_LOST * len(self.conversations) or unscored > MAX_LOST * counts["planned"]

    @property
    def checks(self) -> dict[str, Tally]:
        """Each check: how often it holds, of how many moves it could be made on; none off tape."""
        known = [judgement for judgement in self.judgements if not judgement.off_tape]
        return {check: _holding(check, known) for check in CHECKS}

    @property
    def off_tape(self) -> dict[str, Tally]:
        """Of the moves that nobody can judge: those of the recorded kind, and of its tools."""
        unknown = [judgement for judgement in self.judgements if judgement.off_tape]
        return {check: _holding(check, unknown) for check in ("same_kind", "same_tools")}

    @property
    def on_path(self) -> Tally:
        """Agreement at the cuts before which the agent had agreed everywhere."""
        return _agreeing(cut for cut in self.cuts if cut.on_path)

    @property
    def answers_dropped(self) -> bool:
        """Whether the agent could not take the past as its own, so that its answers were dropped.

        Once it has departed, what it remembers is then not what happened.
        """
        return any(one.follows is False for one in self.conversations)

    @property
    def outputs(self) -> dict[str, int]:
        """Recorded results that our tools gave again: equal, cosmetic (as JSON), different."""
        total: Counter[str] = Counter()
        for one in self.conversations:
            total.update(one.outputs)
        return {name: total[name] for name in (EQUAL, COSMETIC, DIFFERENT)}

    # --- where ----------------------------------------------------------------------------------

    def by_kind(self) -> dict[str, Tally]:
        """Agreement by the kind of the recorded move."""
        return {
            kind.value: tally
            for kind in MoveKind
            if (tally := _agreeing(c for c in self.cuts if c.kind is kind)).total
        }

    def by_position(self) -> dict[int, Tally]:
        """Agreement by the position of the cut."""
        grouped: defaultdict[int, list[Cut]] = defaultdict(list)
        for cut in self.cuts:
            grouped[cut.position].append(cut)
        return {position: _agreeing(grouped[position]) for position in sorted(grouped)}

    def survival(self, passed: bool | None = None) -> list[Step]:
        """How far into the conversation the agent still does what the recorded one did.

        Args:
            passed: Only conversations whose recorded trial passed (True) or failed (False).

        Returns:
            One step a position; none unless every cut was judged.
        """
        if self.cut != "all":
            return []
        chosen = [c for c in self.conversations if passed is None or c.passed is passed]
        return survival(map(_fate, chosen))

    def departures(self) -> list[Departure]:
        """Where each failing run departs from all passing runs of its task, as recorded.

        This compares recordings with each other: calls by name and arguments, messages by kind
        only. Failing runs of tasks without a passing one are left out.
        """
        passing: defaultdict[str, list[Replayed]] = defaultdict(list)
        for one in self.conversations:
            if one.passed and one.task and one.lost is None:
                passing[one.task].append(one)
        return [
            departure_of(one, passing[one.task])
            for one in self.conversations
            if one.passed is False and one.lost is None and passing.get(one.task)
        ]

    def by_tool(self) -> list[ToolRow]:
        """Agreement by the tool that the recorded agent called, most called first."""
        grouped: defaultdict[str, list[Cut]] = defaultdict(list)
        for cut in self.cuts:
            for tool in dict.fromkeys(cut.tools):
                grouped[tool].append(cut)
        rows = [_tool_row(tool, cuts) for tool, cuts in grouped.items()]
        return sorted(rows, key=lambda row: (-row.cuts, row.tool))

    def by_rule(self) -> list[RuleRow]:
        """Findings by rule, most found first; empty where there are no rules or no rows."""
        against: Counter[tuple[str, str]] = Counter()
        recorded: Counter[tuple[str, str]] = Counter()
        for judgement in self.judgements:
            against.update({(f.rule, f.severity) for f in judgement.findings})
        for one in self.conversations:
            recorded.update(_recorded_findings(one))
        rows = [RuleRow(*rule, against[rule], recorded[rule]) for rule in {*against, *recorded}]
        return sorted(rows, key=lambda row: (-row.agent, -row.recorded, row.rule))

    # --- played on ------------------------------------------------------------------------------

    @property
    def continued(self) -> dict[str, Any]:
        """What came of the conversations that were played to their end."""
        rewards = [end.reward for one in self.conversations for end in one.continued]
        reasons = Counter(one.not_continued for one in self.conversations if one.not_continued)
        return {
            "played": len(rewards),
            "passed": sum(reward == 1.0 for reward in rewards),
            "failed": sum(reward is not None and reward != 1.0 for reward in rewards),
            "lost": sum(reward is None for reward in rewards),
            "not_continued": dict(reasons.most_common()),
        }

    # --- JSON -----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; docs/replay.md explains the keys."""
        departures = self.departures()
        agreement = self.agreement
        return {
            "source": self.source,
            "agent": self.agent,
            "synthetic": self.synthetic,
            "cut": self.cut,
            "world": self.world or None,
            "notes": list(self.notes),
            "conversations": self.conversation_counts,
            "cuts": self.counts,
            "agreement": agreement.to_json() | {"share": agreement.share},
            "on_path": self.on_path.to_json(),
            "answers_dropped": self.answers_dropped,
            "too_much_lost": self.too_much_lost,
            "lost_because": self.lost_because,
            "outputs": self.outputs,
            "checks": {name: tally.to_json() for name, tally in self.checks.items()},
            "off_tape": {name: tally.to_json() for name, tally in self.off_tape.items()},
            "by_kind": {name: tally.to_json() for name, tally in self.by_kind().items()},
            "by_position": [
                {"position": position, **tally.to_json()}
                for position, tally in self.by_position().items()
            ],
            "survival": {
                "all": [step._asdict() for step in self.survival()],
                "passed": [step._asdict() for step in self.survival(True)],
                "failed": [step._asdict() for step in self.survival(False)],
            },
            "departures": {
                "runs": [departure._asdict() for departure in departures],
                "by_position": dict(sorted(Counter(d.position for d in departures).items())),
                "median_position": _median(d.position for d in departures),
            },
            "by_tool": [row._asdict() for row in self.by_tool()],
            "by_rule": [row._asdict() for row in self.by_rule()],
            "continued": self.continued,
            "trials": [conversation_json(one) for one in self.conversations],
        }

    @property
    def conversation_counts(self) -> dict[str, int]:
        """Conversations by what became of them, and of their recorded trials."""
        everything = self.conversations
        return {
            "read": len(everything),
            "lost": sum(one.lost is not None for one in everything),
            "drifted": sum(one.drift is not None for one in everything),
            "recorded_passed": sum(one.passed is True for one in everything),
            "recorded_failed": sum(one.passed is False for one in everything),
            "following": sum(one.follows is True for one in everything),
        }


def _holding(check: str, judgements: Iterable[Judgement]) -> Tally:
    made = [value for j in judgements if (value := getattr(j, check)) is not None]
    return Tally(sum(made), len(made))


def _agreeing(cuts: Iterable[Cut]) -> Tally:
    agrees = [cut.agrees for cut in cuts if cut.agrees is not None]
    return Tally(sum(agrees), len(agrees))


def _median(positions: Iterable[int]) -> float | None:
    found = list(positions)
    return float(median(found)) if found else None


# --- survival -------------------------------------------------------------------------------------


class Fate(NamedTuple):
    """How one conversation ends for a survival curve: at which cut, and whether by departing.

    Attributes:
        last: Position of the last cut at which it was still watched.
        departed: Whether its move there does not agree.
    """

    last: int
    departed: bool


def _fate(one: Replayed) -> Fate:
    last = 0
    for cut in one.cuts:
        if cut.agrees is None:
            break
        last = cut.position
        if not cut.agrees:
            return Fate(last, True)
    return Fate(last, False)


def survival(fates: Iterable[Fate]) -> list[Step]:
    """The Kaplan-Meier curve of these conversations.

    >>> [step.survival for step in survival([Fate(1, True), Fate(2, False), Fate(3, True)])]
    [0.6666666666666667, 0.6666666666666667, 0.0]

    Source: Kaplan and Meier 1958, Journal of the American Statistical Association 53, 457-481.
    """
    known = list(fates)
    steps: list[Step] = []
    share = 1.0
    for position in range(1, max((fate.last for fate in known), default=0) + 1):
        at_risk = sum(fate.last >= position for fate in known)
        departed = sum(fate == (position, True) for fate in known)
        share *= 1 - departed / at_risk
        steps.append(Step(position, at_risk, departed, share))
    return steps


def departure_of(failing: Replayed, passing: Sequence[Replayed]) -> Departure:
    """Where a failing run departs from every one of these passing ones."""
    longest = max(_common(failing.signatures, one.signatures) for one in passing)
    start = failing.signatures[:longest]
    instead = {
        one.signatures[longest] if longest < len(one.signatures) else ""
        for one in passing
        if one.signatures[:longest] == start
    }
    ended = longest >= len(failing.signatures)
    event = (failing.events[-1] if failing.events else 0) if ended else failing.events[longest]
    return Departure(
        run=failing.address,
        position=longest + 1,
        event=f"{failing.address}:{event}",
        did="" if ended else failing.signatures[longest],
        instead=tuple(sorted(instead)),
    )


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


# --- tools and rules ------------------------------------------------------------------------------


def _tool_row(tool: str, cuts: Sequence[Cut]) -> ToolRow:
    agreements = Counter(c.judgement.agreement for c in cuts if c.judgement is not None)
    crashed = sum(cut.state is CutState.CRASHED for cut in cuts)
    different = agreements[Agreement.DIFFERENT] + crashed
    instead = Counter(_did(cut) for cut in cuts if cut.agrees is False)
    return ToolRow(
        tool=tool,
        cuts=agreements[Agreement.SAME] + agreements[Agreement.SAME_OUTCOME] + different,
        same=agreements[Agreement.SAME],
        same_outcome=agreements[Agreement.SAME_OUTCOME],
        different=different,
        off_tape=agreements[Agreement.OFF_TAPE],
        instead=dict(instead.most_common()),
    )


def _did(cut: Cut) -> str:
    """What was done, in a word: tools by name, and whether only their arguments differ."""
    if cut.judgement is None:
        return "crash"
    judgement = cut.judgement
    names = sorted(call.name for call in getattr(judgement.move, "calls", ()))
    if not names:
        return judgement.kind.value
    return f"{', '.join(names)}{' (other arguments)' if judgement.same_tools else ''}"


def _recorded_findings(one: Replayed) -> Iterator[tuple[str, str]]:
    """The rules broken by each recorded move at a judged cut, once a move."""
    judged = {cut.event for cut in one.cuts if cut.judgement is not None}
    ends = dict(zip(one.events, (*one.events[1:], None), strict=False))
    for event in judged:
        end = ends.get(event)
        found = {
            (f.rule, f.severity)
            for f in one.recorded_findings
            if f.event >= event and (end is None or f.event < end)
        }
        yield from found
