"""Code of the user's own, named in words: ``module:name`` for an agent, a grader or a domain.

The module may be installed, or a file in the current directory. It is imported when it is named, so
that a mistake shows before the first trial, and whatever goes wrong is told in one line.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import UsageError

PREFIX = "python:"
"""Begins the name of a callable where passhat also has names of its own."""


def load_object(path: str, meant: str) -> object:
    """The object that a path names.

    Args:
        path: ``module:name``; both may have dots.
        meant: What it is wanted for, which messages begin with: "domain 'my_shop:SHOP'".

    Raises:
        UsageError: Malformed, no such module or name, or the import fails.
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise UsageError(f"{meant}: {path!r} must be module:name, e.g. 'my_code:make'")
    found: object = _imported(module, meant)
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{meant}: there is no {part!r}, but {_names_like(part, found)}")
        found = getattr(found, part)
    return found


def load_callable(spec: str, meant: str, takes: Sequence[str]) -> Callable[..., Any]:
    """The callable that ``python:module:name`` names.

    Args:
        spec: With its prefix.
        meant: As `load_object`.
        takes: What it must take by position, in words, e.g. ``["the brief"]``.

    Raises:
        UsageError: As `load_object`; or it cannot be called, or not with so many arguments.
    """
    if not spec.startswith(PREFIX) or spec.count(":") != 2:
        raise UsageError(f"{meant} must be python:module:callable, e.g. 'python:my_code:make'")
    path = spec.removeprefix(PREFIX)
    found = load_object(path, meant)
    wanted = f"it must take {len(takes)} argument{'s'[: len(takes) > 1]}: {', '.join(takes)}"
    if not callable(found):
        name = path.partition(":")[2]
        raise UsageError(f"{meant}: {name!r} is {found!r:.60}, which cannot be called; {wanted}")
    try:
        inspect.signature(found).bind(*takes)
    except TypeError:
        raise UsageError(f"{meant}: {wanted}") from None
    except ValueError:  # written in C: it has no signature to look at
        pass
    return found


def _names_like(name: str, found: object) -> str:
    """What is there instead: names like that one, or the first few."""
    public = [known for known in dir(found) if not known.startswith("_")]
    return ", ".join(get_close_matches(name, public, n=3) or public[:8]) or "nothing"


def _imported(module: str, meant: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise UsageError(_failed(module, meant, error)) from error
        raise UsageError(
            f"{meant}: there is no module {error.name!r}, installed or in this directory"
        ) from None
    except (Exception, SystemExit) as error:  # whatever their code does when it is imported
        raise UsageError(_failed(module, meant, error)) from error


def _failed(module: str, meant: str, error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{meant}: importing {module!r} failed: {type(error).__name__}: {said}"
