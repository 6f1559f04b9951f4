"""Who is writing, in whatever way they say it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.agents.people import person_in


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("It's Ana.Silva@example.com.", {"email": "ana.silva@example.com"}),
        (
            "I'm Niamh Quinn. The zip is 10047.",
            {"first_name": "Niamh", "last_name": "Quinn", "zip": "10047"},
        ),
        (
            "My name is ana silva and my zip code is 60601",
            {"first_name": "ana", "last_name": "silva", "zip": "60601"},
        ),
        (
            "Mary-Jane O'Neil, 60601",
            {"first_name": "Mary-Jane", "last_name": "O'Neil", "zip": "60601"},
        ),
        ("Thank You", {}),
        ("order #W1234567, item 1234567890, $12345", {}),
    ],
)
def test_name_zip_and_email_are_read_from_free_text(text: str, person: dict[str, str]) -> None:
    """Ids and amounts are not taken for zip codes."""
    assert person_in([text]) == person


def test_the_newest_words_count() -> None:
    """A correction replaces what was said before."""
    assert person_in(["zip 60601", "sorry, 60602"])["zip"] == "60602"


@given(st.lists(st.text()))
def test_no_text_breaks_it(texts: list[str]) -> None:
    """Whatever is said, there is an answer."""
    assert set(person_in(texts)) <= {"email", "first_name", "last_name", "zip"}
