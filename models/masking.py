"""Masking: whatever a server says, the keys of this process do not reach the store or a log."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

MASK: Final = "[key]"
_NAMED: Final = re.compile(r"(?:_|^)(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SHORTEST: Final = 8
"""Characters; what is shorter is no key, and may be a word that is meant."""


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """A text without keys: servers that refuse one like to repeat it.

    Args:
        text: What a server said.
        secrets: What must not be shown either, beside the keys, tokens, secrets and passwords that
            stand in environment variables.

    >>> masked("bad key sk-123456", ["sk-123456"])
    'bad key [key]'
    """
    found = [value for name, value in os.environ.items() if _NAMED.search(name)]
    for secret in sorted({*found, *secrets}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    return text
