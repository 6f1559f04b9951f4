"""Results that others recorded, as trials scored or lost.

What a file is, its content decides, never its name. Understood are

- tau-bench results: a JSON list of records with ``task_id``, ``trial``, ``reward``, ``info`` and
  ``traj``;
- tau2-bench results: a JSON object with ``simulations`` (or, for a results folder, with
  ``simulation_index``), or one simulation on its own;
- run matrices, as CSV or JSON: see `matrix`.

One broken record loses that trial, with a reason, and nothing else. A trial is scored if the
recorded conversation could have been passed or failed by the agent; a crash of the program or
the provider is a loss, although tau-bench itself writes it down with reward 0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ..errors import Fault, UsageError
from ..results import TrialResult
from .matrix import csv_matrix, is_json_matrix, json_matrix

UNDERSTOOD: Final = (
    "understood are tau-bench results, tau2 results, and run matrices "
    "(CSV with the columns task,trial,pass, or the same as JSON)"
)

AGENT_ENDINGS: Final = frozenset(
    {"max_steps", "too_many_errors", "agent_error", "context_window_exceeded"}
)
"""tau2 endings that are failures of the agent: it did not finish, or broke the protocol."""

LOST_ENDINGS: Final[dict[str, Fault | None]] = {
    "user_error": Fault.SIMULATOR,
    "infrastructure_error": Fault.INFRASTRUCTURE,
    "timeout": Fault.INFRASTRUCTURE,  # the wall clock of a whole conversation, both models in it
    "unexpected_error": None,
}
"""tau2 endings that say nothing about the agent, and whose doing they are."""

MOST_TRIALS: Final = 1_000_000
"""Planned trials a tau2 file may announce; more is taken for a broken number."""


def read_results(path: Path) -> list[TrialResult]:
    """Read the trials of a results file, or of a tau2 results folder.

    Args:
        path: The file, or a folder that holds ``results.json``.

    Raises:
        UsageError: It cannot be read, or is none of the formats understood; one line.
    """
    file = path / "results.json" if path.is_dir() else path
    text = _text(file)
    if not text.lstrip().startswith(("{", "[")):
        return csv_matrix(text, refuse=_refuser(file))
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{str(file)!r} is not complete JSON: {error}") from error
    return _reader(document, file)(document)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {str(file)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{str(file)!r} is not UTF-8 text (byte {error.start}); {UNDERSTOOD}"
        ) from error


def _refuser(file: Path) -> Callable[[str], UsageError]:
    return lambda why: UsageError(f"{str(file)!r}: {why}; {UNDERSTOOD}")


def _reader(document: Any, file: Path) -> Callable[[Any], list[TrialResult]]:
    if isinstance(document, dict):
        if "simulations" in document or "simulation_index" in document:
            return tau2_results
        if "task_id" in document and "termination_reason" in document:
            return lambda simulation: tau2_results({"simulations": [simulation]})
    elif any(isinstance(r, dict) and "task_id" in r and "reward" in r for r in document):
        return tau_bench_results
    if is_json_matrix(document):
        return json_matrix
    raise _refuser(file)("not a results file")


def tau_bench_results(records: list[Any]) -> list[TrialResult]:
    """Trials of a tau-bench results file.

    A record with an error, or with no conversation, crashed: it is lost. One that was cut at the
    step limit has a conversation but no reward info: the agent did not finish, it failed.

    Args:
        records: The parsed file; records that are no records at all are lost trials.
    """
    return _each(records, _tau_bench_grade)


def tau2_results(document: dict[str, Any]) -> list[TrialResult]:
    """Trials of a tau2-bench results file, its index of a results folder included.

    Trials that ``info.num_trials`` and ``tasks`` announce and the file does not hold are lost:
    they were planned and never run.

    Args:
        document: The parsed file.
    """
    records = document.get("simulations") or document.get("simulation_index")
    results = _each(records if isinstance(records, list) else [], _tau2_grade)
    return results + _never_run(document, results)


Grade = tuple[bool | None, str | None, Fault | None]
"""Passed (None if lost), why lost, whose fault."""


def _each(records: list[Any], grade: Callable[[dict[str, Any]], Grade]) -> list[TrialResult]:
    """Turn records into trials; one without a trial number gets the next of its task."""
    seen: Counter[str] = Counter()
    results = []
    for position, record in enumerate(records, start=1):
        task = record.get("task_id") if isinstance(record, dict) else None
        if isinstance(task, bool) or not isinstance(task, int | str) or task == "":
            results.append(TrialResult("", position, None, "broken record: no task id"))
            continue
        trial = record.get("trial")
        number = trial if isinstance(trial, int) else seen[str(task)]
        seen[str(task)] += 1
        results.append(TrialResult(str(task), number, *grade(record)))
    return results


def _tau_bench_grade(record: dict[str, Any]) -> Grade:
    info = record.get("info")
    error = info.get("error") if isinstance(info, dict) else None
    if error is not None:
        return None, f"crashed: {_shortened(error)}", None
    if not record.get("traj"):
        return None, "crashed: no conversation recorded", None
    return _reward_grade(record.get("reward"))


def _tau2_grade(record: dict[str, Any]) -> Grade:
    ending = record.get("termination_reason")
    if isinstance(ending, str) and ending in LOST_ENDINGS:
        return None, f"ended by {ending}", LOST_ENDINGS[ending]
    if isinstance(ending, str) and ending in AGENT_ENDINGS:
        return False, None, None
    info = record.get("reward_info", record)  # the index of a results folder has no reward_info
    return _reward_grade(info.get("reward") if isinstance(info, dict) else None)


def _reward_grade(reward: Any) -> Grade:
    """A pass is a reward of 1, give or take 1e-6; a partial reward is a failure."""
    if reward is None:
        return None, "no reward recorded", None
    if not isinstance(reward, int | float) or not 0 <= reward <= 1 + 1e-6:
        return None, f"broken record: reward {_shortened(reward)!r}", None
    return abs(reward - 1) <= 1e-6, None, None


def _shortened(value: Any) -> str:
    """The first line of what a recording says, at most 60 characters, fit for a terminal."""
    first = next(iter(str(value).splitlines()), "")
    return "".join(c if c.isprintable() else "?" for c in first[:60])


def _never_run(document: dict[str, Any], results: list[TrialResult]) -> list[TrialResult]:
    info, tasks = document.get("info"), document.get("tasks")
    trials = info.get("num_trials") if isinstance(info, dict) else None
    if not isinstance(trials, int) or not isinstance(tasks, list):
        return []
    if trials * len(tasks) > MOST_TRIALS:
        raise UsageError(f"num_trials {trials!r} cannot be right for {len(tasks)} tasks")
    ids = [str(task["id"]) for task in tasks if isinstance(task, dict) and "id" in task]
    held = {(r.task, r.trial) for r in results}
    return [
        TrialResult(task, trial, None, lost="planned, never run")
        for task in ids
        for trial in range(trials)
        if (task, trial) not in held
    ]
