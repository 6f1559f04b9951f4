"""The pages of runs and trials: what they show, and where they lead."""

from pathlib import Path

import pytest
from viewing import Open, Page, Reader, Serve, calls, conversation, keep, lose, new_run, says

from passhat.errors import UsageError
from passhat.harness.bill import bill_of
from passhat.harness.records import Run
from passhat.harness.report.digest import digest
from passhat.harness.store import open_store
from passhat.models.account import Spending
from passhat.transcript import RowChange, Usage
from passhat.viewer.conversation import WINDOW
from passhat.viewer.pages.run import MAP_COLUMNS, MAP_ROWS
from passhat.viewer.site import Site


@pytest.fixture
def run(site: Site) -> Run:
    """The run of the store."""
    return site.store.find_run("last")


def failing(site: Site, run: Run) -> str:
    """Address of the first failing trial."""
    first = site.queries.first_failing(run)
    assert first is not None, "the agent drops enough"
    return f"/trial/{run.id}/{first[0]}/{first[1]}"


@pytest.mark.slow
def test_every_link_leads_somewhere(reader: Reader) -> None:
    """From the list of runs on, whatever a page of ours names is there."""
    seen, ahead = {"/"}, ["/"]
    while ahead and len(seen) < 80:
        answer = reader.ask("GET", ahead.pop())
        assert answer.status == 200
        if answer.headers["content-type"].startswith("text/html"):
            new = Page(answer.text).links() - seen
            seen |= new
            ahead += sorted(new)
    assert len(seen) > 40


def test_no_id_is_there_twice(reader: Reader, site: Site, run: Run) -> None:
    """A link to an event finds that event."""
    site.desk.figures(run)
    site.desk.causes(run)
    for path in (f"/run/{run.id}", failing(site, run), "/"):
        ids = Page(reader.get(path)).ids()
        assert len(ids) == len(set(ids))


def test_runs_are_listed_newest_first_and_chosen(
    store_file: Path, opening: Open, serve: Serve
) -> None:
    """By text, domain, agent and status; a run whose process is gone was interrupted."""
    with open_store(store_file, write=True) as store:
        other = new_run(store, ["a"], name="other", domain="airline", agent="theirs")
        keep(store, other, "a", 1, conversation(says("user", "Hi.")), passed=True)
        store.release(other, "finished")
    reader = serve(opening(store_file))
    page = reader.get("/")
    assert page.index("other") < page.index("nightly")
    assert "1.000" in page
    for query, there, away in (
        ("text=night", "nightly", ">other<"),
        ("domain=airline", ">other<", "nightly"),
        ("agent=theirs", ">other<", "nightly"),
        ("status=finished&text=oth", ">other<", "nightly"),
        ("text=%25", "No run fits", "nightly"),
        ("status=running", "No run fits", "nightly"),
    ):
        chosen = reader.get(f"/?{query}").replace("<bdi>", "").replace("</bdi>", "")
        assert there in chosen
        assert away not in chosen


def test_the_figures_are_those_of_the_report(site: Site, run: Run) -> None:
    """Curve, measures, causes, rules and survival come out as `passhat report` has them."""
    report = digest(site.store, run)
    figures, causes = site.desk.figures(run), site.desk.causes(run)
    assert figures.curve is not None
    assert figures.curve.to_json() == report.curve.to_json()
    assert figures.measures == report.measures
    assert (figures.lost_by, figures.not_run) == (report.lost_by, report.not_run)
    assert causes.complete
    assert causes.failures == len(report.failures) > 0
    assert causes.survival == report.survival
    found = [(rule.rule, rule.findings, rule.trials, rule.failed) for rule in causes.rules]
    assert found == [(r.rule, r.findings, r.trials, r.failed) for r in report.rules]


def test_the_page_of_a_run_says_what_the_report_says(reader: Reader, site: Site, run: Run) -> None:
    """Headline, planned, scored and lost, and that the agent is synthetic."""
    for part in ("figures", "causes", "heat", "state"):
        reader.get(f"/run/{run.id}/{part}")
    page = reader.get(f"/run/{run.id}")
    headline = digest(site.store, run).curve.headline
    assert headline is not None
    assert headline in page
    assert "16 planned, 16 scored, 0 lost" in page
    assert "SYNTHETIC" in page
    assert page.count('class="cell ') == 16


def test_a_category_leads_to_its_trials(reader: Reader, site: Site, run: Run) -> None:
    """The list holds as many as the table says, and each says why."""
    for row in site.desk.causes(run).categories:
        listed = reader.get(f"/run/{run.id}/trials?seen={row.category.value.replace(' ', '+')}")
        assert listed.count('<ol class="trials">') == 1
        assert listed.count("<b>") == row.seen
    for rule in site.desk.causes(run).rules:
        assert reader.get(f"/run/{run.id}/trials?rule={rule.rule}").count("<b>") == rule.trials


def test_failing_trials_follow_each_other_in_both_directions(site: Site, run: Run) -> None:
    """Forwards all failing trials in plan order, backwards the same."""
    rows = [(row.task, row.trial) for row in site.store.trials(run, ["failed"])]
    forwards, at = [], site.queries.first_failing(run)
    while at is not None:
        forwards.append(at)
        at = site.queries.failing(run, *at)
    assert forwards == rows
    backwards, at = [], rows[-1]
    while at is not None:
        backwards.append(at)
        at = site.queries.failing(run, *at, back=True)
    assert backwards == rows[::-1]


def test_a_trial_says_why_it_failed_and_where(reader: Reader, site: Site, run: Run) -> None:
    """The cause, with a link to an event that the page holds; verdicts; what was expected."""
    page = reader.get(failing(site, run))
    assert "Why it failed" in page
    assert "Expected at the end" in page
    events = {
        (attributes["href"] or "").removeprefix("#")
        for tag, attributes in Page(page).tags
        if tag == "a" and attributes.get("class") == "to"
    }
    assert events
    assert events <= set(Page(page).ids())


def test_a_cited_section_of_the_policy_is_shown(
    store_file: Path, opening: Open, serve: Serve
) -> None:
    """Where a rule was broken, its section stands beside, and leads into the whole policy."""
    finding = {
        "rule": "waits_for_a_yes",
        "section": "retail.md#what-counts-as-a-yes",
        "severity": "breach",
        "event": 0,
        "reason": "no yes",
    }
    with open_store(store_file, write=True) as store:
        made = new_run(store, ["cancel-power-bank"])
        transcript = conversation(says("user", "Hm."), says("agent", "Done."))
        keep(store, made, "cancel-power-bank", 1, transcript, findings=(finding,))
    reader = serve(opening(store_file))
    page = reader.get(f"/trial/{made.id}/cancel-power-bank/1")
    assert 'id="policy-what-counts-as-a-yes"' in page
    assert "A clear yes to that message" in page
    assert 'href="/policy/retail#what-counts-as-a-yes"' in page
    assert 'id="what-counts-as-a-yes"' in reader.get("/policy/retail")


def test_rows_are_shown_as_they_were_and_as_they_are(
    store_file: Path, opening: Open, serve: Serve
) -> None:
    """Of a changed row what changed, of a new row all, of a deleted one what is gone."""
    rows = (
        RowChange(
            table="orders",
            key=("#W1",),
            before={"status": "pending", "total": 5},
            after={"status": "cancelled", "total": 5},
        ),
        RowChange(table="payments", key=("#W1", 1), before=None, after={"amount": 500}),
        RowChange(table="notes", key=(7,), before={"text": "old"}, after=None),
    )
    with open_store(store_file, write=True) as store:
        made = new_run(store, ["a"])
        call = calls("cancel", '{"ok": true}', rows=rows, order_id="#W1")
        keep(store, made, "a", 1, conversation(says("user", "Hi."), *call))
    page = serve(opening(store_file)).get(f"/trial/{made.id}/a/1")
    shown = page.replace("<bdi>", "").replace("</bdi>", "")
    assert "<del>pending</del>" in shown
    assert "<ins>cancelled</ins>" in shown
    assert "<ins>500</ins>" in shown
    assert "<del>old</del>" in shown
    assert "total" not in shown
    assert "&#34;order_id&#34;: &#34;#W1&#34;" in shown


@pytest.mark.slow
def test_a_long_conversation_comes_in_parts(store_file: Path, opening: Open, serve: Serve) -> None:
    """2,000 events: the beginning, the rest as one reads on, and any event by its address."""
    with open_store(store_file, write=True) as store:
        made = new_run(store, ["long"])
        parts = [says("user" if n % 2 else "agent", f"word {n}", n) for n in range(2000)]
        keep(store, made, "long", 1, conversation(*parts))
    reader = serve(opening(store_file))
    address, seen = f"/trial/{made.id}/long/1", set()
    page = reader.get(address)
    while True:
        ids = {i for i in Page(page).ids() if i.startswith("e") and i[1:].isdecimal()}
        assert len(ids) <= WINDOW
        seen |= ids
        ahead = [a.get("hx-get") for _, a in Page(page).tags if "revealed" in str(a)]
        if not ahead:
            break
        page = reader.get(str(ahead[0]))
    assert len(seen) == 2001
    assert 'id="e1500"' in reader.get(f"{address}?at=1500")


def test_a_big_run_is_shown_in_parts(store_file: Path, opening: Open, serve: Serve) -> None:
    """The map has so many tasks and trials at once, and the next ones are a link away."""
    tasks = [f"task-{n}" for n in range(MAP_ROWS + 5)]
    with open_store(store_file, write=True) as store:
        made = new_run(store, tasks, MAP_COLUMNS + 3)
        keep(store, made, tasks[-1], MAP_COLUMNS + 3, conversation(says("user", "Hi.")))
        lose(store, made, tasks[0], 1)
    reader = serve(opening(store_file))
    first = reader.get(f"/run/{made.id}/heat")
    assert first.count('class="cell') == MAP_ROWS * MAP_COLUMNS
    last = reader.get(f"/run/{made.id}/heat?rows=0&columns=1")
    assert last.count('class="cell failed"') == 1
    assert reader.get(f"/run/{made.id}/heat?rows=1&columns=1").count('class="cell') == 15
    assert "1 trial" in reader.get(f"/run/{made.id}/trials?fault=infrastructure")


def test_a_run_that_goes_on_is_followed_until_it_ends(
    store_file: Path, opening: Open, serve: Serve
) -> None:
    """The state asks again while it runs, tells the other parts of new trials, and then stops."""
    with open_store(store_file, write=True) as store:
        made = new_run(store, ["a", "b"])
        keep(store, made, "a", 1, conversation(says("user", "Hi.")), passed=True)
        reader = serve(opening(store_file))
        page = reader.get(f"/run/{made.id}")
        assert f'hx-get="/run/{made.id}/state?seen=1" hx-trigger="every 2s"' in page
        same = reader.ask("GET", f"/run/{made.id}/state?seen=1")
        assert "hx-trigger" not in same.headers
        keep(store, made, "b", 1, conversation(says("user", "Hi.")))
        more = reader.ask("GET", f"/run/{made.id}/state?seen=1")
        assert more.headers["hx-trigger"] == "trials-changed"
        assert "1 failed" in more.text
        store.release(made, "finished")
    ended = reader.ask("GET", f"/run/{made.id}/state?seen=2")
    assert "every 2s" not in ended.text
    assert 'id="status" class="badge finished" hx-swap-oob="true"' in ended.text


def test_what_is_not_run_yet_is_not_called_lost(
    store_file: Path, opening: Open, serve: Serve
) -> None:
    """No headline while much is owed; and an interrupted run says how it goes on."""
    with open_store(store_file, write=True) as store:
        made = new_run(store, ["a", "b"], 3)
        keep(store, made, "a", 1, conversation(says("user", "Hi.")), passed=True)
        store.release(made, "interrupted")
    reader = serve(opening(store_file))
    found = Page(reader.get(f"/run/{made.id}/figures")).text
    assert "no headline yet: too much is not run" in found
    assert "6 planned, 1 scored, 0 lost, 5 not run" in found
    assert f"passhat resume {made.id}" in Page(reader.get(f"/run/{made.id}")).text


def test_a_run_costs_what_its_bill_says(store_file: Path, opening: Open, serve: Serve) -> None:
    """Abandoned attempts and the warm-up too, in the list and for a success."""
    with open_store(store_file, write=True) as store:
        made = new_run(store, ["a", "b"])
        keep(store, made, "a", 1, conversation(says("user", "Hi.")), passed=True, cost=0.25)
        keep(store, made, "b", 1, conversation(says("user", "Hi.")), cost=0.2)
        store.record_spending(made, None, {"warm-up": Spending(1, Usage(cost_dollars=0.00004))})
        reader = serve(opening(store_file))
        assert "$0.4500" in Page(reader.get("/")).text
        assert "A success costs $0.4500" in Page(reader.get(f"/run/{made.id}/figures")).text
        assert "$0.000040" in Page(reader.get(f"/run/{made.id}/figures")).text
        store.record_spending(made, None, {"agent": Spending(1, Usage(cost_dollars=2.0))})
        assert "$2.45" in Page(reader.get("/")).text
        assert bill_of(store, made).cost == pytest.approx(2.45004)


def test_a_store_that_was_removed_is_no_longer_shown(
    store_file: Path, opening: Open, serve: Serve
) -> None:
    """Nor one that another file has taken the place of: its pages would be of the old one."""
    site = opening(store_file)
    reader = serve(site)
    reader.get("/")
    other = store_file.with_name("other")
    other.write_bytes(store_file.read_bytes())
    other.replace(store_file)
    for _ in range(2):
        answer = reader.ask("GET", "/run/last")
        assert answer.status == 503
        assert "start passhat view again" in answer.text
        fields = {"token": site.token, "person": "Ana"}
        assert reader.post("/person", **fields).status == 503
        store_file.unlink(missing_ok=True)


def test_a_run_without_a_scored_trial_says_so(
    store_file: Path, opening: Open, serve: Serve
) -> None:
    """No figures, and no page that breaks."""
    with open_store(store_file, write=True) as store:
        empty = new_run(store, ["a"], name="empty")
        lost = new_run(store, ["a"], name="lost")
        lose(store, lost, "a", 1)
    reader = serve(opening(store_file))
    assert "no trial is scored yet" in reader.get(f"/run/{empty.id}/figures")
    assert "every trial that was tried is lost" in reader.get(f"/run/{lost.id}/figures")
    assert "the provider was down" in reader.get(f"/trial/{lost.id}/a/1")
    for part in ("", "/causes", "/heat", "/state", "/trials"):
        reader.get(f"/run/{empty.id}{part}")
        reader.get(f"/run/{lost.id}{part}")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/run/nope", "no run &#39;nope&#39;"),
        ("/trial/last/nope/1", "no task &#39;nope&#39;"),
        ("/trial/last/cancel-power-bank/9", "has trials 1 to 4"),
        ("/run/last/trials?category=nope", "no category &#39;nope&#39;"),
        ("/run/last/trials?page=x", "page must be a number"),
        ("/policy/nope", "is not known here"),
        ("/beside?a=x", "a trial is RUN/TASK/NUMBER"),
        ("/replays/0", "there is no replay 0"),
        ("/nothing/here", "there is nothing at"),
        ("/static/../site.py", "there is nothing at"),
    ],
)
def test_what_is_not_there_is_said_in_a_line(reader: Reader, path: str, why: str) -> None:
    """With status 404, on a page that leads back."""
    answer = reader.ask("GET", path)
    assert answer.status == 404
    assert why in answer.text
    assert 'href="/"' in answer.text


def test_a_store_names_no_code_that_the_viewer_runs(
    store_file: Path, opening: Open, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of a domain of somebody's own is shown without importing it."""
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with open_store(store_file, write=True) as store:
        made = new_run(store, ["a"], conditions={"domain": "trap:DOMAIN"})
        keep(store, made, "a", 1, conversation(says("user", "Hi.")))
    page = serve(opening(store_file)).get(f"/trial/{made.id}/a/1")
    assert "runs no code that a store names" in page


def test_a_store_that_is_not_there_is_said(tmp_path: Path) -> None:
    """As every command says it."""
    from passhat.viewer.site import open_site

    with pytest.raises(UsageError, match="there is no store"):
        open_site(str(tmp_path / "nothing.sqlite"))
