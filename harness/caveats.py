"""What a reader of a run's numbers must know about the domain in which it was played."""

from __future__ import annotations

from ..policies.engine import load_rules


def caveats(domain: str, user: str) -> list[str]:
    """What is not checked, or not really played, in a run; a sentence each.

    Args:
        domain: Its name, or ``module:OBJECT``.
        user: Who plays the customer.
    """
    found = []
    if not load_rules(domain).rules:
        found.append(f"no policy rules are known for {domain}: what breaks its policy is not seen")
    if "@" in domain and user == "agenda":
        found.append(
            "the customers' scripts are another benchmark's free text, which the agenda user only "
            "reads out; such numbers are not those of that benchmark"
        )
    return found
