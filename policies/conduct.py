"""The rules that hold at every desk: who is served, how tools are used, where facts come from.

Written once and bound to the desk of a domain. Every policy document therefore has the headings
that they cite.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import wraps

from ..language import plain, says
from ..transcript import MessageEvent
from . import consent
from .case import Call, Case
from .desk import Desk
from .engine import Rule, Rulebook, Severity, Violation
from .facts import Unfounded, unfounded

HAND_OVER = "transfer_to_human_agents"
_HUMAN = re.compile(
    r"\b(?:humans?|representative|supervisor|manager|(?:real|live|actual) (?:person|agent|someone)"
    r"|(?:speak|talk|transfer(?:red)?|connect(?:ed)?)(?: me)? (?:to|with) (?:a|an|some|another)"
    r"\w*)\b"
)

SharedCheck = Callable[[Case, Desk], Iterator[Violation]]


def rules_of_conduct(desk: Desk) -> Rulebook:
    """The shared rules as rules of this desk, each citing the section of its document."""

    def bind(section: str, severity: Severity, check: SharedCheck) -> Rule:
        @wraps(check)
        def bound(case: Case) -> Iterator[Violation]:
            return check(case, desk)

        return Rule(f"{desk.document}#{section}", severity, bound)

    return Rulebook(
        (
            bind("identify-the-customer", "breach", identifies_the_customer_first),
            bind("one-customer", "breach", serves_one_customer),
            bind("one-customer", "breach", tells_nothing_of_others),
            bind("tool-calls", "form", makes_one_call_at_a_time),
            bind("tool-calls", "form", writes_no_text_beside_a_call),
            bind("tool-calls", "form", makes_no_call_a_third_time),
            bind("say-only-what-you-know", "breach", tells_only_facts_that_have_a_source),
            bind("say-only-what-you-know", "breach", calls_only_with_ids_it_was_given),
            bind("what-counts-as-a-yes", "breach", consent.changes_nothing_after_a_no),
            bind("what-counts-as-a-yes", "breach", consent.waits_for_a_yes),
            bind("ask-before-you-change", "breach", consent.lists_the_details_before_asking),
            bind("ask-before-you-change", "breach", consent.announces_every_charge),
            bind("ask-before-you-change", "form", consent.announces_every_refund),
            bind(desk.limits, "form", attempts_only_what_the_policy_allows),
            bind("hand-over", "breach", hands_over_only_when_needed),
        )
    )


# --- who is served ------------------------------------------------------------------------------


def identifies_the_customer_first(case: Case, desk: Desk) -> Iterator[Violation]:
    """Nothing personal is read and nothing is written before the customer is identified."""
    found = case.once(desk.identifications)
    for call in case.calls:
        if found and call.event > found[0][0]:
            return
        if call.done and (call.name in desk.reads or call.name in desk.actions):
            yield Violation(call.event, f"{call.name} before the customer was identified")


def serves_one_customer(case: Case, desk: Desk) -> Iterator[Violation]:
    """Only the customer identified first is looked up, and only their rows are written."""
    customer = desk.customer(case)
    if customer is None:
        return
    for call in case.calls:
        whose = desk.whose(case, call) if call.done else ""
        if whose and whose != customer:
            yield Violation(call.event, f"{call.name} for {whose!r} while serving {customer!r}")


def tells_nothing_of_others(case: Case, desk: Desk) -> Iterator[Violation]:
    """What only somebody else may hear is not told."""
    customer = desk.customer(case)
    foreign = [
        call
        for call in case.calls
        if call.name == desk.shows
        and call.done
        and desk.owner(case, call.text(desk.subject)) not in (None, customer)
    ]
    if not foreign or customer is None:
        return
    own = [call.content for call in case.calls if call.done and call not in foreign]
    leaves = {leaf for call in foreign for leaf in desk.secrets(call)}
    secrets = {leaf for leaf in leaves if not any(leaf in content for content in own)}
    for event in case.transcript.messages():
        if event.by == "user":
            secrets -= {secret for secret in secrets if says(event.content, secret)}
        elif event.index > foreign[0].event:
            for secret in sorted(secrets):
                if says(event.content, secret):
                    told = f"told {secret!r} from another customer's {desk.noun}"
                    yield Violation(event.index, told)


# --- how tools are used -------------------------------------------------------------------------


def makes_one_call_at_a_time(case: Case, desk: Desk) -> Iterator[Violation]:
    """Every tool call waits for the result of the one before."""
    for call in case.calls:
        if call.event != call.move:
            yield Violation(call.event, f"{call.name} was called together with another tool")


def writes_no_text_beside_a_call(case: Case, desk: Desk) -> Iterator[Violation]:
    """A move is a message or a tool call, not both."""
    for call in case.calls:
        if call.beside.strip():
            yield Violation(call.event, f"text beside {call.name}: {call.beside.strip()!r:.80}")


def makes_no_call_a_third_time(case: Case, desk: Desk) -> Iterator[Violation]:
    """The same call is not made more than twice while no row changes."""
    made: Counter[str] = Counter()
    for call in case.calls:
        made[same_call(call)] += 1
        if (times := made[same_call(call)]) > 2:
            yield Violation(call.event, f"{call.name} for the {times}th time, nothing changed")
        if call.rows:
            made.clear()


def same_call(call: Call) -> str:
    """Equal for calls of the same tool with the same arguments."""
    return f"{call.name} {sorted(call.arguments.items())}"


def unread(case: Case, desk: Desk) -> Iterator[Violation]:
    """Changes of a subject that no call before had named."""
    read: set[str] = set()
    for call in case.calls:
        subject = call.text(desk.subject)
        if call.done and call.name in desk.actions and subject and subject not in read:
            yield Violation(call.event, f"{call.name} on {subject!r}, which was never read")
        if call.done and subject:
            read.add(subject)


# --- where facts come from ----------------------------------------------------------------------


def tells_only_facts_that_have_a_source(case: Case, desk: Desk) -> Iterator[Violation]:
    """Every id, amount and date told comes from the customer, the tools or the policy."""
    for fact in case.once(unfounded, desk.ids_in):
        if fact.told:
            yield _violation(fact)


def calls_only_with_ids_it_was_given(case: Case, desk: Desk) -> Iterator[Violation]:
    """Every id in a tool call comes from the customer or a tool."""
    for fact in case.once(unfounded, desk.ids_in):
        if not fact.told:
            yield _violation(fact)


def _violation(fact: Unfounded) -> Violation:
    source = "neither the customer, a tool nor the policy" if fact.told else "nobody"
    return Violation(fact.event, f"{fact.kind} {fact.value!r} comes from {source}")


def said_before(case: Case, event: int) -> str:
    """The customer's words before an event, `plain`."""
    return plain(
        "\n".join(
            each.content
            for each in case.transcript[:event]
            if isinstance(each, MessageEvent) and each.by == "user"
        )
    )


# --- what may be tried, and handed over ---------------------------------------------------------


def attempts_only_what_the_policy_allows(case: Case, desk: Desk) -> Iterator[Violation]:
    """No change is attempted that the agent could see was not allowed."""
    read: set[str] = set()
    for call in case.calls:
        subject = call.text(desk.subject)
        attempted = call.refused and call.name in desk.actions and (not subject or subject in read)
        if attempted and (problem := desk.forbidden(case, call)):
            yield Violation(call.event, f"{call.name} attempted: {problem}")
        if call.done:
            read.add(subject)


def hands_over_only_when_needed(case: Case, desk: Desk) -> Iterator[Violation]:
    """Before a hand-over, something was looked up, or the request itself calls for a human."""
    worked = False
    for call in case.calls:
        if call.name == HAND_OVER and not worked:
            heard = plain(" ".join(case.transcript.text_by("user")))
            if not (_HUMAN.search(heard) or desk.needs_a_human.search(heard)):
                yield Violation(call.event, "handed over before anything was looked up")
        worked = worked or (call.done and call.name in desk.finds | desk.reads)
