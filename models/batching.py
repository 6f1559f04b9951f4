"""Batched: Claude through Message Batches, for requests that do not wait for each other.

Half the price, and an answer within a day. What was submitted is noted in a ledger before any
result is awaited, so that a process that was killed finds its batches again and pays once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anthropic

from ..errors import InfrastructureError, PasshatError, RunStoppedError, UsageError
from ..transcript import NO_USAGE, JsonDict
from .claude_messages import reply_of, request_body, says_too_long
from .masking import masked
from .model import Model, Reply, Request, StopReason
from .prices import BATCH_SHARE
from .retrying import is_empty, until_it_works

if TYPE_CHECKING:
    from .claude import ClaudeModel

PROVIDER = "Anthropic"
MAX_REQUESTS = 100_000
MAX_BYTES = 200_000_000
"""A batch holds 100,000 requests or 256 MB. Source: platform.claude.com, batch processing."""
QUIET = 0.5
"""Seconds without a new request after which those that wait are submitted."""
FIRST_POLL = 2.0
LONGEST_POLL = 60.0
SUBMISSIONS = 5
"""How often a request is submitted that comes to nothing through no fault of its own."""

_FATAL = ("authentication_error", "billing_error", "permission_error", "not_found_error")
Results = dict[str, JsonDict]
T = TypeVar("T")


class _Parked(NamedTuple):
    """A request that waits to be submitted; the future is told the id of its batch."""

    custom_id: str
    body: JsonDict
    batch: asyncio.Future[str]


class Batched(Model):
    """A Claude model that is asked in Message Batches.

    A request waits until no other comes for a moment; then all are submitted together. Belongs to
    one event loop. `Reply.seconds` is 0: how long a batch waits for its turn says nothing.

    Args:
        model: Who is asked.
        ledger: A file of JSON lines, made if it is missing: ids of batches, each with the ids of
            its requests, which are hashes of what is asked.
        quiet: Seconds without a new request after which those that wait are submitted.
        first_poll: Seconds until a batch is looked at again; the pauses grow to a minute.
        max_requests: Of one batch.
        max_bytes: Of all requests of one batch.

    Raises:
        UsageError: The ledger cannot be read, or is something else.
    """

    def __init__(
        self,
        model: ClaudeModel,
        ledger: str | Path,
        *,
        quiet: float = QUIET,
        first_poll: float = FIRST_POLL,
        max_requests: int = MAX_REQUESTS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.spec = model.spec
        self.priced = model.priced
        self._model = model
        self._quiet = quiet
        self._first_poll = first_poll
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._ledger = Ledger(Path(ledger))
        self._asked: Counter[str] = Counter()
        self._parked: list[_Parked] = []
        self._parked_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._results: dict[str, asyncio.Task[Results]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def complete(self, request: Request) -> Reply:
        """Answer one request with the batch that it becomes a part of, or was a part of."""
        body = request_body(request, self._model.settings)
        written = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        custom_id = self._custom_id(written)
        batch = self._ledger.batch_of(custom_id)
        paid = NO_USAGE
        for submission in range(1, SUBMISSIONS + 1):
            batch = batch or await self._submitted(custom_id, body, len(written))
            reply = self._reply((await self._results_of(batch)).get(custom_id))
            batch = None
            if isinstance(reply, Reply):
                paid += reply.usage
                if not is_empty(reply) or submission == SUBMISSIONS:
                    return replace(reply, usage=paid, attempts=submission)
        raise InfrastructureError(
            f"{PROVIDER} gave no answer in {SUBMISSIONS} batches: {masked(str(reply))}"
        )

    async def check(self) -> None:
        """As the model itself."""
        await self._model.check()

    async def close(self) -> None:
        """Stop waiting, and close the connections; what was submitted can be found again."""
        self._stop_timer()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._model.close()

    def _custom_id(self, written: bytes) -> str:
        """Names a request: who asks the same thing twice wants two answers."""
        digest = hashlib.sha256(written).hexdigest()[:48]
        self._asked[digest] += 1
        return f"{digest}-{self._asked[digest]}"

    # --- submitting -------------------------------------------------------------------------------

    async def _submitted(self, custom_id: str, body: JsonDict, size: int) -> str:
        """The id of the batch that a request is put into."""
        loop = asyncio.get_running_loop()
        parked = _Parked(custom_id, body, loop.create_future())
        if self._parked_bytes + size > self._max_bytes:
            self._submit_parked()
        self._parked.append(parked)
        self._parked_bytes += size
        if len(self._parked) >= self._max_requests:
            self._submit_parked()
        else:
            self._stop_timer()
            self._timer = loop.call_later(self._quiet, self._submit_parked)
        return await parked.batch

    def _submit_parked(self) -> None:
        self._stop_timer()
        waiting = [parked for parked in self._parked if not parked.batch.done()]
        self._parked, self._parked_bytes = [], 0
        if waiting:
            self._start(self._submit(waiting))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _submit(self, requests: list[_Parked]) -> None:
        parts: Any = [{"custom_id": p.custom_id, "params": p.body} for p in requests]

        async def create() -> str:
            try:
                return (await self._model.client().messages.batches.create(requests=parts)).id
            except Exception as error:
                self._model.raise_for(error)

        failure: PasshatError | None = None
        try:
            batch = await until_it_works(create, PROVIDER, self._model.patience)
            self._ledger.note(batch, [parked.custom_id for parked in requests])
        except PasshatError as error:
            failure = error
        for parked in requests:
            if parked.batch.done():  # its caller was cancelled
                continue
            if failure:
                parked.batch.set_exception(failure)
            else:
                parked.batch.set_result(batch)

    # --- results ----------------------------------------------------------------------------------

    async def _results_of(self, batch: str) -> Results:
        """What came of the requests of a batch, by custom id; waited for once, for all who ask."""
        if batch not in self._results:
            self._results[batch] = self._start(self._await(batch))
        # Who is cancelled must not take the results away from the others.
        return await asyncio.shield(self._results[batch])

    async def _await(self, batch: str) -> Results:
        batches = self._model.client().messages.batches

        async def ended() -> bool:
            return (await batches.retrieve(batch)).processing_status == "ended"

        async def results() -> Results:
            lines = await batches.results(batch)
            return {line.custom_id: line.result.to_dict() async for line in lines}

        pause = self._first_poll
        try:
            while not await self._asking(ended):
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, LONGEST_POLL)
            return await self._asking(results)
        except anthropic.NotFoundError:  # kept for 29 days, and only for who paid
            del self._results[batch]
            self._ledger.forget(batch)
            return {}
        except PasshatError:
            del self._results[batch]  # the next who asks begins anew
            raise

    async def _asking(self, call: Callable[[], Awaitable[T]]) -> T:
        async def attempt() -> T:
            try:
                return await call()
            except anthropic.NotFoundError:
                raise
            except Exception as error:
                self._model.raise_for(error)

        return await until_it_works(attempt, PROVIDER, self._model.patience)

    def _reply(self, result: JsonDict | None) -> Reply | str:
        """The reply that a result holds, or why the request should be submitted again."""
        if result is None or result["type"] == "expired":
            return "a batch expired before the request's turn came"
        if result["type"] == "succeeded":
            try:
                return reply_of(result["message"], price=self._model.price, share=BATCH_SHARE)
            except (KeyError, TypeError) as error:
                raise InfrastructureError(f"no message in a batch: {error!r}") from error
        if result["type"] == "errored":
            return self._error(result["error"].get("error") or {})
        raise InfrastructureError(f"the batch of this request was {result['type']}")

    def _error(self, error: JsonDict) -> Reply | str:
        kind, message = str(error.get("type")), str(error.get("message"))
        if says_too_long(message):
            return Reply((), StopReason.CONTEXT_FULL, detail=message)
        if kind in _FATAL:
            raise RunStoppedError(f"{PROVIDER} refused a request of a batch: {kind}: {message}")
        if kind in ("invalid_request_error", "request_too_large"):
            raise InfrastructureError(
                f"{PROVIDER} refused the request as it is configured: {kind}: {message}"
            )
        return f"{kind}: {message}"

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits for it is told; if nobody does, nobody need be


class Ledger:
    """Which requests were submitted in which batch, in a file of JSON lines.

    Args:
        path: Made if it is not there.

    Raises:
        UsageError: It cannot be read and written, or is something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._batches: dict[str, str] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise UsageError(f"batch={str(path)!r} cannot be read and written: {error}") from None
        *lines, cut = text.split("\n")
        for line in lines:
            self._read(line)
        if cut:  # the writer was killed; the next line must not be joined to what is left
            self._path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def batch_of(self, custom_id: str) -> str | None:
        """The last batch that a request was submitted in; None: it never was."""
        return self._batches.get(custom_id)

    def note(self, batch: str, custom_ids: list[str]) -> None:
        """Write down, for good, that these requests were submitted.

        Raises:
            InfrastructureError: It cannot be written.
        """
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"batch": batch, "requests": custom_ids}) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InfrastructureError(
                f"batch {batch!r} was submitted, but {str(self._path)!r} cannot be written: {error}"
            ) from error
        self._batches.update(dict.fromkeys(custom_ids, batch))

    def forget(self, batch: str) -> None:
        """Take it that these requests were never submitted; the file keeps what it says."""
        self._batches = {id: other for id, other in self._batches.items() if other != batch}

    def _read(self, line: str) -> None:
        try:
            entry = json.loads(line)
            self._batches.update(dict.fromkeys(entry["requests"], entry["batch"]))
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"batch={str(self._path)!r} is no ledger of batches: {line!r:.80}; name a new file"
            ) from None
