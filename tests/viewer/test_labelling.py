"""Labelling in the browser: open on a trial's page, blind in a queue, and how far people agree."""

import re
from pathlib import Path

import pytest
from viewing import TASKS, Open, Reader, Serve

from passhat.errors import Fault
from passhat.harness.labels import Label
from passhat.harness.records import Run
from passhat.viewer.site import Site

GRADE = re.compile(r"\b(passed|failed|lost|Why it failed|Verdicts?|Expected|blame)\b")


@pytest.fixture
def site(store_file: Path, opening: Open) -> Site:
    """A store of its own for each test, as they write."""
    return opening(store_file)


@pytest.fixture
def reader(site: Site, serve: Serve) -> Reader:
    """Somebody who reads it."""
    return serve(site)


@pytest.fixture
def run(site: Site) -> Run:
    """The run of the store."""
    return site.store.find_run("last")


def label(reader: Reader, site: Site, run: Run, trial: tuple[str, int], **fields: str) -> int:
    """Send a label as a page does."""
    form = {"token": site.token, "run": run.id, "task": trial[0], "number": str(trial[1])}
    return reader.post("/label", **(form | {"says": "fail"} | fields)).status


def queued(page: str) -> tuple[str, int]:
    """The trial that a queue shows."""
    task = re.search(r'name="task" value="([^"]+)"', page)
    number = re.search(r'name="number" value="([^"]+)"', page)
    assert task
    assert number
    return task[1], int(number[1])


def test_a_label_is_kept_and_shown(reader: Reader, site: Site, run: Run) -> None:
    """With who, whose fault, and the note; a second one takes its place."""
    trial = (TASKS[0], 1)
    address = f"/trial/{run.id}/{TASKS[0]}/1"
    assert reader.post("/person", token=site.token, person=" Ana  Né ").status == 303
    assert "Your label" in reader.get(address)
    assert label(reader, site, run, trial, fault="simulator", note="It lied.") == 303
    (kept,) = site.labels.of_trial(run.id, *trial)
    assert (kept.person, kept.passed, kept.fault) == ("Ana Né", False, Fault.SIMULATOR)
    assert not kept.blind
    page = reader.get(address)
    assert "It lied." in page
    assert "Change your label" in page
    assert label(reader, site, run, trial, says="unsure") == 303
    assert [one.says for one in site.labels.of_trial(run.id, *trial)] == ["unsure"]
    assert label(reader, site, run, trial, says="nothing") == 303
    assert site.labels.of_run() == []


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"says": "perhaps"}, "pass, fail or unsure"),
        ({"fault": "nobody"}, "nobody is called"),
        ({"task": "nope"}, "no task"),
        ({"number": "99"}, "has trials 1 to 4"),
        ({"number": "x"}, "has a number"),
        ({"run": "nope"}, "no run"),
        ({"note": "n" * 20_001}, "20,001"),
    ],
)
def test_a_label_that_makes_no_sense_is_refused(
    reader: Reader, site: Site, run: Run, fields: dict[str, str], why: str
) -> None:
    """In a line, and nothing is written."""
    site.person = "Ana"
    form = {"token": site.token, "run": run.id, "task": TASKS[0], "number": "1", "says": "pass"}
    answer = reader.post("/label", **(form | fields))
    assert answer.status == 400
    assert why in answer.text
    assert site.labels.of_run() == []


def test_nobody_labels_without_a_name(reader: Reader, site: Site, run: Run) -> None:
    """A label is somebody's."""
    assert label(reader, site, run, (TASKS[0], 1)) == 400
    assert "Who are you?" in reader.get(f"/queue/{run.id}")


def test_the_queue_shows_neither_grade_nor_labels(reader: Reader, site: Site, run: Run) -> None:
    """Through every trial of the run, in the conversation's parts too, until none is left."""
    site.person = "Ana"
    for task in TASKS:
        for number in range(1, 5):
            site.labels.put(Label(run.id, task, number, "Bob", True, note="a note of Bob's"))
    seen = []
    for _ in range(16):
        page = reader.get(f"/queue/{run.id}")
        shown = page.partition("<main")[2].partition("</main>")[0]
        conversation = re.sub(
            r'<div class="message">.*?</div>|<pre.*?</pre>', "", shown, flags=re.S
        )
        assert not GRADE.search(conversation), GRADE.search(conversation)
        assert "Bob" not in shown
        trial = queued(page)
        seen.append(trial)
        part = reader.get(f"/trial/{run.id}/{trial[0]}/{trial[1]}/events?blind=1")
        assert 'class="blame"' not in part
        assert label(reader, site, run, trial, says="pass", blind="yes") == 303
    assert len(set(seen)) == 16
    assert "Nothing is left to label" in reader.get(f"/queue/{run.id}")
    assert all(one.blind for one in site.labels.of_run() if one.person == "Ana")


def test_the_order_is_that_of_the_seed(reader: Reader, site: Site, run: Run) -> None:
    """Equal seeds give equal orders; another gives another; neither is that of the run."""
    site.person = "Ana"
    orders = []
    for seed in ("1", "1", "2"):
        order = []
        for _ in range(16):
            order.append(queued(reader.get(f"/queue/{run.id}?seed={seed}")))
            label(reader, site, run, order[-1], blind="yes")
        for trial in order:
            site.labels.take_back(run.id, *trial, "Ana")
        orders.append(order)
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_a_grade_that_was_seen_makes_no_blind_label(reader: Reader, site: Site, run: Run) -> None:
    """A trial whose page was opened leaves the queue, and cannot be labelled blind any more."""
    site.person = "Ana"
    trial = queued(reader.get(f"/queue/{run.id}"))
    reader.get(f"/trial/{run.id}/{trial[0]}/{trial[1]}")
    assert queued(reader.get(f"/queue/{run.id}")) != trial
    label(reader, site, run, trial, blind="yes")
    assert [one.blind for one in site.labels.of_trial(run.id, *trial)] == [False]


def test_what_was_seen_before_a_name_was_given_is_not_blind(
    reader: Reader, site: Site, run: Run
) -> None:
    """It may have been anybody; and two conversations side by side show both grades."""
    site.person = ""
    reader.get(f"/trial/{run.id}/{TASKS[0]}/1")
    one, other = f"{run.id}/{TASKS[1]}/1", f"{run.id}/{TASKS[1]}/2"
    reader.get(f"/beside?a={one}&b={other}")
    seen = {(TASKS[0], 1), (TASKS[1], 1), (TASKS[1], 2)}
    assert site.seen_by("Ana", run.id) >= seen
    site.person = "Ana"
    label(reader, site, run, (TASKS[1], 2), blind="yes")
    assert [one.blind for one in site.labels.of_trial(run.id, TASKS[1], 2)] == [False]


def test_a_second_labelling_takes_what_others_labelled(
    reader: Reader, site: Site, run: Run
) -> None:
    """And nothing else."""
    site.person = "Ana"
    site.labels.put(Label(run.id, TASKS[1], 2, "Bob", True))
    address = f"/queue/{run.id}?among=labelled"
    assert queued(reader.get(address)) == (TASKS[1], 2)
    label(reader, site, run, (TASKS[1], 2), blind="yes")
    assert "has labelled 1 of 1 trial that others labelled" in re.sub(
        r"</?bdi>", "", reader.get(address)
    )


def test_agreement_is_counted_and_disagreements_are_linked(
    reader: Reader, site: Site, run: Run
) -> None:
    """Among people, and of each with the graders; of blind labels alone if wanted."""
    rows = site.store.trials(run)
    for row in rows:
        site.labels.put(Label(run.id, row.task, row.trial, "Ana", row.reward == 1.0, blind=True))
    first = rows[0]
    other = Label(run.id, first.task, first.trial, "Bob", first.reward != 1.0)
    site.labels.put(other)
    page = re.sub(r"</?bdi>", "", reader.get("/agreement"))
    assert "17 labels, 16 of them blind" in page
    assert "Ana and Bob disagree" in page
    assert f'href="/trial/{run.id}/{first.task}/{first.trial}"' in page
    assert '<td class="n">100.0%</td><td class="n">1.000</td>' in page
    blind = re.sub(r"</?bdi>", "", reader.get(f"/agreement?blind=1&run={run.id}"))
    assert "Bob" not in blind


def test_a_store_that_is_read_only_says_why_it_takes_no_labels(
    store_file: Path, opening: Open, serve: Serve
) -> None:
    """The pages are there; the form is not; a form sent all the same is refused."""
    site = opening(store_file)
    site.why_no_labels = "store 'x' cannot be written"
    site.person = "Ana"
    reader, run = serve(site), site.store.find_run("last")
    page = reader.get(f"/trial/{run.id}/{TASKS[0]}/1")
    assert "Labels cannot be given" in page
    assert 'action="/label"' not in page
    assert 'action="/label"' not in reader.get(f"/queue/{run.id}")
    assert label(reader, site, run, (TASKS[0], 1)) == 400
