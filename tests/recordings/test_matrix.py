"""Run matrices in all their spellings."""

import json
from pathlib import Path
from typing import Any

import pytest

from passhat.errors import UsageError
from passhat.harness.curve import curve_of
from passhat.recordings.results import read_results
from passhat.results import Source, TrialResult

EIGHT_BY_FIVE = [[int(j < c) for j in range(5)] for c in (5, 5, 4, 4, 3, 2, 1, 0)]
CELLS = [
    (f"task {i}", j, cell) for i, row in enumerate(EIGHT_BY_FIVE) for j, cell in enumerate(row)
]


def read(tmp_path: Path, content: Any) -> list[TrialResult]:
    """Read text, or anything else as JSON."""
    file = tmp_path / "matrix"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_results(file)


@pytest.mark.parametrize(
    "content",
    [
        "task,trial,pass\n" + "".join(f"{t},{j},{c}\n" for t, j, c in CELLS),
        "\ufeffPass; Trial; Task; seed\r\n" + "".join(f"{c};{j};{t};9\r\n" for t, j, c in CELLS),
        "trial\tpass\ttask\n"
        + "".join(f"{j}\t{'pass' if c else 'FAIL'}\t{t}\n" for t, j, c in CELLS),
        "\n".join(",".join(map(str, row)) for row in EIGHT_BY_FIVE),
        [{"task": t, "trial": j, "pass": bool(c)} for t, j, c in CELLS],
        {f"task {i}": row for i, row in enumerate(EIGHT_BY_FIVE)},
        EIGHT_BY_FIVE,
        [[float(cell) for cell in row] for row in EIGHT_BY_FIVE],
    ],
    ids=["csv", "semicolons", "tabs", "bare csv", "objects", "lists by task", "rows", "rewards"],
)
def test_every_spelling_gives_the_same_curve(tmp_path: Path, content: Any) -> None:
    """The eight-by-five matrix: pass@1,3,5 and pass^1,3,5 exactly."""
    one = curve_of(Source("matrix", read(tmp_path, content)))
    assert [one.pass_at[k - 1].value for k in (1, 3, 5)] == [0.6, 0.8125, 0.875]
    assert [one.pass_hat[k - 1].value for k in (1, 3, 5)] == [0.6, 0.3625, 0.25]
    assert (one.planned, one.scored, len(one.per_task)) == (40, 40, 8)


def test_empty_cells_are_lost_and_odd_ones_too(tmp_path: Path) -> None:
    """A blank is a loss without a reason, "maybe" one with; partial rewards are failures."""
    cells = ["1", "true", "PASS", "0", "false", "fail", "0.5", "", " ", "maybe", "2", "nan"]
    content = "task,trial,pass\n" + "".join(f"a,{i},{cell}\n" for i, cell in enumerate(cells))
    results = read(tmp_path, content)
    assert [r.passed for r in results] == [True] * 3 + [False] * 4 + [None] * 5
    assert [r.lost for r in results[7:10]] == [
        "no grade recorded",
        "no grade recorded",
        "broken record: neither pass nor fail",
    ]


def test_broken_lines_are_lost_trials(tmp_path: Path) -> None:
    """Too short, without a task, or with a trial that is no number: counted, not dropped."""
    results = read(tmp_path, "task,trial,pass\na,0,1\na\n,1,1\na,first,1\n\n")
    assert [r.passed for r in results] == [True, None, None, None]
    objects = [{"task": "a", "trial": 0, "pass": 1}, 5, {"task": "a", "trial": 1}, {"pass": 1}]
    assert [r.passed for r in read(tmp_path, objects)] == [True, None, None, None]


def test_quoted_names_keep_their_commas(tmp_path: Path) -> None:
    """CSV quoting is understood."""
    (result,) = read(tmp_path, 'task,trial,pass\n"refund, then cancel",0,1\n')
    assert result.task == "refund, then cancel"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("task,pass\na,1\n", "lacks the column 'trial'"),
        ("task,trial,pass\n", "no trials after the header"),
    ],
)
def test_a_csv_without_what_is_needed_is_refused(tmp_path: Path, content: str, why: str) -> None:
    """The message says which column, and what a matrix looks like."""
    with pytest.raises(UsageError, match=f"{why}.*task,trial,pass"):
        read(tmp_path, content)


def test_a_chat_is_no_matrix(tmp_path: Path) -> None:
    """An object whose lists hold objects has no trials to lose."""
    with pytest.raises(UsageError, match="not a results file"):
        read(tmp_path, {"messages": [{"role": "user", "content": "Hello."}, {"role": "assistant"}]})
