"""How a figure is taken: CPU time, several rounds, the median."""

from __future__ import annotations

import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    """One measured number: what, its value, its unit, and what it should stay under."""

    what: str
    value: float
    unit: str
    target: str = ""

    @property
    def shown(self) -> str:
        """The number with its unit, three digits."""
        return f"{self.value:.3g} {self.unit}"


def per_call(
    what: str, call: Callable[[], object], *, rounds: int = 15, calls: int = 40, target: str = ""
) -> Figure:
    """Microseconds of CPU one call takes: median over rounds of the mean over calls."""
    call()
    means = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            call()
        means.append((time.process_time() - start) / calls)
    return Figure(what, statistics.median(means) * 1e6, "us", target)


def whole_command(
    what: str, command: Sequence[str], *, rounds: int = 5, target: str = ""
) -> Figure:
    """Seconds of CPU (user + system) a command takes from start to exit: median over rounds."""
    seconds = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return Figure(what, statistics.median(seconds), "s", target)
