"""What models cost."""

from collections.abc import Iterator
from pathlib import Path

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.errors import UsageError
from passhat.models import prices
from passhat.models.prices import BATCH_SHARE, Price, Rates, price_of
from passhat.transcript import Usage

CLAUDES = ["claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-4-5"]
tokens = st.integers(0, 150_000)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's own table, to be written by the test."""
    path = tmp_path / "prices.yaml"
    monkeypatch.setenv(prices.PRICES_VARIABLE, str(path))
    yield path
    prices._table.cache_clear()


def known(model: str, **options: str) -> Price:
    """The price of a model that has one."""
    price = price_of(model, options=options)
    assert price is not None
    return price


@given(
    model=st.sampled_from(CLAUDES),
    fresh=tokens,
    read=tokens,
    write=tokens,
    write_1h=tokens,
    out=tokens,
    batch=st.booleans(),
)
def test_costs_are_those_of_the_package_that_the_figures_are_from(
    model: str, fresh: int, read: int, write: int, write_1h: int, out: int, batch: bool
) -> None:
    """All five parts, beyond 100,000 tokens too, and at half price in a batch."""
    usage = Usage(
        input_tokens=fresh,
        cache_read_tokens=read,
        cache_write_tokens=write,
        cache_write_1h_tokens=write_1h,
        output_tokens=out,
    )
    theirs = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=fresh + read + write + write_1h,
            cache_read_tokens=read,
            cache_write_tokens=write + write_1h,
            cache_write_1h_tokens=write_1h,
            output_tokens=out,
        ),
        model,
        provider_id="anthropic",
        price_context={"processing": "batch"} if batch else None,
    )
    ours = known(model).dollars(usage, BATCH_SHARE if batch else 1.0)
    assert ours == pytest.approx(float(theirs.total_price), abs=1e-9)


def test_an_unknown_model_has_no_price() -> None:
    """Unknown is not free."""
    assert price_of("my-own-model") is None


def test_a_kind_of_token_without_a_price_makes_the_cost_unknown() -> None:
    """Only the tokens that are there count."""
    price = known("my-own-model", price_input="1", price_output="2")
    assert price.dollars(Usage(input_tokens=1_000_000, output_tokens=500_000)) == 2.0
    assert price.dollars(Usage(input_tokens=1, cache_read_tokens=1)) is None


def test_an_option_replaces_one_rate_and_leaves_the_others() -> None:
    """A discount on output says nothing about input."""
    price = known("claude-opus-5-5", price_output="15")
    assert (price.rates.input, price.rates.output) == (4.0, 15.0)


@pytest.mark.parametrize("text", ["cheap", "-1", "nan", "inf", ""])
def test_what_is_no_price_is_refused(text: str) -> None:
    """The error names the option."""
    with pytest.raises(UsageError, match=r"price_input=.*is no price"):
        price_of("my-own-model", options={"price_input": text})


def test_the_users_table_goes_first(table: Path) -> None:
    """Own contracts, and models that nobody else knows."""
    table.write_text(
        "claude-opus-5-5: {input: 3, output: 12}\n"
        "my-own-model:\n"
        "  input: 1\n"
        "  output: 2\n"
        "  above:\n"
        "    1000: {input: 10, output: 20}\n"
    )
    assert known("claude-opus-5-5").rates == Rates(input=3.0, output=12.0)
    assert known("claude-haiku-5-5").rates.input == 0.1
    own = known("my-own-model")
    assert own.dollars(Usage(input_tokens=1000, output_tokens=1000)) == pytest.approx(0.003)
    assert own.dollars(Usage(input_tokens=1001, output_tokens=1000)) == pytest.approx(0.03001)


def test_the_users_table_may_be_json(table: Path) -> None:
    """JSON is YAML."""
    table.write_text('{"my-own-model": {"input": 1, "output": 2, "cache_read": 0.5}}')
    assert known("my-own-model").rates.cache_read == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- claude-opus-5-5", "expected model ids with their prices"),
        ("m: 3", "3 is no price"),
        ("m: {input: 3, wrong: 4}", "rates are input, output"),
        ("m: {input: much}", "m: input='much' is no price"),
        ("m: {input: 1, above: {long: {input: 2}}}", "above"),
        ("m: {input: 1, above: {5: {wrong: 2}}}", "above 5"),
        ("{", "cannot be read"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(table: Path, text: str, message: str) -> None:
    """A price that is read wrong would go unnoticed."""
    table.write_text(text)
    with pytest.raises(UsageError, match=message):
        price_of("m")


def test_a_missing_table_is_refused(table: Path) -> None:
    """Who sets the variable means it."""
    with pytest.raises(UsageError, match=r"prices\.yaml: cannot be read"):
        price_of("m")
