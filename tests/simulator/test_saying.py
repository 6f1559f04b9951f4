"""What customers do with their lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.simulator.saying import UserAct, act_of, courtesies

PROPOSAL = "I will cancel order #W1111111 and refund $45.20. Do you want me to go ahead?"
REQUEST = "May I have your e-mail address, please?"
DONE = "Order #W1111111 has been cancelled."


@pytest.mark.parametrize(
    ("heard", "said", "act"),
    [
        (PROPOSAL, "Yes, please go ahead.", UserAct.CONFIRMS),
        (PROPOSAL, "Sounds good. Go ahead, and thanks!", UserAct.CONFIRMS),
        (PROPOSAL, "No, that is not right: the refund should be $47.20.", UserAct.DECLINES),
        (PROPOSAL, "Wait, which card does it go to?", UserAct.DECLINES),
        (PROPOSAL, "Which card does the money go to?", UserAct.ASKS),
        (REQUEST, "It's ana@example.com.", UserAct.ANSWERS),
        (REQUEST, "Ana Silva, 60601. I hope that helps.", UserAct.ANSWERS),
        (REQUEST, "I don't remember my e-mail, sorry.", UserAct.REFUSES),
        (REQUEST, "I'd rather not say.", UserAct.REFUSES),
        (REQUEST, "Why? Can you look me up by my name, please?", UserAct.ASKS),
        (DONE, "I also want to return a lamp.", UserAct.ASKS),
        (DONE, "When does the money come?", UserAct.ASKS),
        (DONE, "All right.", UserAct.REMARKS),
        (None, "Hello, I'd like to cancel an order.", UserAct.OPENS),
    ],
)
def test_a_line_does_one_thing(heard: str | None, said: str, act: UserAct) -> None:
    """By what it answers, and by its own words."""
    assert act_of(said, heard) is act


@given(st.text(), st.none() | st.text())
def test_every_line_does_something(said: str, heard: str | None) -> None:
    """Whoever leaves ends, whoever begins opens, whatever the words."""
    assert act_of(said, heard, ends=True) is UserAct.ENDS
    assert act_of(said, heard, opens=True) is UserAct.OPENS
    assert act_of(said, heard) in UserAct


def test_courtesy_is_counted_in_words() -> None:
    """Greetings, please, thanks, apologies; "this" is no "hi"."""
    assert courtesies("Hi! Sorry, could you please do this? Thank you.") == 4
    assert courtesies("Do this now.") == 0
