"""What the API refuses, and what it says then.

Source: platform.claude.com, "Messages", "Errors", "Tool use", "Prompt caching", "Extended thinking"
for API version 2026-10-21. The wording is close to the API's where it is known, and always names
the field.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

from .catalogue import FakeModel
from .refusals import RefusedError, invalid

Json = dict[str, Any]
Mark = tuple[int, int]
"""Place of a block, and how long what ends there is to be kept, in seconds."""

_FIELDS = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "metadata",
        "stop_sequences",
        "stream",
        "thinking",
        "output_config",
        "cache_control",
        "service_tier",
        "speed",
        "inference_geo",
        "diagnostics",
        "container",
        "user_profile_id",
        "workspace_id",
    }
)
_COUNT_FIELDS = _FIELDS - {"max_tokens", "stream", "metadata", "stop_sequences", "service_tier"}
_SAMPLING = ("temperature", "top_p", "top_k")
_TTLS = {"5m": 300, "1h": 3600}
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_TOOL_FIELDS = frozenset(
    {
        "type",
        "name",
        "description",
        "input_schema",
        "strict",
        "input_examples",
        "cache_control",
        "defer_loading",
        "allowed_callers",
        "eager_input_streaming",
    }
)


# --- options --------------------------------------------------------------------------------------


def check_options(body: Json, model: FakeModel) -> None:
    """Everything in a request but tools, system, messages and metadata.

    Raises:
        RefusedError: Something is not as it must be; names the field.
    """
    _check_fields(body, _FIELDS)
    for name in ("max_tokens", "messages"):
        if name not in body:
            raise invalid(f"{name}: Field required")
    _check_max_tokens(body["max_tokens"], model)
    _check_types(body)
    _check_thinking(body.get("thinking"), body["max_tokens"], model)
    _check_tool_choice(body.get("tool_choice"), body.get("tools"), model)
    _check_output(body.get("output_config") or {}, body.get("thinking"))


def check_count(body: Json) -> None:
    """The options of a request to count tokens.

    Raises:
        RefusedError: Something is not as it must be; names the field.
    """
    _check_fields(body, _COUNT_FIELDS)
    if "messages" not in body:
        raise invalid("messages: Field required")


def _check_fields(body: Json, known: frozenset[str]) -> None:
    for name in _SAMPLING:
        if name in body:
            raise invalid(
                f"{name}: sampling parameters are not supported as of API version 2026-10-21"
            )
    if unknown := body.keys() - known:
        raise invalid(f"{min(unknown)}: Extra inputs are not permitted")


def _check_max_tokens(value: Any, model: FakeModel) -> None:
    if type(value) is not int:
        raise invalid(f"max_tokens: Input should be a valid integer, not {value!r}")
    if value < 0:
        raise invalid(f"max_tokens: Input should be greater than or equal to 0, not {value}")
    if value > model.max_tokens:
        raise invalid(
            f"max_tokens: {value} > {model.max_tokens}, which is the maximum allowed number of "
            f"output tokens for {model.id}"
        )


_TYPES: dict[str, tuple[type, str]] = {
    "stream": (bool, "boolean"),
    "stop_sequences": (list, "list"),
    "thinking": (dict, "dictionary"),
    "tool_choice": (dict, "dictionary"),
    "output_config": (dict, "dictionary"),
    "cache_control": (dict, "dictionary"),
}


def _check_types(body: Json) -> None:
    for name, (kind, words) in _TYPES.items():
        if not isinstance(body.get(name), (kind, type(None))):
            raise invalid(f"{name}: Input should be a valid {words}")


def check_metadata(metadata: Any) -> str:
    """The user id in a request's metadata; "" if there is none.

    Raises:
        RefusedError: It is not as it must be.
    """
    if metadata is None:
        return ""
    if not isinstance(metadata, dict):
        raise invalid("metadata: Input should be a valid dictionary")
    if unknown := metadata.keys() - {"user_id"}:
        raise invalid(f"metadata.{min(unknown)}: Extra inputs are not permitted")
    user_id = metadata.get("user_id") or ""
    if not isinstance(user_id, str):
        raise invalid(f"metadata.user_id: Input should be a valid string, not {user_id!r}")
    return user_id


def _check_thinking(thinking: Json | None, max_tokens: int, model: FakeModel) -> None:
    if thinking is None:
        return
    kind = thinking.get("type")
    types = model.info()["capabilities"]["thinking"]["types"]
    if kind not in tuple(types):
        raise invalid(f"thinking.type: Input should be one of {', '.join(types)}, not {kind!r}")
    if "budget_tokens" in thinking and kind != "enabled":
        raise invalid("thinking.budget_tokens: Extra inputs are not permitted")
    if not types[kind]["supported"]:
        raise invalid(f"thinking.type: {kind!r} is not supported for {model.id}")
    if kind == "enabled":
        budget = thinking.get("budget_tokens")
        if type(budget) is not int or not 1024 <= budget < max_tokens:
            raise invalid(
                "thinking.budget_tokens: Input should be at least 1024 and less than max_tokens, "
                f"not {budget!r}"
            )


def _check_tool_choice(choice: Json | None, tools: Any, model: FakeModel) -> None:
    if choice is None:
        return
    kind = choice.get("type")
    if kind not in ("auto", "any", "tool", "none"):
        raise invalid(f"tool_choice.type: Input should be auto, any, tool or none, not {kind!r}")
    if not tools:
        raise invalid("tool_choice: tool_choice may only be specified while providing tools")
    if kind in ("any", "tool") and model.is_5_5:
        raise invalid(f"tool_choice.type: forced tool use ({kind!r}) is not supported: {model.id}")
    if kind == "tool" and choice.get("name") not in {tool.get("name") for tool in tools}:
        raise invalid(f"tool_choice.name: Tool {choice.get('name')!r} not found in provided tools")


def _check_output(config: Json, thinking: Json | None) -> None:
    if unknown := config.keys() - {"effort", "format"}:
        raise invalid(f"output_config.{min(unknown)}: Extra inputs are not permitted")
    effort = config.get("effort")
    if effort is not None and effort not in _EFFORTS:
        raise invalid(
            f"output_config.effort: Input should be one of {', '.join(_EFFORTS)}, not {effort!r}"
        )
    if effort in ("xhigh", "max") and (thinking or {}).get("type") in ("between_tools", "disabled"):
        raise invalid(f"output_config.effort: {effort!r} is not supported with thinking turned off")
    if (form := config.get("format")) is not None:
        if not isinstance(form, dict):
            raise invalid("output_config.format: Input should be a valid dictionary")
        if form.get("type") != "json_schema":
            raise invalid(
                f"output_config.format.type: should be json_schema, not {form.get('type')!r}"
            )
        if not isinstance(form.get("schema"), dict):
            raise invalid("output_config.format.schema: Field required")
        _check_closed(form["schema"], "output_config.format.schema")


def _check_closed(schema: Any, where: str) -> None:
    """Every object in a schema must say that it has no other properties."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            raise invalid(
                f"{where}: For 'object' type, 'additionalProperties' must be explicitly set to "
                "false"
            )
        for name, part in schema.items():
            _check_closed(part, f"{where}.{name}")
    elif isinstance(schema, list):
        for place, part in enumerate(schema):
            _check_closed(part, f"{where}.{place}")


# --- tools and system -----------------------------------------------------------------------------


def check_tools(tools: Any) -> list[Json]:
    """The tools of a request.

    Raises:
        RefusedError: Something is not as it must be; names the field.
    """
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise invalid("tools: Input should be a valid list")
    names: set[str] = set()
    for place, tool in enumerate(tools):
        _check_tool(tool, f"tools.{place}")
        if tool["name"] in names:
            raise invalid(f"tools: Tool names must be unique; {tool['name']!r} is not")
        names.add(tool["name"])
    return tools


def _check_tool(tool: Any, where: str) -> None:
    if not isinstance(tool, dict):
        raise invalid(f"{where}: Input should be a valid dictionary")
    if tool.get("type", "custom") not in ("custom", None):
        raise invalid(
            f"{where}.type: this server knows no tools but your own, not {tool['type']!r}"
        )
    if unknown := tool.keys() - _TOOL_FIELDS:
        raise invalid(f"{where}.custom.{min(unknown)}: Extra inputs are not permitted")
    name = tool.get("name")
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        raise invalid(
            f"{where}.custom.name: String should match '^[a-zA-Z0-9_-]{{1,128}}$', not {name!r}"
        )
    schema = tool.get("input_schema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise invalid(f"{where}.custom.input_schema.type: Input should be 'object'")


def check_system(system: Any) -> list[Json]:
    """The system prompt of a request, as blocks.

    Raises:
        RefusedError: Something is not as it must be; names the field.
    """
    if system is None or system == "":
        return []
    if isinstance(system, str):
        return [{"type": "text", "text": system}]
    if not isinstance(system, list):
        raise invalid("system: Input should be a valid string or list")
    for place, block in enumerate(system):
        if not isinstance(block, dict) or block.get("type") != "text":
            raise invalid(f"system.{place}.type: Input should be 'text'")
        _check_text(block, f"system.{place}")
    return system


def check_mark(mark: Any, where: str) -> int:
    """How long a cache mark asks to keep what it ends, in seconds.

    Raises:
        RefusedError: It is no such mark.
    """
    if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
        raise invalid(f"{where}.type: Input should be 'ephemeral'")
    ttl = "5m" if mark.get("ttl") is None else mark["ttl"]
    if ttl not in tuple(_TTLS):
        raise invalid(f"{where}.ttl: Input should be '5m' or '1h', not {ttl!r}")
    if unknown := mark.keys() - {"type", "ttl"}:
        raise invalid(f"{where}.{min(unknown)}: Extra inputs are not permitted")
    return _TTLS[ttl]


# --- messages -------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """Where a conversation stands after a message.

    Attributes:
        role: Who has just spoken.
        place: Of the message in the conversation.
        owed: Ids of tool calls that have no result yet.
        words: Whether something other than results was said since the calls were made.
    """

    role: str
    place: int
    owed: tuple[str, ...] = ()
    words: bool = False


START = Turn("", -1)


def next_turn(
    turn: Turn, index: int, message: Any, tools: Collection[str]
) -> tuple[Turn, list[Json]]:
    """Where the conversation stands after one more message, and the message's blocks.

    Args:
        turn: Where it stood before.
        index: Of the message.
        message: As in the request.
        tools: Names of the tools that are declared.

    Raises:
        RefusedError: The message is not as it must be; names the field.
    """
    where = f"messages.{index}"
    if not isinstance(message, dict):
        raise invalid(f"{where}: Input should be a valid dictionary")
    if unknown := message.keys() - {"role", "content"}:
        raise invalid(f"{where}.{min(unknown)}: Extra inputs are not permitted")
    role = message.get("role")
    if role not in ("user", "assistant"):
        raise invalid(f"{where}.role: Input should be 'user' or 'assistant', not {role!r}")
    if turn is START and role != "user":
        raise invalid('messages: first message must use the "user" role')
    blocks = _blocks(message.get("content"), where)
    if role == "assistant":
        if turn.owed:
            raise _unanswered(turn)
        return _assistant_turn(turn, index, blocks, tools, where), blocks
    return _user_turn(turn, index, blocks, where), blocks


def check_end(turn: Turn) -> None:
    """A conversation must end with the user, and with no tool call unanswered.

    Raises:
        RefusedError: It does not.
    """
    if turn.owed:
        raise _unanswered(turn)
    if turn.role == "assistant":
        raise invalid(
            "messages: This model does not support assistant message prefill. The conversation "
            "must end with a user message."
        )


def _unanswered(turn: Turn) -> RefusedError:
    return invalid(
        f"messages.{turn.place}: `tool_use` ids were found without `tool_result` blocks "
        f"immediately after: {', '.join(turn.owed)}. Each `tool_use` block must have a "
        "corresponding `tool_result` block in the next message."
    )


def _blocks(content: Any, where: str) -> list[Json]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise invalid(f"{where}.content: Input should be a valid string or list")
    if not content:
        raise invalid(f"{where}: all messages must have non-empty content")
    for place, block in enumerate(content):
        if not isinstance(block, dict):
            raise invalid(f"{where}.content.{place}: Input should be a valid dictionary")
    return content


def _check_text(block: Json, where: str) -> None:
    if not isinstance(block.get("text"), str):
        raise invalid(f"{where}.text: Input should be a valid string")
    if not block["text"].strip():
        raise invalid(f"{where}: text content blocks must be non-empty")
    _check_known(block, ("type", "text", "cache_control", "citations"), where)


def _check_known(block: Json, known: tuple[str, ...], where: str) -> None:
    if unknown := block.keys() - set(known):
        raise invalid(f"{where}.{min(unknown)}: Extra inputs are not permitted")


def _assistant_turn(
    turn: Turn, index: int, blocks: list[Json], tools: Collection[str], where: str
) -> Turn:
    owed: list[str] = []
    for place, block in enumerate(blocks):
        here = f"{where}.content.{place}"
        match block.get("type"):
            case "text":
                _check_text(block, here)
            case "thinking":
                for name in ("thinking", "signature"):
                    if not isinstance(block.get(name), str):
                        raise invalid(f"{here}.{name}: Field required")
                _check_known(block, ("type", "thinking", "signature"), here)
            case "tool_use":
                _check_call(block, tools, here)
                if block["id"] in owed:
                    raise invalid(f"{here}: `tool_use` ids must be unique")
                owed.append(block["id"])
            case kind:
                raise invalid(f"{here}.type: no such block in an assistant message: {kind!r}")
    return Turn("assistant", index, tuple(owed))


def _check_call(block: Json, tools: Collection[str], where: str) -> None:
    for name, kind, words in (("id", str, "string"), ("name", str, "string"), ("input", dict, "")):
        if not isinstance(block.get(name), kind):
            raise invalid(f"{where}.{name}: Input should be a valid {words or 'dictionary'}")
    if not tools:
        raise invalid(f"{where}: requests which have `tool_use` blocks must define tools")
    _check_known(
        block, ("type", "id", "name", "input", "cache_control", "caller", "toolset_name"), where
    )


def _user_turn(turn: Turn, index: int, blocks: list[Json], where: str) -> Turn:
    owed, words = list(turn.owed), turn.words and turn.role == "user"
    for place, block in enumerate(blocks):
        here = f"{where}.content.{place}"
        match block.get("type"):
            case "text":
                _check_text(block, here)
                words = True
            case "tool_result":
                _check_result(block, owed, here)
                if words:
                    raise invalid(
                        f"{here}: `tool_result` blocks must come before all other content"
                    )
                owed.remove(block["tool_use_id"])
            case kind:
                raise invalid(f"{here}.type: no such block in a user message: {kind!r}")
    if words and owed:
        raise _unanswered(turn)
    return Turn("user", turn.place if owed else index, tuple(owed), words)


def _check_result(block: Json, owed: list[str], where: str) -> None:
    _check_known(block, ("type", "tool_use_id", "content", "is_error", "cache_control"), where)
    if block.get("tool_use_id") not in owed:
        raise invalid(
            f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: "
            f"{block.get('tool_use_id')}. Each `tool_result` block must have a corresponding "
            "`tool_use` block in the previous message."
        )
    content = block.get("content")
    if not isinstance(content, (str, list, type(None))):
        raise invalid(f"{where}.content: Input should be a valid string or list")
    for place, part in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(part, dict) or part.get("type") != "text":
            raise invalid(f"{where}.content.{place}.type: this server reads no results but text")
        _check_text(part, f"{where}.content.{place}")
