"""Small clones of tau-bench and tau2-bench: the same shape, written for these tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from passhat.domains.packs import Pack
from passhat.recordings.import_tau2 import read_tau2
from passhat.recordings.import_taubench import read_tau_bench

ADDRESS = {
    "address1": "1 Mill Lane",
    "address2": "",
    "city": "Leeds",
    "country": "USA",
    "state": "ME",
    "zip": "04263",
}

LAMP = {
    "10": {"item_id": "10", "options": {"colour": "red"}, "available": True, "price": 20.5},
    "11": {"item_id": "11", "options": {"colour": "blue"}, "available": True, "price": 22.25},
    "12": {"item_id": "12", "options": {"colour": "green"}, "available": False, "price": 9.0},
    "13": {"item_id": "13", "options": {"colour": "grey"}, "available": True, "price": 30.1},
}


def _item(item_id: str) -> dict[str, Any]:
    variant = LAMP[item_id]
    about = {"name": "Lamp", "product_id": "1", "item_id": item_id}
    return about | {"price": variant["price"], "options": variant["options"]}


def _order(order_id: str, status: str, items: list[str], method: str) -> dict[str, Any]:
    total = round(sum(float(str(LAMP[item]["price"])) for item in items), 2)
    return {
        "order_id": order_id,
        "user_id": "ada_bell_1000",
        "address": ADDRESS,
        "items": [_item(item) for item in items],
        "status": status,
        "fulfillments": [],
        "payment_history": [
            {"transaction_type": "payment", "amount": total, "payment_method_id": method}
        ],
    }


def retail() -> dict[str, dict[str, Any]]:
    """A shop: one product, two customers, three orders."""
    return {
        "orders": {
            "#W1": _order("#W1", "pending", ["10", "13"], "credit_card_1"),
            "#W2": _order("#W2", "delivered", ["10", "11"], "gift_card_2"),
            "#W3": _order("#W3", "processed", ["11"], "credit_card_1"),
        },
        "products": {"1": {"name": "Lamp", "product_id": "1", "variants": LAMP}},
        "users": {
            "bo_cole_2000": _shopper("bo_cole_2000", "Bo", "Cole", {}, []),
            "ada_bell_1000": _shopper(
                "ada_bell_1000",
                "Ada",
                "Bell",
                {
                    "credit_card_1": {
                        "source": "credit_card",
                        "id": "credit_card_1",
                        "brand": "visa",
                        "last_four": "1111",
                    },
                    "gift_card_2": {"source": "gift_card", "id": "gift_card_2", "balance": 60.0},
                    "gift_card_3": {"source": "gift_card", "id": "gift_card_3", "balance": 1.0},
                },
                ["#W1", "#W2", "#W3"],
            ),
        },
    }


def _shopper(
    user_id: str, first: str, last: str, methods: dict[str, Any], orders: list[str]
) -> dict[str, Any]:
    return {
        "user_id": user_id,
        "name": {"first_name": first, "last_name": last},
        "address": ADDRESS,
        "email": f"{first.lower()}@example.com",
        "payment_methods": methods,
        "orders": orders,
    }


def _open(seats: int, price: int) -> dict[str, Any]:
    cabins = ("basic_economy", "economy", "business")
    return {
        "status": "available",
        "available_seats": dict.fromkeys(cabins, seats),
        "prices": {cabin: price * (n + 1) for n, cabin in enumerate(cabins)},
    }


def _flight(
    number: str, origin: str, destination: str, times: tuple[str, str], dates: dict[str, Any]
) -> dict[str, Any]:
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": times[0],
        "scheduled_arrival_time_est": times[1],
        "dates": dates,
    }


def airline() -> dict[str, dict[str, Any]]:
    """An airline: four flights, one customer, two reservations."""
    landed = {
        "status": "landed",
        "actual_departure_time_est": "2024-05-09T10:00:00",
        "actual_arrival_time_est": "2024-05-09T12:00:00",
    }
    night = ("20:00:00", "00:30:00+1")
    flights = [
        _flight(
            "HAT1",
            "JFK",
            "ORD",
            ("10:00:00", "12:00:00"),
            {"2024-05-09": landed, "2024-05-20": _open(9, 100), "2024-05-21": _open(1, 110)},
        ),
        _flight("HAT2", "ORD", "SEA", ("13:00:00", "16:00:00"), {"2024-05-20": _open(9, 50)}),
        _flight("HAT3", "JFK", "SEA", ("09:00:00", "15:00:00"), {"2024-05-20": _open(9, 200)}),
        _flight("HAT4", "JFK", "DEN", night, {"2024-05-20": _open(9, 70)}),
        _flight(
            "HAT5",
            "DEN",
            "SEA",
            ("02:00:00", "04:00:00"),
            {"2024-05-20": _open(9, 80), "2024-05-21": _open(9, 85)},
        ),
    ]
    methods = {
        "credit_card_1": {
            "source": "credit_card",
            "id": "credit_card_1",
            "brand": "visa",
            "last_four": "1111",
        },
        "gift_card_2": {"source": "gift_card", "id": "gift_card_2", "amount": 150},
        "certificate_3": {"source": "certificate", "id": "certificate_3", "amount": 500},
    }
    ada = {"first_name": "Ada", "last_name": "Bell", "dob": "1980-01-02"}
    return {
        "flights": {flight["flight_number"]: flight for flight in flights},
        "reservations": {
            "AAAAAA": {
                "reservation_id": "AAAAAA",
                "user_id": "ada_bell_1000",
                "origin": "JFK",
                "destination": "ORD",
                "flight_type": "one_way",
                "cabin": "economy",
                "flights": [
                    {
                        "origin": "JFK",
                        "destination": "ORD",
                        "flight_number": "HAT1",
                        "date": "2024-05-20",
                        "price": 180,
                    }
                ],
                "passengers": [ada],
                "payment_history": [{"payment_id": "gift_card_2", "amount": 180}],
                "created_at": "2024-05-10T10:00:00",
                "total_baggages": 1,
                "nonfree_baggages": 0,
                "insurance": "no",
            }
        },
        "users": {
            "ada_bell_1000": {
                "user_id": "ada_bell_1000",
                "name": {"first_name": "Ada", "last_name": "Bell"},
                "address": ADDRESS,
                "email": "ada@example.com",
                "dob": "1980-01-02",
                "payment_methods": methods,
                "saved_passengers": [],
                "membership": "gold",
                "reservations": ["AAAAAA"],
            }
        },
    }


DATA: dict[str, Callable[[], dict[str, dict[str, Any]]]] = {"retail": retail, "airline": airline}

RETAIL_TASKS = """
from tau_bench.types import Action, Task

TASKS_TEST = [
    Task(
        annotator="0",
        user_id="ada_bell_1000",
        instruction="You are Ada Bell in 04263. " "Cancel order #W1.",
        actions=[
            Action(name="get_order_details", kwargs={"order_id": "W1"}),
            Action(
                name="cancel_pending_order",
                kwargs={"order_id": "#W1", "reason": "no longer needed"},
            ),
        ],
        outputs=["50.60"],
    ),
    Task(
        annotator="0",
        user_id="ada_bell_1000",
        instruction="Ask what lamps cost, then leave.",
        actions=[],
        outputs=[],
    ),
]
"""

TAU2_TASK = {
    "id": "0",
    "description": {"purpose": "A cancellation"},
    "user_scenario": {
        "persona": None,
        "instructions": {
            "domain": "retail",
            "reason_for_call": "Cancel order #W1.",
            "known_info": "You are Ada Bell.",
            "unknown_info": None,
            "task_instructions": "Be brief.",
        },
    },
    "initial_state": None,
    "evaluation_criteria": {
        "actions": [
            {
                "action_id": "0_0",
                "name": "cancel_pending_order",
                "arguments": {"order_id": "#W1", "reason": "no longer needed"},
            }
        ],
        "communicate_info": ["50.6"],
        "nl_assertions": None,
        "reward_basis": ["DB", "COMMUNICATE"],
    },
}


def tau_bench_clone(folder: Path) -> Path:
    """A clone of tau-bench; airline has no task file."""
    for domain, data in DATA.items():
        place = folder / "tau_bench" / "envs" / domain
        (place / "data").mkdir(parents=True)
        for section, documents in data().items():
            (place / "data" / f"{section}.json").write_text(json.dumps(documents))
        (place / "wiki.md").write_text(f"# {domain.title()} policy\n")
    (folder / "tau_bench" / "envs" / "retail" / "tasks_test.py").write_text(RETAIL_TASKS)
    return folder


def tau2_clone(folder: Path) -> Path:
    """A clone of tau2-bench, with a domain that nobody knows."""
    for domain, data in DATA.items():
        place = folder / "data" / "tau2" / "domains" / domain
        place.mkdir(parents=True)
        (place / "db.json").write_text(json.dumps(data()))
        (place / "policy.md").write_text(f"# {domain.title()} policy\n")
        tasks = [TAU2_TASK] if domain == "retail" else []
        (place / "tasks.json").write_text(json.dumps(tasks))
        (place / "split_tasks.json").write_text(json.dumps({"base": ["0"], "train": ["0"]}))
    (folder / "data" / "tau2" / "domains" / "zoo").mkdir()
    return folder


def pack(folder: Path, name: str) -> Pack:
    """One pack made from a small clone in this folder."""
    business, _, benchmark = name.partition("@")
    folder.mkdir(exist_ok=True)
    if benchmark == "tau2":
        reports = read_tau2(tau2_clone(folder))
    else:
        reports = read_tau_bench(tau_bench_clone(folder))
    (found,) = [r.pack for r in reports if r.domain == business]
    assert found is not None
    return found


# --- recordings ---------------------------------------------------------------------------------


def call(name: str, arguments: dict[str, Any], output: str, number: int = 0) -> list[Any]:
    """A tool call and its result as tau-bench records them."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"call_{number}", "name": name, "content": output},
    ]


CANCEL = ("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})


def cancelling(shop: Pack, words: str = "You get $50.60 back.", trial: int = 0) -> dict[str, Any]:
    """A tau-bench record of a cancellation that went well."""
    with shop.world.fork() as db:
        output = shop.call(db, *CANCEL).content
        state = shop.state_hash.of(db.changes())
    actions = [{"name": CANCEL[0], "kwargs": CANCEL[1]}]
    return {
        "task_id": 0,
        "reward": 1.0,
        "info": {
            "task": {
                "user_id": "ada_bell_1000",
                "actions": actions,
                "instruction": "Cancel order #W1.",
                "outputs": ["50.60"],
            },
            "source": "user",
            "user_cost": 0.1,
            "reward_info": {
                "reward": 1.0,
                "info": {"r_actions": 1.0, "gt_data_hash": state},
                "actions": actions,
            },
        },
        "traj": [
            {"role": "system", "content": "# Retail policy"},
            {"role": "user", "content": "Cancel #W1, please."},
            *call(*CANCEL, output),
            {"role": "assistant", "content": words},
            {"role": "user", "content": "Thanks ###STOP###"},
        ],
        "trial": trial,
    }


def simulation(shop: Pack, **changes: Any) -> dict[str, Any]:
    """A tau2 simulation of the same cancellation."""
    with shop.world.fork() as db:
        output = shop.call(db, *CANCEL).content
    tool_call = {"id": "c1", "name": CANCEL[0], "arguments": CANCEL[1], "requestor": "assistant"}
    return {
        "id": "s0",
        "task_id": "0",
        "trial": 0,
        "termination_reason": "user_stop",
        "reward_info": {
            "reward": 1.0,
            "reward_basis": ["DB", "COMMUNICATE"],
            "reward_breakdown": {"DB": 1.0, "COMMUNICATE": 1.0},
        },
        "messages": [
            {"role": "assistant", "content": "Hi! How can I help?"},
            {"role": "user", "content": "Cancel #W1, please."},
            {"role": "assistant", "content": None, "tool_calls": [tool_call]},
            {"role": "tool", "id": "c1", "content": output, "requestor": "assistant"},
            {"role": "assistant", "content": "You get $50.6 back."},
            {"role": "user", "content": "###STOP###"},
        ],
        **changes,
    }


def tau2_results(*simulations: Any, trials: int = 1, **info: Any) -> dict[str, Any]:
    """A tau2 results file."""
    about = {"num_trials": trials, "environment_info": {"domain_name": "retail"}} | info
    return {"info": about, "tasks": [TAU2_TASK], "simulations": list(simulations)}
