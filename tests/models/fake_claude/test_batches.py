"""Message batches, as the real SDK handles them."""

from collections.abc import Iterator
from datetime import timedelta

import anthropic
import pytest
from anthropic import Anthropic
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse

from .requests import Json, asking, request, user

COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")


def echo(body: Json) -> str:
    """Says what it hears."""
    return f"You said {body['messages'][-1]['content']}."


@pytest.fixture
def client() -> Iterator[Anthropic]:
    """A client of a server that works at once."""
    with asking(echo) as (client, _):
        yield client


def entries(number: int, **changes: object) -> list[Json]:
    """Requests of a batch."""
    return [
        {"custom_id": f"n-{n}", "params": request(user(str(n)), **changes)} for n in range(number)
    ]


def ended(client: Anthropic, batch: MessageBatch) -> MessageBatch:
    """A batch when it has ended."""
    while batch.processing_status != "ended":
        batch = client.messages.batches.retrieve(batch.id)
    return batch


def results(client: Anthropic, batch: MessageBatch) -> dict[str, MessageBatchIndividualResponse]:
    """Results by custom id, in the order in which they came."""
    found = client.messages.batches.results(ended(client, batch).id)
    return {result.custom_id: result for result in found}


def counts(batch: MessageBatch) -> dict[str, int]:
    """Its counts that are not zero."""
    every = batch.request_counts.to_dict()
    return {name: every[name] for name in COUNTS if every[name]}  # type: ignore[misc]


def test_a_batch_answers_every_request_in_another_order(client: Anthropic) -> None:
    """Each result by its custom id, at the tier that is charged for batches."""
    made = client.messages.batches.create(requests=entries(20))  # type: ignore[arg-type]
    assert made.expires_at - made.created_at == timedelta(hours=24)
    found = results(client, made)
    assert sorted(found) == sorted(entry["custom_id"] for entry in entries(20))
    assert [*found] != [entry["custom_id"] for entry in entries(20)]
    for custom_id, each in found.items():
        assert each.result.type == "succeeded"
        message = each.result.message
        assert message.content[0].text == f"You said {custom_id[2:]}."  # type: ignore[union-attr]
        assert message.usage.service_tier == "batch"
    assert counts(ended(client, made)) == {"succeeded": 20}


def test_a_request_that_is_not_in_order_fails_alone(client: Anthropic) -> None:
    """The others are answered."""
    wrong = entries(3)
    wrong[1]["params"]["max_tokens"] = -1
    batch = client.messages.batches.create(requests=wrong)  # type: ignore[arg-type]
    found = results(client, batch)
    assert {name: each.result.type for name, each in found.items()} == {
        "n-0": "succeeded",
        "n-1": "errored",
        "n-2": "succeeded",
    }
    error = found["n-1"].result.error  # type: ignore[union-attr]
    assert "max_tokens" in error.error.message
    assert counts(ended(client, batch)) == {"succeeded": 2, "errored": 1}


def test_a_brain_that_fails_fails_that_request(caplog: pytest.LogCaptureFixture) -> None:
    """The batch ends all the same."""

    def brain(body: Json) -> str:
        return str(1 // int(body["messages"][0]["content"]))

    with asking(brain) as (client, _):
        batch = client.messages.batches.create(requests=entries(3))  # type: ignore[arg-type]
        assert counts(ended(client, batch)) == {"succeeded": 2, "errored": 1}
    assert "ZeroDivisionError" in caplog.text


def test_a_batch_can_be_cancelled_and_then_deleted() -> None:
    """But not deleted while it is worked on."""
    with asking(echo, latency=60) as (client, _):
        batch = client.messages.batches.create(requests=entries(2))  # type: ignore[arg-type]
        assert (batch.processing_status, counts(batch)) == ("in_progress", {"processing": 2})
        with pytest.raises(anthropic.BadRequestError, match="while it is processed"):
            client.messages.batches.delete(batch.id)
        assert batch.results_url is None
        assert client.messages.batches.cancel(batch.id).cancel_initiated_at is not None
        assert {each.result.type for each in results(client, batch).values()} == {"canceled"}
        assert counts(ended(client, batch)) == {"canceled": 2}
        assert client.messages.batches.delete(batch.id).type == "message_batch_deleted"
        with pytest.raises(anthropic.NotFoundError, match=batch.id):
            client.messages.batches.retrieve(batch.id)


def test_some_requests_expire() -> None:
    """At the rate that is asked for; when they are handed in again, they may not."""
    with asking(echo, faults=["expired=0.5"]) as (client, _):
        batches = [client.messages.batches.create(requests=entries(40)) for _ in range(2)]  # type: ignore[arg-type]
        expired = [
            {name for name, each in results(client, batch).items() if each.result.type == "expired"}
            for batch in batches
        ]
    assert expired[0] != expired[1]
    assert all(8 < len(names) < 32 for names in expired)


def test_batches_are_listed_the_newest_first(client: Anthropic) -> None:
    """Page by page, in both directions."""
    made = [client.messages.batches.create(requests=entries(1)).id for _ in range(5)]  # type: ignore[arg-type]
    assert [batch.id for batch in client.messages.batches.list(limit=2)] == made[::-1]
    before = client.messages.batches.list(limit=2, before_id=made[1])
    assert [batch.id for batch in before.data] == [made[3], made[2]]
    assert before.has_more


@pytest.mark.parametrize(
    ("requests", "names"),
    [
        ([], "requests"),
        ("none", "requests"),
        ([*entries(1), *entries(1)], "requests.1.custom_id"),
        ([{"custom_id": "a b", "params": request()}], "requests.0.custom_id"),
        ([{"custom_id": "a"}], "requests.0"),
        ([{"custom_id": "a", "params": "none"}], "requests.0.params"),
        (entries(1, stream=True), "requests.0.params.stream"),
    ],
)
def test_what_is_no_batch_is_refused(client: Anthropic, requests: object, names: str) -> None:
    """With the entry's place."""
    with pytest.raises(anthropic.BadRequestError, match=names):
        client.messages.batches.create(requests=requests)  # type: ignore[arg-type]
