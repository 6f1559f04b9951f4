"""Message batches: many requests handed in at once, and worked on when there is time."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from .faults import FaultPlan, FaultRate
from .prompts import as_json, hashed
from .refusals import RefusedError, invalid

Json = dict[str, Any]

MAX_REQUESTS = 100_000
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OUTCOMES = ("succeeded", "errored", "canceled", "expired")


@dataclass
class Batch:
    """One batch.

    Attributes:
        id: As the server calls it.
        requests: As handed in.
        created: When.
        url: Of the server, which results are fetched from.
        ended: When; None while it is worked on.
        cancelled: When that was asked for.
        results: By custom id.
    """

    id: str
    requests: list[Json]
    created: datetime
    url: str
    ended: datetime | None = None
    cancelled: datetime | None = None
    results: dict[str, Json] = field(default_factory=dict)

    def info(self) -> Json:
        """The batch as the API shows it."""
        done = Counter(result["type"] for result in self.results.values() if self.ended)
        status = "ended" if self.ended else "canceling" if self.cancelled else "in_progress"
        results = f"{self.url}/v1/messages/batches/{self.id}/results"
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": status,
            "request_counts": {
                "processing": 0 if self.ended else len(self.requests),
                **{outcome: done[outcome] for outcome in _OUTCOMES},
            },
            "created_at": _time(self.created),
            "expires_at": _time(self.created + timedelta(hours=24)),
            "ended_at": _time(self.ended),
            "cancel_initiated_at": _time(self.cancelled),
            "archived_at": None,
            "results_url": results if self.ended else None,
        }


class Batches:
    """All batches of a server.

    Args:
        answer: Gives the message that answers the parameters of one request.
        plan: Says which requests expire, and in which order results come.
    """

    def __init__(self, answer: Callable[[Json], Awaitable[Json]], plan: FaultPlan) -> None:
        self._answer = answer
        self._plan = plan
        self._batches: dict[str, Batch] = {}
        self._at_work: dict[str, asyncio.Task[None]] = {}

    def create(self, body: Json, seconds: float, url: str, faults: Sequence[FaultRate]) -> Json:
        """Take a batch, and begin to work on it.

        Args:
            body: Of the request.
            seconds: How long the work takes at least.
            url: Of the server.
            faults: The chance to expire, if there is one.

        Raises:
            RefusedError: It is no batch.
        """
        requests = _checked(body)
        number = str(len(self._batches))
        name = f"msgbatch_{hashed(number, as_json(requests)).hex()[:24]}"
        batch = Batch(name, requests, datetime.now(UTC), url)
        self._batches[name] = batch
        task = asyncio.get_running_loop().create_task(self._work(batch, seconds, faults))
        self._at_work[name] = task
        task.add_done_callback(lambda _: self._at_work.pop(name, None))
        return batch.info()

    def all(self) -> list[Json]:
        """Every batch, the newest first."""
        return [batch.info() for batch in reversed(self._batches.values())]

    def get(self, name: str) -> Batch:
        """The batch of this name.

        Raises:
            RefusedError: There is none.
        """
        if name not in self._batches:
            raise RefusedError("not_found_error", f"Message batch {name} not found")
        return self._batches[name]

    def cancel(self, name: str) -> Json:
        """Stop working on a batch; what is not yet answered never will be."""
        batch = self.get(name)
        if batch.ended is None and batch.cancelled is None:
            batch.cancelled = datetime.now(UTC)
            self._at_work[name].cancel()
        return batch.info()

    def delete(self, name: str) -> Json:
        """Forget a batch that has ended."""
        if self.get(name).ended is None:
            raise invalid(f"Message batch {name} cannot be deleted while it is processed")
        del self._batches[name]
        return {"id": name, "type": "message_batch_deleted"}

    def results(self, name: str) -> bytes:
        """The results as JSON lines, in another order than asked.

        Raises:
            RefusedError: There are none yet.
        """
        batch = self.get(name)
        if batch.ended is None:
            raise invalid(f"Message batch {name} has no available results yet")
        ids = sorted(batch.results, key=lambda id: self._plan.draw("order", id.encode()))
        lines = [{"custom_id": id, "result": batch.results[id]} for id in ids]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    async def close(self) -> None:
        """Stop all work."""
        tasks = [*self._at_work.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, batch: Batch, seconds: float, faults: Sequence[FaultRate]) -> None:
        try:
            await asyncio.sleep(seconds)
            for entry in batch.requests:
                batch.results[entry["custom_id"]] = await self._result(entry, faults)
        except asyncio.CancelledError:
            for entry in batch.requests:
                batch.results.setdefault(entry["custom_id"], {"type": "canceled"})
        batch.ended = datetime.now(UTC)

    async def _result(self, entry: Json, faults: Sequence[FaultRate]) -> Json:
        key = hashed(entry["custom_id"], as_json(entry["params"]))
        if self._plan.strike(faults, key):
            return {"type": "expired"}
        try:
            return {"type": "succeeded", "message": await self._answer(entry["params"])}
        except RefusedError as error:
            return {"type": "errored", "error": error.body(f"req_{key.hex()[:24]}")}


def _checked(body: Json) -> list[Json]:
    requests = body.get("requests")
    if not isinstance(requests, list) or not requests:
        raise invalid("requests: List should have at least 1 item")
    if len(requests) > MAX_REQUESTS:
        raise invalid(f"requests: List should have at most {MAX_REQUESTS} items")
    if unknown := body.keys() - {"requests"}:
        raise invalid(f"{min(unknown)}: Extra inputs are not permitted")
    ids: set[str] = set()
    for place, entry in enumerate(requests):
        _check_entry(entry, f"requests.{place}")
        if entry["custom_id"] in ids:
            raise invalid(f"requests.{place}.custom_id: {entry['custom_id']!r} is not unique")
        ids.add(entry["custom_id"])
    return requests


def _check_entry(entry: Any, where: str) -> None:
    if not isinstance(entry, dict) or entry.keys() != {"custom_id", "params"}:
        raise invalid(f"{where}: should have custom_id and params, and nothing else")
    if not isinstance(entry["custom_id"], str) or not _CUSTOM_ID.fullmatch(entry["custom_id"]):
        raise invalid(
            f"{where}.custom_id: String should match '^[a-zA-Z0-9_-]{{1,64}}$', "
            f"not {entry['custom_id']!r}"
        )
    if not isinstance(entry["params"], dict):
        raise invalid(f"{where}.params: Input should be a valid dictionary")
    if entry["params"].get("stream"):
        raise invalid(f"{where}.params.stream: streaming is not supported in batches")


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
