"""Real recordings to check against; they live beside the checkout, not in it."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def reference(path: str) -> Path:
    """Find a file or folder of the reference data, or skip the test that wants it.

    Args:
        path: Relative to the data folder, e.g. "recordings/tau2-airline-gpt-4.1.json".

    Returns:
        Where it is: under $PASSHAT_REFERENCE_DATA if set, else under ../shared/data.
    """
    folder = Path(os.environ.get("PASSHAT_REFERENCE_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / path).exists():
        pytest.skip(f"no reference data {path!r}; set PASSHAT_REFERENCE_DATA to its folder")
    return folder / path


def mostly_slow(cases: Iterable[Any], fast: int = 1) -> list[Any]:
    """Cases of a test on real data: the first ones as they are, the others marked slow."""
    return [
        case if number < fast else pytest.param(*_values(case), marks=pytest.mark.slow)
        for number, case in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
