"""Two conversations side by side: alike up to where they part."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from viewing import TASKS, Open, Reader, Serve, calls, conversation, keep, new_run, says

from passhat.harness.store import open_store
from passhat.transcript import Transcript
from passhat.viewer.alignment import MOVES, WORDS, Parting, alike, parting

SPEAKS = st.builds(says, st.sampled_from(["user", "agent"]), st.sampled_from(["a", "b"]))
TALKS = st.lists(SPEAKS, max_size=8).map(lambda parts: conversation(*parts))


@settings(max_examples=50)
@given(TALKS, TALKS, st.sampled_from([WORDS, MOVES]))
def test_what_comes_before_the_parting_is_alike(a: Transcript, b: Transcript, by: str) -> None:
    """And what stands there is not; the two can be exchanged; with itself nothing parts."""
    found = parting(a, b, by)
    assert parting(a, a, by) is None
    assert (parting(b, a, by) is None) == (found is None)
    if found is None:
        assert [alike(e, by) for e in a] == [alike(e, by) for e in b]
        return
    assert [alike(e, by) for e in a[: found.a]] == [alike(e, by) for e in b[: found.b]]
    assert alike(a[found.a], by) != alike(b[found.b], by)


def test_moves_part_where_something_else_is_done() -> None:
    """Messages may say it otherwise; calls are compared with their arguments and results."""
    a = conversation(says("user", "Hi."), *calls("get", "1", id=1), says("agent", "Well."))
    b = conversation(says("user", "Hello."), *calls("get", "1", id=1), says("agent", "Good."))
    c = conversation(says("user", "Hello."), *calls("get", "1", id=2), says("agent", "Good."))
    assert parting(a, b, MOVES) is None
    assert parting(a, b, WORDS) == Parting(0, 0)
    assert parting(b, c, MOVES) == Parting(1, 1)


def test_two_trials_are_shown_from_where_they_part(store_file, opening: Open, serve: Serve) -> None:
    """What both have is folded; the first event that differs is marked in both."""
    same = [says("user" if n % 2 else "agent", f"word {n}") for n in range(10)]
    with open_store(store_file, write=True) as store:
        run = new_run(store, ["a"], 3)
        keep(store, run, "a", 1, conversation(*same, *calls("stop", "1")))
        keep(store, run, "a", 2, conversation(*same, says("agent", "Go on.")), passed=True)
        keep(store, run, "a", 3, conversation(*same, *calls("stop", "1")))
    reader = serve(opening(store_file))
    one, two, three = (f"{run.id}/a/{n}" for n in (1, 2, 3))
    page = reader.get(f"/beside?a={one}&b={two}")
    assert "7 events that both have" in page
    assert re.findall(r'id="([ab]e\d+)" class="line \w+(?: blamed)? parts"', page) == [
        "ae10",
        "be10",
    ]
    assert "alike from beginning to end" in reader.get(f"/beside?a={one}&b={three}")


def test_trials_of_the_same_task_are_offered(store_file, opening: Open, serve: Serve) -> None:
    """Those of this run, and those of other runs of the domain."""
    with open_store(store_file, write=True) as store:
        run = new_run(store, [TASKS[0]], name="other")
        keep(store, run, TASKS[0], 1, conversation(says("user", "Hi.")))
    site = opening(store_file)
    reader: Reader = serve(site)
    nightly = site.store.find_run("nightly").id
    page = reader.get(f"/beside?a={nightly}/{TASKS[0]}/1")
    assert page.count('class="cell ') == 4
    assert f"b={run.id}%2F{TASKS[0]}%2F1" in page
    crossed = reader.get(f"/beside?a={nightly}/{TASKS[0]}/1&b={run.id}/{TASKS[0]}/1")
    assert "Here they part" in crossed
    unlike = reader.get(f"/beside?a={nightly}/{TASKS[1]}/1&b={nightly}/{TASKS[0]}/1")
    assert "different tasks" in unlike
