"""What whole commands cost: start-up, a thousand episodes, a big curve, a full store."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .measure import Figure, whole_command

PYTHON = sys.executable


def figures() -> Iterator[Figure]:
    """Start-up times, then work on many trials."""
    yield whole_command("python -c pass", [PYTHON, "-c", "pass"])
    yield whole_command("import passhat", [PYTHON, "-c", "import passhat"], target="< 0.3 s")
    yield whole_command("passhat --help", [PYTHON, "-m", "passhat", "--help"], target="< 0.5 s")
    with tempfile.TemporaryDirectory() as folder:
        yield from _thousand(Path(folder))
        yield _big_curve(Path(folder))


def _thousand(folder: Path) -> Iterator[Figure]:
    """1,000 graded episodes into one store, on one core and on two, wall time."""
    for workers in (1, 2):
        store = folder / f"{workers}.sqlite"
        command = [PYTHON, "-m", "passhat", "run", "retail", "--agent", "slippery:0.05", "--json"]
        command += ["--store", str(store), "--workers", str(workers), "--trials"]
        tasks = json.loads(
            subprocess.check_output([PYTHON, "-m", "passhat", "tasks", "retail", "--json"])
        )
        trials = -(-1000 // len(tasks))
        start = time.perf_counter()
        subprocess.run([*command, str(trials)], check=True, capture_output=True)
        seconds = time.perf_counter() - start
        done = trials * len(tasks)
        yield Figure(f"{done} episodes, {workers} process(es), wall", seconds, "s")


def _big_curve(folder: Path) -> Figure:
    """`curve` on 100,000 trials (12,500 tasks x 8) from a CSV file."""
    rng = random.Random(1)
    with (folder / "big.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "trial", "pass"])
        for task in range(12_500):
            chance = rng.random()
            writer.writerows([task, trial, int(rng.random() < chance)] for trial in range(8))
    command = [PYTHON, "-m", "passhat", "curve", str(folder / "big.csv"), "--json"]
    return whole_command("curve on 100,000 trials", command, rounds=3, target="< 2 s")
