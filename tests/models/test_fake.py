"""Models that answer from a script, in this process."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from passhat.errors import RunStoppedError, UsageError
from passhat.models.model import Model, Reply, Request, StopReason, text_block
from passhat.models.registry import open_model

SCRIPT = """
- when: {turn: 1}
  text: Hello! What is your e-mail address?
- when: {says: '(?P<email>\\S+@\\S+)'}
  thinking: I look them up.
  calls:
    - find_user_id_by_email: {email: $email}
    - get_order_details: broken
"""


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """The model of the script."""
    file = tmp_path / "script.yaml"
    file.write_text(SCRIPT, encoding="utf-8")
    return open_model(f"fake:{file}")


def ask(model: Model, *lines: str) -> Reply:
    """The reply to a conversation, the customer's lines and the model's in turns."""
    messages = [
        {"role": ("user", "assistant")[at % 2], "content": [text_block(line)]}
        for at, line in enumerate(lines)
    ]
    return asyncio.run(model.complete(Request("", messages)))


def test_the_first_rule_that_fits_answers(model: Model) -> None:
    """In the same blocks as a model's, whatever a model may say."""
    assert ask(model, "Hi").text == "Hello! What is your e-mail address?"
    reply = ask(model, "Hi", "Hello!", "It is a@b.example")
    assert [block["type"] for block in reply.content] == ["thinking", "tool_use", "tool_use"]
    assert reply.content[1]["input"] == {"email": "a@b.example"}
    assert reply.content[2]["input"] == "broken"
    assert reply.stop is StopReason.TOOL_USE


def test_its_numbers_say_nothing_about_a_model(model: Model) -> None:
    """So it is shown wherever they appear; there is nothing to pay."""
    assert model.synthetic
    assert model.priced
    usage = ask(model, "Hi").usage
    assert (usage.all_tokens, usage.cost_dollars) == (0, 0.0)


def test_a_conversation_that_no_rule_fits_stops_the_run(model: Model) -> None:
    """The script is to be completed; the agent has not failed."""
    with pytest.raises(RunStoppedError, match="no rule fits reply 2"):
        ask(model, "Hi", "Hello!", "What?")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fake:nowhere.yaml", "cannot read the script 'nowhere.yaml'"),
        ("fake:nowhere.yaml,speed=2", "has no option 'speed'"),
        ("fake:", "model 'fake:' lacks what follows 'fake': fake:SCRIPT"),
    ],
)
def test_a_wrong_spec_ends_in_one_line(spec: str, message: str) -> None:
    """Before the first trial."""
    with pytest.raises(UsageError) as raised:
        open_model(spec)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_server_is_loaded_for_it() -> None:
    """It works without the packages that serving takes."""
    code = (
        "import passhat.models.fake, sys;"
        "print(sorted({'starlette', 'uvicorn', 'anthropic', 'openai'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
