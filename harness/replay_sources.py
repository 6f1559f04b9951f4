"""What can be replayed: runs and trials of the store, files of conversations, one of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from ..agents.agent import AgentKind, Brief
from ..agents.registry import agent_kind
from ..domains.domain import Domain, domain_names, load_domain
from ..domains.packs import knows, toolset_of
from ..envs.desks import Desk, Recorded, TapeDesk, WorldDesk
from ..envs.episode import Episode
from ..errors import FaultError, UsageError
from ..grading.outcome import start_rows
from ..recordings.conversation import Address, Conversation, Format
from ..recordings.readers import find_conversation, read_conversations
from ..recordings.redact import NOT_LOOKED_FOR, redact
from .attempt import Attempts, Conditions, load_domain_of
from .records import Run, TrialRow
from .replay import Conceal, Live, Session
from .shelf import shelf
from .store import Store, open_store

PEEKED: Final = 20
"""Conversations looked at to recognise the domain, and to choose among packs of the same one."""

_BENCHMARKS: Final = {Format.TAU_BENCH: "tau-bench", Format.TAU2: "tau2"}
_NO_SCRIPT: Final = "nobody knows what this customer would say next: there is no script to play"
_BY_A_MODEL: Final = (
    "the customer was played by a model, which would not say the same again on the way to the cut"
)
_FREE_TEXT: Final = (
    "the customer was played by a model from an instruction; the agenda user needs goals"
)


@dataclass(frozen=True)
class ReplaySource:
    """Conversations to replay with one agent.

    Attributes:
        name: As the user wrote it; of one conversation, redacted if asked for.
        world: The domain or pack whose tools carry the calls out; "" where the tape answers them.
        kind: The agent.
        sessions: The conversations, read as they are asked for.
        notes: What a reader must know.
        closing: What is open while sessions are read.
    """

    name: str
    world: str
    kind: AgentKind
    sessions: Iterator[Session] = field(repr=False)
    notes: tuple[str, ...] = ()
    closing: ExitStack = field(default_factory=ExitStack, repr=False)

    def __enter__(self) -> ReplaySource:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.close()


@dataclass(frozen=True)
class Where:
    """Where to look, as the user said.

    Attributes:
        store: Of runs; None: the default one.
        domain: Whose tools carry out the calls: a domain, ``module:OBJECT``, or a pack; None: as
            recognised, or the tape.
        packs: A folder of packs, or a clone of a benchmark.
        agent_speaker: For plain transcripts: the speaker who is the agent.
        limit: Conversations at most; None: all.
        seed: For agents that draw random numbers, where the recording has no seed.
        redact: Whether personal data is replaced in all that is shown. On the tape it is replaced
            before the agent sees it; where calls are carried out, that needs the originals.
    """

    store: str | None = None
    domain: str | None = None
    packs: Path | None = None
    agent_speaker: str = ""
    limit: int | None = None
    seed: int = 0
    redact: bool = False


def open_source(name: str, agent: str, where: Where = Where()) -> ReplaySource:
    """Find what ``name`` means: a file or folder, ``file#trial``, RUN, RUN/TASK or RUN/TASK/TRIAL.

    Raises:
        UsageError: There is nothing of that name, it is no recording, or the agent cannot be asked
            about it; one line.
    """
    kind = agent_kind(agent)
    path = Path(name)
    if path.exists():
        conversations = read_conversations(path, where.agent_speaker)
    elif "#" in name:
        address = replace(Address.parse(name), event=None)
        found = find_conversation(address, where.agent_speaker)
        name = str(redact(found)[0].address) if where.redact else name
        conversations = iter([found])
    else:
        return _run_source(name, kind, where)
    if kind.sees_task:
        raise UsageError(
            f"agent {agent!r} sees the task and its reference, and a recording from elsewhere has "
            "none; it can replay runs of passhat only"
        )
    return _file_source(name, conversations, kind, where)


# --- runs of our own ------------------------------------------------------------------------------


def _run_source(name: str, kind: AgentKind, where: Where) -> ReplaySource:
    from .sources import FILE_ENDINGS

    if Path(name).suffix.lower() in (*FILE_ENDINGS, ".jsonl"):
        raise UsageError(f"no such file: {name!r}")
    closing = ExitStack()
    try:
        store = closing.enter_context(open_store(where.store))
        run_name, _, rest = name.partition("/")
        run = store.find_run(run_name)
        attempts = _attempts_of(run, kind, where)
        rows = _chosen(store, run, rest)[: where.limit]
        sessions = (_own_session(store, run, row, attempts) for row in rows)
        notes = [f"the recorded agent is synthetic: {run.agent}"] if run.synthetic else []
        if where.redact:
            notes.append("nothing is redacted: the customers of this run are made up")
        return ReplaySource(name, attempts.domain.name, kind, sessions, tuple(notes), closing)
    except BaseException:
        closing.close()
        raise


def _attempts_of(run: Run, kind: AgentKind, where: Where) -> Attempts:
    conditions = replace(Conditions(**run.conditions), agent=kind.spec)
    if where.domain is not None and where.domain != conditions.domain:
        raise UsageError(f"run {run.id!r} is of domain {conditions.domain!r}, not {where.domain!r}")
    return Attempts(conditions, load_domain_of(conditions.domain), kind)


def _chosen(store: Store, run: Run, rest: str) -> list[TrialRow]:
    """The trials of a run, of a task (``TASK``), or one of them (``TASK/NUMBER``)."""
    task, _, number = rest.partition("/")
    rows = [
        row
        for row in store.trials(run)
        if task in ("", row.task) and number in ("", str(row.trial))
    ]
    if not rows:
        raise UsageError(f"run {run.id!r} has no trial {rest!r}; passhat show {run.id} lists them")
    return rows


def _own_session(store: Store, run: Run, row: TrialRow, attempts: Attempts) -> Session:
    trial = run.planned_trial(row.task, row.trial)
    details = store.trial(run, row.task, row.trial)
    domain, conditions = attempts.domain, attempts.conditions
    lost = None if row.reward is not None else row.reason
    if row.task not in domain.tasks:
        lost, task = f"domain {domain.name!r} has no task {row.task!r} any more", None
    else:
        task = domain.task(row.task)
    if task is None:
        return Session(row.address, Recorded(details.transcript), _NOBODY, _no_desk, lost=lost)
    start = partial(
        Episode.start, domain, task, user=attempts.user, seed=trial.user_seed,
        max_turns=conditions.max_turns,
    )  # fmt: skip
    return Session(
        address=row.address,
        recorded=Recorded(details.transcript),
        brief=attempts.brief(task, trial.agent_seed),
        open_desk=lambda: WorldDesk(domain, start_rows(domain, task)),
        rules=attempts.grading.rules,
        task=row.task,
        passed=None if row.reward is None else row.reward == 1.0,
        lost=lost,
        live=None if attempts.user.use else Live(start, task, attempts.grading),
        not_live=_BY_A_MODEL if attempts.user.use else "",
    )


_NOBODY: Final = Brief(domain="", policy="", tools=(), now="")


def _no_desk() -> Desk:
    raise UsageError("a lost conversation has no desk")


# --- files ----------------------------------------------------------------------------------------


def _file_source(
    name: str, conversations: Iterator[Conversation], kind: AgentKind, where: Where
) -> ReplaySource:
    conversations = islice(conversations, where.limit)
    first = list(islice(conversations, PEEKED))
    domain, note = _domain_for(first, where)
    everything = chain(first, conversations)
    notes = (*filter(None, [note]), *_redaction_notes(where))
    if domain is None:
        sessions = (_tape_session(c, where) for c in everything)
        return ReplaySource(name, "", kind, sessions, notes)
    attempts = Attempts(Conditions(domain.name, kind.spec), domain, kind)
    sessions = (_world_session(c, attempts, where) for c in everything)
    return ReplaySource(name, domain.name, kind, sessions, notes)


def _recorded(conversation: Conversation) -> Recorded:
    labels = {index: label.reply for index, label in conversation.labels.items() if label.reply}
    return Recorded(conversation.events, labels, conversation.unreadable)


def _world_session(conversation: Conversation, attempts: Attempts, where: Where) -> Session:
    domain = attempts.domain
    brief = Brief(
        domain=domain.name,
        policy=conversation.system or domain.policy,
        tools=tuple(tool.schema for tool in domain.tools.values()),
        now=domain.world.now.isoformat(),
        seed=where.seed,
    )
    return _session(
        conversation,
        brief,
        lambda: WorldDesk(domain, _begun(domain)),
        rules=attempts.grading.rules,
        not_live=_FREE_TEXT if conversation.format in _BENCHMARKS else _NO_SCRIPT,
        conceal=_concealing(conversation) if where.redact else None,
    )


def _concealing(conversation: Conversation) -> Conceal:
    """Replaces in a value what would be replaced in the conversation, with the same placeholders.

    The value is put beside the record, where redaction reaches it.
    """

    def conceal(value: Any) -> Any:
        beside = replace(conversation, context={**conversation.context, "shown": value})
        return redact(beside)[0].context["shown"]

    return conceal


def _redaction_notes(where: Where) -> tuple[str, ...]:
    if not where.redact:
        return ()
    return (f"redacted; not looked for: {'; '.join(NOT_LOOKED_FOR)}",)


def _begun(domain: Domain) -> Any:
    db = domain.world.fork()
    db.begin_episode()
    return db


def _tape_session(conversation: Conversation, where: Where) -> Session:
    if where.redact:
        conversation, _ = redact(conversation)
    recorded = _recorded(conversation)
    brief = Brief(
        domain=conversation.domain,
        policy=conversation.system,
        tools=tools_of(conversation),
        now="",
        seed=where.seed,
    )
    return _session(
        conversation,
        brief,
        lambda: TapeDesk(recorded),
        not_live="the tape holds nothing but what was said",
    )


def _session(conversation: Conversation, brief: Brief, open_desk: Any, **about: Any) -> Session:
    return Session(
        address=str(conversation.address),
        recorded=_recorded(conversation),
        brief=brief,
        open_desk=open_desk,
        task=conversation.task,
        passed=conversation.passed,
        lost=conversation.lost,
        **about,
    )


def tools_of(conversation: Conversation) -> tuple[dict[str, Any], ...]:
    """The tools that were offered, as a `Brief` holds them.

    Where the recording does not say, they are those that were called, with the arguments that were
    given: an agent without a list of tools could call none.
    """
    offered = [schema for tool in conversation.tools if (schema := _schema(tool)) is not None]
    if offered:
        return tuple(offered)
    called: dict[str, dict[str, Any]] = {}
    for pair in conversation.events.calls():
        called.setdefault(pair.call.name, {}).update({key: {} for key in pair.call.arguments})
    return tuple(
        _described(name, "", {"type": "object", "properties": properties})
        for name, properties in sorted(called.items())
    )


def _schema(tool: Any) -> dict[str, Any] | None:
    """A tool as OpenAI, Anthropic, an MCP server or STAR describe it; None if it has no name."""
    if isinstance(tool, str):
        return _described(tool, "", {"type": "object"})
    if not isinstance(tool, Mapping):
        return None
    inner = tool.get("function")
    about = inner if isinstance(inner, Mapping) else tool
    name = about.get("name")
    if not isinstance(name, str):
        return None
    for field_name in ("input_schema", "inputSchema", "parameters"):
        if isinstance(about.get(field_name), Mapping):
            return _described(name, about.get("description"), dict(about[field_name]))
    inputs = about.get("input")
    names = [i["Name"] for i in inputs or () if isinstance(i, Mapping) and "Name" in i]
    schema = {"type": "object", "properties": {key: {} for key in names}}
    return _described(name, about.get("description"), schema)


def _described(name: str, description: object, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": str(description or ""), "input_schema": schema}


# --- whose tools ----------------------------------------------------------------------------------


def _domain_for(first: list[Conversation], where: Where) -> tuple[Domain | None, str]:
    """The domain that carries the calls out, or None for the tape; and what to say about it."""
    benchmark = next((b for c in first if (b := _BENCHMARKS.get(c.format))), None)
    wanted = where.domain
    if wanted is not None and "@" not in wanted and benchmark is None:
        return load_domain_of(wanted), ""
    if wanted is None and benchmark is None:
        if where.packs is not None:
            raise UsageError("--packs is for results of tau-bench or tau2; name a --domain")
        return None, "no --domain: tool results come from the recordings"
    try:
        return _pack_for(first, benchmark, where), ""
    except UsageError as error:
        if wanted in domain_names() and _agreement(first, load_domain(wanted)):
            return load_domain(wanted), ""
        if wanted is not None or where.packs is not None:
            raise
        return None, f"tool results come from the recordings, since {error}"


def _pack_for(first: list[Conversation], benchmark: str | None, where: Where) -> Domain:
    """The pack that reproduces most of the first results; for our own exports, our own domain."""
    packs = shelf(where.packs)
    wanted = where.domain or ""
    if "@" in wanted:
        names = [name for name in packs.names() if name == wanted]
    else:
        business = wanted or _business(first, benchmark, packs.names(benchmark))
        names = [n for n in packs.names(benchmark) if n.partition("@")[0] == business]
        wanted = f"{business}@{benchmark}"
    candidates: list[Domain] = [packs.open(name) for name in names]
    own = wanted.partition("@")[0]
    if wanted != where.domain and own in domain_names():
        candidates.append(load_domain(own))
    reproduced = {domain.name: _agreement(first, domain) for domain in candidates}
    if not names and not any(reproduced.values()):
        there = ", ".join(packs.names()) or "none"
        raise UsageError(f"this needs pack {wanted!r}, and {str(packs.where)!r} has {there}")
    return max(candidates, key=lambda domain: reproduced[domain.name])


def _business(first: list[Conversation], benchmark: str | None, names: Iterable[str]) -> str:
    """The business that the recordings name, or whose tools they call most."""
    named = next((c.domain for c in first if c.domain), None)
    if named is not None:
        return named
    votes: Counter[str] = Counter()
    called = [pair.call.name for c in first for pair in c.events.calls()]
    for business in {name.partition("@")[0] for name in names}:
        if benchmark is not None and knows(business, benchmark):
            tools = toolset_of(business, benchmark).tools
            votes[business] = sum(name in tools for name in called)
    ranked = votes.most_common(2)
    if not ranked or not ranked[0][1] or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        raise UsageError("the domain of these results cannot be told; name it with --domain")
    return ranked[0][0]


def _agreement(first: list[Conversation], domain: Domain) -> int:
    """How many recorded outputs a domain's tools reproduce."""
    equal = 0
    for conversation in first:
        with domain.world.fork() as db:
            for pair in conversation.events.calls():
                try:
                    now = domain.call(db, pair.call.name, pair.call.arguments).content
                except FaultError:
                    break
                equal += pair.result is not None and now == pair.result.content
    return equal
