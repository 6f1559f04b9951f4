"""Text of others, wherever it comes from, is shown and does nothing else."""

from pathlib import Path
from urllib.parse import quote

import pytest
from viewing import Open, Page, Reader, Serve, calls, conversation, keep, new_run, says

from passhat.harness.labels import Label
from passhat.harness.store import open_store
from passhat.transcript import RowChange
from passhat.viewer.site import Site

SCRIPT = '<script>alert("x")</script>'
BREAKOUT = "\"'><img src=x onerror=alert(1)>"
TURNED = "\u202eabc\u2066def"
ENDLESS = "w" * 1_000_000
TASK = "a-task"

HOSTILE = [
    SCRIPT,
    BREAKOUT,
    TURNED,
    "</textarea></title></style>",
    "{{ 7 * 7 }}",
    "\x00\x07\x1b[2J",
]


@pytest.fixture
def hostile(store_file: Path, opening: Open, serve: Serve) -> tuple[Site, Reader, str]:
    """A site whose store holds the worst in every place, who reads it, and the trial's address."""
    text = " ".join(HOSTILE)
    shown = text.replace("\x00", "")
    odd = f"{TASK}/{BREAKOUT}"
    with open_store(store_file, write=True) as store:
        run = new_run(
            store, [odd], 2, name=shown, agent=shown, user=shown, conditions={shown: shown},
            versions={shown: shown},
        )  # fmt: skip
        change = RowChange(table=shown, key=(shown,), before={shown: "a"}, after={shown: shown})
        transcript = conversation(
            says("user", text),
            says("agent", text),
            *calls(text, text, rows=(change,), **{text: text}),
            says("user", ENDLESS),
            *calls("t", ENDLESS, given=ENDLESS),
            says("agent", "found <b>it</b> here"),
        )
        finding = {
            "rule": shown, "section": shown, "severity": shown, "event": 1, "reason": shown,
        }  # fmt: skip
        for number in (1, 2):
            keep(store, run, odd, number, transcript, reason=shown, findings=(finding,))
    site = opening(store_file, person=f"Ana {SCRIPT}")
    site.labels.put(Label(run.id, odd, 1, f"Bob {BREAKOUT}", False, note=text))
    return site, serve(site), f"{run.id}/{quote(odd, safe='')}/1"


def addresses(site: Site, trial: str) -> list[str]:
    """Every page that shows some of it."""
    run = trial.partition("/")[0]
    other = quote(f"{run}/{TASK}/{BREAKOUT}/2", safe="")
    one = quote(f"{run}/{TASK}/{BREAKOUT}/1", safe="")
    return [
        "/",
        f"/?text={quote(SCRIPT)}",
        f"/run/{run}",
        f"/run/{run}/figures",
        f"/run/{run}/causes",
        f"/run/{run}/heat",
        f"/run/{run}/trials",
        f"/trial/{trial}",
        f"/trial/{trial}/events",
        f"/trial/{trial}/whole?event=4",
        f"/beside?a={one}",
        f"/beside?a={one}&b={other}&by=words",
        f"/search?q={quote(SCRIPT)}",
        "/search?q=alert",
        f"/queue/{run}",
        "/agreement",
    ]


def test_hostile_text_makes_no_element(hostile: tuple[Site, Reader, str]) -> None:
    """No tag of it, no attribute, and nothing that turns the page or steers a terminal."""
    site, reader, trial = hostile
    for address in addresses(site, trial):
        page = Page(reader.get(address))
        for tag, attributes in page.tags:
            assert tag not in ("img", "iframe", "object")
            assert not [name for name in attributes if name.startswith("on")], address
            assert tag != "script" or (attributes["src"] or "").startswith("/static/")
        assert not set("\u202e\u2066\x00\x07\x1b") & set(page.text), address


def test_what_is_said_is_shown_all_the_same(hostile: tuple[Site, Reader, str]) -> None:
    """Escaped, and with U+FFFD for what would steer a terminal or turn the page."""
    _, reader, trial = hostile
    page = reader.get(f"/trial/{trial}")
    assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;" in page
    assert "\ufffdabc\ufffddef" in page
    assert "{{ 7 * 7 }}" in page


def test_an_endless_word_is_folded_and_can_be_opened(hostile: tuple[Site, Reader, str]) -> None:
    """The page stays small; a link has all of it, from message, arguments and result."""
    _, reader, trial = hostile
    page = reader.get(f"/trial/{trial}")
    assert len(page) < 200_000
    assert page.count("show all 1,000,0") == 3
    for event in (4, 5, 6):
        assert "w" * 1_000_000 in reader.get(f"/trial/{trial}/whole?event={event}")


def test_snippets_are_escaped_and_marked(hostile: tuple[Site, Reader, str]) -> None:
    """What was found stands between marks of ours; an endless word does not fill the page."""
    _, reader, _ = hostile
    assert "found &lt;b&gt;<" in reader.get("/search?q=it+here").replace("</bdi>", "<")
    assert "<mark><bdi>here</bdi></mark>" in reader.get("/search?q=here")
    assert len(reader.get("/search?q=w*")) < 100_000


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_queries_and_names_are_only_words(reader: Reader, site: Site, text: str) -> None:
    """In the search box, in filters, as a path, as a person: a page, never a crash."""
    for path in (f"/search?q={quote(text)}", f"/?text={quote(text)}", f"/search?q={quote(text)}*"):
        page = reader.get(path)
        assert "<script>alert" not in page
        assert "<img" not in page
    assert reader.ask("GET", f"/run/{quote(text, safe='')}").status == 404
    answer = reader.post("/person", token=site.token, person=text)
    assert answer.status in (303, 400)
