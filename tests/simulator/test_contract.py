"""Lines that no simulated customer may say."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.domains.domain import Domain, load_domain
from passhat.envs.episode import Episode
from passhat.errors import Fault
from passhat.simulator.contract import Contract, Problem, ProblemKind
from passhat.task import Goal, Persona, Task, UserScript
from passhat.transcript import UserEnd, UserReply

from ..reference_data import ROOT

SCRIPT = UserScript.model_validate(
    {
        "customer": "ana_silva_4471",
        "goals": [{"ask": "Cancel #W1111111", "check": {"refund": "$45.20"}}],
        "knows": {"order date": "2024-05-01"},
    }
)
PROFILE = {"email": "ana@example.com", "zip": "60601"}


def _contract() -> Contract:
    return Contract(SCRIPT, PROFILE)


def _said(text: str, end: UserEnd | None = None) -> UserReply:
    return UserReply(content=text, end=end)


@pytest.mark.parametrize("text", ["", "   \n"])
def test_silence_is_no_line(text: str) -> None:
    """An empty line breaks the contract."""
    assert _contract().check(_said(text)) == "said nothing"


@pytest.mark.parametrize(
    "text",
    [
        "It is order #W2222222.",
        "My e-mail is ana.silva@example.com.",
        "I paid $45.21.",
        "On 2024-05-02.",
        "My zip is 60602.",
        "Use gift_card_1234567.",
    ],
)
def test_facts_from_nowhere_are_invented(text: str) -> None:
    """Ids, e-mails, amounts, dates and long numbers come from script, profile or conversation."""
    assert (_contract().check(_said(text)) or "").startswith("invented")


@pytest.mark.parametrize(
    "text",
    [
        "Order #W1111111, please; I get some $45 back, don't I?",
        "ANA@example.com, 60601, since 2024-05-01, ana_silva_4471",
        "I have 2 cats and waited 15 minutes.",
        "You did not follow my instructions!",
        "I was told that my order has been cancelled. I can help you find it.",
        "I hope you are not just an automated script.",
        "I have returned your call. My new prescription glasses are the third goal in my life.",
    ],
)
def test_ordinary_lines_pass(text: str) -> None:
    """Known facts, small numbers and odd remarks break nothing."""
    assert _contract().check(_said(text)) is None


def test_what_the_agent_said_may_be_repeated() -> None:
    """A fact heard in the conversation is not invented."""
    contract = _contract()
    contract.hear("I also see order #W3333333 over $1,200.")
    assert contract.check(_said("Right, #W3333333, the one for $1200.00.")) is None


@pytest.mark.parametrize(
    "text",
    [
        "How can I help you today?",
        "I have cancelled your order.",
        "Is there anything else I can assist you with?",
        "I'll transfer you to a colleague.",
    ],
)
def test_a_customer_does_not_speak_as_the_agent(text: str) -> None:
    """Lines that only an agent would say break the contract."""
    assert (_contract().check(_said(text)) or "").startswith("spoke as the agent")


@pytest.mark.parametrize(
    "text",
    [
        "That is not mentioned in my instruction.",
        "My instructions say that I want a refund.",
        "As a simulated user I cannot know.",
        "As an AI language model, I have no orders.",
        "Goal: cancel the order",
        "###STOP###",
    ],
)
def test_the_script_stays_behind_the_scenes(text: str) -> None:
    """Talking about the script or the simulation breaks the contract."""
    assert (_contract().check(_said(text)) or "").startswith("spoke of its script")


def test_goals_met_means_that_all_were_put() -> None:
    """Ending content while a request was never made breaks the contract."""
    contract, reply = _contract(), _said("Bye.", UserEnd.GOALS_MET)
    contract.check(_said("Please cancel #W1111111."))
    contract.hear("Done.")
    assert contract.check(reply) is None
    assert "never asked: 'Cancel it'" in (contract.check(reply, never_put=["Cancel it"]) or "")


# --- invented ------------------------------------------------------------------------------------


def _kind(contract: Contract, text: str, end: UserEnd | None = None) -> ProblemKind | None:
    problem = contract.check(_said(text, end))
    return problem.kind if problem else None


@pytest.mark.parametrize(
    "text",
    [
        "My name is Bob Stone.",
        "I'm Bob Stone, and I want my money back.",
        "It's for my wife Marta.",
        "The passenger is Bob Stone.",
        "I'd like to return my Nordwind Aurora.",
        "It's the model XR-4711.",
        "I flew with HAT123.",
        "It was delivered on June 7th.",
        "It was 7 June.",
    ],
)
def test_names_and_days_can_be_invented(text: str) -> None:
    """People who are introduced, things with a maker's name, model numbers, days in words."""
    assert _kind(_contract(), text) is ProblemKind.INVENTED


@pytest.mark.parametrize(
    "text",
    [
        "My name is Ana Silva.",
        "It is for my mother, Ana Silva's neighbour told me.",
        "One passenger Business Class, please.",
        "Let me check your website first. May I have your full name?",
        "I'm Gold Member here, and this is The Third Time.",
        "My New York address, please. I am Very Angry.",
        "I'd like to fly from San Francisco to Los Angeles. May I?",
        "My Visa is fine. Hello, Bob Stone!",
        "It came on May 1, or on the next day, May 2.",
        "I'd pay at most $300, maybe around $250.",
        "That is $45, so I lose nothing.",
    ],
)
def test_capitals_guesses_and_sums_are_no_inventions(text: str) -> None:
    """Places, greetings, wishes, known amounts without their cents, the day after a known day."""
    contract = Contract(SCRIPT.model_copy(update={"goals": [Goal(ask="Keep $45.20")]}), PROFILE)
    assert contract.check(_said(text)) is None


def test_a_sum_of_known_amounts_is_worked_out() -> None:
    """The customer can add up what the agent named."""
    contract = _contract()
    contract.hear("The lamp is $20.10 and the desk $100.30.")
    assert contract.check(_said("So $120.40 in all?")) is None
    assert _kind(contract, "So $121.40 in all?") is ProblemKind.INVENTED


# --- leaked --------------------------------------------------------------------------------------

WISHES = UserScript.model_validate(
    {
        "customer": "ana_silva_4471",
        "unknown": ["email"],
        "goals": [
            {
                "ask": "Please cancel my order #W1111111.",
                "details": {"reason": "no longer needed"},
                "check": {"refund": "$45.20"},
                "otherwise": {
                    "ask": "Then ship the parcel to my office near the harbour.",
                    "check": {"order": "#W2222222"},
                },
            },
            {"ask": "What did the kettle cost?", "until_told": ["$31.40"], "confirm": False},
        ],
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "Then ship the parcel to my office near the harbour.",
        "Could the parcel go to the office near the harbour, otherwise?",
        "It may be #W2222222.",
        "I should get $45.20 back.",
        "The kettle was $31.40, wasn't it?",
        "My e-mail is ana@example.com.",
    ],
)
def test_what_is_not_due_is_leaked(text: str) -> None:
    """Second choices, what is to be checked or told, and what the customer does not know."""
    contract = Contract(WISHES, PROFILE)
    contract.hear("Hello! How can I help you today?")
    assert _kind(contract, text) is ProblemKind.LEAKED


def test_a_request_may_come_with_its_details() -> None:
    """Volunteering a reason is no leak, and neither is putting both requests at once."""
    line = "Please cancel my order #W1111111, no longer needed. And what did the kettle cost?"
    assert Contract(WISHES, PROFILE).check(_said(line)) is None


@pytest.mark.parametrize(
    ("heard", "text"),
    [
        ("I'm sorry, it is already on its way.", "Then ship it to my office near the harbour."),
        ("I will refund $40.00. Is that right?", "No, the refund should be $45.20."),
        ("Your e-mail is ana@example.com, isn't it?", "Yes, ana@example.com."),
    ],
)
def test_the_agent_makes_things_due(heard: str, text: str) -> None:
    """A refusal, a proposal, and whatever the agent names itself."""
    contract = Contract(WISHES, PROFILE)
    contract.check(_said("Please cancel my order #W1111111."))
    contract.hear(heard)
    assert contract.check(_said(text)) is None


def test_free_text_holds_nothing_back() -> None:
    """Nobody can tell what of it is due when."""
    told = "Cancel #W1111111; if that fails, ask for $45.20."
    contract = Contract(UserScript(goals=[Goal(ask=told)], instruction=told), {})
    assert contract.check(_said("I want $45.20 for #W1111111.")) is None


# --- repeated, premature -------------------------------------------------------------------------

PROPOSAL = "I will cancel order #W1111111 and refund $45.20. Do you want me to go ahead?"
DONE = "Order #W1111111 has been cancelled. Is there anything else I can do for you?"


def _talked(*lines: str) -> Contract:
    """A contract after this talk; the customer begins."""
    contract = _contract()
    for number, line in enumerate(lines):
        if number % 2:
            contract.hear(line)
        else:
            assert contract.check(_said(line)) is None
    return contract


def test_what_is_done_is_not_asked_for_again() -> None:
    """Agreed to and reported as done; before that, asking again is a customer's right."""
    again = "Could you please cancel #W1111111?"
    assert _talked("Cancel #W1111111", PROPOSAL).check(_said(again)) is None
    contract = _talked("Cancel #W1111111", PROPOSAL, "Yes, please.", DONE)
    assert _kind(contract, again) is ProblemKind.REPEATED
    assert contract.check(_said("Could you confirm that #W1111111 is cancelled?")) is None
    assert contract.check(_said("No, please don't cancel #W1111111 then!")) is None


def test_a_question_that_is_asked_again_may_be_answered_again() -> None:
    """The agent that reports and then asks once more gets its yes."""
    contract = _talked("Cancel #W1111111", PROPOSAL, "Yes, please.", DONE, "Thanks.", PROPOSAL)
    assert contract.check(_said("Yes, please cancel #W1111111.")) is None


@pytest.mark.parametrize(
    "text", ["Thank you, goodbye!", "Yes, go ahead. Goodbye!", "Great, please proceed."]
)
def test_nobody_leaves_with_a_question_open(text: str) -> None:
    """What is agreed to with the last words will not be done."""
    assert _kind(_talked("Cancel #W1111111", PROPOSAL), text, UserEnd.GOALS_MET) is (
        ProblemKind.PREMATURE
    )


@pytest.mark.parametrize(
    ("heard", "text", "end"),
    [
        (PROPOSAL, "No, leave it. Bye.", UserEnd.GOALS_MET),
        (PROPOSAL, "I've had enough.", UserEnd.GAVE_UP),
        (DONE, "No, that's all. Thank you!", UserEnd.GOALS_MET),
        ("I am transferring you to a human agent.", "Thanks.", UserEnd.HANDED_OVER),
    ],
)
def test_there_are_good_ends(heard: str, text: str, end: UserEnd) -> None:
    """A no, a customer who gives up, a request that was met, a hand-over."""
    assert _talked("Cancel #W1111111", heard).check(_said(text, end)) is None


def test_a_request_that_never_came_up_is_missed() -> None:
    """Also by a customer who cannot tell which requests were put."""
    contract = Contract(WISHES, PROFILE)
    contract.check(_said("Please cancel my order #W1111111."))
    contract.hear(DONE)
    problem = contract.check(_said("Thanks, bye.", UserEnd.GOALS_MET))
    assert problem is not None
    assert "never asked: 'What did the kettle cost?'" in problem


def test_nobody_is_handed_over_to_nobody() -> None:
    """The agent has not spoken of anybody else."""
    contract = _talked("Cancel #W1111111", "Which one?")
    assert _kind(contract, "I'll wait for them.", UserEnd.HANDED_OVER) is ProblemKind.PREMATURE


# --- problems ------------------------------------------------------------------------------------


@given(st.sampled_from(ProblemKind), st.text(max_size=20))
def test_a_problem_says_its_kind(kind: ProblemKind, about: str) -> None:
    """Its sentence begins with the kind, so that the reason a trial was lost by tells it."""
    problem = Problem(kind, f" {about}")
    assert ProblemKind.of(str(problem)) is problem.kind is kind
    twin = pickle.loads(pickle.dumps(problem))
    assert (twin, twin.kind) == (problem, kind)


@pytest.mark.parametrize("name", ["retail", "airline"])
@pytest.mark.parametrize(
    ("agent", "personas"),
    [
        ("rule-based", ["chatty"]),
        *(
            pytest.param(agent, get_args(Persona), marks=pytest.mark.slow)
            for agent in ("reference", "rule-based", "slippery:0.3", "noop")
        ),
    ],
)
def test_the_agenda_user_is_never_caught(
    name: str, agent: str, personas: Sequence[Persona]
) -> None:
    """Whatever the agent, the persona and the seed: all its lines may be heard."""
    domain = load_domain(name)
    for number, task in enumerate(domain.tasks.values()):
        for persona in personas:
            user = task.user.model_copy(update={"persona": persona})
            told = task.model_copy(update={"user": user})
            ending = _played(domain, told, agent, seed=number).transcript.ending
            assert ending is not None
            assert ending.fault is not Fault.SIMULATOR, (task.id, persona, ending.detail)


def _played(domain: Domain, task: Task, agent: str, seed: int) -> Episode:
    kind = agent_kind(agent)
    tools = tuple(tool.schema for tool in domain.tools.values())
    now = domain.world.now.isoformat()
    seen = task if kind.sees_task else None
    player = kind.make(Brief(domain.name, domain.policy, tools, now, seed, seen))
    with Episode.start(domain, task, seed=seed) as episode:
        while episode.needs:
            if episode.needs == "user":
                episode.user_turn()
            else:
                episode.act(player.act(episode.observation))
        return episode


@pytest.mark.slow
def test_faults_are_found_and_honest_lines_are_not_accused(tmp_path: Path) -> None:
    """The measured detection does not fall behind what the documents say of it."""
    found = tmp_path / "found.json"
    command = [sys.executable, "-m", "benchmarks", "detection", "--json", str(found)]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    figures = {one["what"]: one["value"] for one in json.loads(found.read_text())}
    for kind, least in RECALLS.items():
        for source in ("agenda", "recorded"):
            assert figures.get(f"{source}: {kind}: recall", 1.0) >= least, (source, kind)
            assert figures.get(f"{source}: {kind}: precision", 1.0) >= 0.99, (source, kind)


RECALLS = {
    "invented": 0.88,
    "leaked": 0.85,
    "premature": 0.8,
    "repeated": 0.55,
    "spoke as the agent": 0.7,
    "spoke of its script": 0.85,
    "said nothing": 1.0,
}


@given(st.text(max_size=200))
def test_a_fork_hears_for_itself(text: str) -> None:
    """What a fork hears or says changes nothing for the other."""
    contract, talk = _contract(), _talked("Cancel #W1111111", PROPOSAL)
    contract.fork().hear(f"{text} #W9999999")
    assert (contract.check(_said("#W9999999")) or "").startswith("invented")
    twin = talk.fork()
    twin.check(_said("Yes, please."))
    twin.hear(DONE)
    assert talk.check(_said("Please cancel #W1111111.")) is None


# --- as people and models put things --------------------------------------------------------------

TRIP = UserScript.model_validate(
    {
        "goals": [
            {
                "ask": "I'd like to book a one-way flight from Denver to Phoenix on 2026-05-20.",
                "check": {"flight": "WRN176", "date": ["2026-05-20", "May 20", "20 May"]},
            }
        ]
    }
)
BIKE = UserScript.model_validate(
    {
        "goals": [
            {
                "ask": "Please take the exercise bike out of order #W1451516 and leave the rest.",
                "confirm": False,
                "otherwise": {"ask": "Please cancel all of order #W1451516."},
            }
        ]
    }
)


@pytest.mark.parametrize(
    "line",
    [
        "I'd like to fly from Denver to Phoenix on May 20th.",
        "One way to Phoenix please, on Wednesday, May 20, 2026.",
        "I'm looking at my calendar, today is May 15th, so it's the 20th of May.",
        "Tomorrow, May 16, would be too early, and 2026-05-15 even more so.",
    ],
)
def test_a_day_may_be_said_in_other_words(line: str) -> None:
    """A day of the request is due however it is written, and today's date is no secret."""
    assert Contract(TRIP, {}, "2026-05-15T09:00:00").check(_said(line)) is None


@pytest.mark.parametrize(
    "line", ["I want flight WRN176.", "I'd like to fly on May 22nd.", "It was on 2026-03-01."]
)
def test_knowing_the_date_is_knowing_no_other(line: str) -> None:
    """What only the proposal tells, and days from nowhere, are still stopped."""
    assert Contract(TRIP, {}, "2026-05-15T09:00:00").check(_said(line)) is not None


@pytest.mark.parametrize(
    "line",
    [
        "Yes please, $200 for both, so $100 each.",
        "$66.67 per person? Fine.",
        "That would be $400 in all, right?",
        "I was hoping for $250, but okay.",
    ],
)
def test_an_amount_may_be_shared_out_or_hoped_for(line: str) -> None:
    """What follows from a known amount, or is a wish, is not invented."""
    contract = Contract(TRIP, {})
    contract.hear("I can offer a certificate of $200.")
    assert contract.check(_said(line)) is None


@pytest.mark.parametrize("line", ["It was $100.", "I paid $212.13 for each.", "$37 each, please."])
def test_an_amount_that_follows_from_nothing_is_invented(line: str) -> None:
    """Shares are of known amounts, and are spoken of as shares."""
    contract = Contract(TRIP, {})
    contract.hear("I can offer a certificate of $200.")
    assert _kind(contract, line) is ProblemKind.INVENTED


@pytest.mark.parametrize(
    "line",
    [
        "Hi, I need to cancel just the exercise bike in order #W1451516.",
        "Can you cancel the exercise bike from #W1451516 and leave the rest?",
        "I don't want to cancel the order, just take the exercise bike out of #W1451516.",
    ],
)
def test_the_request_in_the_words_of_the_alternative_leaks_nothing(line: str) -> None:
    """To cancel one thing is not to cancel everything, and neither is not to cancel."""
    assert Contract(BIKE, {}).check(_said(line)) is None


@pytest.mark.parametrize(
    "line",
    [
        "Please cancel order #W1451516.",
        "Take the exercise bike out. If you can't, cancel it all.",
        "Could you take out the exercise bike or cancel the whole order?",
    ],
)
def test_the_alternative_in_its_own_words_is_leaked(line: str) -> None:
    """Asking for everything to be cancelled is the second choice, told too early."""
    assert _kind(Contract(BIKE, {}), line) is ProblemKind.LEAKED


@pytest.mark.parametrize(
    "question", ["Shall I?", "It would go on your Visa, okay?", "Do you confirm this - yes/no"]
)
def test_a_short_question_is_a_question(question: str) -> None:
    """Leaving with a question for a yes open is premature, however short the question."""
    contract = Contract(TRIP, {})
    assert contract.check(_said(TRIP.goals[0].ask)) is None
    contract.hear(f"I can book a one-way flight from Denver to Phoenix on 2026-05-20. {question}")
    assert _kind(contract, "Yes. Bye!", UserEnd.GOALS_MET) is ProblemKind.PREMATURE
