"""Asking first: what the customer was asked before a change, and whether that was a yes to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..language import amounts, plain
from .case import REMEMBERED, Call, Case, Exchange
from .desk import Desk
from .engine import Violation
from .facts import follows_from


def changes(case: Case, desk: Desk) -> list[Call]:
    """Every call that changed something for a customer."""
    return [call for call in case.calls if call.done and call.name in desk.actions]


def changes_nothing_after_a_no(case: Case, desk: Desk) -> Iterator[Violation]:
    """The customer's last answer before a change is not a no."""
    for call in changes(case, desk):
        if call.last and call.last.says_no:
            yield Violation(call.event, f"{call.name} after {call.last.answer.content!r:.120}")


def waits_for_a_yes(case: Case, desk: Desk) -> Iterator[Violation]:
    """Before every change the customer said yes, or picked one of the choices described."""
    for call in changes(case, desk):
        refused = call.last is not None and call.last.says_no
        if not (refused or consented(case, desk, call)):
            yield Violation(call.event, f"{call.name} without a yes; last heard {heard(call)}")


def lists_the_details_before_asking(case: Case, desk: Desk) -> Iterator[Violation]:
    """The message that the customer said yes to names all that is done."""
    for call in changes(case, desk):
        yes = _said_yes(call)
        if yes is None or _named_everything(case, desk, call) or _picked(case, desk, call):
            continue
        missing = ", ".join(_unnamed(case, desk, call, yes))
        yield Violation(call.event, f"{call.name}: the yes was not to {missing}")


def announces_every_charge(case: Case, desk: Desk) -> Iterator[Violation]:
    """What a change charges was told when the customer was asked."""
    for call, cents in case.once(_not_announced, desk):
        if cents > 0:
            yield Violation(call.event, f"{call.name} charges ${cents / 100:.2f}, never told")


def announces_every_refund(case: Case, desk: Desk) -> Iterator[Violation]:
    """What a change refunds was told when the customer was asked."""
    for call, cents in case.once(_not_announced, desk):
        if cents < 0:
            yield Violation(call.event, f"{call.name} refunds ${-cents / 100:.2f}, never told")


def consented(case: Case, desk: Desk, call: Call) -> bool:
    """Whether the customer said yes, or picked a choice, before this call."""
    return _said_yes(call) is not None or _picked(case, desk, call)


def heard(call: Call) -> str:
    """The customer's last words before a call, quoted and cut."""
    return f"{call.last.answer.content if call.last else ''!r:.120}"


def in_cents(text: str) -> list[int]:
    """Every amount of money in a text."""
    return [round(abs(dollars) * 100) for dollars in amounts(text)]


def _named_everything(case: Case, desk: Desk, call: Call) -> bool:
    return any(each.says_yes and not _unnamed(case, desk, call, each) for each in call.consents)


def _said_yes(call: Call) -> Exchange | None:
    """The latest yes that no later no took back."""
    return next((each for each in call.consents if each.says_yes), None)


def _picked(case: Case, desk: Desk, call: Call) -> bool:
    """Whether the customer chose among things described in full, which is as good as a yes."""
    return any(
        (each.says_partly or (each.answers and _chooses(case, desk, call, each)))
        and not _unnamed(case, desk, call, each, each.question)
        for each in call.consents
    )


def _chooses(case: Case, desk: Desk, call: Call, consent: Exchange) -> bool:
    """Whether the answer itself names something that is then done."""
    answer = plain(consent.answer.content)
    subject = call.text(desk.subject)
    return (bool(subject) and plain(subject) in answer) or desk.chooses(case, call, answer)


def _unnamed(case: Case, desk: Desk, call: Call, consent: Exchange, words: str = "") -> list[str]:
    """What of this change was not said when the customer consented.

    The words are those of the plan unless given, and then nothing else counts. The action must have
    been named by the agent; what the desk calls settled may also have been said in the last answer.
    """
    talk = _plan_of(desk, call, consent)
    plan, proposed = plain(words or _text(talk)), plain(words or _questions(talk))
    settled = plan if words or call.last is None else f"{plan} {plain(call.last.text)}"
    missing = []
    if not desk.actions[call.name].search(proposed):
        missing.append(f"the action ({call.name})")
    if subject := call.text(desk.subject):
        about = plain(words or _text(_back_to(desk.names_a_subject, consent)))
        if plain(subject).removeprefix("#") not in about:
            missing.append(f"{desk.noun} {subject!r}")
    return missing + list(desk.unnamed(case, call, plan, settled))


def _plan_of(desk: Desk, call: Call, consent: Exchange) -> list[Exchange]:
    """What was consented to; what concerns no subject of the desk stands in one exchange."""
    return _back_to(desk.tells_a_plan, consent) if call.text(desk.subject) else [consent]


def _back_to(tells: Callable[[str], bool], consent: Exchange) -> list[Exchange]:
    """The exchange of the consent, and until one tells what it is about, those before it."""
    talk = [consent]
    while not tells(talk[-1].text) and talk[-1].before and len(talk) < REMEMBERED:
        talk.append(talk[-1].before)
    return talk


def _text(talk: list[Exchange]) -> str:
    return "\n".join(each.text for each in talk)


def _questions(talk: list[Exchange]) -> str:
    return "\n".join(each.question for each in talk)


def _not_announced(case: Case, desk: Desk) -> list[tuple[Call, int]]:
    """Changes whose amount, in cents, was not said, nor follows from what was said with the yes."""
    silent = []
    for call in changes(case, desk):
        cents = desk.charged(case, call)
        consent = _said_yes(call) or (call.last if _picked(case, desk, call) else None)
        if cents and consent:  # Without consent, another rule speaks.
            last = call.last.text if call.last else ""
            plan = in_cents(f"{_text(_plan_of(desk, call, consent))}\n{last}")
            told = {amount for each in call.consents for amount in in_cents(each.text)}
            if abs(cents) not in told and not follows_from(abs(cents), plan):
                silent.append((call, cents))
    return silent
