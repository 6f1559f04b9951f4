"""The gate: decided on intervals, told in words, and readable by machines."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers import new_store
from stored_runs import source, stored_run

from passhat.errors import UsageError
from passhat.harness.comparison import Side, load_side
from passhat.harness.gate import (
    Demands,
    Gate,
    decide,
    findings,
    junit,
    markdown,
    rule_limits,
    tagged,
)

GOOD = {f"t{n}": "++++" if n % 4 else "+++-" for n in range(24)}
POOR = {f"t{n}": "+--+" if n % 4 else "----" for n in range(24)}


def judged(rows: dict[str, str], demands: Demands, other: dict[str, str] | None = None) -> Gate:
    """The gate of trials without a store."""
    compared = Side(source("before", other)) if other is not None else None
    return decide(Side(source("after", rows)), demands, other=compared)


def test_the_lower_end_decides_not_the_value() -> None:
    """A value above what is asked does not open the gate by itself, and the reason says so."""
    point = 0.9375  # pass^1 of GOOD
    passed = judged(GOOD, Demands(at_least=0.85))
    assert passed.decision == "passed"
    failed = judged(GOOD, Demands(at_least=point))
    assert failed.decision == "failed"
    assert "below 0.9375, though the value is not" in failed.conditions[0].why
    assert judged(POOR, Demands(at_least=0.85)).conditions[0].why.endswith("is below 0.85")


def test_no_worse_than_allows_what_the_margin_allows() -> None:
    """The lower end of the paired difference decides."""
    assert judged(GOOD, Demands(k=4, margin=0.3), GOOD).decision == "passed"
    assert judged(GOOD, Demands(k=4), POOR).decision == "passed"
    worse = judged(POOR, Demands(k=4), GOOD)
    assert worse.decision == "failed"
    assert worse.conditions[0].asks == "pass^4 no worse than in before by more than 0.05"
    unclear = judged({"a": "+-", "b": "+-"}, Demands(), {"a": "+-", "b": "+-"})
    assert unclear.decision == "failed"
    assert "more tasks or trials would tell" in unclear.conditions[0].why


def test_too_much_lost_is_no_decision() -> None:
    """Nor is it one if too few tasks still have k trials, or if the other run lost too much."""
    many = dict.fromkeys(GOOD, "++??")
    assert judged(many, Demands(at_least=0.1)).decision == "lost"
    assert judged(dict.fromkeys(GOOD, "????"), Demands(), GOOD).decision == "lost"
    one_each = {f"t{n}": "+" * 11 + "?" for n in range(24)}
    assert judged(one_each, Demands(k=11, at_least=0.5)).decision == "passed"
    found = judged(one_each, Demands(k=12, at_least=0.5))
    assert found.decision == "lost"
    assert found.conditions[0].why.startswith("only 0 of 24 tasks have 12 graded trials")
    assert judged(GOOD, Demands(), many).decision == "lost"


@pytest.mark.parametrize(
    ("demands", "told"),
    [
        (Demands(), "nothing is asked"),
        (Demands(at_least=0.0), "--at-least"),
        (Demands(at_least=1.1), "--at-least"),
        (Demands(at_least=0.5, margin=-0.1), "--margin"),
        (Demands(k=5, at_least=0.5), r"pass\^5 needs 5 trials of each task; in 'after' 0 of 24"),
    ],
)
def test_demands_that_make_no_sense_are_refused(demands: Demands, told: str) -> None:
    """In words, and before anything is decided."""
    with pytest.raises(UsageError, match=told):
        judged(GOOD, demands)


def test_one_task_has_no_interval_and_does_not_pass() -> None:
    """However often it passed."""
    found = judged({"only": "++++"}, Demands(at_least=0.5), {"only": "++++"})
    assert [condition.met for condition in found.conditions] == [False, False]


# --- runs ---------------------------------------------------------------------------------------


def test_findings_are_counted_over_the_graded_trials(tmp_path: Path) -> None:
    """From the verdicts that the store keeps; a limit may be written with hyphens."""
    with new_store(tmp_path) as store:
        rules = ["waits_for_a_yes", "waits_for_a_yes", "serves_one_customer"]
        stored_run(store, "mine", {"a": "+" * 10 + "?", "b": "-" * 11}, findings=rules)
    path = tmp_path / "store.sqlite"
    side = load_side("mine", path)
    found = findings(side, path)
    assert found == {"waits_for_a_yes": 42, "serves_one_customer": 21}
    given = ["waits-for-a-yes=41", "serves_one_customer=21", "tells_nothing_of_others=0"]
    limits = rule_limits(given, side.run)
    gate = decide(side, Demands(rules=limits), found=found)
    assert [condition.met for condition in gate.conditions] == [False, True, True]
    assert gate.conditions[0].why == "found 42 times in 21 trials"


def test_rules_are_refused_that_are_not_there(tmp_path: Path) -> None:
    """Near ones are named; a results file has no verdicts."""
    with new_store(tmp_path) as store:
        run = stored_run(store, "mine", GOOD)
    with pytest.raises(UsageError, match="no rule 'waits_for_yes'; did you mean 'waits_for_a_yes'"):
        rule_limits(["waits_for_yes=0"], run)
    for wrong in ("waits_for_a_yes", "waits_for_a_yes=", "waits_for_a_yes=-1"):
        with pytest.raises(UsageError, match="a rule's limit reads"):
            rule_limits([wrong], run)
    with pytest.raises(UsageError, match="--rule needs a run"):
        rule_limits(["waits_for_a_yes=0"], None)
    with pytest.raises(UsageError, match="holds no verdicts"):
        findings(Side(source("file", GOOD)))


def test_tags_choose_tasks(tmp_path: Path) -> None:
    """A regression suite is a tag."""
    rows = {f"zone-{n}": "++--" if n % 2 else "++++" for n in range(1, 7)}
    with new_store(tmp_path) as store:
        run = stored_run(store, "mine", rows, domain="kiosk:DOMAIN")
    assert tagged(run, ["even"]) == ["zone-2", "zone-4", "zone-6"]
    side = load_side("mine", tmp_path / "store.sqlite").only(tagged(run, ["even"]))
    gate = decide(side, Demands(at_least=0.2), tags=["even"])
    assert (gate.planned, gate.decision) == (12, "passed")
    assert "tags: even" in markdown(gate)
    with pytest.raises(UsageError, match="no tag 'evn'; did you mean 'even'"):
        tagged(run, ["evn"])
    with pytest.raises(UsageError, match="has no task tagged 'broken'"):
        tagged(run, ["broken"])


# --- reports for machines -----------------------------------------------------------------------

HOSTILE = "<script>&\"']]>\x00\x1b[31m\ud800|`*\u202e"


def test_junit_has_a_case_for_each_condition_and_each_task() -> None:
    """Conditions fail or err; tasks only tell."""
    rows = GOOD | {"t0": "----"}
    gate = judged(rows, Demands(at_least=0.5, margin=0.01), GOOD)
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(junit(gate))}
    conditions, tasks = suites["conditions"], suites["tasks"]
    assert (conditions.get("tests"), conditions.get("failures")) == ("2", "1")
    assert [case.find("failure") is not None for case in conditions] == [False, True]
    assert (tasks.get("tests"), tasks.get("failures")) == ("24", "0")
    assert tasks[0].findtext("system-out") == "passed 0 of 4 trials, 0 lost"
    lost = judged({"a": "++", "b": "??"}, Demands(at_least=0.5))
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(junit(lost))}
    assert suites["conditions"].get("errors") == "1"
    assert suites["tasks"].get("skipped") == "1"


def test_hostile_names_stay_text_in_every_report() -> None:
    """Names come from files of others."""
    gate = decide(Side(source(HOSTILE, GOOD | {HOSTILE: "--"})), Demands(at_least=0.5))
    root = ElementTree.fromstring(junit(gate))
    assert root.get("name") == "passhat gate <script>&\"']]>??[31m?|`*?"
    shown = markdown(gate)
    assert "<" not in shown
    assert "\\|\\`\\*" in shown
    shown.encode()


def test_markdown_is_a_table_of_conditions() -> None:
    """With the decision on top and the tasks that never passed below."""
    shown = markdown(judged(GOOD | {"x_1": "----"}, Demands(at_least=0.99)))
    assert shown.startswith("## after: failed\n")
    assert "| FAIL | pass^1 at least 0.99 |" in shown
    assert "Never passed: x\\_1" in shown
