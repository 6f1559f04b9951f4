"""The numbers of airline.md, in one place: time, allowances, fees, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta


def _free_bags() -> dict[str, dict[str, int]]:
    return {
        "regular": {"basic_economy": 0, "economy": 1, "business": 2},
        "silver": {"basic_economy": 1, "economy": 2, "business": 3},
        "gold": {"basic_economy": 2, "economy": 3, "business": 3},
    }


def _most_paying() -> dict[str, int]:
    return {"certificate": 1, "credit_card": 1, "gift_card": 3}


@dataclass(frozen=True)
class Terms:
    """What the policy allows and charges.

    Attributes:
        now: The time of every conversation, Eastern Standard Time.
        free_bags: For each passenger, by membership and cabin.
        most_paying: How many payment methods of a kind can pay for one booking.
        most_passengers: Of one reservation.
        cancelled_cents: Compensation for each passenger if the airline cancelled a flight.
        delayed_cents: The same for a delayed flight.
        free_to_cancel: How long after the booking everything can be cancelled.
    """

    now: datetime = datetime(2026, 5, 15, 15)
    free_bags: Mapping[str, Mapping[str, int]] = field(default_factory=_free_bags)
    most_paying: Mapping[str, int] = field(default_factory=_most_paying)
    most_passengers: int = 5
    cancelled_cents: int = 10_000
    delayed_cents: int = 5_000
    free_to_cancel: timedelta = timedelta(hours=24)

    @property
    def today(self) -> str:
        """The ISO date of now."""
        return self.now.date().isoformat()

    def bags_to_pay(self, membership: str, cabin: str, heads: int, total: int) -> int:
        """How many of so many checked bags cost something in a new booking."""
        return max(0, total - self.free_bags[membership][cabin] * heads)


TERMS = Terms()
