"""Naming an agent: every kind by its spec, and a clear line for everything else."""

import pytest

from passhat.agents.registry import agent_kind, known_agents
from passhat.errors import UsageError
from passhat.models.registry import known_models


def test_every_known_agent_is_listed_with_what_it_is() -> None:
    """The listing for --help has a spec and one line for each kind."""
    listed = {entry.spec: entry.description for entry in known_agents()}
    assert list(listed) == [
        "reference",
        "rule-based",
        "noop",
        "chatty-noop",
        "slippery:P[:BASE]",
        "python:MODULE:CALLABLE",
        "http:URL[,protocol=openai]",
        "mcp:COMMAND",
        "agent-sdk[:MODEL]",
        "act:MODELSPEC",
        "react:MODELSPEC",
        "few-shot:MODELSPEC[,examples=FILE]",
        *(spec for spec, _ in known_models()),
    ]
    assert all(listed.values())


@pytest.mark.parametrize(
    ("spec", "sees_task", "synthetic"),
    [
        ("reference", True, True),
        ("rule-based", False, False),
        ("noop", False, False),
        ("chatty-noop", False, False),
        ("slippery:0.05", True, True),
        ("slippery:0.05:rule-based", False, True),
    ],
)
def test_a_kind_says_what_it_may_see_and_whether_it_is_real(
    spec: str, sees_task: bool, synthetic: bool
) -> None:
    """Only the reference and what is built on it see the task."""
    kind = agent_kind(spec)
    assert (kind.spec, kind.sees_task, kind.synthetic) == (spec, sees_task, synthetic)
    assert not kind.blocking


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("slipery:0.05", "no agent 'slipery:0.05'; did you mean 'slippery'"),
        ("", "no agent ''; did you mean"),
        ("noop:3", "agent 'noop:3': 'noop' takes nothing after its name"),
        ("rule-based,effort=low", "'rule-based' takes nothing after its name, and no options"),
        ("slippery", "'' must be the chance of a slip at each move, from 0 to 1, e.g."),
        ("slippery:2", "'2' must be the chance of a slip"),
        ("slippery:nan", "'nan' must be the chance of a slip"),
        ("slippery:often", "'often' must be the chance of a slip"),
        ("slippery:0.1:noop", "'noop' cannot slip; 'reference' and 'rule-based' can"),
        ("python:", "must be python:module:callable, e.g. 'python:my_code:make'"),
        ("python:module_only", "must be python:module:callable"),
    ],
)
def test_a_wrong_spec_ends_in_one_line_that_says_what_would_be_right(
    spec: str, message: str
) -> None:
    """The line names what was written and what is accepted."""
    with pytest.raises(UsageError) as raised:
        agent_kind(spec)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
