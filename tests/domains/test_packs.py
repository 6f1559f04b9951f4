"""Packs: another benchmark's domain, on disk and to be played."""

import json
from pathlib import Path

import pytest

from passhat.domains.domain import load_domain
from passhat.domains.packs import (
    Pack,
    load_pack,
    make_pack,
    open_pack,
    pack_names,
    packs_folder,
    save_pack,
)
from passhat.domains.retail.compat import ORDERS
from passhat.errors import UsageError
from passhat.grading.outcome import OutcomeGrader, start_rows

from ..clones import pack


@pytest.fixture
def shop(tmp_path: Path) -> Pack:
    """tau-bench's shop, from a small clone."""
    return pack(tmp_path / "clone", "retail@tau-bench")


def test_a_pack_comes_back_from_disk_as_it_was(shop: Pack, tmp_path: Path) -> None:
    """Rows, policy, tasks and the hash of everything."""
    folder = save_pack(shop, tmp_path / "packs")
    again = open_pack(folder)
    assert again.name == "retail@tau-bench"
    assert again.policy == "# Retail policy\n"
    assert again.benchmark_tasks == shop.benchmark_tasks
    assert again.state_hash.of() == shop.state_hash.of()


def test_a_pack_replaces_an_older_one_of_its_name(shop: Pack, tmp_path: Path) -> None:
    """But nothing that is no pack."""
    save_pack(shop, tmp_path / "packs")
    assert save_pack(shop, tmp_path / "packs").is_dir()
    (tmp_path / "other" / shop.name).mkdir(parents=True)
    with pytest.raises(UsageError, match="exists and is no pack"):
        save_pack(shop, tmp_path / "other")


def test_a_pack_is_a_domain(shop: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is loaded by name from the user's folder of packs."""
    monkeypatch.setenv("PASSHAT_PACKS", str(tmp_path))
    save_pack(shop, packs_folder())
    assert pack_names() == ["retail@tau-bench"]
    assert load_domain("retail@tau-bench").name == "retail@tau-bench"


def test_a_pack_that_is_not_there_is_named_with_the_near_ones(shop: Pack, tmp_path: Path) -> None:
    """In one line."""
    save_pack(shop, tmp_path)
    with pytest.raises(UsageError, match="did you mean 'retail@tau-bench'"):
        load_pack("retail@tau-bensh", tmp_path)
    with pytest.raises(UsageError, match="no pack"):
        load_pack("retail@tau-bench", tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pack.json", "{"),
        ("pack.json", "[]"),
        ("pack.json", '{"format": 1}'),
        ("tasks.jsonl", '{"id": 3}\n'),
        ("world/users.jsonl", "nonsense\n"),
    ],
)
def test_a_damaged_pack_is_refused_in_one_line(
    shop: Pack, tmp_path: Path, file: str, text: str
) -> None:
    """Whatever is wrong with it."""
    folder = save_pack(shop, tmp_path / "packs")
    (folder / file).write_text(text)
    with pytest.raises(UsageError, match="import it again") as refused:
        open_pack(folder)
    assert "\n" not in str(refused.value)


def test_a_pack_of_a_newer_format_is_refused(shop: Pack, tmp_path: Path) -> None:
    """It is not guessed at."""
    folder = save_pack(shop, tmp_path)
    about = json.loads((folder / "pack.json").read_text()) | {"format": 2}
    (folder / "pack.json").write_text(json.dumps(about))
    with pytest.raises(UsageError, match="newer passhat"):
        open_pack(folder)


@pytest.mark.parametrize(
    ("name", "benchmark", "message"),
    [
        ("retail", "tau-bench", "not the name of a pack"),
        ("../x@tau-bench", "tau-bench", "not the name of a pack"),
        ("retail@x", "other", "no benchmark 'other'"),
        ("zoo@tau2", "tau2", "no tools"),
    ],
)
def test_a_pack_needs_a_name_and_tools(name: str, benchmark: str, message: str) -> None:
    """The message says what one looks like."""
    with pytest.raises(UsageError, match=message):
        make_pack(name, benchmark, {}, "", [])


def test_its_tasks_can_be_played(shop: Pack) -> None:
    """The customer is told the instruction; the reference is what their tools accepted of it."""
    task = shop.task("test-0")
    assert task.user.instruction == "You are Ada Bell in 04263. Cancel order #W1."
    (outcome,) = task.expect.outcomes
    assert [action.name for action in outcome.actions] == ["cancel_pending_order"]
    assert task.expect.tell == ["50.60"]
    assert shop.task("test-1").expect.outcomes[0].actions == []


def test_its_outcomes_are_compared_inside_documents(shop: Pack) -> None:
    """By path, and 25 is 25.0: what is wrong is named, not two whole documents."""
    grader = OutcomeGrader(shop)
    with start_rows(shop, shop.task("test-0")) as db:
        verdict = grader.grade(shop.task("test-0"), db)
        assert "orders[#W1].status: expected 'cancelled', found 'pending'" in verdict.reason
        shop.call(db, "cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})
        with ORDERS.editing(db, "#W1") as order:
            order["payment_history"][0]["amount"] = 50.6
            order["status"] = "cancelled"
        assert grader.grade(shop.task("test-0"), db).passed


def test_a_customer_knows_what_their_record_says(shop: Pack) -> None:
    """For users that play a script."""
    with shop.world.fork() as db:
        assert shop.profile(db, "ada_bell_1000")["zip"] == "04263"
