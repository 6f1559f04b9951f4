"""Every example in the code and in the documents runs and prints what it says."""

import doctest
import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
import yaml

import passhat
from passhat.task import Task

ROOT = Path(__file__).resolve().parents[1]
# A package that cannot be imported fails its own test, not the collection of all.
MODULES = [
    module.name
    for module in walk_packages(passhat.__path__, "passhat.", onerror=lambda _: None)
    if not module.name.endswith("__main__")
]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_run(module: str) -> None:
    """What a docstring shows is what the code does."""
    assert doctest.testmod(import_module(module)).failed == 0


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_of_a_document_run(document: Path) -> None:
    """A reader can paste what a page shows behind >>>."""
    assert doctest.testfile(str(document), module_relative=False, encoding="utf-8").failed == 0


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_tasks_of_a_document_are_tasks(document: Path) -> None:
    """A task that a page shows can be put into a file as it stands."""
    for block in re.findall(
        r"^```yaml\n(.*?)^```", document.read_text(encoding="utf-8"), re.M | re.S
    ):
        for task in yaml.safe_load(block):
            assert Task.model_validate(task).id == task["id"]
