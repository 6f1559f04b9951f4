"""Responses: what goes back to a client, whole, as a stream, or only in part."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .answers import events
from .refusals import invalid

Json = dict[str, Any]


@dataclass(frozen=True)
class Response:
    """What a client is to receive.

    Attributes:
        body: All of it in one piece, or in the pieces of a stream.
        status: Of the answer; 0: the connection is closed without one.
        headers: Beside those that belong to the body.
        kind: Of the body.
        whole: Whether the body is all of it; otherwise the connection is closed behind it.
    """

    body: bytes | list[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    whole: bool = True

    def cut(self, share: float) -> Response:
        """The same, cut off: in half of the cases before anything is sent.

        Args:
            share: Where, from 0 to 1; before 0.5 nothing is sent.
        """
        if share < 0.5:
            return replace(self, status=0, whole=False)
        sent = int((share - 0.5) * 2 * len(self.body))
        promised = {"content-length": str(len(self.body))} if isinstance(self.body, bytes) else {}
        headers = {**self.headers, **promised}
        return replace(self, body=self.body[:sent], headers=headers, whole=False)

    def called(self, request_id: str) -> Response:
        """The same, as the answer to the request of this id."""
        return replace(self, headers={"request-id": request_id, **self.headers})


def as_response(
    answer: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A value as JSON."""
    return Response(json.dumps(answer).encode(), status, headers or {})


def as_stream(message: Json) -> Response:
    """A message as server-sent events."""
    return Response([*events(message)], kind="text/event-stream; charset=utf-8")


def page(entries: list[Json], query: Mapping[str, str]) -> Json:
    """One page of a list.

    Args:
        entries: All of them, each with an ``id``, in order.
        query: Of the request: ``limit``, ``after_id``, ``before_id``.

    Raises:
        RefusedError: One of them makes no sense.

    >>> page([{"id": "a"}, {"id": "b"}, {"id": "c"}], {"limit": "1", "after_id": "a"})
    {'data': [{'id': 'b'}], 'has_more': True, 'first_id': 'b', 'last_id': 'b'}
    """
    limit = query.get("limit", "20")
    if not limit.isdecimal() or not 1 <= int(limit) <= 1000:
        raise invalid(f"limit: Input should be from 1 to 1000, not {limit!r}")
    ids = [entry["id"] for entry in entries]
    for name in ("after_id", "before_id"):
        if name in query and query[name] not in ids:
            raise invalid(f"{name}: nothing is called {query[name]!r}")
    if "before_id" in query:
        rest = entries[: ids.index(query["before_id"])]
        shown = rest[-int(limit) :]
    else:
        rest = entries[ids.index(query["after_id"]) + 1 if "after_id" in query else 0 :]
        shown = rest[: int(limit)]
    return {
        "data": shown,
        "has_more": len(rest) > len(shown),
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }
