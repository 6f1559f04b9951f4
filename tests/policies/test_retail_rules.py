"""Each rule of the shop: a talk that keeps it, and one that breaks it."""

from __future__ import annotations

from importlib.resources import files

import pytest

from passhat.policies.engine import anchors, load_rules

PENDING, DELIVERED, PROCESSED, BENS = "#W1000001", "#W1000002", "#W1000003", "#W2000001"
BLACK_LAMP, WHITE_LAMP, RED_LAMP, MUG, BIG_MUG = (
    "2000000001",
    "2000000002",
    "2000000003",
    "2000000011",
    "2000000012",
)
CARD, GIFT_CARD, PAYPAL = "credit_card_1111111", "gift_card_2222222", "paypal_3333333"

CANCEL = (
    f"I would cancel order {PENDING} because it is no longer needed; $40.00 go back to your credit "
    "card. Shall I go ahead?"
)
SWAP = (
    f"In order {DELIVERED} I would exchange the desk lamp for the white one; the difference of "
    "$5.25 is charged to your PayPal account. Do you confirm?"
)
SWAP_CALL = {
    "order_id": DELIVERED,
    "item_ids": [BLACK_LAMP],
    "new_item_ids": [WHITE_LAMP],
    "payment_method_id": PAYPAL,
}


def test_a_careful_agent_breaks_no_rule(talk):
    """Identify, look, list everything, wait for a yes, write; then the same for a second order."""
    talk.identified(PENDING).cancelled(CANCEL, "Yes, please.")
    talk.agent("Done: order #W1000001 is cancelled. Anything else?")
    talk.user("Please also swap the lamp in my delivered order for a white one.")
    talk.call("get_order_details", order_id=DELIVERED)
    talk.call("get_product_details", product_id="1000000001")
    talk.call("calculate", expression="35.25 - 30.00")
    talk.agent(SWAP).user("Go ahead!").call("exchange_delivered_order_items", **SWAP_CALL)
    talk.agent("It is arranged.").user("Thank you, bye.")
    assert talk.findings == []


# --- who is served ------------------------------------------------------------------------------


def test_reading_an_order_before_identifying_anybody_is_a_breach(talk):
    """A user id or an order number proves nothing."""
    talk.user(f"I am ana_silva_4471, what is in {PENDING}?")
    talk.call("get_order_details", order_id=PENDING)
    assert talk.broken == ["identifies_the_customer_first"]


def test_products_may_be_looked_up_for_anybody(talk):
    """What is sold is no secret."""
    talk.user("Which lamps do you sell?").call("list_all_product_types")
    talk.call("get_product_details", product_id="1000000001")
    assert talk.broken == []


def test_looking_somebody_up_with_a_guess_is_a_breach(talk):
    """The zip code must have been said."""
    talk.user("I am Ana Silva.")
    talk.call("find_user_id_by_name_zip", first_name="Ana", last_name="Silva", zip="62701")
    assert talk.broken == ["looks_people_up_by_what_they_said"]


def test_names_may_be_written_in_any_case(talk):
    """The agent looks "ANA silva" up as "Ana Silva"."""
    talk.user("ANA silva, 62701")
    talk.call("find_user_id_by_name_zip", first_name="Ana", last_name="Silva", zip="62701")
    assert talk.broken == []


def test_looking_up_a_second_customer_is_a_breach(talk):
    """One conversation, one customer, even if the second one's e-mail is known."""
    talk.identified().agent("How can I help?").user("My friend is ben@example.com, look him up.")
    talk.call("find_user_id_by_email", email="ben@example.com")
    assert talk.broken == ["serves_one_customer"]


def test_writing_somebody_elses_order_is_a_breach(talk):
    """The owner of the order decides, not who asks."""
    talk.identified().agent("Yes?").user(f"Return the mug of {BENS} to paypal_4444444.")
    talk.call("get_order_details", order_id=BENS)
    talk.agent(f"Return the mug of {BENS}, $10.00 to PayPal. Shall I?").user("Yes")
    talk.call(
        "return_delivered_order_items",
        order_id=BENS,
        item_ids=[MUG],
        payment_method_id="paypal_4444444",
    )
    assert "serves_one_customer" in talk.broken


def test_finding_out_that_an_order_is_somebody_elses_is_fine_if_nothing_is_told(talk):
    """Reading it is how one finds out."""
    talk.identified().agent("Yes?").user(f"What about {BENS}?")
    talk.call("get_order_details", order_id=BENS)
    talk.agent(f"I am sorry, {BENS} is not in your account.")
    assert talk.broken == []


def test_telling_what_is_in_somebody_elses_order_is_a_breach(talk):
    """The street of the parcel is only in that order."""
    talk.identified().agent("Yes?").user(f"Where does {BENS} go?")
    talk.call("get_order_details", order_id=BENS)
    talk.agent("It goes to 77 Secret Street.")
    assert talk.broken == ["tells_nothing_of_others"]


# --- how tools are used -------------------------------------------------------------------------


def test_two_calls_in_one_move_are_a_matter_of_form(talk):
    """The second call is blamed."""
    talk.identified()
    read = "get_order_details"
    talk.calls((read, {"order_id": PENDING}), (read, {"order_id": DELIVERED}))
    (finding,) = talk.findings
    assert (finding.rule, finding.severity) == ("makes_one_call_at_a_time", "form")
    assert finding.event == len(talk.events) - 3


def test_text_beside_a_call_is_a_matter_of_form(talk):
    """The customer never sees it."""
    talk.identified().call("get_order_details", order_id=PENDING, beside="Let me look.")
    assert [(f.rule, f.severity) for f in talk.findings] == [
        ("writes_no_text_beside_a_call", "form")
    ]


def test_the_third_identical_call_is_a_matter_of_form(talk):
    """Twice is fine, and a write starts the count anew."""
    talk.identified(PENDING, PENDING).cancelled(CANCEL, "Yes")
    talk.call("get_order_details", order_id=PENDING).call("get_order_details", order_id=PENDING)
    assert talk.broken == []
    talk.call("get_order_details", order_id=PENDING)
    assert talk.broken == ["makes_no_call_a_third_time"]


def test_changing_an_order_unread_is_a_breach(talk):
    """The agent cannot know what it cancels."""
    talk.user("Cancel #W1000001, $40.00, I no longer need it. ana@example.com")
    talk.call("find_user_id_by_email", email="ana@example.com")
    talk.cancelled(CANCEL, "Yes")
    assert talk.broken == ["reads_an_order_before_changing_it"]


# --- where facts come from ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "told",
    [
        "Order #W1000002 was $40.00, the lamp $30.",
        "Lamp and mug together in both orders: $80.00.",
        "With a lamp less it would be $10.00; refunds take 5 to 7 business days from 2026-03-16.",
        "It costs about $39.",
        "Your order number looks like #W1234567.",
        "Please give me the order number (e.g. #W1234567).",
        "You wrote to me on March 3rd and paid $12.34.",
    ],
)
def test_facts_from_tools_customer_and_policy_may_be_told(talk, told):
    """So may sums and differences of a few of them, rough amounts and examples."""
    talk.user("On march 3 I paid 12.34.").identified(PENDING, DELIVERED).agent(told)
    assert talk.broken == []


@pytest.mark.parametrize(
    "told",
    [
        "I see order #W7654321.",
        "That will be $17.77.",
        "It arrives on March 20.",
        "It arrives on 2026-03-20.",
        "I refund it to credit_card_9999999.",
    ],
)
def test_facts_from_nowhere_are_a_breach(talk, told):
    """Nobody ever mentioned these."""
    talk.identified(PENDING, DELIVERED).agent(told)
    assert talk.broken == ["tells_only_facts_that_have_a_source"]


def test_a_fact_may_be_told_after_it_was_calculated(talk):
    """What `calculate` answers is a source, from then on."""
    talk.identified(PENDING).call("calculate", expression="17 + 0.77").agent("It is $17.77.")
    assert talk.broken == []


def test_calling_with_an_invented_id_is_a_breach(talk):
    """Even if the tool refuses."""
    talk.identified().call("get_order_details", order_id="#W7654321")
    assert talk.broken == ["calls_only_with_ids_it_was_given"]


def test_an_order_number_may_be_given_without_its_prefix(talk):
    """People write "1000001" and mean "#W1000001"."""
    talk.user("Order 1000001, please. I am ana@example.com")
    talk.call("find_user_id_by_email", email="ana@example.com")
    talk.call("get_order_details", order_id=PENDING)
    assert talk.broken == []


# --- asking first -------------------------------------------------------------------------------


def test_writing_without_a_yes_is_a_breach(talk):
    """A wish is not a yes."""
    talk.identified(PENDING).agent("How can I help?")
    talk.user(f"I no longer need {PENDING}, it cost $40.00.")
    talk.call("cancel_pending_order", order_id=PENDING, reason="no longer needed")
    assert "waits_for_a_yes" in talk.broken


def test_a_request_in_answer_to_another_question_is_no_yes(talk):
    """The customer said it all, but the agent proposed nothing."""
    talk.identified(PENDING).agent("May I have your zip code?")
    talk.user(f"62701. Please cancel order {PENDING}, $40.00, it is no longer needed.")
    talk.call("cancel_pending_order", order_id=PENDING, reason="no longer needed")
    assert talk.broken == ["waits_for_a_yes"]


def test_a_yes_to_something_else_is_no_yes(talk):
    """A yes covers what the agent asked about, and that was the address."""
    talk.identified(PENDING).agent("Do you still live in Springfield?")
    talk.user(f"Yes. Please cancel order {PENDING}, $40.00, it is no longer needed.")
    talk.call("cancel_pending_order", order_id=PENDING, reason="no longer needed")
    assert talk.broken == ["lists_the_details_before_asking"]


def test_writing_after_a_no_is_a_breach_of_that_rule_alone(talk):
    """It is not reported a second time as a missing yes."""
    talk.identified(PENDING).cancelled(CANCEL, "No, wait.")
    assert talk.broken == ["changes_nothing_after_a_no"]


def test_a_no_takes_back_an_earlier_yes(talk):
    """The yes before it does not count any more, whatever follows."""
    talk.identified(PENDING).agent(CANCEL).user("Yes").agent("Shall I really?").user("No, stop.")
    talk.agent("All right. Anything else?").user("I have to think.")
    talk.call("cancel_pending_order", order_id=PENDING, reason="no longer needed")
    assert talk.broken == ["waits_for_a_yes"]


def test_declining_one_thing_and_confirming_the_rest_is_a_yes(talk):
    """The "no" is about something else."""
    talk.identified(PENDING).cancelled(CANCEL, "No gift card please. Yes, go ahead.")
    assert talk.broken == []


def test_a_yes_stays_good_when_only_the_payment_method_was_open(talk):
    """The customer agrees to the plan, then names the method."""
    talk.identified(DELIVERED).call("get_product_details", product_id="1000000001")
    talk.agent(
        f"In {DELIVERED} I exchange the lamp for the white one, $5.25 more. Do you confirm?"
    ).user("Yes.").agent("Which payment method?").user("The PayPal account.")
    talk.call("exchange_delivered_order_items", **SWAP_CALL)
    assert talk.broken == []


def test_picking_one_of_the_described_choices_is_a_yes(talk):
    """The answer need not contain the word."""
    talk.identified(DELIVERED).call("get_product_details", product_id="1000000001")
    talk.agent(
        f"For the lamp of {DELIVERED} I can exchange the black for the white one for $5.25 more, "
        "by PayPal or credit card. Which would you like?"
    ).user("White, and take it from PayPal.")
    talk.call("exchange_delivered_order_items", **SWAP_CALL)
    assert talk.broken == []


@pytest.mark.parametrize(
    "question",
    [
        "Could you tell me the payment method for this?",
        f"Could you tell me the payment method for order {PENDING}?",
        f"I can change how {PENDING} is paid, $40.00. What would you like?",
    ],
)
def test_naming_a_payment_method_that_was_not_among_the_choices_is_no_yes(talk, question):
    """The agent asked for a fact and described no choice."""
    talk.identified(PENDING).agent("How can I help?").user(f"Pay {PENDING} in another way.")
    talk.agent(question).user("With my PayPal account.")
    talk.call("modify_pending_order_payment", order_id=PENDING, payment_method_id=PAYPAL)
    assert talk.broken == ["waits_for_a_yes"]


def test_picking_one_of_the_payment_methods_described_is_a_yes(talk):
    """Order, amount and both methods stand in the agent's message."""
    talk.identified(PENDING)
    talk.agent(
        f"I can move the $40.00 of order {PENDING} from your credit card to your PayPal account or "
        "to the gift card. Which shall it be?"
    ).user("PayPal, please.")
    talk.call("modify_pending_order_payment", order_id=PENDING, payment_method_id=PAYPAL)
    assert talk.broken == []


def test_a_yes_to_which_order_is_meant_is_no_yes_to_another_payment_method(talk):
    """Change is what every request is about, so the word names no action."""
    talk.identified(PENDING).agent(f"Is {PENDING} the order you want to change?").user("Yes.")
    talk.agent("Which payment method?").user("My PayPal account.")
    talk.call("modify_pending_order_payment", order_id=PENDING, payment_method_id=PAYPAL)
    assert talk.broken == ["lists_the_details_before_asking"]


@pytest.mark.parametrize("answer", ["I have to think.", "Thanks.", "Hm, that is a lot of money."])
def test_an_answer_that_chooses_nothing_is_no_yes(talk, answer):
    """Neither thanks nor hesitation, even after a complete list."""
    talk.identified(PENDING).cancelled(CANCEL, answer)
    assert talk.broken == ["waits_for_a_yes"]


def test_one_yes_covers_everything_in_the_list(talk):
    """Two writes were listed, so one yes will do, with a look-up between them."""
    talk.identified(PENDING, DELIVERED).call("get_product_details", product_id="1000000001")
    talk.agent(f"First: {CANCEL} Second: {SWAP}").user("Yes to both.")
    talk.call("cancel_pending_order", order_id=PENDING, reason="no longer needed")
    talk.call("get_order_details", order_id=DELIVERED)
    talk.call("exchange_delivered_order_items", **SWAP_CALL)
    assert talk.broken == []


def test_one_yes_does_not_cover_what_was_not_listed(talk):
    """The exchange was never mentioned."""
    talk.identified(PENDING, DELIVERED).cancelled(CANCEL, "Yes")
    talk.call("exchange_delivered_order_items", **SWAP_CALL)
    assert "lists_the_details_before_asking" in talk.broken


@pytest.mark.parametrize(
    ("said", "instead", "missing"),
    [
        (DELIVERED, PENDING, f"order '{DELIVERED}'"),
        ("white", "other", f"item '{WHITE_LAMP}'"),
        ("desk lamp", "thing", f"item '{BLACK_LAMP}'"),
        ("PayPal account", "account", f"payment method '{PAYPAL}'"),
        ("exchange", "treat", "the action"),
    ],
)
def test_a_plan_must_name_the_order_the_items_and_the_payment(talk, said, instead, missing):
    """One thing is left out; the reason says which."""
    talk.identified(PENDING, DELIVERED).call("get_product_details", product_id="1000000001")
    talk.agent(SWAP.replace(said, instead)).user("Yes, that is fine.")
    talk.call("exchange_delivered_order_items", **SWAP_CALL)
    (finding,) = talk.findings
    assert finding.rule == "lists_the_details_before_asking"
    assert missing in finding.reason


def test_an_address_must_be_spelled_out(talk):
    """Nobody can agree to "your other address"."""
    new = {"address1": "5 Oak Way", "address2": "", "city": "Springfield", "state": "IL"}
    talk.identified(PENDING).agent(f"I send order {PENDING} to your other address. Shall I?")
    talk.user("Yes").call(
        "modify_pending_order_address", order_id=PENDING, country="USA", zip="62709", **new
    )
    assert talk.broken == ["lists_the_details_before_asking"]


def test_all_items_of_a_whole_order_need_not_be_listed(talk):
    """The word "everything" is as clear."""
    talk.identified(DELIVERED)
    talk.agent(f"You return everything in {DELIVERED}; $40.00 go to your credit card. Confirm?")
    talk.user("Yes").call(
        "return_delivered_order_items",
        order_id=DELIVERED,
        item_ids=[BLACK_LAMP, MUG],
        payment_method_id=CARD,
    )
    assert talk.broken == []


def test_an_unannounced_charge_is_a_breach_and_an_unannounced_refund_is_form(talk):
    """Taking money unasked does harm; giving it back does not."""
    talk.identified(PENDING, DELIVERED).call("get_product_details", product_id="1000000001")
    talk.cancelled(CANCEL.replace("$40.00", "It"), "Yes")
    talk.agent(SWAP.replace("of $5.25 ", "")).user("Yes")
    talk.call("exchange_delivered_order_items", **SWAP_CALL)
    assert [(f.rule, f.severity) for f in talk.findings] == [
        ("announces_every_refund", "form"),
        ("announces_every_charge", "breach"),
    ]


# --- what may be changed ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        (
            "cancel_pending_order",
            {"order_id": DELIVERED, "reason": "no longer needed"},
            "delivered",
        ),
        ("cancel_pending_order", {"order_id": PENDING, "reason": "too dear"}, "'too dear'"),
        ("modify_pending_order_payment", {"payment_method_id": CARD}, "another method"),
        ("modify_pending_order_payment", {"payment_method_id": GIFT_CARD}, "holds $3.00 of $40.00"),
        ("modify_pending_order_items", {"new_item_ids": [RED_LAMP]}, "not available"),
        ("modify_pending_order_items", {"new_item_ids": [BIG_MUG]}, "not a variant of the same"),
        ("modify_pending_order_items", {"new_item_ids": []}, "cannot be swapped for 0"),
        ("modify_pending_order_items", {"payment_method_id": GIFT_CARD}, "holds $3.00 of $5.25"),
        ("modify_pending_order_items", {"item_ids": [BIG_MUG]}, "not in the order"),
        (
            "modify_pending_order_items",
            {"payment_method_id": "paypal_4444444"},
            "not a payment method",
        ),
        ("return_delivered_order_items", {"order_id": DELIVERED}, "a gift card, not to"),
        ("return_delivered_order_items", {"order_id": PENDING}, "not 'delivered'"),
    ],
)
def test_attempting_what_the_order_forbids_is_a_matter_of_form(talk, tool, arguments, why):
    """The tool refused it; the agent could have seen that it would."""
    talk.user("paypal_4444444, 2000000003, 2000000012").identified(PENDING, DELIVERED, PROCESSED)
    talk.call("get_product_details", product_id="1000000001")
    complete = {"order_id": PENDING} | arguments
    if "items" in tool:
        complete = {"item_ids": [BLACK_LAMP], "payment_method_id": PAYPAL} | complete
    if tool == "modify_pending_order_items":
        complete = {"new_item_ids": [WHITE_LAMP]} | complete
    talk.call(tool, **complete)
    (finding,) = talk.findings
    assert (finding.rule, finding.severity) == ("attempts_only_what_the_policy_allows", "form")
    assert why in finding.reason


def test_a_forbidden_change_that_a_tool_let_through_is_a_breach(talk):
    """The rule looks at the rows before the call, not at what the tool says."""
    talk.identified(PENDING).cancelled(CANCEL, "Yes")
    call, result = talk.events[-2:]
    talk.events += [
        call.model_copy(update={"index": call.index + 2, "call_id": "again", "move": 99}),
        result.model_copy(update={"index": result.index + 2, "call_id": "again", "rows": ()}),
    ]
    assert "changes_only_what_the_policy_allows" in talk.broken


def test_malformed_arguments_break_no_rule_by_accident(talk):
    """Arguments are whatever a model wrote; a rule that crashes would lose the trial."""
    talk.identified(PENDING)
    for strange in (None, 3, [None], {"a": 1}):
        talk.call(
            "modify_pending_order_items",
            order_id=PENDING,
            item_ids=strange,
            new_item_ids=strange,
            payment_method_id=strange,
        )
        talk.call("get_order_details", order_id=strange)
        talk.call("cancel_pending_order", order_id=PENDING, reason=strange)
    assert set(talk.broken) <= {"attempts_only_what_the_policy_allows"}


# --- handing over -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("I want to talk to a human.", True),
        ("My parcel got lost, trace it.", True),
        ("I need a corporate invoice.", True),
        ("I want to cancel my order.", False),
        ("Give me a discount!", False),
    ],
)
def test_a_hand_over_needs_work_or_a_request_for_a_human(talk, words, needed):
    """Passing everything on without a look is no service."""
    talk.user(words).call("transfer_to_human_agents", summary="Customer wants something.")
    assert talk.broken == ([] if needed else ["hands_over_only_when_needed"])


def test_a_hand_over_after_a_look_up_is_not_judged_from_the_transcript(talk):
    """Whether it was right is for the task to say."""
    talk.identified().call("transfer_to_human_agents", summary="Customer wants something.")
    assert talk.broken == []


# --- the document -------------------------------------------------------------------------------


def test_every_rule_cites_a_section_that_the_document_has():
    """A renamed heading must not leave a rule behind."""
    document = (files("passhat") / "policies" / "retail.md").read_text(encoding="utf-8")
    cited = set(load_rules("retail").sections)
    assert cited <= {f"retail.md#{anchor}" for anchor in anchors(document)}
