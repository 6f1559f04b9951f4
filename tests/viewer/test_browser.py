"""The viewer in a real browser: Debian's chromium, driven by Playwright."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from viewing import TASKS, Open, Serve, calls, conversation, keep, new_run, says

from passhat.harness.store import open_store
from passhat.viewer.site import Site

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[playwright.Browser]:
    """A browser without a window."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A page that must complain of nothing."""

    def __init__(self, page: playwright.Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self._heard("error", f"a dialog: {dialog.message}"))

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)


@pytest.fixture
def tab(chromium: playwright.Browser) -> Iterator[Tab]:
    """A new page; afterwards nothing was wrong, nor forbidden by the content security policy."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(20_000)
    tab = Tab(context.new_page())
    yield tab
    context.close()
    assert tab.complaints == []


@pytest.fixture
def site(store_file: Path, opening: Open) -> Site:
    """A store of its own for each test, as they write."""
    return opening(store_file)


@pytest.fixture
def address(site: Site, serve: Serve) -> str:
    """Where the run of the store can be viewed."""
    return f"http://127.0.0.1:{serve(site).port}"


def trial_page(address: str, site: Site) -> str:
    """The first failing trial."""
    run = site.store.find_run("last")
    first = site.queries.first_failing(run)
    assert first is not None
    return f"{address}/trial/{run.id}/{first[0]}/{first[1]}"


def test_the_cause_of_the_first_failure_is_three_clicks_away(tab: Tab, address: str) -> None:
    """The run, its first failing trial, the event that is blamed: highlighted, and in sight."""
    page = tab.page
    page.goto(address)
    page.get_by_role("link", name="nightly").click()
    page.get_by_role("link", name="Read the first failing trial").click()
    why = page.locator(".why li").first
    assert why.inner_text()
    why.get_by_role("link", name=re.compile("^event")).click()
    event = page.locator(":target")
    playwright.expect(event).to_be_in_viewport()
    assert event.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


def test_runs_are_chosen_as_one_types(tab: Tab, address: str) -> None:
    """The list follows the fields, and the address follows the list, so that it can be kept."""
    page = tab.page
    page.goto(address)
    page.get_by_label("Text").fill("hippopotamus")
    page.get_by_text("No run fits").wait_for()
    assert "text=hippopotamus" in page.url
    page.get_by_label("Text").fill("night")
    page.get_by_role("link", name="nightly").wait_for()
    page.get_by_label("Domain").select_option("retail")
    page.wait_for_url(re.compile("domain=retail"))
    page.go_back()
    page.get_by_role("link", name="nightly").wait_for()


def test_a_key_leads_to_what_is_blamed(tab: Tab, address: str, site: Site) -> None:
    """From one blamed event to the next, and round."""
    page = tab.page
    page.goto(trial_page(address, site))
    blamed = page.locator(".line.blamed").count()
    seen = []
    for _ in range(blamed + 1):
        page.keyboard.press("c")
        playwright.expect(page.locator(":target")).to_be_in_viewport()
        seen.append(page.locator(":target").get_attribute("id"))
    assert len(set(seen)) == blamed > 0
    assert seen[0] == seen[-1]


def test_keys_lead_from_failure_to_failure(tab: Tab, address: str, site: Site) -> None:
    """J and n on, k and p back, u up; not while one writes; "?" lists them; they can be put off."""
    page = tab.page
    first = trial_page(address, site)
    page.goto(first)
    page.keyboard.press("j")
    page.wait_for_url(lambda url: url != first)
    second = page.url
    page.keyboard.press("k")
    page.wait_for_url(first)
    page.keyboard.press("n")
    page.wait_for_url(second)
    page.keyboard.press("p")
    page.wait_for_url(first)
    page.keyboard.press("/")
    page.keyboard.type("jk")
    assert page.locator("#find").input_value() == "jk"
    assert page.url == first
    page.locator("main").focus()
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.get_by_label("Single keys do this").uncheck()
    page.get_by_role("button", name="Close").click()
    page.locator("main").focus()
    page.keyboard.press("j")
    page.wait_for_timeout(200)
    assert page.url == first
    page.evaluate("localStorage.clear()")
    page.keyboard.press("u")
    page.wait_for_url(re.compile("/run/"))


def test_calls_are_folded_and_open(tab: Tab, address: str, site: Site) -> None:
    """One by one, all at once, and by a link to what is in one."""
    page = tab.page
    run = site.store.find_run("last")
    page.goto(f"{address}/trial/{run.id}/{TASKS[0]}/1")
    folded = page.locator("details.call:not([open])")
    assert folded.count() > 1
    call = folded.first
    assert not page.locator("details.call pre").first.is_visible()
    call.locator("summary").click()
    assert page.locator("details.call[open] pre").first.is_visible()
    page.keyboard.press("o")
    assert folded.count() == 0
    page.get_by_role("button", name="Fold all calls").click()
    assert page.locator("details.call[open]").count() == 0
    inside = page.locator(".result").nth(1).get_attribute("id")
    page.goto(f"{page.url}#{inside}")
    assert page.locator(f"#{inside} pre").is_visible()


def test_a_search_leads_to_the_event(tab: Tab, address: str) -> None:
    """From the box on any page, through a marked snippet, to the event."""
    page = tab.page
    page.goto(f"{address}/run/last")
    page.keyboard.press("/")
    page.keyboard.type('agent:"e-mail address"')
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/search"))
    assert page.locator("mark").count() > 1
    page.locator("ol.answers a").first.click()
    playwright.expect(page.locator(":target")).to_be_in_viewport()
    assert "e-mail" in page.locator(":target").inner_text()


def test_a_trial_is_labelled(tab: Tab, address: str, site: Site) -> None:
    """The name once, then pass or fail with a note; the page shows it, the store keeps it."""
    page = tab.page
    page.goto(trial_page(address, site))
    page.keyboard.press("l")
    page.keyboard.type("Ana")
    page.keyboard.press("Enter")
    page.get_by_label("fail", exact=True).check()
    page.get_by_label("Whose fault").select_option("simulator")
    page.get_by_label("Note").fill("<b>It</b> lied.")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("<b>It</b> lied.").first.wait_for()
    (kept,) = site.labels.of_run()
    assert (kept.person, kept.says, kept.note) == ("Ana", "fail", "<b>It</b> lied.")


def test_trials_are_labelled_blind_one_after_the_other(tab: Tab, address: str, site: Site) -> None:
    """Each save brings the next; no grade is on the page."""
    page = tab.page
    page.goto(f"{address}/run/last")
    page.get_by_role("link", name="Label blind").click()
    page.get_by_label("Your name").fill("Ana")
    page.get_by_role("button", name="Continue").click()
    for done in range(3):
        page.get_by_text(f"{done} done, {16 - done} left").wait_for()
        assert page.locator(".badge.passed, .badge.failed, .why, .blame").count() == 0
        page.get_by_label("pass", exact=True).check()
        page.get_by_role("button", name="Save, next").click()
    page.get_by_text("3 done, 13 left").wait_for()
    assert [one.blind for one in site.labels.of_run()] == [True] * 3
    page.goto(f"{address}/agreement")
    assert "the graders" in page.locator("main").inner_text()


def test_two_trials_stand_side_by_side(tab: Tab, address: str, site: Site) -> None:
    """The events where they part are marked, and stand at the same height."""
    page = tab.page
    page.goto(trial_page(address, site))
    page.keyboard.press("s")
    page.locator("a.cell.passed").first.click()
    marked = page.locator(".parts")
    assert marked.count() == 2
    left, right = (marked.nth(n).bounding_box() for n in (0, 1))
    assert left is not None
    assert right is not None
    assert left["y"] == pytest.approx(right["y"], abs=1)
    assert left["x"] < right["x"]


def test_a_run_is_seen_as_it_goes_on(
    tab: Tab, store_file: Path, opening: Open, serve: Serve
) -> None:
    """New trials come by themselves, also into the figures; when it ends, nobody asks any more."""
    page = tab.page
    with open_store(store_file, write=True) as store:
        run = new_run(store, ["a", "b", "c"])
        keep(store, run, "a", 1, conversation(says("user", "Hi.")), passed=True)
        site = opening(store_file)
        site.index.start()
        page.goto(f"http://127.0.0.1:{serve(site).port}/run/{run.id}")
        page.get_by_text("1 passed").wait_for()
        keep(store, run, "b", 1, conversation(says("user", "Hi.")), reason="outcome: no")
        page.get_by_text("1 failed").wait_for()
        page.locator("#heat .cell.failed").wait_for()
        page.locator(".why-card").get_by_role("link", name="other").wait_for()
        keep(store, run, "c", 1, conversation(says("user", "Hi.")), passed=True)
        store.release(run, "finished")
    page.get_by_text("2 passed").wait_for()
    page.locator("#figures").get_by_text("3 planned, 3 scored").wait_for()
    assert page.locator("[data-live]").count() == 0


def test_a_long_conversation_grows_as_one_reads_on(
    tab: Tab, store_file: Path, opening: Open, serve: Serve
) -> None:
    """And an address with an event that is not there yet finds it."""
    page = tab.page
    with open_store(store_file, write=True) as store:
        run = new_run(store, ["long"])
        parts = [says("user" if n % 2 else "agent", f"word {n}", n) for n in range(1000)]
        keep(store, run, "long", 1, conversation(*parts))
    where = f"http://127.0.0.1:{serve(opening(store_file)).port}/trial/{run.id}/long/1"
    page.goto(where)
    assert page.locator("#e400").count() == 0
    page.locator("#e149").scroll_into_view_if_needed()
    page.locator("#e200").wait_for()
    page.goto("about:blank")
    page.goto(f"{where}#e700")
    page.locator("#e700").wait_for()
    playwright.expect(page.locator(":target")).to_be_in_viewport()
    assert "word 700" in page.locator(":target").inner_text()


HOSTILE = (
    "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
    "\u202eturned\u2066 {{ 7 * 7 }} javascript:alert(1)"
)


def test_hostile_text_does_nothing(tab: Tab, store_file: Path, opening: Open, serve: Serve) -> None:
    """In messages, calls, results, task ids and names; a word of a megabyte does not widen it."""
    page = tab.page
    task = f"a {HOSTILE}"
    with open_store(store_file, write=True) as store:
        run = new_run(store, [task], name=HOSTILE, agent=HOSTILE)
        transcript = conversation(
            says("user", HOSTILE),
            says("agent", HOSTILE + "w" * 1_000_000),
            *calls(HOSTILE, HOSTILE + "w" * 1_000_000, **{HOSTILE: HOSTILE}),
        )
        keep(store, run, task, 1, transcript, reason=HOSTILE)
        store.release(run, "finished")
    site = opening(store_file, person=HOSTILE[:60])
    address = f"http://127.0.0.1:{serve(site).port}"
    page.goto(address)
    page.locator("tbody a").first.click()
    page.locator("#heat .cell.failed").click()
    page.keyboard.press("o")
    page.get_by_role("link", name=re.compile("show all")).first.click()
    page.locator(".message .more a").wait_for(state="detached")
    assert page.locator(".message").nth(1).evaluate("m => m.innerText.length") > 1_000_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto(f"{address}/search?q=turned")
    page.locator("ol.answers a").first.click()
    page.goto(f"{address}/queue/{run.id}")
    assert "taken" not in page.title()
    assert page.locator("img").count() == 0
    assert "\u202e" not in page.locator("main").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_every_page_fits_and_can_be_read(
    chromium: playwright.Browser, address: str, site: Site, scheme: str, width: int
) -> None:
    """Light and dark, narrow and wide: nothing sticks out, text and ground differ enough."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab = Tab(context.new_page())
    faint_text = Path(__file__).with_name("faint_text.js").read_text(encoding="utf-8")
    run = site.store.find_run("last").id
    trial = trial_page("", site)
    pair = f"a={run}/{TASKS[0]}/1&b={run}/{TASKS[0]}/2"
    for path in (
        "/", f"/run/{run}", f"/run/{run}/trials", trial, f"/beside?{pair}", "/search?q=order",
        f"/queue/{run}", "/agreement", "/policy/retail",
    ):  # fmt: skip
        tab.page.goto(address + path)
        tab.page.wait_for_load_state("networkidle")
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert tab.page.evaluate(faint_text) == [], path
    context.close()
    assert tab.complaints == []
