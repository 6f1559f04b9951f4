"""What customers of every business say alike."""

from __future__ import annotations

import re


def any_word(*alternatives: str) -> re.Pattern[str]:
    """A pattern for whole words, of which any will do."""
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b")


GOODBYE = re.compile(
    r"\b(?:that(?:'s| is| will be| was) (?:all|it|everything|that)|nothing (?:else|to add)|bye"
    r"|goodbye|all set|leave it at|no,? (?:thanks|thank you|that)"
    r"|have a (?:nice|good|great|lovely))\b"
    r"|^(?:no|nope|thanks|thank you)[.! ]*$"
)
