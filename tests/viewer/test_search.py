"""Queries as people write them, and what they find."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from viewing import Open, Reader, Serve, calls, conversation, keep, new_run, says

from passhat.errors import UsageError
from passhat.harness.store import open_store
from passhat.viewer.search import Words, expression, make_table, snippets


def found(query: str, *texts: str) -> list[int]:
    """The numbers of the texts, from 0, that a query finds among the agent's words."""
    with closing(sqlite3.connect(":memory:")) as memory:
        make_table(memory, "words")
        memory.executemany("INSERT INTO words(rowid, agent) VALUES (?, ?)", enumerate(texts))
        statement = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid"
        return [row for (row,) in memory.execute(statement, (expression(query),))]


TEXTS = (
    "Refund to the gift card",
    "Refund of order #W123, please",
    "An exchange; gift wrapped",
    "write to ana@example.com, José",
)


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("refund", [0, 1]),
        ("refund gift", [0]),
        ("refund AND gift", [0]),
        ("refund OR exchange", [0, 1, 2]),
        ("gift NOT refund", [2]),
        ("(refund OR exchange) gift", [0, 2]),
        ("refund OR exchange gift", [0, 1, 2]),
        ('"gift card"', [0]),
        ('"card gift"', []),
        ("exch*", [2]),
        ('"gift wr"*', [2]),
        ("#W123", [1]),
        ("ana@example.com", [3]),
        ("jose", [3]),
        ("user:refund", []),
        ("agent:refund", [0, 1]),
        ("agent:refund NOT card", [1]),
        ("near(refund", []),
    ],
)
def test_a_query_finds_what_it_says(query: str, texts: list[int]) -> None:
    """Words, phrases, prefixes, signs, parentheses, columns."""
    if query == "near(refund":
        with pytest.raises(UsageError, match="parenthesis"):
            expression(query)
        return
    assert found(query, *TEXTS) == texts


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ('"gift card', "not closed"),
        ("(refund", "a parenthesis is not closed"),
        ("refund)", "never opened"),
        ("refund AND", "a word is missing before the end"),
        ("OR refund", "a word is missing before 'OR'"),
        ("a NOT", "a word is missing"),
        ("-- !", "no word"),
        ("", "no word"),
        ("a " * 100, "at most 60"),
        ("a" * 2000, "at most 1,000 characters"),
        ("user:(a)", "a word must follow"),
    ],
)
def test_a_query_that_says_nothing_is_told_why(query: str, why: str) -> None:
    """In a line, before the database sees it."""
    with pytest.raises(UsageError, match=why):
        expression(query)


@given(st.text(st.characters(codec="utf-8") | st.sampled_from('"()* ANDORT:-#^+{}'), max_size=40))
def test_any_query_is_understood_or_told_why(query: str) -> None:
    """Nothing that anybody types reaches the database as something it cannot read."""
    try:
        wanted = expression(query)
    except UsageError:
        return
    assert found(query, "some words") in ([], [0]), wanted


@settings(max_examples=40)
@given(st.lists(st.from_regex(r"[a-zé]{1,8}", fullmatch=True), min_size=1, max_size=6))
def test_every_word_of_a_text_finds_it(words: list[str]) -> None:
    """Alone, together, and as a phrase."""
    text = " ".join(words)
    assert found(text, text) == [0]
    assert found(f'"{text}"', text) == [0]
    assert all(found(f"agent:{word}", text) == [0] for word in words)


def test_a_snippet_holds_what_was_found() -> None:
    """Marked, from the middle of a long text, with the rest left out."""
    text = "a " * 5_000 + "needle " + "b " * 5_000
    (snippet,) = snippets(expression("needle"), [Words("user", text)])
    assert "<mark><bdi>needle</bdi></mark>" in snippet
    assert len(snippet) < 500


def test_a_search_leads_to_the_event(reader: Reader) -> None:
    """Every result has its trial, its event, and who said it."""
    page = reader.get("/search?q=agent:e-mail+OR+agent:order")
    assert page.count("<li><a href=") == 20
    assert "older ›" in page
    assert "#e" in page.partition('<li><a href="/trial/')[2].partition('"')[0]
    assert '<span class="sub">agent ·' in page
    assert "Nothing found" in reader.get("/search?q=agent:hippopotamus")


def test_older_results_come_on_the_next_page(store_file, opening: Open, serve: Serve) -> None:
    """Newest first, each once, of all runs or of one."""
    with open_store(store_file, write=True) as store:
        run = new_run(store, ["a"], 25)
        for number in range(1, 26):
            keep(store, run, "a", number, conversation(says("user", f"hippopotamus {number}")))
        other = new_run(store, ["a"], name="other")
        call = calls("find", '"K\\u00f6ln"', city="hippopotamus")
        keep(store, other, "a", 1, conversation(*call))
    reader = serve(opening(store_file))
    first = reader.get("/search?q=hippopotamus")
    assert first.index(other.id) < first.index("hippopotamus</bdi></mark><bdi> 25")
    before = first.partition("before=")[2].partition('"')[0]
    second = reader.get(f"/search?q=hippopotamus&before={before}")
    numbers = [n for n in range(1, 26) if f"</mark><bdi> {n}<" in first + second]
    assert numbers == list(range(1, 26))
    assert reader.get(f"/search?q=hippopotamus&run={other.id}").count("<mark>") == 1
    assert reader.get("/search?q=result:k%C3%B6ln").count("<mark>") == 1


def test_a_query_that_cannot_be_read_is_told_on_the_page(reader: Reader) -> None:
    """With status 200 and a line; the query stays in the box."""
    page = reader.get("/search?q=%22gift")
    assert "a quotation mark is not closed" in page
    assert 'value="&#34;gift"' in page
