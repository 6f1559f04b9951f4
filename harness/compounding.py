"""How the reliability of single steps compounds over a whole task.

The model: a task is n steps, every one of them must come out right, each does so with the same
chance p, independently. Then

    P(task) = p^n           and           p = P(task)^(1 / n).

That is the product law for systems in series (Barlow & Proschan 1965, "Mathematical Theory of
Reliability"); for chains of reasoning steps see Dziri et al. 2023, arXiv:2305.18654. Real steps
are neither equally hard nor independent, so this is a ruler to hold beside a measured curve, not
a replacement for one.

With retries, each step is an attempt that a verifier accepts or rejects; a rejected attempt is
made again, up to r times. An attempt is right with chance p. The verifier rejects wrong attempts
with chance s (sensitivity) and accepts right ones with chance t (specificity). One attempt is

    accepted and right    a = p t
    accepted but wrong    b = (1 - p) (1 - s)
    rejected              q = 1 - a - b

and an attempt i + 1 takes place only after i rejections, with chance q^i. Summing over the
1 + r attempts allowed, with G = 1 + q + ... + q^r (a geometric series cut short):

    right                 a G       this takes the place of p above
    wrong, unnoticed      b G
    given up              q^(r + 1)

G is also the expected number of attempts. More retries only help towards a / (a + b), the share
of accepted attempts that are right (Bayes): the verifier, not patience, is the ceiling. With a
faultless verifier (s = t = 1) and no retries a G is p again.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import UsageError


def chance(name: str, value: float) -> float:
    """Return ``value`` if it is a probability.

    Raises:
        UsageError: It is not between 0 and 1; the message calls it ``name``.
    """
    if not 0 <= value <= 1:
        raise UsageError(f"{name} must be a chance between 0 and 1, not {value!r}")
    return value


@dataclass(frozen=True, slots=True)
class Retries:
    """How a step is checked and repeated; the default is not at all.

    Attributes:
        retries: Attempts allowed after the first, r >= 0.
        sensitivity: Chance that the verifier rejects a wrong attempt, s.
        specificity: Chance that the verifier accepts a right attempt, t.
    """

    retries: int = 0
    sensitivity: float = 1.0
    specificity: float = 1.0

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise UsageError(f"retries must be 0 or more, not {self.retries!r}")
        chance("sensitivity", self.sensitivity)
        chance("specificity", self.specificity)


NO_RETRIES = Retries()


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one step; the three chances add up to 1.

    Attributes:
        right: Accepted and right.
        wrong: Accepted although wrong: nobody notices.
        given_up: Rejected at every attempt.
        attempts: Expected number of attempts, 1 or more.
    """

    right: float
    wrong: float
    given_up: float
    attempts: float


def checked_step(p: float, retries: Retries = NO_RETRIES) -> Step:
    """One step that is right with chance ``p`` per attempt, verified and retried.

    The module docstring derives the formula.

    >>> checked_step(0.75)
    Step(right=0.75, wrong=0.0, given_up=0.25, attempts=1.0)
    >>> round(checked_step(0.9, Retries(2, sensitivity=0.8, specificity=0.95)).right, 4)
    0.9752
    """
    chance("step", p)
    right = p * retries.specificity
    wrong = (1 - p) * (1 - retries.sensitivity)
    rejected = max(0.0, p * (1 - retries.specificity) + (1 - p) * retries.sensitivity)
    given_up = rejected ** (retries.retries + 1)
    attempts = (1 - given_up) / (1 - rejected) if rejected < 1 else retries.retries + 1.0
    return Step(right * attempts, wrong * attempts, given_up, attempts)


def task_success(p: float, steps: int, retries: Retries = NO_RETRIES) -> float:
    """Chance that all ``steps`` steps come out right, (a G)^n.

    >>> round(task_success(0.99, 20), 4)
    0.8179
    """
    return math.pow(checked_step(p, retries).right, _positive(steps))


def step_needed(target: float, steps: int, retries: Retries = NO_RETRIES) -> float:
    """Chance of a right attempt that a step needs for the whole task to reach ``target``.

    Without retries this is target^(1 / n). With them it is the p at which a G reaches that value,
    found by bisection: a G grows with p, whatever s and t are.

    Raises:
        UsageError: The verifier rejects so much that even perfect attempts miss the target.

    >>> round(step_needed(0.9, steps=20), 6)  # a need is rounded up: 0.9948, as 0.9947 misses it
    0.994746
    """
    wanted = math.pow(chance("target", target), 1 / _positive(steps))
    best = checked_step(1.0, retries).right
    if best < wanted:
        raise UsageError(
            f"target {target!r} is out of reach: with specificity {retries.specificity!r} and "
            f"{retries.retries} retries even perfect attempts reach only {best**steps:.4f}; "
            "allow more retries"
        )
    if retries == NO_RETRIES:
        return wanted
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        enough = checked_step(middle, retries).right >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def steps_possible(p: float, target: float, retries: Retries = NO_RETRIES) -> int | None:
    """The longest task, in steps, that still reaches ``target``; None if there is no limit.

    The largest n with (a G)^n >= target, that is floor(log target / log (a G)).

    >>> steps_possible(0.99, target=0.9)
    10
    """
    right = checked_step(p, retries).right
    if chance("target", target) == 0 or right >= 1:
        return None
    if right == 0:
        return 0
    # The margin keeps a target that is reached exactly, such as 0.9^2 = 0.81, on the right side.
    return math.floor(math.log(target) / math.log(right) + 1e-9)


@dataclass(frozen=True, slots=True)
class Reliability:
    """A step's chance, a task's length and the task's chance, made to fit each other.

    Attributes:
        step: Chance that one attempt at a step is right.
        steps: Steps in the task; None for any number, when no step can fail.
        target: Chance that the whole task succeeds.
        checking: How steps are verified and retried.
        solved: Which of the three was worked out, "step", "steps" or "target".
    """

    step: float
    steps: int | None
    target: float
    checking: Retries
    solved: str

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON values, with what becomes of one step."""
        numbers = {"step": self.step, "steps": self.steps, "target": self.target}
        one = checked_step(self.step, self.checking)
        return {"solved": self.solved, **numbers, **asdict(self.checking), **asdict(one)}


def solve(
    step: float | None, steps: int | None, target: float | None, checking: Retries = NO_RETRIES
) -> Reliability:
    """Work out the one of ``step``, ``steps`` and ``target`` that is None.

    Raises:
        UsageError: Not exactly one is None, or one of the others cannot be.

    >>> solve(step=0.99, steps=None, target=0.9).steps
    10
    """
    if step is not None and steps is not None and target is None:
        return Reliability(step, steps, task_success(step, steps, checking), checking, "target")
    if step is None and steps is not None and target is not None:
        return Reliability(step_needed(target, steps, checking), steps, target, checking, "step")
    if step is not None and steps is None and target is not None:
        longest = steps_possible(step, target, checking)
        return Reliability(step, longest, target, checking, "steps")
    raise UsageError("give two of step, steps and target, e.g. --step 0.99 --steps 20")


def _positive(steps: int) -> int:
    if steps < 1:
        raise UsageError(f"steps must be 1 or more, not {steps!r}")
    return steps
