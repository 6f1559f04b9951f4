"""The texts that a model user is told: templates of `prompts/`, ways of talking of `styles/`.

What a run measures depends on them, so the run's fingerprint holds their content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape


@cache
def styles() -> dict[str, str]:
    """How a customer may talk, by name; each completes "The customer talks ..."."""
    found = sorted((files(__package__) / "styles").iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".md"): file.read_text("utf-8").strip() for file in found}


@cache
def instructions(private: Sequence[str]) -> str:
    """How to play a customer; the same in every conversation.

    Args:
        private: Fields of the answer that are written before the line, as a tuple.
    """
    return _render("customer", private=private)


def judge_instructions() -> str:
    """How to judge a line of a customer; the same in every conversation."""
    return _render("judge")


def opening(style: str, script: str, free_text: bool) -> str:
    """What the conversation begins with.

    Args:
        style: A name of `styles`.
        script: The script block.
        free_text: Whether the script has no goals, only an instruction.
    """
    return _render("opening", style=styles()[style], script=script, free_text=free_text)


def remark(discarded: Sequence[Mapping[str, str]]) -> str:
    """Why answers were not let through, told to whoever gave them.

    Args:
        discarded: For each, the ``answer`` as it was written ("" if there was none) and the
            ``problem``.
    """
    return _render("remark", discarded=discarded)


def _render(name: str, **values: object) -> str:
    return _templates().get_template(name).render(values).strip()


@cache
def _templates() -> Environment:
    return Environment(
        loader=FunctionLoader(_source),
        autoescape=select_autoescape(),  # none of these texts is HTML
        undefined=StrictUndefined,
        trim_blocks=True,
    )


def _source(name: str) -> str:
    return (files(__package__) / "prompts" / f"{name}.md").read_text("utf-8")
