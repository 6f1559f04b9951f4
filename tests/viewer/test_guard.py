"""Who may ask the viewer, and what its pages may do."""

import pytest
from viewing import Page, Reader

from passhat.errors import UsageError
from passhat.viewer.guard import same_origin
from passhat.viewer.server import check_host, make_server, open_port
from passhat.viewer.site import Site

PAGES = ("/", "/run/last", "/search?q=refund", "/agreement", "/nothing", "/static/viewer.css")


@pytest.mark.parametrize("path", PAGES)
def test_every_answer_forbids_what_no_page_needs(reader: Reader, path: str) -> None:
    """Nothing inline, nothing from elsewhere, no frame; also where there is nothing."""
    headers = reader.ask("GET", path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "192.0.2.1", "", "[::2]"])
def test_a_name_that_is_made_to_point_here_is_refused(reader: Reader, host: str) -> None:
    """DNS rebinding: the browser asks us under the name of the other site."""
    answer = reader.ask("GET", "/", Host=host)
    assert answer.status == 421
    assert "this viewer is not called" in answer.text
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST:1"])
def test_the_names_of_this_machine_are_known(reader: Reader, host: str) -> None:
    """With and without a port, as a tunnel may change it."""
    assert reader.ask("GET", "/", Host=host).status == 200


def test_other_pages_cannot_write(reader: Reader, site: Site) -> None:
    """Whatever of Origin and Sec-Fetch-Site says that a form comes from elsewhere is enough."""
    ours = f"http://{reader.host}"
    body = f"token={site.token}&person=Eve"
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Origin": ours, "Sec_Fetch_Site": "same-site"},
    ):
        answer = reader.ask("POST", "/person", body, **headers)
        assert (answer.status, "set-cookie" in answer.headers) == (403, False)
    assert reader.ask("POST", "/person", body, Origin=ours).status == 303


def test_a_form_without_our_token_is_refused(reader: Reader, site: Site) -> None:
    """A program that says nothing of where it comes from does not know the token either."""
    for token in ("", "guess", site.token[:-1]):
        answer = reader.ask("POST", "/person", f"token={token}&person=Eve")
        assert answer.status == 400
        assert "load the page again" in answer.text


def test_a_form_is_small_and_says_how_long_it_is(reader: Reader) -> None:
    """Nobody fills the memory; other methods are not there at all."""
    assert reader.ask("POST", "/person", "x" * 300_000).status == 413
    assert reader.ask("DELETE", "/run/last").status == 405
    assert reader.ask("POST", "/").status == 405


def test_a_form_leads_back_to_our_pages_only(reader: Reader, site: Site) -> None:
    """An address of another site in the form is not followed."""
    for back in ("//evil.example", "https://evil.example/", "/\\evil.example", "/a\r\nx: y"):
        answer = reader.post("/person", token=site.token, person="Ana", back=back)
        assert (answer.status, answer.headers["location"]) == (303, "/")


def test_pages_hold_nothing_inline(reader: Reader, site: Site) -> None:
    """No script, no style, no handler in any page, so that the policy can forbid them."""
    first = site.queries.first_failing(site.store.find_run("last"))
    assert first is not None
    trial = f"/trial/last/{first[0]}/{first[1]}"
    for path in ("/", "/run/last", "/run/last/trials", trial, "/search", "/queue/last"):
        for tag, attributes in Page(reader.get(path)).tags:
            assert tag not in ("style", "iframe", "object", "base")
            assert not [name for name in attributes if name.startswith("on") or name == "style"]
            assert tag != "script" or (attributes["src"] or "").startswith("/static/")


def test_other_machines_are_let_in_only_when_that_is_said() -> None:
    """The default is this machine; whatever else is named takes one word more."""
    for host in ("127.0.0.1", "localhost", "::1"):
        check_host(host, allow_remote=False)
    for host in ("0.0.0.0", "192.0.2.1", "desk.example"):
        with pytest.raises(UsageError, match="--allow-remote"):
            check_host(host, allow_remote=False)
        check_host(host, allow_remote=True)


def test_an_address_cannot_be_made_to_point_elsewhere(site: Site) -> None:
    """With other machines let in, an IP address is no name that somebody else owns."""
    assert make_server(site, addresses=True).config.app is not None
    assert same_origin("192.0.2.1:80", "http://192.0.2.1:80", "same-origin")


def test_a_busy_port_is_said_or_passed_over() -> None:
    """A port that was asked for is named; otherwise the next free one is taken."""
    with open_port("127.0.0.1", None) as first, open_port("127.0.0.1", None) as second:
        a, b = first.getsockname()[1], second.getsockname()[1]
        assert a != b
        with pytest.raises(UsageError, match=f"port {a} is taken"):
            open_port("127.0.0.1", a)
