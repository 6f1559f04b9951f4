"""`passhat fake-claude`: a Messages API on this machine, without a model behind it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from .common import safe

if TYPE_CHECKING:
    from ..models.fake_claude import FakeClaude, Seen


def fake_claude(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="On 127.0.0.1; 0: any that is free.")
    ] = 8377,
    agent: Annotated[
        str, typer.Option(help="Who answers requests with tools: an agent without a model.")
    ] = "rule-based",
    user: Annotated[
        str, typer.Option(help="Who answers for simulated customers: a user without a model.")
    ] = "agenda",
    script: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rules (YAML, JSON) that go first; see the docs."),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=RATE",
            help="What goes wrong and how often: rate-limit, overloaded, error, cut, empty, slow, "
            "expired; repeatable. KIND=RATE:SECONDS says how long to wait, or how slow.",
        ),
    ] = None,
    latency: Annotated[float, typer.Option(min=0, help="Seconds each answer takes.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Which requests faults hit.")] = 0,
    model: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A further model; repeatable.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Not a line a request.")] = False,
) -> None:
    """Serve Anthropic's Messages API on this machine, answered by scripted agents and customers.

    Prints what to set so that clients find it; a key must be given, any will do. One line a request
    goes to stderr. Ctrl-C ends it with a summary.

    For example:
        passhat fake-claude

        passhat fake-claude --agent slippery:0.05:rule-based --latency 0.5

        passhat fake-claude --fault overloaded=0.2 --fault cut=0.1 --fault slow=0.05:3

        passhat fake-claude --script refuses.yaml --port 0 --quiet
    """
    import asyncio

    from ..harness.stand_ins import StandIns
    from ..models.fake_claude import FakeClaude, parse_fault
    from ..models.fake_claude.scripts import Script
    from ..models.fake_claude.server import known_models

    rules = Script.load(script) if script is not None else None
    tally = _Tally(quiet)
    app = FakeClaude(
        StandIns(agent, user, rules).brain,
        faults=[parse_fault(text) for text in fault or ()],
        latency=latency,
        seed=seed,
        models=known_models(model or ()),
        keep=0,
        on_seen=tally.note,
    )
    try:
        asyncio.run(_serve(app, port))
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"port {port}: {why}; --port 0 takes one that is free") from None
    typer.echo(tally.summary(), err=True)


async def _serve(app: FakeClaude, port: int) -> None:
    """Serve until somebody ends it."""
    import asyncio
    import signal

    from ..models.fake_claude.server import listening

    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    async with listening(app, port):
        typer.echo(f"export ANTHROPIC_BASE_URL={app.url}\nexport ANTHROPIC_API_KEY=anything")
        await over.wait()


class _Tally:
    """Counts requests, and says a line about each."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._statuses: Counter[int] = Counter()
        self._faults: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()

    def note(self, seen: Seen) -> None:
        self._statuses[seen.status] += 1
        self._faults.update(seen.faults)
        for name in ("input_tokens", *_CACHED, "output_tokens"):
            self._tokens[name] += seen.usage.get(name, 0)
        if not self._quiet:
            typer.echo(_line(seen), err=True)

    def summary(self) -> str:
        """What was served, in a few lines."""
        total = self._statuses.total()
        kinds = ", ".join(f"{_status(s)} {n:,}" for s, n in sorted(self._statuses.items()))
        lines = [f"{total:,} request{'s' * (total != 1)}" + (f": {kinds}" if kinds else "")]
        if self._faults:
            lines.append("faults: " + ", ".join(f"{k} {n:,}" for k, n in self._faults.items()))
        written, read = (self._tokens[name] for name in _CACHED)
        if all_in := self._tokens["input_tokens"] + written + read:
            lines.append(
                f"{all_in:,} tokens in ({read / all_in:.0%} read from cache), "
                f"{self._tokens['output_tokens']:,} out"
            )
        return "\n".join(lines)


_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")


def _status(status: int) -> str:
    return str(status) if status else "cut"


def _line(seen: Seen) -> str:
    parts = [seen.method, seen.path, _status(seen.status)]
    parts += [seen.model, seen.conversation]
    if usage := seen.usage:
        cached = sum(usage[name] for name in _CACHED)
        parts.append(f"{usage['input_tokens']}+{cached} in, {usage['output_tokens']} out")
    if seen.answer and "error" in seen.answer:
        parts.append(seen.answer["error"]["message"])
    parts += [f"[{fault}]" for fault in seen.faults]
    return " ".join(safe(part) for part in parts if part)
