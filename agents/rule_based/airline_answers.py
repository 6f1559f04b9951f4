"""Questions about reservations, flights and balances, answered from what the tools said."""

from __future__ import annotations

from collections.abc import Mapping

from ...language import plain
from ..notes import Json
from .airline_words import cabin_in


def wallet_answer(wallet: Mapping[str, Json]) -> str:
    """What gift cards and certificates hold."""
    held = [f"{m} holds ${about['amount']}" for m, about in wallet.items() if about.get("amount")]
    return f"{'; '.join(held) or 'There is no gift card or certificate with money on it'}."


def offers_answer(offers: list[Json], text: str) -> str:
    """Flights that were found, with what they cost in the cabin asked for, or in every cabin."""
    wanted = cabin_in(text)
    cabins = [wanted] if wanted else ["basic_economy", "economy", "business"]
    fits = [o for o in offers if any(o["available_seats"].get(c, 0) for c in cabins)]
    if wanted and "cheapest" in plain(text):
        fits = sorted(fits, key=lambda o: float(o["prices"][wanted]))[:1]
    told = [
        f"{o['flight_number']} at {o['scheduled_departure_time_est'][:5]}: "
        + ", ".join(f"{c.replace('_', ' ')} ${o['prices'][c]}" for c in cabins)
        for o in fits
    ]
    return f"{'; '.join(told) or 'There is no flight with a free seat'}."


def reservation_answer(
    reservation: Json, statuses: list[str], allowed: int, shares: Mapping[str, float]
) -> str:
    """All about a reservation that customers ask about.

    Args:
        reservation: Its details.
        statuses: How each of its flights stands.
        allowed: How many bags of it are free in all.
        shares: What each payment method has paid, in dollars.
    """
    flights = "; ".join(
        f"{f['flight_number']} on {f['date']} is {status or 'unknown'}"
        for f, status in zip(reservation["flights"], statuses, strict=False)
    )
    paying = " and ".join(f"${share:g} with {m}" for m, share in shares.items()) or "nothing"
    return (
        f"Reservation {reservation['reservation_id']} is in"
        f" {str(reservation['cabin']).replace('_', ' ')}, for {len(reservation['passengers'])}"
        f" passengers, with {reservation['total_baggages']} bags; {allowed} bags are free."
        f" Flights: {flights}. Paid: {paying}."
    )
