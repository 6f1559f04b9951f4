"""Reading the options of a spec. What does not do is named together with the spec."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NoReturn
from urllib.parse import urlsplit

from ..errors import UsageError
from .registry import spec_of


class OptionReader:
    """The options of one spec.

    Args:
        head: The spec without its options.
        options: By name.
        known: Every name that there is.

    Raises:
        UsageError: There is another one.

    Example:
        >>> read = OptionReader("openai:qwen3-8b", {"max_tokens": "500"}, ["max_tokens"])
        >>> read.whole("max_tokens"), read.spec
        (500, 'openai:qwen3-8b,max_tokens=500')
    """

    def __init__(self, head: str, options: Mapping[str, str], known: Collection[str]) -> None:
        if unknown := sorted(set(options) - set(known)):
            raise UsageError(f"{head!r} has no option {unknown[0]!r}; it has {', '.join(known)}")
        self.spec = spec_of(head, options)
        self._options = options

    def whole(self, name: str, default: int | None = None) -> int | None:
        """A whole number above 0."""
        text = self._options.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal() and int(text) > 0):
            self._refuse(name, "a number above 0")
        return int(text)

    def number(self, name: str) -> float | None:
        """A number that is not negative; None if it is not given."""
        text = self._options.get(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            self._refuse(name, "a number, 0 or more")
        return value

    def one_of(self, name: str, values: Collection[str], default: str | None = None) -> str | None:
        """One of a few words."""
        value = self._options.get(name, default)
        if value is not None and value not in values:
            self._refuse(name, " or ".join(values))
        return value

    def switch(self, name: str, default: bool) -> bool:
        """Something that is on or off: yes or no."""
        return self.one_of(name, ("yes", "no"), "yes" if default else "no") == "yes"

    def url(self, name: str) -> str | None:
        """An address without a password or a query in it; None if it is not given."""
        value = self._options.get(name)
        if value is None:
            return None
        try:
            url = urlsplit(value)
            _ = url.port
        except ValueError:
            self._refuse(name, "an address such as http://127.0.0.1:8000/v1")
        if url.scheme not in ("http", "https") or not url.hostname:
            self._refuse(name, "an address such as http://127.0.0.1:8000/v1")
        if "@" in url.netloc or url.query:
            raise UsageError(f"{name} must hold no secret: it is kept with the run")
        return value

    def _refuse(self, name: str, right: str) -> NoReturn:
        raise UsageError(f"{self.spec!r}: {name}={self._options[name]!r} should be {right}")
