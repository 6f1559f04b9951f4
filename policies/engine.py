"""The rule engine: a rule is a function that looks at a case and says what broke the policy.

A rule cites the section of the policy document that it enforces, and has a severity: a *breach*
costs the reward, a matter of *form* is only shown::

    @rule("library.md#renewals", severity="breach")
    def renews_only_after_a_yes(case: Case) -> Iterator[Violation]:
        '''Every renewal was agreed to by the member.'''
        for call in case.calls:
            if call.name == "renew_loan" and not (call.last and call.last.says_yes):
                yield Violation(call.event, "renewed without a yes")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Literal

from ..errors import GraderError
from .case import Call, Case, Exchange

__all__ = [
    "Call",
    "Case",
    "Exchange",
    "Finding",
    "Rule",
    "Rulebook",
    "Violation",
    "anchors",
    "load_rules",
    "rule",
    "rules_in",
]

Severity = Literal["breach", "form"]
_MARK = "_passhat_rule"


@dataclass(frozen=True)
class Violation:
    """What a rule yields: the event to blame, as an index into the transcript, and why."""

    event: int
    reason: str


Check = Callable[[Case], Iterator[Violation]]


@dataclass(frozen=True)
class Finding:
    """A violation, with the rule that found it and the section of the policy that was broken."""

    rule: str
    section: str
    severity: Severity
    event: int
    reason: str


@dataclass(frozen=True)
class Rule:
    """A check with what it enforces.

    Attributes:
        section: Document and anchor, e.g. "retail.md#one-customer".
        check: Yields the violations of one case.
    """

    section: str
    severity: Severity
    check: Check

    @property
    def name(self) -> str:
        """The function's name, which is a sentence about an agent that keeps the rule."""
        return self.check.__name__

    @property
    def says(self) -> str:
        """What is right, in one line."""
        return (self.check.__doc__ or "").strip().partition("\n")[0]

    def findings(self, case: Case) -> Iterator[Finding]:
        """What this rule finds wrong.

        Raises:
            GraderError: The rule itself crashed.
        """
        try:
            for violation in self.check(case):
                yield Finding(
                    self.name, self.section, self.severity, violation.event, violation.reason
                )
        except Exception as error:
            raise GraderError(f"rule {self.name}: {type(error).__name__}: {error}") from error


def rule(section: str, *, severity: Severity) -> Callable[[Check], Check]:
    """Mark a function as a rule; it stays an ordinary function.

    Args:
        section: The heading it enforces: file, "#", and the heading as GitHub writes its anchor.
        severity: "breach" costs the reward, "form" does not.

    Raises:
        TypeError: The function has no docstring, so nobody can say what is right.
    """

    def mark(check: Check) -> Check:
        if not check.__doc__:
            raise TypeError(f"rule {check.__name__!r} needs a docstring that says what is right")
        setattr(check, _MARK, Rule(section, severity, check))
        return check

    return mark


@dataclass(frozen=True)
class Rulebook:
    """The rules of one domain."""

    rules: tuple[Rule, ...] = ()

    @cached_property
    def sections(self) -> dict[str, list[Rule]]:
        """The rules by the section that they enforce."""
        sections: dict[str, list[Rule]] = {}
        for each in self.rules:
            sections.setdefault(each.section, []).append(each)
        return sections

    def check(self, case: Case) -> list[Finding]:
        """Everything that was done against the policy, in the order in which it happened.

        Raises:
            GraderError: A rule crashed; the message names it.
        """
        found = (finding for each in self.rules for finding in each.findings(case))
        return sorted(found, key=lambda finding: finding.event)


def rules_in(module: ModuleType) -> Rulebook:
    """Every rule of a module, in the order in which they are written.

    A rulebook in the module stands for its rules.
    """
    return Rulebook(tuple(each for value in vars(module).values() for each in _rules_of(value)))


def _rules_of(value: object) -> tuple[Rule, ...]:
    if isinstance(value, Rulebook):
        return value.rules
    return (getattr(value, _MARK),) if hasattr(value, _MARK) else ()


def load_rules(domain: str) -> Rulebook:
    """The rules in ``policies/<domain>.py``; an empty book if the domain has none."""
    name = f"{__package__}.{domain}"
    return rules_in(import_module(name)) if find_spec(name) else Rulebook()


def anchors(document: str) -> list[str]:
    r"""The anchors of a Markdown document's headings, as GitHub writes them.

    >>> anchors("# Ask first\n## What counts as a `yes`?\n## Ask first")
    ['ask-first', 'what-counts-as-a-yes', 'ask-first-1']
    """
    return list(_numbered(_slug(title) for title in re.findall(r"^#+ +(.+)$", document, re.M)))


def _slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def _numbered(slugs: Iterable[str]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for slug in slugs:
        yield f"{slug}-{seen[slug]}" if slug in seen else slug
        seen[slug] = seen.get(slug, 0) + 1
