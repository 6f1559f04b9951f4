"""What tests of agents outside share: whole runs, with a store, and what became of their trials."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from passhat.harness.attempt import Conditions
from passhat.harness.records import Run
from passhat.harness.run import Effort, Plan, start_run
from passhat.harness.store import open_store
from passhat.harness.trials import FinishedTrial
from passhat.transcript import Transcript

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


class Quiet:
    """A watcher that says nothing."""

    def begin(self, run: Run, owed: int) -> None:
        """Nothing to do."""

    def finished(self, trial: FinishedTrial) -> None:
        """Nothing to do."""

    def say(self, line: str) -> None:
        """Nothing to do."""

    def end(self) -> None:
        """Nothing to do."""


class Ran:
    """What became of one trial."""

    def __init__(self, store: Any, run: Run, row: Any) -> None:
        self.reward = row.reward
        self.fault = row.fault
        self.reason: str = row.reason
        self.transcript: Transcript = store.trial(run, row.task, row.trial).transcript

    @property
    def ending(self) -> str:
        """How the conversation ended, with its details."""
        ending = self.transcript.ending
        assert ending is not None
        return f"{ending.reason}: {ending.detail}"


def run_trials(
    folder: Path, agent: str, tasks: tuple[str, ...], trials: int = 1, concurrency: int = 1,
    max_turns: int = 6, turn_timeout: float = 20,
) -> list[Ran]:  # fmt: skip
    """Run an agent at the shop, as the command line does, and read its trials from the store."""
    conditions = Conditions("retail", agent, max_turns=max_turns, turn_timeout=turn_timeout)
    with open_store(folder / "runs.sqlite", create=True) as store:
        plan = Plan(conditions, tasks, trials)
        ended = start_run(store, plan, Quiet(), Effort(concurrency))
        return [Ran(store, ended.run, row) for row in store.trials(ended.run)]


def told(transcript: Transcript) -> list[tuple[Any, ...]]:
    """A transcript without ids and times: what was said, called and answered."""
    return [
        (
            event.kind,
            getattr(event, "content", ""),
            getattr(event, "name", ""),
            getattr(event, "arguments", None),
            getattr(event, "rows", None),
        )
        for event in transcript
    ]


# --- a server -------------------------------------------------------------------------------------

Answer = Callable[[dict[str, Any]], Any]
"""Takes the body of a request; gives what to send: JSON, raw bytes, or (status, bytes)."""


class Served:
    """A server under way."""

    def __init__(self, url: str, stop: Callable[[], None]) -> None:
        self.url = url
        self.stop = stop
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []


@contextmanager
def serving(answer: Answer) -> Iterator[Served]:
    """An agent behind an address of this machine, for as long as it is entered."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.bodies.append(body)
            served.headers.append(dict(self.headers))
            given = answer(body)
            if given is None:  # hang up
                return
            status, raw = given if isinstance(given, tuple) else (200, given)
            raw = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Keep silent."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Whoever asked has gone: that is what some tests are about."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    served = Served(f"http://127.0.0.1:{server.server_address[1]}", stop)
    try:
        yield served
    finally:
        stop()
