"""The rules of the airline on conversations that nobody here wrote.

The figures are those of an audit of the same 200 runs that was made without this code: a count of
runs, and of those with reward 1. Where ours differ, the test says why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import pytest

from passhat.policies import airline, airline_compensation, airline_trips
from passhat.policies.airline_terms import TERMS
from passhat.policies.engine import Finding, load_rules

from ..reference_data import reference
from .recorded_airline import RecordedAirline

Run = tuple[int, int, bool]


@pytest.fixture(scope="module")
def recorded() -> Iterator[RecordedAirline]:
    """The benchmark's airline, whose today is another one."""
    folder = reference("tau-bench-a50b6c1/tau_bench/envs/airline")
    theirs = replace(TERMS, now=datetime(2024, 5, 15, 15))
    with pytest.MonkeyPatch.context() as patch:
        for module in (airline, airline_compensation, airline_trips):
            patch.setattr(module, "TERMS", theirs)
        yield RecordedAirline(folder)


@pytest.fixture(scope="module")
def found(recorded: RecordedAirline) -> dict[str, dict[Run, list[Finding]]]:
    """What each rule finds in each run: task, trial, and whether the reward was 1."""
    name = "tau-bench-a50b6c1/historical_trajectories/gpt-4o-airline.json"
    runs = json.loads(reference(name).read_text(encoding="utf-8"))
    found: dict[str, dict[Run, list[Finding]]] = {}
    for run in runs:
        key = (run["task_id"], run["trial"], run["reward"] == 1)
        for finding in load_rules("airline").check(recorded.case(run)):
            found.setdefault(finding.rule, {}).setdefault(key, []).append(finding)
    return found


@pytest.mark.parametrize(
    ("rule", "runs", "passed"),
    [
        ("writes_no_text_beside_a_call", 61, 24),
        ("cancels_only_on_a_ground", 37, 9),
        ("charges_bags_as_the_membership_says", 10, 0),
        ("pays_only_as_allowed", 2, 0),
        ("compensates_only_on_a_ground", 6, 4),
        ("compensates_a_delay_only_after_a_change", 2, 1),
        ("identifies_the_customer_first", 14, 11),
        ("reads_a_reservation_before_changing_it", 4, 0),
        ("reads_the_profile_before_what_depends_on_it", 4, 0),
        ("tells_no_user_id_that_was_not_given", 4, 2),
        ("calls_only_with_ids_it_was_given", 4, 4),
        ("searches_only_days_that_can_be_booked", 7, 2),
    ],
)
def test_exact_rules_find_what_the_audit_found(found, rule, runs, passed):
    """To the run."""
    assert (len(found[rule]), sum(reward for _, _, reward in found[rule])) == (runs, passed)


@pytest.mark.parametrize(
    ("why", "runs", "passed"), [("is flown", 17, 4), ("not insured", 15, 3), ("no reason", 17, 5)]
)
def test_cancellations_fail_for_the_same_reasons(found, why, runs, passed):
    """Flown flights, no ground, insurance without a reason of health or weather."""
    because = [
        run
        for run, findings in found["cancels_only_on_a_ground"].items()
        if any(why in finding.reason for finding in findings)
    ]
    assert (len(because), sum(reward for _, _, reward in because)) == (runs, passed)


def test_basic_economy_flights_were_changed_in_five_runs(found):
    """The record shows the old cabin even after an upgrade; the rule sees the one of the start."""
    changed = found["changes_flights_only_where_allowed"]
    basic = [run for run, each in changed.items() if any("basic economy" in f.reason for f in each)]
    assert len(basic) == 5


def test_most_breaches_of_consent_that_people_found_are_found(found):
    """Nine of ten; in 15/1 the plan changed by leaving flights out, which another rule reports."""
    audited = {(2, 2), (13, 0), (14, 1), (19, 1), (19, 3), (28, 0), (28, 1), (29, 3), (37, 0)}
    consent = ("waits_for_a_yes", "changes_nothing_after_a_no", "lists_the_details_before_asking")
    ours = {(task, trial) for name in consent for task, trial, _ in found.get(name, ())}
    assert audited <= ours
    assert any(run[:2] == (15, 1) for run in found["changes_flights_only_where_allowed"])
    assert not any(run[:2] == (20, 3) for name in consent for run in found.get(name, ()))


def test_tasks_whose_truth_breaks_the_policy_are_found(recorded):
    """The reference calls, judged by what they do; the script stands for what was said.

    Task 22 is not in the audit: there basic economy is upgraded so that flights can be changed,
    which the benchmark's policy leaves open and airline.md forbids.
    """
    name = "tau-bench-a50b6c1/historical_trajectories/gpt-4o-airline.json"
    tasks = {
        run["task_id"]: run["info"]["task"]
        for run in json.loads(reference(name).read_text(encoding="utf-8"))
    }
    broken = set()
    for number, task in tasks.items():
        calls = [(action["name"], action["kwargs"]) for action in task["actions"]]
        case = recorded.case_of_calls(task["instruction"], calls)
        if any(
            call.name in airline.ACTIONS and airline.DESK.forbidden(case, call)
            for call in case.calls
        ):
            broken.add(number)
    audited = {10, 16, 19, 23, 26, 27, 28, 31, 33, 34, 45, 46}
    assert broken == audited | {22}
