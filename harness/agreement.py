"""How far people agree, with each other and with the graders, beyond what chance would give.

Between two raters: Cohen's kappa (Cohen 1960, "A coefficient of agreement for nominal scales"),

    kappa = (observed - expected) / (1 - expected),

where the expected agreement is that of two raters who say pass and fail as often as these do, and
do so independently. Among any number of raters of whom not everybody rated everything:
Krippendorff's alpha for nominal data (Krippendorff 2004, "Content Analysis", chapter 11),

    alpha = 1 - observed disagreement / expected disagreement,

over all pairs of ratings within a trial. Both are 1 for perfect agreement and 0 for chance; both
are undefined where everybody always says the same, as then there is nothing to agree about.
"Unsure" is no rating: it is counted apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from .labels import Label

GRADER: Final = "the graders"

Key = tuple[str, str, int]
"""A trial: run, task, number."""


@dataclass(frozen=True)
class Agreement:
    """Two raters on the trials that both rated.

    Attributes:
        a: The one.
        b: The other.
        both_pass: Trials that both pass.
        both_fail: Trials that both fail.
        only_a: Trials that only ``a`` passes.
        only_b: Trials that only ``b`` passes.
        unsure: Trials that both looked at, and at least one is unsure of.
        apart: The trials on which they disagree.
    """

    a: str
    b: str
    both_pass: int
    both_fail: int
    only_a: int
    only_b: int
    unsure: int
    apart: tuple[Key, ...]

    @property
    def trials(self) -> int:
        """How many both rated."""
        return self.both_pass + self.both_fail + self.only_a + self.only_b

    @property
    def observed(self) -> float | None:
        """Share of those on which they agree; None if there are none."""
        return (self.both_pass + self.both_fail) / self.trials if self.trials else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None where it is undefined.

        >>> Agreement("a", "b", 20, 15, 5, 10, 0, ()).kappa
        0.4
        """
        if not self.trials:
            return None
        a = (self.both_pass + self.only_a) / self.trials
        b = (self.both_pass + self.only_b) / self.trials
        expected = a * b + (1 - a) * (1 - b)
        assert self.observed is not None
        return None if expected == 1 else round((self.observed - expected) / (1 - expected), 12)


def agreements(labels: Iterable[Label], grades: Mapping[Key, bool]) -> list[Agreement]:
    """Every pair of persons, and every person with the graders, with what they both looked at.

    Args:
        labels: Of all persons.
        grades: What the graders say, of the trials that are scored.
    """
    said: dict[str, dict[Key, bool | None]] = defaultdict(dict)
    for label in labels:
        said[label.person][label.run, label.task, label.trial] = label.passed
    people = sorted(said)
    graded: dict[Key, bool | None] = dict(grades)
    pairs = [(a, said[a], b, said[b]) for a, b in combinations(people, 2)]
    pairs += [(person, said[person], GRADER, graded) for person in people]
    return [found for pair in pairs if (found := _agreement(*pair)) is not None]


def _agreement(
    a: str, says_a: Mapping[Key, bool | None], b: str, says_b: Mapping[Key, bool | None]
) -> Agreement | None:
    both = [key for key in says_a if key in says_b]
    if not both:
        return None
    counts = Counter((says_a[key], says_b[key]) for key in both)
    return Agreement(
        a=a,
        b=b,
        both_pass=counts[True, True],
        both_fail=counts[False, False],
        only_a=counts[True, False],
        only_b=counts[False, True],
        unsure=sum(n for pair, n in counts.items() if None in pair),
        apart=tuple(k for k in both if {says_a[k], says_b[k]} == {True, False}),
    )


def krippendorff_alpha(units: Iterable[Iterable[bool]]) -> float | None:
    """Alpha over units that were each rated by any number of raters; None where it is undefined.

    Args:
        units: The ratings of each unit; those rated once say nothing and are left out.

    >>> krippendorff_alpha([[True, True], [False, False], [True, False]])
    0.444444444444
    >>> krippendorff_alpha([[True, True]]) is None
    True
    """
    rated = [Counter(unit) for unit in units]
    rated = [counts for counts in rated if counts.total() > 1]
    totals = sum(rated, Counter[bool]())
    n, expected = totals.total(), totals[True] * totals[False]
    if not expected:
        return None
    observed = sum(counts[True] * counts[False] / (counts.total() - 1) for counts in rated)
    return round(1 - (n - 1) * observed / expected, 12)
