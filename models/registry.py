"""Which models there are, and how a text such as ``claude:claude-haiku-5-5,effort=low`` names one.

A spec is a name, a colon, what belongs to it, and options after commas::

    claude:claude-sonnet-5-5,effort=low,max_tokens=4000
    openai:qwen3-8b,base_url=http://127.0.0.1:8000/v1

Every model takes ``record=FILE``, which keeps its replies so that ``recorded:FILE`` can give them
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from ..errors import UsageError
from .model import Model

Options = dict[str, str]


def split_spec(spec: str) -> tuple[str, Options]:
    """A spec without its options, and the options.

    Raises:
        UsageError: What stands after a comma is no ``name=value``, or a name stands twice.

    >>> split_spec("claude:claude-haiku-5-5,effort=low")
    ('claude:claude-haiku-5-5', {'effort': 'low'})
    """
    head, *rest = spec.split(",")
    options: Options = {}
    for text in rest:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals):
            raise UsageError(f"{spec!r}: {text!r} is no option; write name=value, e.g. effort=low")
        if (name := name.strip()) in options:
            raise UsageError(f"{spec!r}: option {name!r} is given twice")
        options[name] = value.strip()
    return head, options


def is_model(spec: str) -> bool:
    """Whether a spec begins with the name of a kind of model."""
    return spec.partition(":")[0] in _KINDS


def open_model(spec: str, options: Mapping[str, str] | None = None) -> Model:
    """The model that a spec names. Nothing is asked of it yet; `Model.check` does that.

    Args:
        spec: Without options if these are given, else with them.
        options: By name; those of whoever asks the model must be taken out before.

    Raises:
        UsageError: No such kind of model, no such option, a value that does not do, or a package
            that is not installed; says what to do.
    """
    head, own = split_spec(spec) if options is None else (spec, dict(options))
    name, colon, rest = head.partition(":")
    if name not in _KINDS:
        near = get_close_matches(name.lower(), _KINDS, n=2, cutoff=0.5) or list(_KINDS)
        raise UsageError(f"no model {spec!r}; did you mean {' or '.join(map(repr, near))}?")
    if not (colon and rest.strip()):
        raise UsageError(f"model {spec!r} lacks what follows {name!r}: {_KINDS[name].spec}")
    record = own.pop("record", None)
    model = _KINDS[name].make(rest.strip(), own)
    return model if record is None else _recording(model, record)


def spec_of(head: str, options: Mapping[str, str]) -> str:
    """A spec with its options, in one way of writing it whatever the order they came in.

    >>> spec_of("claude:claude-haiku-5-5", {"max_tokens": "500", "effort": "low"})
    'claude:claude-haiku-5-5,effort=low,max_tokens=500'
    """
    return ",".join((head, *(f"{name}={options[name]}" for name in sorted(options))))


def known_models() -> list[tuple[str, str]]:
    """Every kind of model: how it is written, and what it is, in one line."""
    return [(kind.spec, kind.description) for kind in _KINDS.values()]


# --- one function a kind: imports only what that kind needs ---------------------------------------


def _claude(rest: str, options: Options) -> Model:
    from .claude import ClaudeModel

    return ClaudeModel.from_options(rest, options)


def _openai(rest: str, options: Options) -> Model:
    from .openai_chat import OpenAIModel

    return OpenAIModel.from_options(rest, options)


def _litellm(rest: str, options: Options) -> Model:
    from .litellm_chat import LiteLLMModel

    return LiteLLMModel.from_options(rest, options)


def _recorded(rest: str, options: Options) -> Model:
    from .cassette import RecordedModel

    return RecordedModel.from_options(rest, options)


def _fake(rest: str, options: Options) -> Model:
    from .fake import FakeModel

    return FakeModel.from_options(rest, options)


def _recording(model: Model, file: str) -> Model:
    from .cassette import RecordingModel

    return RecordingModel(model, file)


class _Kind(NamedTuple):
    spec: str
    description: str
    make: Callable[[str, Options], Model]


_KINDS = {
    "claude": _Kind("claude:MODEL", "Claude, through Anthropic's Messages API", _claude),
    "openai": _Kind(
        "openai:MODEL[,base_url=URL]", "any server that speaks OpenAI's chat completions", _openai
    ),
    "litellm": _Kind("litellm:MODEL", "any provider that LiteLLM knows", _litellm),
    "recorded": _Kind("recorded:FILE", "the replies that a run with record=FILE kept", _recorded),
    "fake": _Kind("fake:SCRIPT", "no model: replies from a file of your own", _fake),
}
