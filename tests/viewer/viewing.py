"""Stores to view, a viewer that serves them, and somebody who reads its pages over HTTP."""

import http.client
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from passhat.errors import Fault
from passhat.grading.verdict import Verdict
from passhat.harness.attempt import Conditions, pack_transcript
from passhat.harness.records import Run
from passhat.harness.run import Plan, start_run
from passhat.harness.store import Store, open_store
from passhat.harness.trials import FinishedTrial, lost_trial, trial_of
from passhat.models.account import Spending
from passhat.transcript import (
    EndingEvent,
    EndReason,
    Event,
    MessageEvent,
    RowChange,
    ToolCallEvent,
    ToolResultEvent,
    Transcript,
    Usage,
)
from passhat.viewer.server import make_server, open_port
from passhat.viewer.site import Site

TASKS = (
    "cancel-power-bank",
    "hammock-to-the-office",
    "return-both-linen-shirts",
    "a-charge-nobody-can-explain",
)
RETAIL = Plan(Conditions("retail", "slippery:0.2"), TASKS, 4, 3, name="nightly")


class quiet:  # noqa: N801 - a watcher of runs that says nothing
    """A watcher that looks away."""

    def begin(self, run: Run, owed: int) -> None:
        """Nothing."""

    def finished(self, trial: FinishedTrial) -> None:
        """Nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


def made_store(path: Path, plan: Plan) -> None:
    """A store with one run, played."""
    with open_store(path, create=True) as store:
        start_run(store, plan, quiet())


# --- stores written by hand -----------------------------------------------------------------------


def conversation(*parts: Event, ending: EndReason = EndReason.USER_STOP) -> Transcript:
    """A transcript of these events, and an ending."""
    numbered = [part.model_copy(update={"index": at}) for at, part in enumerate(parts)]
    turn = numbered[-1].turn if numbered else 0
    return Transcript([*numbered, EndingEvent(index=len(numbered), turn=turn, reason=ending)])


def says(by: str, content: str, turn: int = 1) -> MessageEvent:
    """A message."""
    return MessageEvent(index=0, turn=turn, by=by, content=content)


def calls(name: str, content: str, turn: int = 1, rows: tuple[RowChange, ...] = (), **arguments):
    """A call and its result."""
    call = ToolCallEvent(index=0, turn=turn, call_id="1", name=name, arguments=arguments, move=0)
    return call, ToolResultEvent(
        index=0, turn=turn, call_id="1", name=name, content=content, rows=rows
    )


def new_run(
    store: Store, tasks: Sequence[str], trials: int = 1, *, name: str = "handmade", **more
) -> Run:
    """A run that goes on."""
    about = {"domain": "retail", "agent": "mine", "user": "agenda", "seed": 1} | more
    return store.new_run(name=name, trials=trials, tasks=tasks, **about)


def keep(
    store: Store,
    run: Run,
    task: str,
    number: int,
    transcript: Transcript,
    *,
    passed: bool = False,
    reason: str = "outcome: it is not as it should be",
    findings: tuple[dict, ...] = (),
    cost: float | None = None,
) -> None:
    """Write a scored trial down."""
    verdicts = (
        Verdict(grader="outcome", passed=passed, score=float(passed), reason=reason),
        Verdict(grader="policy", passed=not findings, score=1.0, reason="", evidence=findings),
    )
    store.record(
        run,
        FinishedTrial(
            trial_of(1, run.domain, task, number),
            float(passed),
            None if passed else Fault.AGENT,
            "" if passed else reason,
            ending="user stop",
            turns=2,
            tool_calls=1,
            verdicts=verdicts,
            basis=("outcome", "policy"),
            transcript=pack_transcript(transcript),
            spending={} if cost is None else {"agent": Spending(1, Usage(cost_dollars=cost))},
        ),
    )


def lose(store: Store, run: Run, task: str, number: int) -> None:
    """Write a trial down that was lost."""
    trial = trial_of(1, run.domain, task, number)
    store.record(run, lost_trial(trial, Fault.INFRASTRUCTURE, "the provider was down"))


# --- reading ------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """What a viewer answered."""

    status: int
    headers: dict[str, str]
    text: str


class Reader:
    """Reads the pages at a port, as a browser would ask for them."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.host = f"127.0.0.1:{port}"
        self.cookie = ""

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
        """One request; header names are written with "_"."""
        sent = {"Host": self.host} | {k.replace("_", "-"): v for k, v in headers.items()}
        if self.cookie:
            sent["Cookie"] = self.cookie
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8")
            found = {name.lower(): value for name, value in answer.getheaders()}
        if "set-cookie" in found:
            self.cookie = found["set-cookie"].partition(";")[0]
        return Answer(answer.status, found, text)

    def get(self, path: str) -> str:
        """A page that is there."""
        answer = self.ask("GET", path)
        assert answer.status == 200, (path, answer.text)
        return answer.text

    def post(self, path: str, **fields: str) -> Answer:
        """Send a form, as a page of the viewer does."""
        return self.ask(
            "POST",
            path,
            urlencode(fields),
            Content_Type="application/x-www-form-urlencoded",
            Origin=f"http://{self.host}",
            Sec_Fetch_Site="same-origin",
        )


@contextmanager
def serving(site: Site) -> Iterator[Reader]:
    """Serve a site on a free port, in a thread."""
    server = make_server(site)
    with closing(open_port("127.0.0.1", 0)) as sock:
        thread = threading.Thread(target=server.run, args=([sock],), name="viewer")
        thread.start()
        try:
            yield Reader(sock.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()


Open = Callable[..., Site]
Serve = Callable[[Site], Reader]


class Page(HTMLParser):
    """What a page holds: tags with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.text += data

    def links(self) -> set[str]:
        """Addresses of this viewer that the page leads to or loads."""
        found = set()
        for _, attributes in self.tags:
            for name in ("href", "src", "hx-get"):
                link = attributes.get(name)
                if link and link.startswith("/"):
                    found.add(link.partition("#")[0])
        return found

    def ids(self) -> list[str]:
        """Every id, as often as it is there."""
        return [attributes["id"] or "" for _, attributes in self.tags if "id" in attributes]
