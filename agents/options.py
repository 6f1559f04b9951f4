"""Options of agents that are not options of a model."""

from __future__ import annotations

from math import isfinite

from ..errors import UsageError
from ..models.registry import Options


def seconds_option(options: Options, name: str, meant: str) -> float | None:
    """Take an option out that is a time; None if it is not given.

    Raises:
        UsageError: It is no number of seconds above 0.
    """
    if name not in options:
        return None
    text = options.pop(name)
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not (seconds > 0 and isfinite(seconds)):
        raise UsageError(f"{meant}: {name} must be seconds, more than 0, not {text!r}")
    return seconds


def switch_option(options: Options, name: str, meant: str) -> bool:
    """Take an option out that is on or off; off if it is not given.

    Raises:
        UsageError: It is neither yes nor no.
    """
    value = options.pop(name, "no")
    if value not in ("yes", "no"):
        raise UsageError(f"{meant}: {name} must be yes or no, not {value!r}")
    return value == "yes"


def no_more_options(options: Options, meant: str, known: str) -> None:
    """Make sure that every option was taken.

    Raises:
        UsageError: One is left; names those that there are.
    """
    for name in options:
        raise UsageError(f"{meant}: there is no option {name!r}; there are: {known}")
