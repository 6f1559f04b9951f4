"""How small a difference a plan can see, and how large a plan a wanted difference takes.

A plan is tasks x trials, played once by each of two agents A and B on the same tasks. Task i has
the chance p_i to pass; the p_i vary between tasks as a beta distribution does, so that passes per
task are beta-binomial (Skellam 1948, JRSS B 10(2)). Mean and spread come from a run, by moments,
or are given. A difference moves every task by the same amount on the logit scale, so that chances
stay between 0 and 1 and tasks that always or never pass hardly move; that is the one assumption
that a single run cannot check. A change that helps some tasks and hurts others takes more.

Power is then a count: plans are simulated, and the share of them in which a paired t-test of the
tasks' values of pass^k calls the difference at the given level is the power. The test stands for
the interval and the test of `comparison`, which agree with it but for small samples. With more
than `MANY_TASKS` tasks their mean is as good as normal; then only tasks are simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from ..errors import UsageError
from ..results import Source
from .curve import curve_of
from .statistics import Floats, pass_hat_k

SIMULATIONS: Final = 1000
"""Plans simulated per question; the standard error of a power of 80% is then 1.3%."""

MANY_TASKS: Final = 200
"""From here on a mean over tasks is as good as normal: tasks are simulated instead of plans."""

_SAMPLE: Final = 100_000  # tasks simulated then

MOST_TASKS: Final = 20_000
MOST_TRIALS: Final = 500

# --- spread -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """How tasks differ in their chance to pass.

    Attributes:
        mean: Mean over tasks of the chance to pass, pass^1; above 0 and below 1.
        between: Variance of that chance between tasks; less than ``mean * (1 - mean)``.
    """

    mean: float
    between: float

    def __post_init__(self) -> None:
        """Refuse what no distribution of chances has."""
        if not 0 < self.mean < 1:
            raise UsageError(f"the share of passes must lie between 0 and 1, not {self.mean!r}")
        if not self.between < self.mean * (1 - self.mean):
            most = sqrt(self.mean * (1 - self.mean))
            raise UsageError(
                f"around {self.mean:g}, the standard deviation between tasks is less than "
                f"{most:.3f}, not {sqrt(self.between):.3f}"
            )

    @classmethod
    def of(cls, mean: float, deviation: float) -> Spread:
        """The spread of a mean and a standard deviation between tasks.

        Raises:
            UsageError: No chances have those.
        """
        if deviation < 0:
            raise UsageError(f"a spread is 0 or more, not {deviation!r}")
        return cls(mean, deviation**2)

    @property
    def within(self) -> float:
        """Variance of one trial's result (0 or 1) within a task, averaged over tasks."""
        return self.mean * (1 - self.mean) - self.between

    def chances(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        """Draw chances to pass for so many tasks."""
        if self.between < 1e-9:
            return np.full(shape, self.mean)
        weight = self.within / self.between  # alpha + beta
        return generator.beta(self.mean * weight, (1 - self.mean) * weight, size=shape)


def spread_of(source: Source) -> Spread:
    """The spread behind a source's trials, by moments.

    Within a task of n trials, n / (n - 1) q (1 - q) estimates p (1 - p) without bias, q being the
    share of passes; the variance of q between tasks, less what the luck of the trials adds to it,
    q (1 - q) / (n - 1) on average, estimates that of p.

    Raises:
        UsageError: Fewer than two tasks have two graded trials or more, or all trials went alike.
    """
    tallies = [tally for tally in curve_of(source, max_k=1).per_task if tally.scored >= 2]
    if len(tallies) < 2:
        raise UsageError(
            f"{source.name!r} says nothing about spread: that takes two tasks with two graded "
            "trials or more each"
        )
    n = np.array([tally.scored for tally in tallies])
    share = np.array([tally.passed for tally in tallies]) / n
    mean = float(share.mean())
    if mean in (0.0, 1.0):
        raise UsageError(
            f"all trials of {source.name!r} went alike, so they have no spread to go by; give a "
            "guess: --pass 0.9 --spread 0.1"
        )
    luck = float((share * (1 - share) / (n - 1)).mean())
    between = max(0.0, float(share.var(ddof=1)) - luck)
    return Spread(mean, min(between, 0.999 * mean * (1 - mean)))


# --- a plan -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What two agents are to play, and how the results are to be judged.

    Attributes:
        tasks: At least 2.
        trials: Per task and agent, at least ``k``.
        k: Of pass^k, the measure that differs.
        power: Chance wanted that a difference is called one.
        level: Chance that luck alone is called a difference.
        seed: Equal seeds give equal answers.
    """

    tasks: int
    trials: int
    k: int = 1
    power: float = 0.8
    level: float = 0.05
    seed: int = 0

    def check(self) -> None:
        """Refuse what cannot be simulated.

        Raises:
            UsageError: Says which number, and what would be right.
        """
        if not 2 <= self.tasks <= MOST_TASKS:
            raise UsageError(f"tasks must be 2 to {MOST_TASKS}, not {self.tasks!r}")
        if not 1 <= self.k <= self.trials <= MOST_TRIALS:
            raise UsageError(
                f"trials must be k to {MOST_TRIALS}; not trials {self.trials!r} and k {self.k!r}"
            )
        for what, share in (("power", self.power), ("level", self.level)):
            if not 0 < share < 1:
                raise UsageError(f"{what} must lie between 0 and 1, not {share!r}")

    def of(self, *, tasks: int | None = None, trials: int | None = None) -> Plan:
        """The same with another size."""
        size = {"tasks": tasks or self.tasks, "trials": trials or self.trials}
        return Plan(**{**asdict(self), **size})


def power_of(plan: Plan, spread: Spread, shift: float) -> float:
    """Share of simulated plans in which the difference is called one.

    Args:
        plan: What is played.
        spread: Of the tasks as agent A plays them.
        shift: What agent B's chances differ by, in logits; 0 gives the size of the test.
    """
    generator = np.random.default_rng(plan.seed)
    if plan.tasks > MANY_TASKS:
        return _power_of_many(plan, spread, shift, generator)
    chances = spread.chances((SIMULATIONS, plan.tasks), generator)
    differences = _played(plan, chances, shift, generator)
    errors = differences.std(axis=1, ddof=1) / sqrt(plan.tasks)
    critical = t_quantile(1 - plan.level / 2, plan.tasks - 1)
    return float((np.abs(differences.mean(axis=1)) > critical * errors).mean())


def _power_of_many(
    plan: Plan, spread: Spread, shift: float, generator: np.random.Generator
) -> float:
    """Chance that a normal mean of known expectation and spread lies beyond the critical value."""
    chances = spread.chances((_SAMPLE,), generator)
    expected = float((shifted(chances, shift) ** plan.k - chances**plan.k).mean())
    error = float(_played(plan, chances, shift, generator).std()) / sqrt(plan.tasks)
    if error == 0:
        return float(expected != 0)
    normal = NormalDist()
    critical = normal.inv_cdf(1 - plan.level / 2)
    return normal.cdf(expected / error - critical) + normal.cdf(-expected / error - critical)


def _played(plan: Plan, chances: Floats, shift: float, generator: np.random.Generator) -> Floats:
    """Differences in pass^k, B minus A, of simulated tasks; shape as ``chances``."""
    passes = np.arange(plan.trials + 1)
    values = pass_hat_k(np.full_like(passes, plan.trials), passes, plan.k)[:, -1]
    a = generator.binomial(plan.trials, chances)
    b = generator.binomial(plan.trials, shifted(chances, shift))
    return np.asarray(values[b] - values[a])


def shifted(chances: Floats, shift: float) -> Floats:
    """Chances moved by so many logits; 0 and 1 stay what they are.

    >>> shifted(np.array([0.0, 0.5, 1.0]), np.log(3)).round(6).tolist()
    [0.0, 0.75, 1.0]
    """
    odds = float(np.exp(shift))
    return np.asarray(chances * odds / (1 - chances + chances * odds))


def t_quantile(share: float, degrees: int) -> float:
    """Quantile of Student's t distribution, from that of the normal one.

    Exact for 1 and 2 degrees of freedom, within 1% of the 97.5% quantile for 3 and 4, and within
    0.1% from 5 on.

    Source: Abramowitz & Stegun 1964, Handbook of Mathematical Functions, 26.7.5.

    >>> round(t_quantile(0.975, 10), 3)
    2.228
    """
    if degrees == 1:
        return float(np.tan(np.pi * (share - 0.5)))
    if degrees == 2:
        return (2 * share - 1) / sqrt(2 * share * (1 - share))
    z = NormalDist().inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(degrees) ** power for power, term in enumerate(terms, start=1))


# --- the questions ------------------------------------------------------------------------------

_GRID: Final = 20_000  # tasks drawn to know what a shift does to pass^k


@dataclass(frozen=True)
class Wanted:
    """What a wanted difference takes.

    Attributes:
        difference: In pass^k, B minus A.
        power: Chance that the plan as it is shows it.
        trials: Trials per task, tasks as planned, that show it; None: `MOST_TRIALS` do not.
        tasks: Tasks, trials as planned, that show it; None: `MOST_TASKS` do not.
    """

    difference: float
    power: float
    trials: int | None
    tasks: int | None


@dataclass(frozen=True)
class PowerAnswer:
    """What a plan can see.

    Attributes:
        plan: The plan.
        spread: What it was worked out for.
        value: pass^k that this spread has.
        fall: The smallest fall of pass^k that is seen, a positive number; None: not even a fall to
            0 is.
        rise: The smallest rise; None: not even a rise to 1 is.
        wanted: What the difference asked for takes; None if none was asked for.
    """

    plan: Plan
    spread: Spread
    value: float
    fall: float | None
    rise: float | None
    wanted: Wanted | None

    @property
    def tasks_share(self) -> float:
        """Share of the variance of one run's pass^1 that comes from which tasks were chosen."""
        of_trials = self.spread.within / self.plan.trials
        return self.spread.between / (self.spread.between + of_trials)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "plan": asdict(self.plan),
            "pass": self.spread.mean,
            "pass_hat_k": self.value,
            "spread": sqrt(self.spread.between),
            "variance": {
                "between_tasks": self.spread.between,
                "within_tasks": self.spread.within,
                "share_of_tasks_in_one_run": self.tasks_share,
                "share_of_trials_in_one_run": 1 - self.tasks_share,
            },
            "smallest_fall": self.fall,
            "smallest_rise": self.rise,
            "wanted": asdict(self.wanted) if self.wanted else None,
        }


def answer(plan: Plan, spread: Spread, difference: float | None = None) -> PowerAnswer:
    """Work out what a plan can see, and what a wanted difference takes.

    Args:
        plan: What two agents are to play.
        spread: How tasks differ.
        difference: In pass^k, B minus A, e.g. -0.05; None: not asked for.

    Raises:
        UsageError: The plan or the difference makes no sense.
    """
    plan.check()
    effects = Effects(spread, plan.k, plan.seed)
    return PowerAnswer(
        plan=plan,
        spread=spread,
        value=effects.value,
        fall=_smallest(plan, spread, effects, -1),
        rise=_smallest(plan, spread, effects, +1),
        wanted=None if difference is None else _wanted(plan, spread, effects, difference),
    )


class Effects:
    """What a shift in logits does to pass^k, on a large fixed sample of tasks.

    Args:
        spread: How tasks differ.
        k: Of pass^k.
        seed: Of the sample.
    """

    MOST: Final = 12.0
    """Logits beyond which nothing changes any more."""

    def __init__(self, spread: Spread, k: int, seed: int) -> None:
        self._chances = spread.chances((_GRID,), np.random.default_rng(seed))
        self._k = k
        self.value = float((self._chances**k).mean())

    def difference(self, shift: float) -> float:
        """What the shift changes pass^k by."""
        return float((shifted(self._chances, shift) ** self._k).mean()) - self.value

    def shift(self, difference: float) -> float:
        """The shift that changes pass^k by so much.

        Raises:
            UsageError: No shift does.
        """
        low, high = self.difference(-self.MOST), self.difference(self.MOST)
        if difference == 0 or not low < difference < high:
            raise UsageError(
                f"pass^{self._k} is {self.value:.3f} here, so a difference lies between {low:.3f} "
                f"and {high:.3f} and is not 0; not {difference!r}"
            )
        return _bisect(lambda shift: self.difference(shift) >= difference, -self.MOST, self.MOST)


def _bisect(reached: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that holds from some point on begins to hold, to within 1%."""
    while high - low > max(1e-4, abs(low + high) / 200):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _smallest(plan: Plan, spread: Spread, effects: Effects, sign: int) -> float | None:
    def seen(size: float) -> bool:
        return power_of(plan, spread, sign * size) >= plan.power

    if not seen(effects.MOST):
        return None
    return abs(effects.difference(sign * _bisect(seen, 0.0, effects.MOST)))


def _wanted(plan: Plan, spread: Spread, effects: Effects, difference: float) -> Wanted:
    shift = effects.shift(difference)

    def enough(other: Plan) -> bool:
        return power_of(other, spread, shift) >= plan.power

    return Wanted(
        difference=difference,
        power=power_of(plan, spread, shift),
        trials=_first(lambda n: enough(plan.of(trials=n)), plan.k, MOST_TRIALS),
        tasks=_first(lambda n: enough(plan.of(tasks=n)), 2, MOST_TASKS),
    )


def _first(enough: Callable[[int], bool], least: int, most: int) -> int | None:
    """The smallest number that is enough, to within 2%: doubled until it is, then halved into."""
    low, high = least - 1, least
    while not enough(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
