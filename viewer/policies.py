"""The policy documents and the tasks that trials were played under, as far as they are known here.

Only what is installed is read: a store may name a domain as ``module:OBJECT``, and opening a page
must not run the code that a store names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from ..domains.domain import Domain, domain_names, load_domain
from ..domains.packs import pack_names
from ..errors import PasshatError
from ..harness.records import Run
from ..policies.engine import anchors, load_rules
from ..task import Task

_HEADING: Final = re.compile(r"^(#+) +(.+)$")
_ITEM: Final = re.compile(r"^ *(?:[-*]|\d+\.) +")
_INLINE: Final = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\([^)]*\)")


def spec_of(run: Run) -> str:
    """The domain that a run was played in, as it was named: never another one of that name."""
    return str(run.conditions.get("domain") or run.domain)


class Section(NamedTuple):
    """A heading of a document with what stands under it, up to the next heading."""

    anchor: str
    level: int
    title: str
    text: str


class Policies:
    """Domains by name, opened when a page needs them."""

    @lru_cache(maxsize=16)  # noqa: B019 - one object, as long as the process
    def domain(self, name: str) -> Domain | None:
        """The installed domain of that name; None if there is none, or it cannot be read."""
        try:
            known = name in domain_names() or name in pack_names()
            return load_domain(name) if known else None
        except (PasshatError, OSError):
            return None

    def warm(self, name: str) -> None:
        """Read what a trial's page shows of a domain, before anybody asks."""
        self.task(name, "")
        self.sections(name)
        self.says(name)

    def task(self, domain: str, task: str) -> Task | None:
        """A task as it reads today; None if it is not known here."""
        found = self.domain(domain)
        try:
            return found.tasks.get(task) if found else None
        except (PasshatError, OSError):
            return None

    @lru_cache(maxsize=16)  # noqa: B019
    def sections(self, name: str) -> tuple[Section, ...]:
        """The policy document of a domain, by headings; empty if it is not known here."""
        domain = self.domain(name)
        try:
            return tuple(sections(domain.policy)) if domain else ()
        except (PasshatError, OSError):
            return ()

    def section(self, domain: str, cited: str) -> Section | None:
        """The section that a rule cites, e.g. "retail.md#one-customer"."""
        anchor = cited.rpartition("#")[2]
        return next((one for one in self.sections(domain) if one.anchor == anchor), None)

    @lru_cache(maxsize=16)  # noqa: B019
    def says(self, domain: str) -> dict[str, str]:
        """What is right by each rule of a domain, in a sentence."""
        try:
            rules = load_rules(domain).rules if domain in domain_names() else ()
        except PasshatError:
            return {}
        return {rule.name: rule.says for rule in rules}


def sections(document: str) -> Iterator[Section]:
    r"""The sections of a Markdown document.

    >>> [(s.anchor, s.text) for s in sections("# Ask first\nAlways.\n## A yes\nIs clear.")]
    [('ask-first', 'Always.'), ('a-yes', 'Is clear.')]
    """
    names = iter(anchors(document))
    title, level, anchor, lines = "", 0, "", list[str]()
    for line in document.splitlines():
        heading = _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        if anchor:
            yield Section(anchor, level, title, "\n".join(lines).strip())
        level, title, anchor, lines = len(heading[1]), heading[2], next(names), []
    if anchor:
        yield Section(anchor, level, title, "\n".join(lines).strip())


def as_html(text: str) -> Markup:
    r"""The paragraphs and lists of a section; whatever else it holds is text.

    >>> as_html("Read *it*:\n\n- with `get`,\n  first")
    Markup('<p>Read <em>it</em>:</p><ul><li>with <code>get</code>, first</li></ul>')
    """
    blocks = re.split(r"\n\s*\n", text)
    return Markup().join(_block(block) for block in blocks if block.strip())


def _block(block: str) -> Markup:
    made, lines = Markup(), list[str]()
    items: list[str] = []
    for line in block.splitlines():
        if _ITEM.match(line):
            items.append(_ITEM.sub("", line))
        elif items:
            items[-1] += f" {line.strip()}"
        else:
            lines.append(line.strip())
    if lines:
        made += Markup("<p>{}</p>").format(_inline(" ".join(lines)))
    if items:
        inside = Markup().join(Markup("<li>{}</li>").format(_inline(item)) for item in items)
        made += Markup("<ul>{}</ul>").format(inside)
    return made


def _inline(text: str) -> Markup:
    made, at = Markup(), 0
    for found in _INLINE.finditer(text):
        made += escape(text[at : found.start()])
        code, strong, emphasis, link = found.groups()
        tag = "code" if code else "strong" if strong else "em"
        inside = code or strong or emphasis
        made += escape(link) if link else Markup(f"<{tag}>{{}}</{tag}>").format(inside)  # noqa: S704
        at = found.end()
    return made + escape(text[at:])
