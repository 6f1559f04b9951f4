"""Naming a model: every kind by its spec, and a clear line for everything else."""

from importlib import import_module
from pathlib import Path

import pytest

from passhat.errors import UsageError
from passhat.models.registry import is_model, known_models, open_model, split_spec


def test_every_known_model_is_listed_with_what_it_is() -> None:
    """The listings for --help have a spec and one line for each kind."""
    listed = dict(known_models())
    assert [spec.partition(":")[0] for spec in listed] == [
        "claude",
        "openai",
        "litellm",
        "recorded",
        "fake",
    ]
    assert all(listed.values())


@pytest.mark.parametrize(
    ("spec", "head", "options"),
    [
        ("claude:m", "claude:m", {}),
        ("claude:m, effort = low ", "claude:m", {"effort": "low"}),
        ("openai:m,base_url=http://h:1/v1?", "openai:m", {"base_url": "http://h:1/v1?"}),
    ],
)
def test_options_stand_behind_commas(spec: str, head: str, options: dict[str, str]) -> None:
    """Spaces around them do not matter."""
    assert split_spec(spec) == (head, options)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("clode:m", "no model 'clode:m'; did you mean 'claude'"),
        ("claude", "model 'claude' lacks what follows 'claude': claude:MODEL"),
        ("claude:m,effort", "'effort' is no option; write name=value, e.g. effort=low"),
        ("claude:m,effort=low,effort=high", "option 'effort' is given twice"),
        ("fake:s,record=nowhere/cassette.jsonl", "cannot read the script 's'"),
    ],
)
def test_a_wrong_spec_ends_in_one_line_that_says_what_would_be_right(
    spec: str, message: str
) -> None:
    """The line names what was written and what is accepted."""
    with pytest.raises(UsageError) as raised:
        open_model(spec)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_cassette_is_an_option_of_every_model(tmp_path: Path) -> None:
    """It stands in the spec, and the model stays the one it was."""
    (tmp_path / "script.yaml").write_text("- text: Hi\n", encoding="utf-8")
    plain = open_model(f"fake:{tmp_path}/script.yaml")
    model = open_model(f"fake:{tmp_path}/script.yaml,record={tmp_path}/cassette.jsonl")
    assert model.spec == f"{plain.spec},record={tmp_path}/cassette.jsonl"
    assert (model.identity, model.synthetic) == (plain.identity, True)
    with pytest.raises(UsageError, match=r"record=nowhere/cassette\.jsonl: No such file"):
        open_model(f"fake:{tmp_path}/script.yaml,record=nowhere/cassette.jsonl")


@pytest.mark.parametrize("kind", ["openai", "litellm"])
def test_a_package_that_is_missing_is_told_in_one_line(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that installs it."""
    module = import_module(f"passhat.models.{kind}_chat")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as raised:
        open_model(f"{kind}:m")
    wanted = f"model '{kind}:m' needs a package: pip install 'passhat[{kind}]'"
    assert str(raised.value) == wanted


@pytest.mark.parametrize(
    ("spec", "model"), [("claude:m", True), ("agenda", False), ("act:claude:m", False)]
)
def test_a_spec_says_whether_it_names_a_model(spec: str, model: bool) -> None:
    """Agents and users are named beside them."""
    assert is_model(spec) is model
