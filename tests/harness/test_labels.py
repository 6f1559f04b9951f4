"""What people say about trials is kept in the store, once per person and trial."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine

from passhat.errors import Fault, UsageError
from passhat.harness.agreement import GRADER, agreements, krippendorff_alpha
from passhat.harness.labels import LONGEST_NAME, LONGEST_NOTE, Label, Labels
from passhat.harness.opening import open_engine
from passhat.harness.store import open_store


@pytest.fixture
def store_file(tmp_path: Path) -> Path:
    """A store with a run."""
    path = tmp_path / "store.sqlite"
    with open_store(path, create=True) as store:
        store.new_run(
            domain="retail", agent="x", user="agenda", seed=1, trials=2, tasks=["a"], name="r"
        )
    return path


@pytest.fixture
def labels(store_file: Path) -> Iterator[Labels]:
    """Its labels."""
    engine, name = open_engine(str(store_file), write=True, create=False)
    yield Labels(engine, name)
    engine.dispose()


@pytest.fixture
def run(store_file: Path) -> str:
    """Its run."""
    with open_store(store_file) as store:
        return store.find_run("r").id


def test_a_label_is_kept_as_it_was_given(labels: Labels, run: str) -> None:
    """With its note, whatever characters that holds, and the moment."""
    given = Label(run, "a", 1, "Ana", False, Fault.SIMULATOR, "it <b>lied</b> ‮\0", blind=True)
    labels.put(given)
    (kept,) = labels.of_trial(run, "a", 1)
    assert (kept.passed, kept.fault, kept.blind) == (False, Fault.SIMULATOR, True)
    assert kept.note == "it <b>lied</b> ‮\ufffd"
    assert kept.labelled
    assert [one.says for one in labels.of_run()] == ["fail"]


def test_a_later_label_takes_the_place_of_an_earlier_one(labels: Labels, run: str) -> None:
    """Of the same person on the same trial; "unsure" is a label, too, until it is taken back."""
    labels.put(Label(run, "a", 1, "Ana", True))
    labels.put(Label(run, "a", 1, "Ana", None))
    labels.put(Label(run, "a", 1, "Bob", True))
    labels.put(Label(run, "a", 2, "Ana", True))
    assert [(one.person, one.says) for one in labels.of_trial(run, "a", 1)] == [
        ("Ana", "unsure"),
        ("Bob", "pass"),
    ]
    labels.take_back(run, "a", 1, "Ana")
    assert [(one.person, one.trial) for one in labels.of_run(run)] == [("Bob", 1), ("Ana", 2)]
    assert labels.of_run("another") == []


def test_what_is_too_much_is_refused(labels: Labels, run: str) -> None:
    """A name and a note have ends."""
    for label, why in (
        (Label(run, "a", 1, " ", True), "name"),
        (Label(run, "a", 1, "n" * (LONGEST_NAME + 1), True), "name"),
        (Label(run, "a", 1, "Ana", True, note="n" * (LONGEST_NOTE + 1)), "20,001"),
    ):
        with pytest.raises(UsageError, match=why):
            labels.put(label)
    assert labels.of_run() == []


def test_a_store_that_cannot_be_written_can_be_read(store_file: Path, run: str) -> None:
    """Labels that are there are shown; a new one is refused in a line."""
    engine, name = open_engine(str(store_file), write=True, create=False)
    Labels(engine, name).put(Label(run, "a", 1, "Ana", True))
    engine.dispose()
    engine = create_engine(f"sqlite:///file:{store_file}?mode=ro&uri=true")
    labels = Labels(engine, "store")
    assert len(labels.of_run()) == 1
    with pytest.raises(UsageError, match="cannot be written"):
        labels.put(Label(run, "a", 1, "Bob", True))
    engine.dispose()


def test_an_older_store_without_the_table_has_no_labels(store_file: Path) -> None:
    """It may lie where nobody can write."""
    engine, name = open_engine(str(store_file), write=True, create=False)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE labels")
    assert Labels(engine, name).of_run() == []
    engine.dispose()


# --- agreement ----------------------------------------------------------------------------------


def said(person: str, *passed: bool | None) -> list[Label]:
    """What a person says about trials 1, 2, ..."""
    return [Label("r", "a", n, person, one) for n, one in enumerate(passed, 1)]


def test_kappa_is_cohens() -> None:
    """The textbook's table: 20 and 15 alike, 5 and 10 apart, kappa 0.4."""
    ana = said("Ana", *[True] * 25, *[False] * 25)
    bob = said("Bob", *[True] * 20, *[False] * 5, *[True] * 10, *[False] * 15)
    (pair,) = [p for p in agreements(ana + bob, {}) if p.b == "Bob"]
    assert (pair.both_pass, pair.only_a, pair.only_b, pair.both_fail) == (20, 5, 10, 15)
    assert (pair.observed, pair.kappa) == (0.7, 0.4)
    assert len(pair.apart) == 15


def test_unsure_and_what_only_one_saw_count_apart() -> None:
    """They are no agreement and no disagreement."""
    ana, bob = said("Ana", True, None, True, False), said("Bob", True, True, None)
    grades = {("r", "a", 1): False, ("r", "a", 4): False}
    pair, with_ana, with_bob = agreements(ana + bob, grades)
    assert (pair.trials, pair.unsure) == (1, 2)
    assert (with_ana.a, with_ana.b) == ("Ana", GRADER)
    assert (with_ana.trials, with_ana.only_a, with_ana.both_fail) == (2, 1, 1)
    assert with_bob.apart == (("r", "a", 1),)


def test_where_all_is_one_there_is_no_kappa() -> None:
    """Everybody passes everything: agreement of chance alone, so the number is not defined."""
    (pair, *_) = agreements(said("Ana", True, True) + said("Bob", True, True), {})
    assert (pair.observed, pair.kappa) == (1.0, None)
    assert krippendorff_alpha([[True, True], [True, True]]) is None
    assert krippendorff_alpha([]) is None


def test_alpha_is_krippendorffs() -> None:
    """Ten units of two observers, the example of "Computing Krippendorff's alpha", section A."""
    a = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    b = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    alpha = krippendorff_alpha([[bool(x), bool(y)] for x, y in zip(a, b, strict=True)])
    assert alpha == pytest.approx(0.095, abs=5e-4)


RATINGS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30)


@given(RATINGS)
def test_agreement_is_the_same_from_both_sides(ratings: list[tuple[bool, bool]]) -> None:
    """Names change nothing; perfect agreement is 1; neither number is above 1."""
    a, b = [x for x, _ in ratings], [y for _, y in ratings]
    (one, *_), (other, *_) = (
        agreements(said("A", *first) + said("B", *second), {}) for first, second in ((a, b), (b, a))
    )
    assert (one.kappa, one.observed) == (other.kappa, other.observed)
    assert one.kappa is None or -1 <= one.kappa <= 1
    (alike, *_) = agreements(said("A", *a) + said("B", *a), {})
    assert alike.kappa in (1.0, None)
    assert krippendorff_alpha([[x, x] for x in a]) in (1.0, None)
