"""Results of `passhat replay`, beside the conversations they are about."""

import json
from pathlib import Path

import pytest
from viewing import TASKS, Open, Serve, calls, conversation, keep, new_run, says

from passhat.errors import UsageError
from passhat.harness.replay import Asking, replay_all
from passhat.harness.replay_report import ReplayReport
from passhat.harness.replay_sources import Where, open_source
from passhat.harness.store import open_store
from passhat.viewer.replays import Replays


def replayed(store: Path, source: str, into: Path) -> Path:
    """What ``passhat replay SOURCE --agent rule-based --json`` writes."""
    with open_source(source, "rule-based", Where(store=str(store))) as opened:
        found = replay_all(opened.sessions, Asking(opened.kind))
        report = ReplayReport(
            source=opened.name,
            agent="rule-based",
            synthetic=False,
            cut="all",
            world=opened.world,
            conversations=found,
            notes=opened.notes,
        )
    into.write_text(json.dumps(report.to_json()))
    return into


def test_each_cut_has_the_recorded_move_beside_the_new_one(
    store_file: Path, opening: Open, serve: Serve, tmp_path: Path
) -> None:
    """From the list of files to a conversation, and from a trial's events to its cuts."""
    file = replayed(store_file, f"nightly/{TASKS[0]}", tmp_path / "replay.json")
    site = opening(store_file, replays=(file,))
    reader, run = serve(site), site.store.find_run("nightly")
    assert "replay.json" in reader.get("/replays")
    assert reader.get("/replays/0").count('href="/replays/0/') == 4
    page = reader.get("/replays/0/0")
    cuts = site.replays.files[0].conversations[0]["cuts"]
    assert cuts
    assert page.count('class="cut ') == len(cuts)
    assert page.count("<h3>Recorded</h3>") == page.count("<h3>New</h3>")
    assert f'href="/trial/{run.id}/{TASKS[0]}/1' in page
    trial = reader.get(f"/trial/{run.id}/{TASKS[0]}/1")
    assert 'href="/replays/0/0#c1"' in trial


def test_hostile_text_in_a_file_is_only_shown(
    store_file: Path, opening: Open, serve: Serve, tmp_path: Path
) -> None:
    """A file may come from anywhere; keys may be missing."""
    script = "<script>alert(1)</script>"
    cut = {
        "address": f"{script}:x", "position": 1, "recorded": {}, "agrees": False,
        "reason": script, "state": script,
        "move": {"calls": [{"name": script, "arguments": {script: script}}]},
        "row_differences": [script], "findings": [{"rule": script, "reason": script}],
    }  # fmt: skip
    bare = {
        "address": "elsewhere#1:3",
        "position": 2,
        "recorded": {"kind": script, "tools": [script]},
    }
    about = {"source": script, "agent": script, "cuts": {}, "notes": [script]}
    found = about | {
        "agreement": {"equal": 0, "total": 1, "share": script},
        "trials": [{"address": script, "cuts": [cut, bare], "lost": script}],
    }
    file = tmp_path / "hostile.json"
    file.write_text(json.dumps(found))
    reader = serve(opening(store_file, replays=(file,)))
    for address in ("/replays", "/replays/0", "/replays/0/0"):
        page = reader.get(address)
        assert "<script>alert" not in page
        assert "&lt;script&gt;" in page


def test_a_replay_of_another_store_is_shown_without_its_moves(
    store_file: Path, opening: Open, serve: Serve, tmp_path: Path
) -> None:
    """It says so, and names kind and tools as the file has them."""
    with open_store(store_file, write=True) as store:
        run = new_run(store, [TASKS[0]], name="gone")
        keep(store, run, TASKS[0], 1, conversation(says("user", "Hi."), *calls("get", "1")))
    file = replayed(store_file, "nightly", tmp_path / "replay.json")
    found = json.loads(file.read_text())
    for one in found["trials"]:
        one["address"] = "elsewhere/" + one["address"].partition("/")[2]
    file.write_text(json.dumps(found))
    page = serve(opening(store_file, replays=(file,))).get("/replays/0/0")
    assert "The recording is not in this store" in page


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("no json", "is no JSON"),
        ("[]", "is no result of passhat replay"),
        ('{"source": 1}', "is no result of passhat replay"),
        (
            '{"source": "", "agent": "", "cuts": {}, "agreement": {}, "trials": []}',
            "does not say at how many cuts",
        ),
        (
            '{"source": "", "agent": "", "cuts": {}, "agreement": {"equal": 0, "total": 0}, '
            '"trials": [1]}',
            "conversations that passhat replay did not write",
        ),
    ],
)
def test_a_file_that_is_no_replay_is_refused(tmp_path: Path, content: str, why: str) -> None:
    """In a line, before the viewer starts."""
    file = tmp_path / "x.json"
    file.write_text(content)
    with pytest.raises(UsageError, match=why):
        Replays.read([file])
    with pytest.raises(UsageError, match="cannot read"):
        Replays.read([tmp_path / "missing.json"])
