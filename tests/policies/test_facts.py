"""Where facts come from, when a message holds more of them than anybody would write."""

from passhat.policies.case import Case
from passhat.policies.facts import MOST_AMOUNTS, unfounded
from passhat.transcript import MessageEvent, Transcript


def test_a_flood_of_amounts_is_looked_into_only_so_far() -> None:
    """Tens of thousands of amounts in one message do not keep the grader for hours."""
    asked = " ".join(f"${dollars}.10" for dollars in range(20_000))
    told = " ".join(f"${dollars}.77" for dollars in range(20_000, 40_000))
    transcript = Transcript(
        [
            MessageEvent(index=0, turn=0, by="user", content=asked),
            MessageEvent(index=1, turn=1, by="agent", content=told),
        ]
    )
    found = unfounded(Case(transcript, policy="", find=lambda table, where: []))
    assert 0 < len(found) <= MOST_AMOUNTS
    assert {(fact.event, fact.kind, fact.told) for fact in found} == {(1, "amount", True)}
