"""Conversations of the agenda user with agents of many styles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.errors import UsageError
from passhat.language import agrees, declines
from passhat.simulator.agenda import PATIENCE, AgendaUser
from passhat.simulator.contract import Contract
from passhat.simulator.user import Setting, user_kind
from passhat.simulator.wording import wordings
from passhat.task import Persona, UserScript
from passhat.transcript import UserEnd, UserReply

PROFILE = {
    "user id": "ana_silva_4471",
    "name": "Ana Silva",
    "first name": "Ana",
    "last name": "Silva",
    "email": "ana.silva@example.com",
    "zip": "60601",
    "address": "12 Oak Street, Chicago, IL 60601",
}
PERSONAS: tuple[Persona, ...] = get_args(Persona)

CANCEL: dict[str, Any] = {
    "ask": "Please cancel my order #W1111111.",
    "details": {"reason": "I ordered it by mistake."},
    "check": {"order id": "#W1111111", "reason": "ordered by mistake"},
}
EXCHANGE: dict[str, Any] = {
    "ask": "I want to exchange the lamp of order #W2222222 for a black one.",
    "details": {"new item": "the black lamp", "payment method": "my PayPal account"},
    "check": {
        "order id": "#W2222222",
        "item": ["1000000001", "brass"],
        "new item": ["1000000002", "black"],
        "payment method": ["paypal_7654321", "PayPal"],
    },
}
QUESTION: dict[str, Any] = {
    "ask": "How much was order #W3333333?",
    "until_told": ["$20.50", ["visa", "credit card"]],
    "confirm": False,
}


def _script(*goals: Mapping[str, Any], **rest: Any) -> UserScript:
    return UserScript.model_validate({"goals": goals, **rest})


def _user(*goals: Mapping[str, Any], seed: int = 0, **rest: Any) -> AgendaUser:
    user = AgendaUser(_script(*goals, **rest), PROFILE, seed)
    user.reply(None)
    return user


def _say(user: AgendaUser, *lines: str) -> UserReply:
    """The user's answer to the last of these lines of the agent."""
    return [user.reply(line) for line in lines][-1]


# --- opening and facts ---------------------------------------------------------------------------


def test_the_opening_puts_the_first_goal() -> None:
    """Whatever the greeting, the request is in it word for word."""
    for persona in PERSONAS:
        user = AgendaUser(_script(CANCEL, QUESTION, persona=persona), PROFILE, 3)
        assert CANCEL["ask"] in user.reply(None).content
        assert list(user.never_put) == [QUESTION["ask"]]


def test_a_scripted_opening_is_said_and_the_goal_follows() -> None:
    """A goal that the opening leaves out is put with the first answer."""
    user = AgendaUser(_script(CANCEL, opening="Hello, I need help."), PROFILE)
    assert user.reply(None).content == "Hello, I need help."
    said = _say(user, "Of course! May I have your e-mail?").content
    assert "ana.silva@example.com" in said
    assert CANCEL["ask"] in said


@pytest.mark.parametrize(
    ("asked", "given", "kept"),
    [
        ("What is your e-mail?", ["ana.silva@example.com"], ["60601"]),
        ("Please give me your name and zip code.", ["Ana Silva", "60601"], ["@"]),
        (
            "Could you please provide your email address, or your first and last name along with"
            " your zip code?",
            ["ana.silva@example.com"],
            ["60601"],
        ),
        ("I need to verify your identity first.", ["ana.silva@example.com"], ["60601"]),
        ("Could you tell me your user ID?", ["ana_silva_4471"], ["@"]),
        ("Which order is it?", ["#W1111111"], ["@"]),
        ("May I ask why you want to cancel?", ["by mistake"], ["@"]),
        ("What is your phone number?", ["phone"], ["@", "60601"]),
    ],
)
def test_what_is_asked_is_answered_and_nothing_else(
    asked: str, given: list[str], kept: list[str]
) -> None:
    """One of several ways to identify is enough; nothing is given unasked."""
    said = _say(_user(CANCEL), asked).content
    assert all(value in said for value in given)
    assert not any(value in said for value in kept)


def test_what_is_unknown_is_said_to_be_unknown() -> None:
    """The customer goes on to what they do know, and never speaks of a script."""
    user = _user(CANCEL, unknown=["email"])
    assert "@" not in (said := _say(user, "What is your e-mail address?").content)
    assert re.search("don't|No idea", said)
    said = _say(user, "Then your name and zip code, please.").content
    assert "Ana Silva" in said
    assert "60601" in said


def test_an_unknown_email_is_passed_over_when_name_and_zip_will_do() -> None:
    """Of two ways to identify, the one that is known is taken."""
    said = _say(_user(CANCEL, unknown=["email"]), "Your e-mail, or your name and zip code?").content
    assert "Ana Silva" in said
    assert "60601" in said


def test_an_email_that_is_not_found_is_followed_by_name_and_zip() -> None:
    """A failed look-up is no refusal; another way to identify is given."""
    user = _user(CANCEL)
    said = _say(
        user,
        "May I have your e-mail?",
        "I'm sorry, I couldn't find an account with that e-mail. Is there another way to identify"
        " you, such as your name and zip code?",
    ).content
    assert "Ana Silva" in said
    assert "60601" in said


def test_the_script_goes_before_the_profile() -> None:
    """What the script says the customer knows replaces what their row says."""
    user = _user(CANCEL, knows={"e-mail": "old@example.com"})
    assert user.facts["email"] == "old@example.com"
    assert "old@example.com" in _say(user, "What is your e-mail?").content


def test_being_taken_for_somebody_else_is_corrected() -> None:
    """A wrong name or e-mail is not confirmed."""
    said = _say(_user(CANCEL), "Am I speaking with Bob Stone?").content
    assert declines(said)
    assert "Ana Silva" in said


# --- proposals -----------------------------------------------------------------------------------

PROPOSALS = [
    "I will cancel order #W1111111 (reason: ordered by mistake). Do you confirm? (yes/no)",
    "Here's what I'm going to do:\n- **Order:** #W1111111\n- **Action:** cancel\n- **Reason:**"
    " ordered by mistake\n\nDoes everything look correct? Reply **YES** to proceed.",
    "Just to confirm, you'd like me to cancel #W1111111 as it was ordered by mistake. Shall I go"
    " ahead? Once cancelled, this cannot be undone.",
    "Would you like me to proceed with cancelling order #W1111111? You get $20.00 back.",
    "Please confirm that I should cancel order #W1111111.",
]


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize("persona", PERSONAS)
def test_a_proposal_that_fits_gets_a_yes(proposal: str, persona: Persona) -> None:
    """Every persona says yes in words that a rule takes for a yes."""
    for seed in range(5):
        assert agrees(_say(_user(CANCEL, seed=seed, persona=persona), proposal).content)


@pytest.mark.parametrize(
    ("proposal", "correction"),
    [
        ("I will cancel order #W9999999 (ordered by mistake). Confirm?", "#W1111111"),
        ("I will cancel #W1111111 and #W9999999. Do you agree?", "#W1111111"),
        ("I'll cancel #W1111111, reason: no longer needed. Is that right?", "by mistake"),
        ("Shall I return the items of order #W1111111 for you?", "cancel"),
        ("I will cancel the order. Do you want me to proceed?", "order id"),
    ],
)
@pytest.mark.parametrize("persona", PERSONAS)
def test_a_proposal_that_differs_gets_no_yes(
    proposal: str, correction: str, persona: Persona
) -> None:
    """What is wrong or missing is named instead."""
    said = _say(_user(CANCEL, persona=persona), proposal).content
    assert not agrees(said)
    assert correction in said


@pytest.mark.parametrize(
    ("proposal", "correction"),
    [
        ("1000000001 for 1000000003 in #W2222222, on paypal_7654321", "the black lamp"),
        ("1000000001 for 1000000002 in #W2222222, on gift_card_1234567", "my PayPal account"),
        ("the brass lamp for the black one in #W2222222, on your gift card", "my PayPal account"),
    ],
)
def test_corrections_are_in_the_customers_words(proposal: str, correction: str) -> None:
    """A detail of the goal says what the checked id means."""
    said = _say(_user(EXCHANGE), f"I will exchange {proposal}. Proceed (yes/no)?").content
    assert correction in said
    assert not agrees(said)


def test_a_corrected_proposal_is_accepted() -> None:
    """After the correction the right proposal gets its yes, and the report ends it."""
    user = _user(CANCEL)
    _say(user, "I will cancel #W9999999. Confirm?")
    assert agrees(
        _say(user, "Sorry! I will cancel #W1111111, ordered by mistake. OK?", PROPOSALS[0]).content
    )
    assert _say(user, "Done, #W1111111 has been cancelled.").end is UserEnd.GOALS_MET


def test_details_of_the_line_before_count() -> None:
    """A bare "shall I go ahead?" refers to what was just listed."""
    user = _user(CANCEL)
    _say(user, "Order #W1111111 is pending. What is the reason for cancelling it?")
    assert agrees(_say(user, "Thank you. Shall I go ahead and cancel it?").content)


def test_one_yes_covers_two_goals() -> None:
    """A proposal of both is accepted at once, and both reports are heard."""
    other = {"ask": "And cancel #W4444444.", "check": {"order id": "#W4444444"}}
    user = _user(CANCEL, other)
    both = "I will cancel #W1111111 (ordered by mistake) and #W4444444. Do you confirm?"
    assert agrees(_say(user, both).content)
    assert _say(user, "Both have been cancelled: #W1111111, #W4444444.").end is UserEnd.GOALS_MET


@pytest.mark.parametrize(
    ("second", "proposal"),
    [
        (EXCHANGE | {"ask": "Then swap the lamp of the same order."}, "12 Oak Hill Lane"),
        ({"ask": "Change my profile, too.", "check": {"address": "12 Oak Hill Lane"}}, "that"),
    ],
)
def test_a_yes_to_one_goal_is_no_yes_to_another_about_the_same(
    second: dict[str, Any], proposal: str
) -> None:
    """A goal is covered only if the proposal names all of it, and something of its own."""
    first = {
        "ask": "Please change the address of order #W2222222.",
        "details": {"address": "12 Oak Hill Lane"},
        "check": {"order": "#W2222222", "address": "12 Oak Hill Lane"},
    }
    user = _user(first, second)
    said = _say(
        user, "I will change the address of #W2222222 to 12 Oak Hill Lane. Do you confirm?"
    ).content
    assert agrees(said)
    reply = _say(user, f"The address of #W2222222 was changed to {proposal}. Anything else?")
    assert second["ask"] in reply.content
    assert reply.end is None


def test_a_yes_and_a_fact_go_together() -> None:
    """A proposal that also asks for something gets both, and is still a yes."""
    said = _say(
        _user(EXCHANGE),
        "I can exchange 1000000001 for 1000000002 in #W2222222. Which payment method should I use?"
        " Do you confirm the exchange?",
    ).content
    assert agrees(said)
    assert "PayPal" in said


def test_an_offer_nobody_asked_for_is_declined() -> None:
    """An alternative that is not in the script gets no yes."""
    said = _say(
        _user(CANCEL),
        "I'm sorry, but orders that have been delivered cannot be cancelled. Would you like to"
        " return it instead?",
    ).content
    assert not agrees(said)


def test_an_offer_to_look_something_up_is_welcome() -> None:
    """What changes nothing may be done."""
    assert agrees(_say(_user(QUESTION), "Would you like me to look that up for you?").content)


# --- reports, questions, refusals ----------------------------------------------------------------


@pytest.mark.parametrize(
    "report",
    [
        "Your order has been cancelled. Is there anything else I can help you with?",
        "Done! Order #W1111111 is now cancelled.",
        "I've successfully cancelled order #W1111111. You'll get $20.00 back in 5-7 days.",
        "**Cancelled successfully.** Have a nice day!",
        "All set.",
    ],
)
def test_a_report_ends_the_goal(report: str) -> None:
    """Once the agreed goal is reported done, the customer leaves content, asking nothing."""
    reply = _say(_user(CANCEL), PROPOSALS[0], report)
    assert reply.end is UserEnd.GOALS_MET
    assert "?" not in reply.content


@pytest.mark.parametrize(
    "stalling",
    [
        "Thank you, I will process that now. One moment, please.",
        "Could you hold on while I check?",
        "Is there anything else I can help you with?",
    ],
)
def test_a_promise_is_no_report(stalling: str) -> None:
    """The customer stays until it is done."""
    assert _say(_user(CANCEL), PROPOSALS[0], stalling).end is None


def test_a_report_about_another_order_ends_nothing() -> None:
    """What was done to some other order is not what was agreed."""
    assert _say(_user(CANCEL), PROPOSALS[0], "I have cancelled order #W9999999.").end is None


def test_what_is_done_unasked_counts_if_it_is_right() -> None:
    """The customer does not insist on being asked; grading does."""
    right, wrong = "I've cancelled order #W1111111.", "I've cancelled order #W9999999."
    assert _say(_user(CANCEL), right).end is UserEnd.GOALS_MET
    assert _say(_user(CANCEL), wrong).end is None


def test_goals_are_put_one_after_another() -> None:
    """The next goal comes when the former is settled, and the last one ends the conversation."""
    user = _user(CANCEL, QUESTION)
    said = _say(user, PROPOSALS[0], "It has been cancelled. Anything else?")
    assert QUESTION["ask"] in said.content
    assert said.end is None
    assert _say(user, "It was $20.50, paid by Visa.").end is UserEnd.GOALS_MET


def test_everything_is_put_before_the_agent_proceeds_if_it_asks() -> None:
    """A question for more before acting is answered with the next goal, beside the yes."""
    said = _say(
        _user(CANCEL, QUESTION), f"{PROPOSALS[0]} Is there anything else before I proceed?"
    ).content
    assert agrees(said)
    assert QUESTION["ask"] in said


def test_a_question_is_met_by_all_of_its_facts() -> None:
    """Half an answer is not enough; a fact told before need not be repeated."""
    user = _user(QUESTION)
    assert QUESTION["ask"] in _say(user, "You paid by Visa.").content
    assert _say(user, "The total was $20.50.").end is UserEnd.GOALS_MET


def test_a_question_that_is_never_answered_is_dropped() -> None:
    """After a few tries the customer goes on with the next goal."""
    user = _user(QUESTION, CANCEL)
    said = [_say(user, f"It is a fine day, number {n}.").content for n in range(3)]
    assert CANCEL["ask"] in said[-1]
    assert _say(user, PROPOSALS[0], "It has been cancelled.").end is UserEnd.GAVE_UP


REFUSALS = [
    "I'm sorry, but I can't cancel order #W1111111: it has already been delivered.",
    "Unfortunately, delivered orders are not eligible for cancellation.",
    "I'm afraid that's not possible. Is there anything else I can help you with?",
    "That is against our policy, so I have to decline.",
]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_the_fallback_is_asked_for_after_the_refusal(refusal: str) -> None:
    """First the customer insists as often as the script says, then asks for something else."""
    fallback = {"ask": "Then I want to return it.", "check": {"order id": "#W1111111"}}
    user = _user({**CANCEL, "insist": 1, "otherwise": fallback})
    assert CANCEL["ask"] in _say(user, refusal).content
    assert fallback["ask"] in _say(user, refusal).content
    assert agrees(_say(user, "I will return #W1111111. Do you confirm?").content)
    assert _say(user, "The return has been requested.").end is UserEnd.GOALS_MET


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_without_a_fallback_is_accepted(refusal: str) -> None:
    """The customer leaves refused, even though another goal was met."""
    user = _user(CANCEL, QUESTION)
    assert QUESTION["ask"] in _say(user, refusal).content
    assert _say(user, "$20.50, paid by Visa.").end is UserEnd.REFUSED


def test_a_refusal_of_one_goal_beside_a_proposal_for_another() -> None:
    """Each part of a message counts for the goal it names."""
    other = {"ask": "And cancel #W4444444.", "check": {"order id": "#W4444444"}}
    user = _user(CANCEL, other, opening=f"{CANCEL['ask']} {other['ask']}")
    said = _say(
        user,
        "I can't cancel #W1111111, it has been delivered. I can cancel #W4444444. Do you confirm?",
    ).content
    assert agrees(said)
    reply = _say(user, "#W4444444 has been cancelled.")
    assert (reply.end or _say(user, "Bye!").end) is UserEnd.REFUSED


def test_a_human_is_accepted_if_the_script_leaves_no_other_way() -> None:
    """A request with no details and nothing to confirm is for whoever can do it."""
    offer = "I can't do that here. Would you like me to transfer you to a human agent?"
    beyond = {"ask": "I need a company invoice.", "confirm": False}
    assert agrees(_say(_user(beyond), offer).content)
    assert not agrees(_say(_user(CANCEL), offer).content)


def test_the_customer_waits_once_for_the_human() -> None:
    """An announced hand-over that does not come ends the conversation a turn later."""
    user = _user(CANCEL)
    assert _say(user, "I am transferring you to a human agent now.").end is None
    assert _say(user, "Please hold on.").end is UserEnd.HANDED_OVER


# --- laws ----------------------------------------------------------------------------------------

LINES = st.one_of(
    st.text(max_size=120),
    st.sampled_from(
        [
            *PROPOSALS,
            *REFUSALS,
            "Your e-mail, or your name and zip code?",
            "Which order, which items, which payment method, what address and why?",
            "I will cancel #W9999999. Confirm?",
            "It has been cancelled.",
            "It was $20.50, paid by Visa.",
            "How can I help you?",
            "One moment, please.",
            "Would you like to speak to a human agent?",
            "No puedo ayudarle con eso.",
            "",
        ]
    ),
)
GOALS = st.lists(
    st.sampled_from([CANCEL, EXCHANGE, QUESTION, {**CANCEL, "insist": 2, "otherwise": QUESTION}]),
    min_size=1,
    max_size=3,
)


def _play(user: AgendaUser, lines: list[str]) -> Iterator[UserReply]:
    yield user.reply(None)
    for line in lines:
        yield (reply := user.reply(line))
        if reply.end is not None:
            return


@settings(deadline=None, max_examples=60)
@given(GOALS, st.sampled_from(PERSONAS), st.integers(0, 2**64), st.lists(LINES, max_size=8))
def test_the_customer_keeps_the_contract(
    goals: list[dict[str, Any]], persona: Persona, seed: int, lines: list[str]
) -> None:
    """Whatever the agent says, nothing is invented, leaked or said for the agent."""
    script = _script(*goals, persona=persona)
    user, contract = AgendaUser(script, PROFILE, seed), Contract(script, PROFILE)
    for reply, heard in zip(_play(user, lines), [*lines, ""], strict=False):
        assert contract.check(reply, user.never_put) is None
        contract.hear(heard)


@settings(deadline=None, max_examples=60)
@given(GOALS, st.sampled_from(PERSONAS), st.integers(0, 2**64), st.lists(LINES, max_size=8))
def test_persona_and_seed_change_words_only(
    goals: list[dict[str, Any]], persona: Persona, seed: int, lines: list[str]
) -> None:
    """Facts given, yes or no, and the ending are the same for everybody."""
    plain = AgendaUser(_script(*goals), PROFILE, 0)
    other = AgendaUser(_script(*goals, persona=persona), PROFILE, seed)
    for one, two in zip(_play(plain, lines), _play(other, lines), strict=True):
        assert one.end == two.end
        assert agrees(one.content) == agrees(two.content)
        assert _facts(one.content) == _facts(two.content)


def _facts(text: str) -> set[str]:
    return set(re.findall(r"#W\d+|\S+@\S+\w|\d{5}|Ana Silva|PayPal|by mistake|black", text))


@settings(deadline=None, max_examples=60)
@given(GOALS, st.integers(0, 2**64), st.lists(LINES, max_size=6), st.lists(LINES, max_size=4))
def test_a_fork_goes_its_own_way_and_repeats_exactly(
    goals: list[dict[str, Any]], seed: int, before: list[str], after: list[str]
) -> None:
    """The same lines get the same words from a fork and a twin, whatever another fork heard."""
    user, twin = (AgendaUser(_script(*goals), PROFILE, seed) for _ in range(2))
    if any(reply.end for reply in _play(user, before)):
        return
    list(_play(twin, before))
    fork = user.fork()
    for line in ["I've cancelled order #W1111111.", "I can't do that.", *PROPOSALS]:
        fork.reply(line)
    second = user.fork()
    said = [user.reply(line) for line in after]
    assert said == [second.reply(line) for line in after]
    assert said == [twin.reply(line) for line in after]


@settings(deadline=None, max_examples=40)
@given(GOALS, LINES)
def test_an_agent_that_says_the_same_thing_for_ever_is_left(
    goals: list[dict[str, Any]], line: str
) -> None:
    """Every conversation ends within turns that the number of goals bounds."""
    bound = (PATIENCE + 6) * (len(goals) + 1)
    assert list(_play(AgendaUser(_script(*goals), PROFILE), [line] * bound))[-1].end is not None


# --- wording and making --------------------------------------------------------------------------


def test_only_a_yes_sounds_like_a_yes() -> None:
    """No other act may be taken for consent by a rule that reads the transcript."""
    for act, by_persona in wordings().items():
        for persona, choices in by_persona.items():
            for words in choices:
                said = words.format("the order id", "#W1")
                assert agrees(said) is (act == "yes"), (act, persona, words)
                assert not re.search(r"\d", words.replace("{0}", "").replace("{1}", ""))


def test_every_act_has_plain_words_and_known_personas() -> None:
    """A persona that is missing falls back to the plain one; a misspelt one would never speak."""
    for act, by_persona in wordings().items():
        if act != "said":
            assert "plain" in by_persona
            assert set(by_persona) <= set(PERSONAS), json.dumps(sorted(by_persona))


def test_users_are_made_by_name() -> None:
    """An unknown name lists the known ones."""
    user = user_kind("agenda").make(_script(CANCEL), Setting(PROFILE, seed=1))
    assert isinstance(user, AgendaUser)
    with pytest.raises(UsageError, match=r"no user 'robot'; there are: .*agenda"):
        user_kind("robot")
    with pytest.raises(UsageError, match="takes nothing after its name"):
        user_kind("agenda:fast")
