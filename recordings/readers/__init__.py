"""Reads recorded conversations: what a file is, its content decides, never its name.

One broken conversation is lost, with a reason, and nothing else. Memory holds one conversation (of
an Agent SDK stream: one session) at a time, however large the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from ...errors import UsageError
from ...results import TrialResult
from ...transcript import JsonDict
from ..conversation import Address, Conversation, Format
from ..json_stream import Damage, members
from . import abcd, agent_sdk, anthropic_messages, openai_chat, plain, star, tau2, taubench
from .files import Values, by_session, first_byte, items, lines, parsed, rows, sessions
from .making import Reader, lost, safely

UNDERSTOOD: Final = (
    "understood are conversations in results of tau-bench and tau2, OpenAI chat (JSONL or JSON), "
    "Anthropic Messages, Claude Agent SDK streams and sessions, STAR, ABCD, and plain transcripts "
    "(CSV or JSON with speaker and text)"
)

_WHOLE: Final = (
    (Format.TAU_BENCH, taubench),
    (Format.TAU2, tau2),
    (Format.STAR, star),
    (Format.ABCD, abcd),
    (Format.ANTHROPIC_MESSAGES, anthropic_messages),
    (Format.OPENAI_CHAT, openai_chat),
    (Format.PLAIN, plain),
)
"""Formats of which one value is one conversation, the surest to recognise first."""

READERS: Final[Mapping[Format, Reader]] = {
    form: safely(module.read, form) for form, module in (*_WHOLE, (Format.AGENT_SDK, agent_sdk))
}

_ABCD_SPLITS: Final = ("train", "dev", "test")
_LOOKED_AT: Final = 100  # values that are tried before a file is taken for something else


def read_conversations(path: Path, agent_speaker: str = "") -> Iterator[Conversation]:
    """The conversations of a file, or of every JSON, JSONL and CSV file of a folder, in order.

    What the file is, is found out at once; reading goes on as conversations are asked for.

    Args:
        path: The file or folder.
        agent_speaker: For plain transcripts: the speaker who is the agent.

    Raises:
        UsageError: It cannot be read, or holds no conversations; one line.
    """
    return _folder(path, agent_speaker) if path.is_dir() else _file(path, agent_speaker)


def find_conversation(address: Address, agent_speaker: str = "") -> Conversation:
    """The conversation at an address.

    Raises:
        UsageError: There is none.
    """
    count = 0
    for conversation in read_conversations(Path(address.file), agent_speaker):
        if conversation.address.trial == address.trial:
            return conversation
        count += 1
    # The others are not named here: names of conversations may be names of people.
    raise UsageError(
        f"{address.file!r} has no conversation {address.trial!r}; "
        f"passhat show {address.file} lists its {count}"
    )


def reread(conversation: Conversation, record: Any, context: JsonDict) -> Conversation:
    """The same conversation, read from a changed record; what was noted of the file stays."""
    if conversation.format is Format.UNREADABLE:
        return replace(conversation, record=record, context=context)
    again = READERS[conversation.format](record, conversation.address, context)
    return replace(again, notes=tuple(dict.fromkeys([*again.notes, *conversation.notes])))


# --- folders and files --------------------------------------------------------------------------


def _folder(path: Path, agent_speaker: str) -> Iterator[Conversation]:
    if (path / "results.json").is_file() and (path / "simulations").is_dir():
        return _tau2_folder(path)
    kinds = ("*.json", "*.jsonl", "*.csv")
    files = sorted(chain.from_iterable(path.glob(kind) for kind in kinds))
    if not files:
        raise UsageError(f"{str(path)!r} holds no JSON, JSONL or CSV file; {UNDERSTOOD}")
    return chain.from_iterable(_file_of_many(file, agent_speaker) for file in files)


def _file_of_many(path: Path, agent_speaker: str) -> Iterator[Conversation]:
    """A file among others: if it is no recording, it is a loss and does not stop the rest."""
    try:
        yield from _file(path, agent_speaker)
    except UsageError as error:
        if str(error).startswith(plain.WHICH_AGENT):
            raise
        why = str(error).removesuffix(f"; {UNDERSTOOD}")
        yield lost(why, None, Address(str(path), "1"), {}, Format.UNREADABLE)


def _file(path: Path, agent_speaker: str) -> Iterator[Conversation]:
    match first_byte(path):
        case "":
            raise UsageError(f"{str(path)!r} is empty; {UNDERSTOOD}")
        case "[":
            return _values(path, partial(items, path), agent_speaker)
        case "{":
            return _object(path, agent_speaker)
        case _:
            return _table(path, agent_speaker)


def _object(path: Path, agent_speaker: str) -> Iterator[Conversation]:
    """One JSON object, or several, one a line."""
    streamed = ("simulations", *_ABCD_SPLITS)
    first: JsonDict = {}
    damage = None
    for name, value in members(path, *streamed):
        if isinstance(value, Damage):
            damage = value
        elif name == "simulations":
            return _tau2_file(path)
        elif name in streamed and abcd.recognises(value):
            return _abcd_release(path)
        else:
            first[name] = value
    if _has_lines(path, _LOOKED_AT if damage else 1):
        return _values(path, partial(lines, path), agent_speaker)
    if damage is not None:
        raise UsageError(f"{str(path)!r} is not complete JSON: {damage.reason}")
    if "simulation_index" in first:
        return _tau2_folder(path.parent)
    return _values(path, lambda: iter([(1, first)]), agent_speaker)


def _has_lines(path: Path, many: int) -> bool:
    """Whether most of the first lines are values, and most of those are known: JSONL, damaged."""
    heads = [value for _, value in islice(lines(path), many)]
    values = [value for value in heads if not isinstance(value, Damage)]
    known = sum(map(_is_known, values))
    return len(values) * 2 > len(heads) and (many == 1 or known * 2 > len(values))


def _values(path: Path, values: Values, agent_speaker: str) -> Iterator[Conversation]:
    """Values that are conversations, or messages, or rows: the first known one decides."""
    for _, value in islice(values(), _LOOKED_AT):
        if agent_sdk.is_message(value):
            return _sdk_sessions(path, values)
        if openai_chat.is_message(value):
            return _one_conversation(path, values, agent_speaker)
        if _format(value) is not None:
            return _records(path, values, agent_speaker)
        if plain.is_row(value):
            return _groups(path, values, agent_speaker)
    for _, value in islice(values(), 1):
        if isinstance(value, Damage):
            raise UsageError(f"{str(path)!r} is not complete JSON: {value.reason}")
    raise UsageError(f"{str(path)!r} holds no conversations; {UNDERSTOOD}")


def _is_known(value: Any) -> bool:
    return (
        agent_sdk.is_message(value)
        or openai_chat.is_message(value)
        or _format(value) is not None
        or plain.is_row(value)
    )


def _format(value: Any) -> Format | None:
    """What a value is, if it is a conversation by itself."""
    if isinstance(value, list) and any(map(agent_sdk.is_message, value)):
        return Format.AGENT_SDK
    return next((form for form, module in _WHOLE if module.recognises(value)), None)


class _Trials:
    """Names the conversations of a file; a name that comes again gets a number."""

    def __init__(self, file: object) -> None:
        self.file = str(file)
        self._seen: Counter[str] = Counter()

    def __call__(self, name: str) -> Address:
        self._seen[name] += 1
        again = self._seen[name]
        return Address(self.file, name if again == 1 else f"{name}~{again}")


# --- one value, one conversation ----------------------------------------------------------------


def _records(path: Path, values: Values, agent_speaker: str) -> Iterator[Conversation]:
    trials, runs = _Trials(path), Counter[str]()
    context: JsonDict = {"agent_speaker": agent_speaker} if agent_speaker else {}
    apis = star.Apis(path)
    for position, value in values():
        if isinstance(value, Damage):
            yield _damaged(value, trials(str(position)))
            continue
        form = _format(value)
        if form is None:
            why = "not a conversation in a format that is understood"
            yield lost(why, value, trials(str(position)), {}, Format.UNREADABLE)
            continue
        address = trials(_name(value, form, position, runs))
        about = apis.of(value) if form is Format.STAR else context
        yield _certain(READERS[form](value, address, about), position == 1)


def _name(value: Any, form: Format, position: int, runs: Counter[str]) -> str:
    match form:
        case Format.TAU_BENCH | Format.TAU2:
            module = taubench if form is Format.TAU_BENCH else tau2
            return _run_name(module.result_of(value), value, position, runs)
        case Format.STAR:
            return star.name_of(value) or str(position)
        case Format.ABCD:
            return abcd.name_of(value)
    return str(position)


def _run_name(
    result: TrialResult, record: Mapping[str, Any], position: int, runs: Counter[str]
) -> str:
    """TASK/NUMBER; a run without a number gets the next of its task."""
    if not result.task:
        return str(position)
    number = result.trial if isinstance(record.get("trial"), int) else runs[result.task]
    runs[result.task] += 1
    return f"{result.task}/{number}"


def _damaged(damage: Damage, address: Address) -> Conversation:
    why = f"the file is damaged here: {damage.reason}"
    return lost(why, None, address, {}, Format.UNREADABLE)


def _certain(conversation: Conversation, first: bool) -> Conversation:
    """The conversation; a question that would come again for every one is put at the first."""
    if first and conversation.lost and conversation.lost.startswith(plain.WHICH_AGENT):
        raise UsageError(conversation.lost)
    return conversation


# --- tau2 and ABCD files ------------------------------------------------------------------------


def _tau2_file(path: Path) -> Iterator[Conversation]:
    head = _head(path)
    simulations = (
        value
        for name, value in members(path, "simulations")
        if name == "simulations" or isinstance(value, Damage)
    )
    return _simulations(simulations, head, path)


def _head(path: Path) -> JsonDict:
    """Everything of a file but its simulations, wherever it stands: so the file is read twice."""
    return {
        name: value
        for name, value in members(path, "simulations")
        if name != "simulations" and not isinstance(value, Damage)
    }


def _tau2_folder(path: Path) -> Iterator[Conversation]:
    files = sorted((path / "simulations").glob("*.json"))
    return _simulations(map(_whole, files), _head(path / "results.json"), path)


def _whole(file: Path) -> Any:
    """The value of a file that is one JSON object, or `Damage`."""
    try:
        return parsed(file.read_bytes())
    except OSError as error:
        return Damage(f"{file.name}: {error.strerror}")


def _simulations(
    simulations: Iterable[Any], head: Mapping[str, Any], path: Path
) -> Iterator[Conversation]:
    listed = head.get("tasks")
    tasks = {
        str(task["id"]): task
        for task in (listed if isinstance(listed, list) else ())
        if isinstance(task, dict) and "id" in task
    }
    trials, runs = _Trials(path), Counter[str]()
    for position, record in enumerate(simulations, start=1):
        if isinstance(record, Damage):
            yield _damaged(record, trials(str(position)))
            continue
        result = tau2.result_of(record)
        address = trials(_run_name(result, record, position, runs))
        yield READERS[Format.TAU2](record, address, tau2.context_of(head, tasks, result.task))


def _abcd_release(path: Path) -> Iterator[Conversation]:
    trials = _Trials(path)
    for position, (split, value) in enumerate(members(path, *_ABCD_SPLITS), start=1):
        if isinstance(value, Damage):
            yield _damaged(value, trials(str(position)))
        elif abcd.recognises(value):
            address = trials(abcd.name_of(value))
            yield READERS[Format.ABCD](value, address, {"split": split})


# --- many values, one conversation --------------------------------------------------------------


def _one_conversation(path: Path, values: Values, agent_speaker: str) -> Iterator[Conversation]:
    """A file whose values are the messages of one conversation."""
    found = [value for _, value in values()]
    whole = [value for value in found if not isinstance(value, Damage)]
    form = _format(whole) or Format.OPENAI_CHAT
    context: JsonDict = {"agent_speaker": agent_speaker} if agent_speaker else {}
    conversation = READERS[form](whole, Address(str(path), "1"), context)
    yield _noting(_certain(conversation, True), len(found) - len(whole))


def _noting(conversation: Conversation, damaged: int) -> Conversation:
    if not damaged:
        return conversation
    return replace(conversation, notes=(*conversation.notes, f"{damaged} × damaged line left out"))


def _sdk_sessions(path: Path, values: Values) -> Iterator[Conversation]:
    trials = _Trials(path)
    if isinstance(values, partial) and values.func is lines:
        found: Iterable[tuple[str, list[Any]]] = sessions(path, _session)
    else:
        found = by_session((_session(value), value) for _, value in values()).items()
    for session, messages in found:
        whole = [message for message in messages if not isinstance(message, Damage)]
        conversation = READERS[Format.AGENT_SDK](whole, trials(session or "1"), {})
        yield _noting(conversation, len(messages) - len(whole))


def _session(value: Any) -> str:
    return agent_sdk.session_of(value) if isinstance(value, dict) else ""


def _table(path: Path, agent_speaker: str) -> Iterator[Conversation]:
    _, first = next(rows(path), (1, None))
    if isinstance(first, Damage):
        raise UsageError(f"{str(path)!r} is {first.reason}; {UNDERSTOOD}")
    if first is None or not plain.is_row(first):
        names = ", ".join(map(repr, first or ()))
        why = f"no columns for speaker and text among {names:.200}" if names else "no rows"
        raise UsageError(f"{str(path)!r} is neither JSON nor a transcript: {why}; {UNDERSTOOD}")
    return _groups(path, partial(rows, path), agent_speaker)


def _named(
    numbered: Iterator[tuple[int, Any]], columns: plain.Columns
) -> Iterator[tuple[str, Any]]:
    """Rows with the conversation they belong to; damage belongs to what stands before it."""
    name = ""
    for _, value in numbered:
        if isinstance(value, dict):
            name = plain.conversation_of(value, columns)
        yield name, value


def _groups(path: Path, values: Values, agent_speaker: str) -> Iterator[Conversation]:
    """Rows, conversation by conversation; the rows of one stand together."""
    first = next(value for _, value in values() if plain.is_row(value))
    columns = plain.columns_of(first)
    assert columns is not None
    context: JsonDict = {"agent_speaker": agent_speaker} if agent_speaker else {}
    trials: set[str] = set()
    for name, group in groupby(_named(values(), columns), key=itemgetter(0)):
        found = [value for _, value in group]
        whole = [value for value in found if not isinstance(value, Damage)]
        address = Address(str(path), name or "1")
        if name in trials:
            why = f"rows of conversation {name!r} stand apart: sort the file by that column"
            again = Address(str(path), f"{name}~{len(trials)}")
            yield lost(why, whole, again, context, Format.PLAIN)
        elif whole:
            conversation = READERS[Format.PLAIN](whole, address, context)
            yield _noting(_certain(conversation, not trials), len(found) - len(whole))
        else:
            yield _damaged(next(v for v in found if isinstance(v, Damage)), address)
        trials.add(name)
