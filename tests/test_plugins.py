"""Code of the user's own, named in words."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from passhat.errors import UsageError
from passhat.plugins import load_callable, load_object

MY_CODE = """
number = 3

class Shop:
    class Door:
        open = True

def judge(task, transcript, rows):
    return "fine"
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A directory with code in it, as the current one."""
    (tmp_path / "own_code.py").write_text(MY_CODE)
    (tmp_path / "broken_own_code.py").write_text("raise ValueError('no key is\\nset')")
    (tmp_path / "leaving_own_code.py").write_text("raise SystemExit(3)")
    (tmp_path / "needy_own_code.py").write_text("import a_module_that_is_nowhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield
    for name in [name for name in sys.modules if name.endswith("own_code")]:
        del sys.modules[name]


def test_an_object_in_the_current_directory_is_found_by_its_path() -> None:
    """Dots lead to what is inside of something."""
    assert load_object("own_code:Shop.Door.open", "door") is True


def test_a_callable_is_found_by_its_spec() -> None:
    """It is the function itself."""
    assert load_callable("python:own_code:judge", "grader", ["a", "b", "c"])(1, 2, 3) == "fine"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("own_code", "'own_code' must be module:name"),
        (":judge", "':judge' must be module:name"),
        ("own_code:", "'own_code:' must be module:name"),
        ("no_such_own_code:a", "there is no module 'no_such_own_code'"),
        ("own_code.inner:a", "there is no module 'own_code.inner'"),
        ("own_code:jugde", "there is no 'jugde', but judge"),
        ("own_code:xyz", "there is no 'xyz', but Shop, judge, number"),
        ("needy_own_code:a", "No module named 'a_module_that_is_nowhere'"),
        ("broken_own_code:a", "importing 'broken_own_code' failed: ValueError: no key is set"),
        ("leaving_own_code:a", "importing 'leaving_own_code' failed: SystemExit: 3"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_one_line(path: str, message: str) -> None:
    """The line begins with what it was wanted for."""
    with pytest.raises(UsageError) as raised:
        load_object(path, "thing 'x'")
    assert str(raised.value).startswith("thing 'x': ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("polite", "must be python:module:callable"),
        ("python:own_code", "must be python:module:callable"),
        ("python:own_code:number", "'number' is 3, which cannot be called; it must take 1 arg"),
        ("python:own_code:judge", "it must take 1 argument: the brief"),
    ],
)
def test_what_cannot_be_called_as_it_must_be_is_said_at_once(spec: str, message: str) -> None:
    """Before anything is played."""
    with pytest.raises(UsageError) as raised:
        load_callable(spec, f"agent {spec!r}", ["the brief"])
    assert message in str(raised.value)
