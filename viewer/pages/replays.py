"""Results of `passhat replay`: the recorded move beside the new one, cut by cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...errors import UsageError
from ...harness.replay_json import CHECKS
from ...transcript import Transcript
from ..conversation import Line, lines
from ..replays import event_of
from ..words import laid_out
from . import html, number_in

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ...harness.records import Run
    from ..site import Site

PER_PAGE: Final = 100


def replays(site: Site, request: Request) -> Response:
    """The files that were given."""
    return html(site, "replays", files=site.replays.files)


def replay(site: Site, request: Request) -> Response:
    """One file: its numbers, and its conversations."""
    number = request.path_params["file"]
    if number >= len(site.replays.files):
        raise UsageError(f"there is no replay {number}; {len(site.replays.files)} were given")
    file = site.replays.files[number]
    page = max(1, number_in(request, "page", 1, 1_000_000))
    first = (page - 1) * PER_PAGE
    listed = [
        (place, one, [cut.get("agrees") for cut in one["cuts"]])
        for place, one in enumerate(file.conversations[first : first + PER_PAGE], start=first)
    ]
    pages = max(1, -(-len(file.conversations) // PER_PAGE))
    return html(site, "replay", number=number, file=file, listed=listed, page=page, pages=pages)


class Cut(NamedTuple):
    """A cut as its page shows it.

    Attributes:
        cut: As the file has it.
        event: Before which it stands.
        recorded: The recorded move, as far as it is known here.
        move: What the new move says or calls: name and text each.
        checks: Each check with what it came to.
    """

    cut: Mapping[str, Any]
    event: int | None
    recorded: list[Line]
    move: list[tuple[str, str]]
    checks: list[tuple[str, bool]]


def conversation(site: Site, request: Request) -> Response:
    """A replayed conversation, cut by cut."""
    number, place = request.path_params["file"], request.path_params["place"]
    file, found = site.replays.at(number, place)
    run, transcript = _recorded(site, str(found["address"]))
    cuts = [_cut(one, transcript) for one in found["cuts"]]
    return html(
        site,
        "replay_conversation",
        number=number,
        place=place,
        file=file,
        found=found,
        cuts=cuts,
        run=run,
        task=str(found["address"]).partition("/")[2].rpartition("/")[0],
        trial=int(str(found["address"]).rpartition("/")[2]) if run else 0,
        before=place - 1 if place else None,
        after=place + 1 if place + 1 < len(file.conversations) else None,
    )


def _recorded(site: Site, address: str) -> tuple[Run | None, Transcript]:
    """The conversation in this store; nothing if it was recorded elsewhere."""
    name, _, rest = address.partition("/")
    task, _, number = rest.rpartition("/")
    if not task or not (number.isascii() and number.isdecimal()) or len(number) > 9:
        return None, Transcript()
    try:
        run = site.store.find_run(name)
        return run, site.store.trial(run, task, int(number)).transcript
    except UsageError:
        return None, Transcript()


def _cut(cut: Mapping[str, Any], transcript: Transcript) -> Cut:
    event = event_of(cut)
    recorded: list[Line] = []
    if event is not None and event < len(transcript):
        turn = transcript[event].turn
        last = event
        while last < len(transcript) and transcript[last].turn == turn:
            last += 1
        recorded = [one for one in lines(transcript, None, event, last) if one.who != "user"]
    checks = [(name, cut["checks"][name]) for name in CHECKS if _known(cut, name)]
    return Cut(cut, event, recorded, _move(cut.get("move")), checks)


def _known(cut: Mapping[str, Any], name: str) -> bool:
    checks = cut.get("checks")
    return isinstance(checks, dict) and isinstance(checks.get(name), bool)


def _move(move: Any) -> list[tuple[str, str]]:
    """What a move says or calls."""
    if not isinstance(move, dict):
        return []
    if isinstance(move.get("calls"), list):
        calls = [one for one in move["calls"] if isinstance(one, dict)]
        return [(str(one.get("name", "")), laid_out(one.get("arguments", {}))) for one in calls]
    if "content" in move:
        return [("", str(move["content"]))]
    return [("stop", str(move.get("reason") or json.dumps(move)))]
