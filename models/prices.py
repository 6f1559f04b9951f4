"""What models cost. The figures are those of the package genai-prices, or the user's own.

Nothing here asks the network: prices are as old as the installed package. A price that is not known
stays unknown, so that a cost is None and never 0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..transcript import Usage

PRICES_VARIABLE = "PASSHAT_PRICES"
BATCH_SHARE = 0.5
"""Of the price, for requests in a Message Batch. Source: platform.claude.com, batch processing."""

_PER = 1_000_000


@dataclass(frozen=True)
class Rates:
    """Dollars for a million tokens of each kind; None: not known.

    Attributes:
        input: Input that has nothing to do with a cache.
        output: Output, thinking included.
        cache_read: Input taken from a cache.
        cache_write: Input put into a cache for five minutes.
        cache_write_1h: Input put into a cache for an hour.
    """

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None

    def dollars(self, usage: Usage) -> float | None:
        """What the tokens cost; None if there are tokens of a kind whose rate is not known."""
        parts = (
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
            (usage.cache_write_1h_tokens, self.cache_write_1h),
        )
        used = [(tokens, rate) for tokens, rate in parts if tokens]
        if any(rate is None for _, rate in used):
            return None
        return sum(tokens * rate for tokens, rate in used if rate is not None) / _PER


@dataclass(frozen=True)
class Price:
    """What a model costs.

    Attributes:
        rates: Of every request, as long as no step holds.
        steps: Rates of requests with more input than so many tokens; the largest such number
            counts, and counts for all tokens of the request.

    Example:
        >>> price = Price(Rates(input=2, output=10, cache_read=0.2))
        >>> usage = Usage(input_tokens=1000, cache_read_tokens=9000, output_tokens=100)
        >>> price.dollars(usage)
        0.0048
        >>> print(price.dollars(Usage(cache_write_tokens=1)))
        None
    """

    rates: Rates
    steps: Mapping[int, Rates] = field(default_factory=dict)

    def dollars(self, usage: Usage, share: float = 1.0) -> float | None:
        """What one request costs.

        Args:
            usage: Of one request: steps depend on its length.
            share: Of the price that is paid, e.g. `BATCH_SHARE`.
        """
        reached = [step for step in self.steps if (usage.all_input_tokens or 0) > step]
        rates = self.steps[max(reached)] if reached else self.rates
        dollars = rates.dollars(usage)
        return None if dollars is None else dollars * share


PRICE_OPTIONS = tuple(f"price_{kind.name}" for kind in fields(Rates))
"""Options of a model's spec, in dollars for a million tokens: ``price_input=3``."""


def price_of(
    model: str, provider: str | None = None, options: Mapping[str, str] | None = None
) -> Price | None:
    """What a model costs, from its options, else the user's table, else genai-prices.

    Options replace single rates of whatever else is known, and do away with its steps.

    Args:
        model: Its id, as the provider calls it.
        provider: As genai-prices calls it, e.g. ``anthropic``; None: whichever has such a model.
        options: Options of a spec; those named in `PRICE_OPTIONS` count.

    Returns:
        None if nothing is known of input or of output.

    Raises:
        UsageError: An option or the table does not say a price.
    """
    known = _from_table(model) or _from_package(model, provider)
    own = {name.removeprefix("price_"): name for name in PRICE_OPTIONS if name in (options or {})}
    if options and own:
        given = {kind: _dollars(name, options[name]) for kind, name in own.items()}
        known = Price(replace(known.rates if known else Rates(), **given))
    if known is None or known.rates.input is None or known.rates.output is None:
        return None
    return known


def _dollars(name: str, text: object) -> float:
    try:
        dollars = float(str(text))
    except ValueError:
        dollars = -1.0
    if not 0 <= dollars < float("inf"):
        raise UsageError(f"{name}={text!r} is no price; write dollars for a million tokens: 2.50")
    return dollars


# --- the user's table -----------------------------------------------------------------------------


def _from_table(model: str) -> Price | None:
    path = os.environ.get(PRICES_VARIABLE)
    return _table(path).get(model) if path else None


@cache
def _table(path: str) -> dict[str, Price]:
    """Prices by model id, from a file of YAML or JSON."""
    import yaml

    try:
        models = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{PRICES_VARIABLE}={path}: cannot be read: {error}") from None
    if not isinstance(models, dict):
        raise UsageError(f"{PRICES_VARIABLE}={path}: expected model ids with their prices")
    return {str(model): _row(f"{path}: {model}", row) for model, row in models.items()}


def _row(where: str, row: object) -> Price:
    if not isinstance(row, dict):
        raise UsageError(f"{where}: {row!r} is no price; write {{input: 2, output: 10}}")
    above = row.get("above", {})
    if not isinstance(above, dict) or not all(isinstance(step, int) for step in above):
        raise UsageError(f"{where}: above: {above!r} should be tokens with the rates beyond them")
    rates = {kind: value for kind, value in row.items() if kind != "above"}
    steps = {step: _rates(f"{where}: above {step}", beyond) for step, beyond in above.items()}
    return Price(_rates(where, rates), steps)


def _rates(where: str, rates: Any) -> Rates:
    kinds = [kind.name for kind in fields(Rates)]
    if not isinstance(rates, dict) or not set(rates) <= set(kinds):
        raise UsageError(f"{where}: {rates!r}: rates are {', '.join(kinds)}")
    return Rates(**{kind: _dollars(f"{where}: {kind}", value) for kind, value in rates.items()})


# --- genai-prices ---------------------------------------------------------------------------------


def _from_package(model: str, provider: str | None) -> Price | None:
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, found = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    today = found.get_prices(datetime.now(UTC))
    own = {key: value for key, value in vars(today).items() if value is not None}
    tiers = [tier.start for value in own.values() for tier in getattr(value, "tiers", ())]
    return Price(_rates_at(own, 0), {start: _rates_at(own, start) for start in sorted(set(tiers))})


def _rates_at(prices: Mapping[str, Any], step: int) -> Rates:
    """Rates from the package's prices, for requests with more input tokens than a step.

    What has no rate of its own counts as what it is a part of, as it does in that package.
    """

    def rate(key: str, parent: float | None = None) -> float | None:
        price = prices.get(key)
        if price is None:
            return parent
        reached = [tier for tier in getattr(price, "tiers", ()) if tier.start <= step]
        if reached:
            return float(max(reached, key=lambda tier: tier.start).price)
        return float(getattr(price, "base", price))

    fresh = rate("input_mtok")
    write = rate("cache_write_mtok", fresh)
    return Rates(
        input=fresh,
        output=rate("output_mtok"),
        cache_read=rate("cache_read_mtok", fresh),
        cache_write=rate("cache_write_5m_mtok", write),
        cache_write_1h=rate("cache_write_1h_mtok", write),
    )
