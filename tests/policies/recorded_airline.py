"""tau-bench's recorded airline runs as cases: replayed on its documents, seen as rows of ours.

The benchmark's tools never write the new cabin down; the rows here have it, as the customer has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from passhat.domains.airline.compat import RESERVATIONS, USERS
from passhat.domains.database import Database
from passhat.domains.documents import document_rows
from passhat.domains.packs import make_pack
from passhat.policies.case import Case
from passhat.transcript import (
    MessageEvent,
    RowChange,
    ToolCallEvent,
    ToolResultEvent,
    Transcript,
)

Row = dict[str, Any]
Rows = dict[tuple[str, tuple[Any, ...]], Row | None]
KEYS = {
    "flights": ("flight_number",),
    "flight_dates": ("flight_number", "date"),
    "customers": ("user_id",),
    "payment_methods": ("user_id", "payment_method_id"),
    "reservations": ("reservation_id",),
    "reservation_flights": ("reservation_id", "leg"),
    "passengers": ("reservation_id", "number"),
    "payments": ("reservation_id", "number"),
}


def _cents(amount: float | None) -> int | None:
    return None if amount is None else round(amount * 100)


def _of_flight(flight: Row) -> Iterator[tuple[str, Row]]:
    key = {"flight_number": flight["flight_number"]}
    arrives, _, later = flight["scheduled_arrival_time_est"].partition("+")
    where = {name: flight[name] for name in ("origin", "destination")}
    when = {"departs": flight["scheduled_departure_time_est"], "arrives": arrives}
    yield "flights", key | where | when | {"arrival_days": int(later or 0)}
    for date, day in flight["dates"].items():
        yield "flight_dates", key | {"date": date, "status": day["status"]}


def _of_user(user_id: str, user: Row) -> Iterator[tuple[str, Row]]:
    key = {"user_id": user_id}
    yield "customers", key | {"membership": user["membership"]}
    for method_id, method in user["payment_methods"].items():
        kind = {name: method.get(name) for name in ("source", "brand", "last_four")}
        kind["amount_cents"] = _cents(method.get("amount"))
        yield "payment_methods", key | {"payment_method_id": method_id} | kind


def _of_reservation(stored: Row, cabin: str | None = None) -> Iterator[tuple[str, Row]]:
    key = {"reservation_id": stored["reservation_id"]}
    nested = ("flights", "passengers", "payment_history")
    flat = {name: value for name, value in stored.items() if name not in nested}
    status = {"status": stored.get("status", "active"), "cabin": cabin or stored["cabin"]}
    yield "reservations", flat | status
    for leg, each in enumerate(stored["flights"]):
        flight = {"flight_number": each["flight_number"], "date": each["date"]}
        yield "reservation_flights", key | {"leg": leg} | flight
    for number, passenger in enumerate(stored["passengers"]):
        yield "passengers", key | {"number": number} | passenger
    for number, each in enumerate(stored["payment_history"]):
        paid = {"payment_method_id": each["payment_id"], "amount_cents": _cents(each["amount"])}
        yield "payments", key | {"number": number} | paid


def _keyed(rows: Iterable[tuple[str, Row]]) -> Rows:
    return {(table, tuple(row[column] for column in KEYS[table])): row for table, row in rows}


class RecordedAirline:
    """The benchmark's airline at one commit.

    Args:
        folder: ``tau_bench/envs/airline`` of a clone.
    """

    def __init__(self, folder: Path) -> None:
        documents = {
            name: json.loads((folder / "data" / f"{name}.json").read_text(encoding="utf-8"))
            for name in ("flights", "reservations", "users")
        }
        self.policy = (folder / "wiki.md").read_text(encoding="utf-8")
        name = "airline@tau-bench"
        self.pack = make_pack(name, "tau-bench", document_rows(documents), self.policy, [])
        self.rows: Rows = {}
        for flight in documents["flights"].values():
            self.rows |= _keyed(_of_flight(flight))
        for user_id, user in documents["users"].items():
            self.rows |= _keyed(_of_user(user_id, user))
        for stored in documents["reservations"].values():
            self.rows |= _keyed(_of_reservation(stored))
        self.by_value: dict[tuple[str, str, str], set[tuple[str, tuple[Any, ...]]]] = {}
        for key, row in self.rows.items():
            for column in ("user_id", "reservation_id", "flight_number", "payment_method_id"):
                if row and column in row:
                    self.by_value.setdefault((key[0], column, row[column]), set()).add(key)

    def case(self, run: Mapping[str, Any]) -> Case:
        """One recorded run."""
        with self.pack.world.fork() as db:
            replay = _Replay(self, db)
            for message in run["traj"][1:]:
                replay.take(message)
        return Case(replay.events, self.policy, replay.find)

    def case_of_calls(self, heard: str, calls: Iterable[tuple[str, Row]]) -> Case:
        """What a customer said, and calls made without a word."""
        with self.pack.world.fork() as db:
            replay = _Replay(self, db)
            replay.say("user", heard)
            for name, arguments in calls:
                replay.call(f"call-{len(replay.events)}", name, arguments)
        return Case(replay.events, self.policy, replay.find)


class _Replay:
    """One conversation, carried out again."""

    def __init__(self, airline: RecordedAirline, db: Database) -> None:
        self.airline, self.db = airline, db
        self.events = Transcript()
        self.written: Rows = {}
        self.cabins: dict[str, str] = {}

    def take(self, message: Mapping[str, Any]) -> None:
        """The next message of the recording; results of tools come from the replay."""
        words = message.get("content") or ""
        calls = message.get("tool_calls") or ()
        if message["role"] == "user":
            self.say("user", words.replace("###STOP###", ""))
        elif message["role"] == "assistant" and not calls:
            self.say("agent", words)
        for call in calls:
            function = call["function"]
            self.call(call["id"], function["name"], json.loads(function["arguments"]), words)

    def say(self, by: str, words: str) -> None:
        event = {"index": len(self.events), "turn": 0, "by": by, "content": words}
        self.events.append(MessageEvent.model_validate(event))

    def call(self, call_id: str, name: str, arguments: Row, beside: str = "") -> None:
        at = len(self.events)
        key = {"turn": 0, "call_id": call_id, "name": name}
        self.events.append(
            ToolCallEvent(index=at, arguments=arguments, move=at, beside=beside, **key)
        )
        outcome = self.airline.pack.call(self.db, name, arguments)
        tool = self.airline.pack.tools.get(name)
        wrote = tool is not None and tool.writes and outcome.error is None
        rows = self._changes(name, arguments, outcome.content) if wrote else ()
        told = {"content": outcome.content, "error": outcome.error, "rows": rows}
        self.events.append(ToolResultEvent(index=at + 1, **key, **told))

    def _changes(self, name: str, arguments: Row, content: str) -> tuple[RowChange, ...]:
        """The rows that differ after a call."""
        reservation_id, user_id = arguments.get("reservation_id"), arguments.get("user_id")
        after: Rows = {}
        if name != "send_certificate":
            stored = RESERVATIONS.get(
                self.db, reservation_id or json.loads(content)["reservation_id"]
            )
            if name == "update_reservation_flights":
                self.cabins[reservation_id] = arguments["cabin"]
            reservation_id, user_id = stored["reservation_id"], stored["user_id"]
            after |= _keyed(_of_reservation(stored, self.cabins.get(reservation_id)))
        after |= _keyed(_of_user(user_id, USERS.get(self.db, user_id)))
        keys = set(after) | self._keys("payment_methods", "user_id", user_id)
        for table in ("reservation_flights", "passengers", "payments"):
            keys |= self._keys(table, "reservation_id", reservation_id)
        before = {key: self._row(key) for key in keys}
        changes = [
            RowChange(table=key[0], key=key[1], before=row, after=after.get(key))
            for key, row in before.items()
            if row != after.get(key) and (key in after or key[1][0] in (reservation_id, user_id))
        ]
        self.written |= {(change.table, change.key): change.after for change in changes}
        return tuple(changes)

    def _row(self, key: tuple[str, tuple[Any, ...]]) -> Row | None:
        return self.written[key] if key in self.written else self.airline.rows.get(key)

    def _keys(self, table: str, column: str, value: Any) -> set[tuple[str, tuple[Any, ...]]]:
        """Keys of the rows of a table with such a value, and of those that were written."""
        written = {key for key in self.written if key[0] == table}
        return written | self.airline.by_value.get((table, column, value), set())

    def find(self, table: str, where: Mapping[str, Any]) -> list[Row]:
        """Rows by equal columns, as `Database.find` gives them."""
        column, value = next(iter(where.items()))
        keys = self._keys(table, column, value)
        rows = [row for key in sorted(keys, key=repr) if (row := self._row(key))]
        return [row for row in rows if all(row.get(c) == v for c, v in where.items())]
