"""The report: complete in one file, harmless whatever was said, and honest about what it is."""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from helpers import Log, kiosk_plan, new_store

from passhat.errors import Fault, UsageError
from passhat.grading.grading import policy_verdict
from passhat.grading.verdict import Verdict
from passhat.harness.attempt import pack_transcript
from passhat.harness.curve import TrialResult, curve_of
from passhat.harness.records import Run
from passhat.harness.report import page, write_report
from passhat.harness.report.charts import curve_chart
from passhat.harness.report.digest import digest
from passhat.harness.run import start_run
from passhat.harness.store import Store
from passhat.harness.trials import FinishedTrial, lost_trial, trial_of
from passhat.models.account import Spending
from passhat.policies.engine import Finding
from passhat.results import Source
from passhat.transcript import (
    EndingEvent,
    EndReason,
    ErrorKind,
    MessageEvent,
    RowChange,
    ToolCallEvent,
    ToolResultEvent,
    Transcript,
    Usage,
)

NOTHING_INSIDE = {"meta", "link", "img", "input", "br", "hr"}
EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'</style>"
    "\u200f\u202eevil\u2066\x1b[31m\0"
)


class Page(HTMLParser):
    """A page as a browser takes it apart; a tag that is not closed in its place is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[tuple[tuple[str, ...], str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember it."""
        self.tags.append((tag, dict(attrs)))
        if tag not in NOTHING_INSIDE:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """It closes what was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Remember it, with what it is in."""
        self.text.append((tuple(self.open), data))

    def all(self, *names: str) -> list[dict[str, str | None]]:
        """The attributes of every element of these names."""
        return [attributes for tag, attributes in self.tags if tag in names]

    def inside(self, name: str) -> list[str]:
        """The text of every element of this name, piece by piece."""
        return [text for path, text in self.text if name in path]

    @property
    def words(self) -> str:
        """All text, on one line."""
        return " ".join("".join(text for _, text in self.text).split())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with new_store(tmp_path) as opened:
        yield opened


def write(store: Store, run: Run, folder: Path, **options: Any) -> tuple[Page, str]:
    """The report of a run, taken apart, and as it is."""
    path = folder / "report.html"
    write_report(store, run, path, **options)
    text = path.read_text(encoding="utf-8")
    return Page(text), text


def new_run(
    store: Store, trials: int = 2, tasks: tuple[str, ...] = ("a", "b"), **about: Any
) -> Run:
    """A run of trials that a test makes up."""
    values = {"domain": "kiosk", "agent": "mine", "user": "agenda", "seed": 1}
    return store.new_run(tasks=tasks, trials=trials, **(values | about))


def talk(text: str = "Hello") -> Transcript:
    """A conversation in which everybody says that."""
    call = {"call_id": "1", "name": text}
    change = RowChange(table="t", key=(text,), before={"c": 1}, after={"c": text})
    return Transcript(
        [
            MessageEvent(index=0, turn=0, by="user", content=text),
            MessageEvent(index=1, turn=1, by="agent", content=text),
            ToolCallEvent(index=2, turn=2, arguments={text: text}, move=2, beside=text, **call),
            ToolResultEvent(index=3, turn=2, content=text, rows=(change,), **call),
            ToolResultEvent(
                index=4, turn=2, content=text, error=ErrorKind.REFUSED, **(call | {"call_id": "2"})
            ),
            EndingEvent(index=5, turn=3, reason=EndReason.AGENT_STOP, detail=text),
        ]
    )


def failing(
    task: str = "a", number: int = 1, text: str = "Hello", *verdicts: Verdict, **about: Any
) -> FinishedTrial:
    """A trial that failed, with that text everywhere."""
    missing = Verdict(
        grader="communication",
        passed=False,
        score=0.0,
        reason=text,
        evidence=({"missing": f"the customer was not told {text}"},),
    )
    values: dict[str, Any] = {
        "reward": 0.0,
        "fault": Fault.AGENT,
        "reason": text,
        "ending": "agent stop",
        "turns": 3,
        "tool_calls": 1,
        "verdicts": (missing, *verdicts),
        "basis": ("communication", "policy"),
        "transcript": pack_transcript(talk(text)),
    }
    return FinishedTrial(trial_of(1, "kiosk", task, number), **(values | about))


def spent(dollars: float) -> dict[str, Spending]:
    """What an agent spent whose provider tells the price and nothing else."""
    return {"agent": Spending(1, Usage(cost_dollars=dollars))}


def passing(task: str = "a", number: int = 1, **about: Any) -> FinishedTrial:
    """A trial that passed."""
    values = {"reward": 1.0, "fault": None, "reason": "", "verdicts": ()}
    return failing(task, number, **(values | about))


@pytest.fixture
def slippery(store: Store, tmp_path: Path) -> tuple[Page, str, Run]:
    """The report of a real run with failures."""
    run = start_run(store, kiosk_plan(trials=4), Log()).run
    return *write(store, run, tmp_path), run


# --- one file, and well made ----------------------------------------------------------------------


def test_the_page_loads_nothing_and_runs_nothing(slippery: tuple[Page, str, Run]) -> None:
    """No script, no handler, no style attribute, no address; the policy allows its style alone."""
    found, text, _ = slippery
    assert not found.all("script", "link", "img", "iframe", "object", "embed", "form", "base")
    names = {name for _, attributes in found.tags for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in {"style", "src"}]
    assert "://" not in text
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.S)
    digest_of_style = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [m["content"] for m in found.all("meta") if "http-equiv" in m]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest_of_style}'; base-uri 'none'; "
        "form-action 'none'"
    )


def test_every_link_leads_somewhere_in_the_page(slippery: tuple[Page, str, Run]) -> None:
    """And no two elements share an id."""
    found, _, _ = slippery
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [str(link["href"]) for link in found.all("a")]
    assert len(targets) > 20
    assert {target.removeprefix("#") for target in targets} <= set(ids)
    named = [a[n] for _, a in found.tags for n in ("aria-labelledby",) if n in a]
    assert {word for names in named for word in str(names).split()} <= set(ids)


def test_the_page_can_be_read_without_eyes_or_mouse(slippery: tuple[Page, str, Run]) -> None:
    """Language, landmarks, headings in order, tables with captions and scopes, charts in words."""
    found, text, _ = slippery
    assert found.all("html")[0]["lang"] == "en"
    assert [len(found.all(tag)) for tag in ("main", "nav", "header", "footer", "h1")] == [1] * 5
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch("h[1-6]", tag)]
    assert all(later - level <= 1 for level, later in pairwise(levels))
    assert len(found.all("table")) == len(found.all("caption"))
    assert all("scope" in attributes for attributes in found.all("th"))
    charts = [svg for svg in found.all("svg") if "aria-hidden" not in svg]
    assert len(charts) == 2
    assert all(svg["role"] == "img" for svg in charts)
    assert len(found.all("desc")) == 2
    assert found.all("a")[0] == {"class": "skip", "href": "#main"}
    assert "tabindex" in found.all("main")[0]
    assert "@media print" in text
    assert "prefers-color-scheme: dark" in text


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb" as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_text_has_the_contrast_of_level_aa() -> None:
    """4.5 to 1 in the light, in the dark and in print."""
    style = (Path(page.__file__).parent / "report.css").read_text(encoding="utf-8")
    themes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", theme)) for theme in style.split(":root")[1:]
    ]
    assert len(themes) == 3
    on_page = ("text", "muted", "link", "hat", "at", "model")
    pairs = [(ink, ground) for ink in on_page for ground in ("page", "panel")]
    pairs += [(name, f"on-{name}") for name in ("passed", "failed", "lost", "warn")]
    for theme in themes:
        for ink, ground in pairs:
            light, dark = sorted((luminance(theme[ink]), luminance(theme[ground])), reverse=True)[
                :2
            ]
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_the_same_run_gives_the_same_page(
    slippery: tuple[Page, str, Run], store: Store, tmp_path: Path
) -> None:
    """To the byte."""
    _, text, run = slippery
    assert write(store, run, tmp_path)[1] == text


# --- what it says ---------------------------------------------------------------------------------


def test_the_page_says_what_the_curve_says(slippery: tuple[Page, str, Run], store: Store) -> None:
    """Headline, counts, every k, the baseline, and each failing trial with its conversation."""
    found, _, run = slippery
    curve = curve_of(store.source(run))
    assert curve.headline is not None
    assert curve.headline in found.words
    assert "24 trials planned, 24 scored, 0 lost" in found.words
    assert all(str(point) in found.words for point in (*curve.pass_hat, *curve.pass_at))
    assert "it passes 0 of the same 6 tasks" in found.words
    failed = store.trials(run, ["failed"])
    assert failed
    assert len([d for d in found.all("details") if d.get("class") == "trial"]) == len(failed)
    assert all(f"passhat show {row.address}" in found.words for row in failed)


def test_synthetic_is_said_wherever_numbers_are(slippery: tuple[Page, str, Run]) -> None:
    """In the title, in every caption, under every chart."""
    found, _, _ = slippery
    note = "SYNTHETIC agent slippery:0.2"
    assert note in "".join(found.inside("title"))
    tables = len(found.all("table"))
    assert "".join(found.inside("caption")).count(note) == tables
    assert "".join(found.inside("figcaption")).count(note) == 2
    assert "".join(found.inside("desc")).count(note) == 2


def test_what_was_not_recorded_is_unknown(store: Store, tmp_path: Path) -> None:
    """Never 0; and a cost that only some trials say gives no cost per success."""
    run = new_run(store)
    store.record(run, passing(number=1, spending=spent(0.25)))
    store.record(run, failing(number=2))
    found, _ = write(store, run, tmp_path)
    assert "unknown: the cost is recorded for 1 of 2 scored trials" in found.words
    assert "Input tokens unknown" in found.words
    assert "$0.00" not in found.words
    assert digest(store, run).cost_per_success is None


def test_failing_trials_are_paid_for_too(store: Store) -> None:
    """Three quarters spent, one success."""
    run = new_run(store)
    store.record(run, passing(number=1, spending=spent(0.25), tool_errors=1))
    store.record(run, failing(number=2, spending=spent(0.5)))
    found = digest(store, run)
    assert found.cost_per_success == 0.75
    assert found.measures.tool_error_rate == 0.5


def test_what_each_side_spent_is_in_the_page(store: Store, tmp_path: Path) -> None:
    """The user's part too, the lost attempts', and how much the cache held."""
    run = new_run(store)
    usage = Usage(input_tokens=100, cache_read_tokens=900, output_tokens=50, cost_dollars=0.25)
    sides = {"agent": Spending(3, usage), "user": Spending(2, usage)}
    lost = lost_trial(trial_of(1, "kiosk", "a", 1), Fault.INFRASTRUCTURE, "the provider is down")
    store.record(run, replace(lost, spending=sides))
    store.record(run, passing(number=1, spending=sides))
    found, _ = write(store, run, tmp_path)
    assert "agent 6 2,000 90.0% 100 $0.5000" in found.words
    assert "all 10 4,000 90.0% 200 $1.00" in found.words
    assert digest(store, run).cost_per_success == 1.0


def test_lines_that_the_agent_never_heard_are_counted(store: Store, tmp_path: Path) -> None:
    """They say how much a model that plays the customer had to be corrected."""
    run = new_run(store)
    line = MessageEvent(
        index=0, turn=0, by="user", content="Hi", provider={"discarded": [{}, {}], "model": "m"}
    )
    end = EndingEvent(index=1, turn=0, reason=EndReason.USER_STOP)
    packed = pack_transcript(Transcript([line, end]))
    store.record(run, passing(spending={"user": spent(0.25)["agent"]}, transcript=packed))
    words = write(store, run, tmp_path)[0].words
    assert "1 line said; 2 lines discarded and written anew before the agent heard them" in words


def test_too_much_lost_gives_no_headline_but_the_reasons(store: Store, tmp_path: Path) -> None:
    """By whose fault, and what was never run."""
    run = new_run(store)
    store.record(run, passing())
    store.record(run, lost_trial(trial_of(1, "kiosk", "a", 2), Fault.SIMULATOR, "it said nothing"))
    found, _ = write(store, run, tmp_path)
    assert "no headline yet: too much is not run" in found.words
    assert "4 trials planned, 1 scored, 1 lost, 2 not run" in found.words
    assert "it said nothing" in found.words
    assert "simulator" in found.words
    assert "not run yet" in found.words
    assert "No trial failed." in found.words


def test_tasks_to_repair_and_to_retire_are_named(store: Store, tmp_path: Path) -> None:
    """A task that never passes, and one that always does."""
    run = new_run(store, trials=1)
    store.record(run, failing("a"))
    store.record(run, passing("b"))
    words = write(store, run, tmp_path)[0].words
    assert "1 of 2 tasks never passed" in words
    assert "1 of 2 tasks always passed" in words


def test_broken_rules_lead_to_their_events(store: Store, tmp_path: Path) -> None:
    """Violations in passing trials are counted, and named by their address."""
    run = new_run(store)
    policy = policy_verdict([Finding("asks_first", "kiosk.md#ask", "breach", 2, "it did not")])
    store.record(run, failing("a", 1, "Hello", policy))
    store.record(run, passing("a", 2, verdicts=(policy,)))
    found, _ = write(store, run, tmp_path)
    (rule,) = digest(store, run).rules
    assert (rule.findings, rule.trials, rule.failed) == (2, 2, 1)
    assert {"href": "#t0-e2"} in found.all("a")
    assert f"{run.id}/a/2:2" in found.words


# --- what others wrote ----------------------------------------------------------------------------


def test_hostile_text_is_shown_and_does_nothing(store: Store, tmp_path: Path) -> None:
    """From user, agent, tools, rules, names: no element comes of it, and no direction leaks."""
    run = new_run(store, agent=EVIL, user=EVIL, name=EVIL, versions={EVIL: EVIL}, synthetic=True)
    policy = policy_verdict([Finding(EVIL, EVIL, "breach", 2, EVIL)])
    own = Verdict(grader=EVIL, passed=False, score=0.0, reason=EVIL)
    store.record(run, failing("a", 1, EVIL, policy, own))
    found, text = write(store, run, tmp_path)
    assert not found.all("script", "img")
    assert "onerror" not in {name for _, attributes in found.tags for name in attributes}
    assert not set("\x1b\0\u202e\u2066") & set(text)
    isolated = [path for path, words in found.text if "\u200f" in words]
    assert len(isolated) > 15
    assert all("bdi" in path for path in isolated)
    values = [str(v) for _, attributes in found.tags for v in attributes.values()]
    assert not [value for value in values if "\u200f" in value]


def test_a_word_of_a_megabyte_is_shortened_with_a_note(store: Store, tmp_path: Path) -> None:
    """In every place it can stand; and the rest of it can wrap."""
    run = new_run(store)
    store.record(run, failing("a", 1, "x" * 1_000_000))
    found, text = write(store, run, tmp_path)
    assert len(text) < 100_000
    assert "996,000 more characters" in found.words
    assert "bdi { overflow-wrap: anywhere; }" in text


def test_half_a_surrogate_pair_is_no_obstacle(store: Store, tmp_path: Path) -> None:
    """A model's broken emoji becomes a replacement character."""
    run = new_run(store)
    store.record(run, failing(reason="ok"))
    assert page.said("\ud83d") == "<bdi>\N{REPLACEMENT CHARACTER}</bdi>"
    write(store, run, tmp_path)


def test_a_chart_escapes_what_it_is_given() -> None:
    """Names and notes come from people."""
    results = [TrialResult(task, n, n == 1) for task in "ab" for n in (1, 2)]
    svg = curve_chart(curve_of(Source("x", results, note=EVIL)), 0.0)
    assert "<script" not in svg
    assert "&lt;script" in svg
    assert "\u202e" not in svg


def test_a_single_k_is_drawn_with_a_whisker() -> None:
    """A band of one point has no area."""
    results = [TrialResult(task, 1, task == "a") for task in "abc"]
    svg = curve_chart(curve_of(Source("x", results)))
    assert "whisker hat" in svg
    assert "polygon" not in svg


# --- size -----------------------------------------------------------------------------------------


def test_conversations_beyond_the_budget_are_left_to_a_command(
    store: Store, tmp_path: Path
) -> None:
    """Every failing trial is still listed, and every link still leads somewhere."""
    run = new_run(store, trials=6)
    for number in range(1, 7):
        store.record(run, failing("a", number))
    path = tmp_path / "report.html"
    all_of_them = write_report(store, run, path)
    some = write_report(store, run, path, budget=10_000)
    assert all_of_them.inside == 6
    assert 0 < some.inside < 6
    found = Page(path.read_text(encoding="utf-8"))
    assert "The page has room for no more" in found.words
    assert f"passhat show {run.id}/a/6" in found.words
    ids = {attributes["id"] for _, attributes in found.tags if "id" in attributes}
    assert {str(link["href"])[1:] for link in found.all("a")} <= ids


def test_every_category_is_shown_before_any_twice(store: Store) -> None:
    """A rare failure is not crowded out by a frequent one."""
    run = new_run(store, trials=6)
    for number in range(1, 6):
        store.record(run, failing("a", number))
    rare = pack_transcript(Transcript([EndingEvent(index=0, turn=0, reason=EndReason.USER_STOP)]))
    store.record(run, failing("a", 6, transcript=rare))
    found = digest(store, run)
    entries, _ = page.render(store, found, budget=4_500)
    shown = re.findall(r'<details class="trial"><summary><bdi>a/(\d)</bdi>', entries)
    assert "6" in shown
    assert len(shown) < 6


def many(store: Store, trials: int) -> Run:
    """A run of ten tasks in which every trial fails."""
    tasks = tuple(f"task-{n}" for n in range(10))
    run = new_run(store, trials=trials // 10, tasks=tasks)
    for task in tasks:
        for number in range(1, trials // 10 + 1):
            store.record(run, failing(task, number))
    return run


def test_more_failures_than_the_list_holds_are_counted(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a command lists them."""
    monkeypatch.setattr(page, "MOST_LISTED", 30)
    run = many(store, 50)
    found, _ = write(store, run, tmp_path)
    assert "50 failing trials" in found.words
    assert f"The first 30 are listed; passhat show {run.id} --failed lists all" in found.words


@pytest.mark.slow
def test_five_thousand_failing_trials_make_a_page_of_three_megabytes(
    store: Store, tmp_path: Path
) -> None:
    """The hardest case: each of them would like its conversation in."""
    written = write_report(store, many(store, 5_000), tmp_path / "report.html")
    assert written.size < 3_000_000
    assert written.inside > 100


# --- the file -------------------------------------------------------------------------------------


def test_a_run_without_a_scored_trial_leaves_the_old_file_alone(
    store: Store, tmp_path: Path
) -> None:
    """And says whether anything was tried."""
    path = tmp_path / "report.html"
    path.write_text("old")
    run = new_run(store)
    with pytest.raises(UsageError, match="has no trial yet"):
        write_report(store, run, path)
    store.record(run, lost_trial(trial_of(1, "kiosk", "a", 1), Fault.TASK, "broken"))
    with pytest.raises(UsageError, match=r"all 1 that were tried are lost, e\.g\. broken"):
        write_report(store, run, path)
    assert path.read_text() == "old"
    assert sorted(p.suffix for p in tmp_path.iterdir() if "report" in p.name) == [".html"]


def test_a_place_that_cannot_be_written_is_named(store: Store, tmp_path: Path) -> None:
    """A folder that is not there, and a folder in the file's place."""
    run = new_run(store)
    store.record(run, passing())
    with pytest.raises(UsageError, match=r"nowhere/x\.html': No such file"):
        write_report(store, run, tmp_path / "nowhere" / "x.html")
    with pytest.raises(UsageError, match="it is no file"):
        write_report(store, run, tmp_path)
