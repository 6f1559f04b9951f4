"""Why trials failed: each rule on a conversation that was played, graded, and read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers import Log, new_store
from kiosk import DOMAIN

from passhat.domains.domain import Domain, load_domain
from passhat.envs.episode import Episode
from passhat.grading.communication import grade_communication
from passhat.grading.grading import Grading, policy_verdict
from passhat.grading.verdict import Verdict
from passhat.harness.attempt import Conditions
from passhat.harness.failures import (
    MEANINGS,
    RULES,
    Category,
    Cause,
    by_category,
    by_mast,
    causes_of,
    failure_of,
)
from passhat.harness.run import Plan, start_run
from passhat.policies.engine import Finding, load_rules
from passhat.task import Task
from passhat.transcript import Message, Stop, ToolCall, ToolCalls, Transcript


def kiosk_task(**expect: Any) -> Task:
    """A task at the kiosk; by default ticket T-1 has to change to zone Z2."""
    call = {"name": "change_zone", "arguments": {"ticket_id": "T-1", "zone": "Z2"}}
    goals = [{"ask": "Please make my ticket T-1 valid in zone Z2.", "confirm": False}]
    return Task.model_validate(
        {
            "id": "zone",
            "domain": "kiosk",
            "user": {"customer": "T-1", "goals": goals},
            "expect": expect or {"outcomes": [{"actions": [call]}]},
        }
    )


def change(ticket: str, zone: str) -> ToolCalls:
    """The call that changes a ticket's zone."""
    arguments = {"ticket_id": ticket, "zone": zone}
    return ToolCalls(calls=(ToolCall(name="change_zone", arguments=arguments),))


def causes(
    moves: Sequence[Message | ToolCalls | Stop],
    task: Task | None = None,
    *,
    domain: Domain = DOMAIN,
    max_turns: int = 40,
    crash: bool = False,
) -> tuple[Cause, ...]:
    """Play these moves, stop when they are over, grade, and ask why it failed."""
    task = task or kiosk_task()
    left = list(moves)
    with Episode.start(domain, task, max_turns=max_turns) as episode:
        while episode.needs:
            if episode.needs == "user":
                episode.user_turn()
            elif crash:
                episode.agent_crashed("ValueError: no")
            else:
                episode.act(left.pop(0) if left else Stop())
        grade = Grading(domain).grade(task, episode.transcript, episode.db)
        assert grade.reward == 0.0
        return causes_of(grade.verdicts, grade.basis, episode.transcript)


def test_a_crash_explains_what_was_not_done() -> None:
    """It comes first, at the ending."""
    first, *others = causes([], crash=True)
    assert (first.category, first.event) == (Category.CRASHED, 1)
    assert [cause.category for cause in others] == [Category.GOAL_NOT_MET]


def test_saying_the_same_three_times_is_a_loop() -> None:
    """The third time is blamed, and explains what was not done."""
    first, *others = causes([Message(content="One moment, please.")] * 9)
    assert (first.category, first.turn) == (Category.LOOP, 3)
    assert Category.GOAL_NOT_MET in [cause.category for cause in others]


def test_a_conversation_without_end_is_cut_off() -> None:
    """Also when nothing in it comes again."""
    moves = [Message(content=f"And question {n}?") for n in "abcdef"]
    assert causes(moves, max_turns=3)[0].category is Category.CUT_OFF


def test_stopping_with_something_owed_is_stopping_early() -> None:
    """At the ending, which is the agent's."""
    assert causes([Message(content="Hello.")])[0].category is Category.STOPPED_EARLY


def test_another_value_is_a_wrong_argument_at_the_event_that_wrote_it() -> None:
    """Event 2 is the result of the call."""
    first, *_ = causes([change("T-1", "Z3"), Message(content="There you go.")])
    assert (first.category, first.event, first.turn) == (Category.WRONG_ARGUMENT, 2, 1)
    assert "expected Z2, not Z3" in first.why


def test_another_row_instead_of_the_right_one_is_a_wrong_argument() -> None:
    """The same kind of change, for another ticket."""
    assert causes([change("T-2", "Z2")])[0].category is Category.WRONG_ARGUMENT


def test_a_change_too_many_is_unwanted() -> None:
    """The right one was made as well."""
    first, *_ = causes([change("T-1", "Z2"), change("T-2", "Z2")])
    assert (first.category, first.event) == (Category.UNWANTED_WRITE, 4)


def test_a_report_of_what_was_never_changed_is_said_not_done() -> None:
    """The message is blamed."""
    first, *_ = causes([Message(content="Your ticket T-1 has been changed to zone Z2.")])
    assert (first.category, first.event) == (Category.SAID_NOT_DONE, 1)


def test_refusing_what_was_to_be_done_is_a_wrong_refusal() -> None:
    """The refusing message is blamed, and nothing was written."""
    found = causes([Message(content="I'm afraid I can't change tickets.")])
    refusal = next(c for c in found if c.category is Category.WRONG_REFUSAL)
    assert refusal.event == 1


def test_one_of_two_changes_is_a_goal_partly_met() -> None:
    """What is missing shows at the end."""
    calls = [
        {"name": "change_zone", "arguments": {"ticket_id": ticket, "zone": "Z2"}}
        for ticket in ("T-1", "T-2")
    ]
    found = causes([change("T-1", "Z2")], kiosk_task(outcomes=[{"actions": calls}]))
    assert [cause.category for cause in found] == [
        Category.STOPPED_EARLY,
        Category.GOAL_PARTLY_MET,
    ]


def test_another_kind_of_change_is_a_wrong_tool() -> None:
    """An address instead of a cancellation."""
    retail = load_domain("retail")
    task = retail.task("cancel-power-bank")
    address = {"address1": "1 Elm Street", "address2": "", "city": "Austin", "state": "TX"}
    arguments = {"user_id": task.user.customer, **address, "country": "USA", "zip": "78701"}
    call = ToolCalls(calls=(ToolCall(name="modify_user_address", arguments=arguments),))
    found = causes([call], task, domain=retail)
    assert Category.WRONG_TOOL in [cause.category for cause in found]


EVERYTHING = kiosk_task(
    tell=["42"], refuse=[{"about": "ticket", "because": ["it is used"]}], hand_over=True
)


def test_every_reason_of_the_communication_grader_has_a_category() -> None:
    """No wording of the grader falls through to "other"."""
    talk = Transcript()
    verdict = grade_communication(EVERYTHING, talk)
    assert len(verdict.evidence) == 4
    found = {cause.category for cause in causes_of([verdict], ("communication",), talk)}
    assert found == {Category.NOT_TOLD, Category.MISSING_REFUSAL, Category.MISSING_HAND_OVER}


def test_a_needless_hand_over_is_blamed_on_its_call() -> None:
    """Not on the ending that follows."""
    retail = load_domain("retail")
    call = ToolCall(name="transfer_to_human_agents", arguments={"summary": "Help."})
    task = retail.task("cancel-power-bank")
    first, *_ = causes([ToolCalls(calls=(call,))], task, domain=retail)
    assert (first.category, first.event) == (Category.WRONG_HAND_OVER, 1)


def finding(rule: str, severity: Any = "breach") -> Finding:
    """A finding of that rule."""
    return Finding(rule, "retail.md#orders", severity, 0, "because")


@pytest.mark.parametrize(
    ("rule", "category"),
    [
        ("waits_for_a_yes", Category.UNCONFIRMED_WRITE),
        ("serves_one_customer", Category.IDENTITY),
        ("calls_only_with_ids_it_was_given", Category.INVENTED_FACT),
        ("a_rule_of_somebody_else", Category.AGAINST_POLICY),
    ],
)
def test_a_breach_has_the_category_of_its_rule(rule: str, category: Category) -> None:
    """A rule that nobody listed is against the policy all the same."""
    verdict = policy_verdict([finding("x", "form"), finding(rule)])
    (cause,) = causes_of([verdict], ("policy",), Transcript())
    assert (cause.category, cause.event) == (category, None)


def test_every_listed_rule_is_a_rule() -> None:
    """A rule that is renamed must be renamed here too."""
    rules = {rule.name for domain in ("retail", "airline") for rule in load_rules(domain).rules}
    assert set(RULES) <= rules


def test_a_verdict_outside_the_basis_is_no_cause() -> None:
    """What did not decide did not make it fail."""
    policy = policy_verdict([finding("waits_for_a_yes")])
    own = Verdict(grader="polite", passed=False, score=0, reason="rude")
    (cause,) = causes_of([policy, own], ("outcome", "polite"), Transcript())
    assert (cause.category, cause.why) == (Category.OTHER, "rude")


def test_every_category_has_a_meaning() -> None:
    """And a class of MAST has one name and one group, whatever category it stands beside."""
    assert list(MEANINGS) == sorted(MEANINGS, key=list(Category).index)
    assert set(MEANINGS) == set(Category)
    classes = {meaning.mast for meaning in MEANINGS.values() if meaning.mast}
    assert len({one.code for one in classes}) == len(classes)


def test_the_documentation_lists_every_category() -> None:
    """In the order in which one explains another, each with its class."""
    document = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    rows = [line for line in document.splitlines() if line.startswith("| ")]
    wanted = [
        f"| {category} | {says} | {f'{mast.code} {mast.name}' if mast else '-'} |"
        for category, (says, mast) in MEANINGS.items()
    ]
    assert [row for row in rows if row in wanted] == wanted


SLIPS = {
    "skips the confirmation": {Category.UNCONFIRMED_WRITE},
    "says it is done, and does nothing": {Category.SAID_NOT_DONE},
    "wrong item": {Category.WRONG_ARGUMENT},
    "wrong payment method": {Category.WRONG_ARGUMENT},
    "wrong amount": {Category.INVENTED_FACT},
    "stops early": {Category.STOPPED_EARLY},
    "hands over for no reason": {Category.WRONG_HAND_OVER},
}


def slips_of(transcript: Transcript) -> list[str]:
    """What the slippery agent noted of its slips."""
    noted = [getattr(event, "provider", None) or {} for event in transcript]
    slips = [str(note["slip"]) for note in noted if "slip" in note]
    detail = transcript.ending.detail if transcript.ending else ""
    return slips + ([detail.removeprefix("slip: ")] if detail.startswith("slip: ") else [])


def test_the_main_cause_is_the_slip_that_was_made(tmp_path: Path) -> None:
    """Judged by an agent that notes its own mistakes: nine in ten single ones are named right."""
    tasks = tuple(load_domain("retail").tasks)[:30]
    plan = Plan(Conditions("retail", "slippery:0.07"), tasks, trials=3, seed=2)
    right = total = 0
    with new_store(tmp_path) as store:
        run = start_run(store, plan, Log()).run
        failures = []
        for row in store.trials(run, ["failed"]):
            details = store.trial(run, row.task, row.trial)
            failures.append(failure_of(details))
            slips = slips_of(details.transcript)
            if len(slips) == 1 and slips[0] in SLIPS:
                total += 1
                right += failures[-1].main.category in SLIPS[slips[0]]
    assert total >= 10
    assert right >= 0.9 * total
    assert sum(row.main for row in by_category(failures)) == len(failures)
    assert sum(by_mast(failures).values()) == len(failures)
