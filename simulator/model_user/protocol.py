"""What passes between the model that plays a customer and whoever asks it: a script, an answer.

A request of a model user looks like this::

    system     how to play a customer; the same in all tasks and trials
    user       one block: the style, and the script in a `script_block`
    assistant  the opening, as an answer
    user       the agent's words; any further block of the message is a remark of ours
    assistant  the next answer ...

The answer is JSON of `answer_schema`. A second model that judges a line answers in
`JUDGEMENT_SCHEMA`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, model_validator

from ...errors import UsageError
from ...task import UserScript
from ...transcript import JsonDict, UserEnd, UserReply

# --- the script -----------------------------------------------------------------------------------

_SCRIPT = re.compile(r"<script>\n(.*?)\n</script>", re.DOTALL)


def script_block(script: UserScript, profile: Mapping[str, str], now: str) -> str:
    """All that a customer knows, as text for a model: JSON between ``<script>`` and ``</script>``.

    Args:
        script: What they want, know and do not know.
        profile: What their row in the world says about them, by topic.
        now: The world's clock, ISO date and time; "" if nobody says.

    >>> script = UserScript.model_validate({"goals": [{"ask": "Cancel #W1111111, please."}]})
    >>> print(script_block(script, {"zip": "20001"}, "2026-03-16T09:00:00"))
    <script>
    {"now": "2026-03-16T09:00:00", "about you": {"zip": "20001"},
    "script": {"goals": [{"ask": "Cancel #W1111111, please."}]}}
    </script>
    """
    told = script.model_dump(mode="json", exclude_defaults=True)
    if told["goals"] == [{"ask": script.instruction}]:  # free text, as imported scripts are
        del told["goals"]
    return (
        f'<script>\n{{"now": {_json(now)}, "about you": {_json(dict(profile))},\n'
        f'"script": {_json(told)}}}\n</script>'
    )


def parse_script(text: str) -> tuple[UserScript, dict[str, str]]:
    """Read a `script_block` back, wherever it stands in a text.

    Returns:
        The script and the profile.

    Raises:
        UsageError: There is no such block, or it does not hold a script.

    >>> script = UserScript.model_validate({"goals": [{"ask": "Cancel it, please."}]})
    >>> parse_script("Play this: " + script_block(script, {}, "")) == (script, {})
    True
    """
    found = _SCRIPT.search(text)
    if found is None:
        raise UsageError(f"no <script> block in {text!r:.100}")
    try:
        told = json.loads(found[1])
        script = told["script"]
        if "goals" not in script:
            script["goals"] = [{"ask": script["instruction"]}]
        return UserScript.model_validate(script), dict(told["about you"])
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"the <script> block holds no script: {error}") from error


def _json(value: Any) -> str:
    """JSON in which ``</script>`` cannot stand."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


# --- the answer -----------------------------------------------------------------------------------

_ENDS = [end.value for end in UserEnd]
_FIELDS: Mapping[str, JsonDict] = {
    "draft": {"type": "string", "description": "A first version of the line; nobody hears it."},
    "thought": {"type": "string", "description": "Private; nobody hears it."},
    "action": {"type": "string", "enum": ["say", "finish"]},
    "text": {"type": "string", "description": "Exactly what the customer says."},
    "reason": {
        "anyOf": [{"type": "string", "enum": _ENDS}, {"type": "null"}],
        "description": "Why the customer finishes; null with say.",
    },
}
_SPOKEN = ("action", "text", "reason")
Private = Literal["draft", "thought"]
PRIVATE: Sequence[Private] = get_args(Private)
"""Fields of an answer that nobody hears, in the order in which they are written."""


def answer_schema(*private: Private) -> JsonDict:
    """JSON Schema of an answer that begins with these private fields, to be written first.

    >>> answer_schema("thought")["required"]
    ['thought', 'action', 'text', 'reason']
    """
    return _object({name: _FIELDS[name] for name in (*private, *_SPOKEN)})


def _object(properties: Mapping[str, JsonDict]) -> JsonDict:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Answer(_Strict):
    """What the model that plays a customer answers.

    Attributes:
        draft: A first version of the line; private.
        thought: What went before it; private.
        action: Say something and go on, or say it and leave.
        text: What the agent hears.
        reason: Why the customer leaves; None while they stay.

    >>> Answer.model_validate_json('{"action": "say", "text": "Hi", "reason": null}').text
    'Hi'
    """

    draft: str = ""
    thought: str = ""
    action: Literal["say", "finish"]
    text: str
    reason: UserEnd | None = None

    @model_validator(mode="after")
    def _leaves_for_a_reason(self) -> Self:
        if self.action == "finish" and self.reason is None:
            raise ValueError(f"'finish' needs a reason: one of {', '.join(map(repr, _ENDS))}")
        if self.action == "say" and self.reason is not None:
            raise ValueError(f"reason must be null with 'say', not {self.reason.value!r}")
        return self

    @classmethod
    def of(cls, reply: UserReply) -> Self:
        """The answer that says what this reply says."""
        return cls(
            action="say" if reply.end is None else "finish", text=reply.content, reason=reply.end
        )

    def to_reply(self) -> UserReply:
        """What the agent hears of it."""
        return UserReply(content=self.text.strip(), end=self.reason)

    def dump(self, schema: JsonDict | None = None) -> str:
        """The answer as JSON with exactly the fields of a schema; by default the spoken ones.

        >>> Answer(action="say", text="Hi").dump(answer_schema("thought"))
        '{"thought": "", "action": "say", "text": "Hi", "reason": null}'
        """
        names: Sequence[str] = list(schema["properties"]) if schema else _SPOKEN
        every = self.model_dump(mode="json")
        return json.dumps({name: every[name] for name in names}, ensure_ascii=False)


# --- the judgement --------------------------------------------------------------------------------


class Judgement(_Strict):
    """What a model says about a line that another one wrote for a customer.

    Attributes:
        problem: What is wrong with it, in one sentence; "" if nothing is.
        good: Whether it may be said.
    """

    problem: str
    good: bool


JUDGEMENT_SCHEMA: JsonDict = _object(
    {
        "problem": {"type": "string", "description": "What is wrong, in one sentence, or empty."},
        "good": {"type": "boolean", "description": "Whether the line may be said."},
    }
)
"""JSON Schema of a `Judgement`: looks first, then decides."""
