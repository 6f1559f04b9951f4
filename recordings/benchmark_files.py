"""Results of tau-bench and tau2-bench as recorded runs, whatever form they come in.

What a file is, its content decides. A folder is a tau2 results folder, or holds files, each of
which is read as if it were given by itself.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any, Final

from ..errors import UsageError
from .benchmark_runs import Recording
from .json_stream import Damage, first_character, list_items
from .tau2_runs import runs_of, tau2_head, tau2_runs
from .taubench_runs import tau_bench_runs

UNDERSTOOD: Final = "understood are results of tau-bench and of tau2-bench"


def read_recording(path: Path) -> Recording:
    """Open the results of a benchmark.

    Raises:
        UsageError: It cannot be read, or is something else; one line.
    """
    if path.is_dir():
        return _folder(path)
    first = first_character(path)
    if first == "[":
        return _list(path)
    if first == "{":
        return _object(path)
    raise UsageError(f"{str(path)!r} is no JSON file of results; {UNDERSTOOD}")


def _list(path: Path) -> Recording:
    for record in list_items(path):
        if isinstance(record, Damage):
            raise UsageError(f"{str(path)!r} is not complete JSON: {record.reason}")
        if isinstance(record, dict) and "task_id" in record and "reward" in record:
            return Recording(path.name, "tau-bench", "", tau_bench_runs(path))
    raise UsageError(f"{str(path)!r} holds no results; {UNDERSTOOD}")


def _object(path: Path) -> Recording:
    head = tau2_head(path)
    if "simulations" in head:
        return Recording(path.name, "tau2", _domain(head), tau2_runs(path, head))
    if "simulation_index" in head:
        return _folder(path.parent)
    if "task_id" in head and "messages" in head:
        return Recording(path.name, "tau2", "", runs_of([head], {}))
    raise UsageError(f"{str(path)!r} holds no results; {UNDERSTOOD}")


def _domain(head: dict[str, Any]) -> str:
    info = head.get("info")
    about = info.get("environment_info") if isinstance(info, dict) else None
    name = about.get("domain_name") if isinstance(about, dict) else None
    return name if isinstance(name, str) else ""


def _folder(path: Path) -> Recording:
    results = path / "results.json"
    if results.is_file() and (path / "simulations").is_dir():
        head = tau2_head(results)
        files = sorted((path / "simulations").glob("*.json"))
        return Recording(path.name, "tau2", _domain(head), runs_of(map(_whole, files), head))
    files = sorted(path.glob("*.json"))
    if not files:
        raise UsageError(f"{str(path)!r} holds no JSON file")
    return _together(path, files)


def _together(path: Path, files: list[Path]) -> Recording:
    """Files of one kind as one recording; single simulations keep their numbering together."""
    heads = [first_character(file) for file in files]
    if all(first == "{" for first in heads) and "simulations" not in tau2_head(files[0]):
        if "messages" not in tau2_head(files[0]):
            raise UsageError(f"{str(files[0])!r} holds no results; {UNDERSTOOD}")
        return Recording(path.name, "tau2", "", runs_of(map(_whole, files), {}))
    recordings = [read_recording(file) for file in files]
    kinds = {(recording.benchmark, recording.domain) for recording in recordings}
    if len(kinds) > 1:
        raise UsageError(f"{str(path)!r} holds results of different kinds; name one file")
    (benchmark, domain) = kinds.pop()
    runs = chain.from_iterable(recording.runs for recording in recordings)
    return Recording(path.name, benchmark, domain, runs)


def _whole(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        return Damage(f"{file.name}: {error.strerror}")
    except (ValueError, RecursionError) as error:
        return Damage(f"{file.name}: {' '.join(str(error).split())}")
