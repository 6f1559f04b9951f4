"""The shop's tasks: fair to an honest agent, and passed by nobody who does nothing."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from sqlalchemy import func, select

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.domains.domain import load_domain, read_tasks
from passhat.domains.retail.tables import (
    CUSTOMERS,
    ORDERS,
    PAYMENT_METHODS,
    PRODUCTS,
    VARIANTS,
)
from passhat.envs.episode import Episode
from passhat.grading.grading import Grading
from passhat.grading.outcome import start_rows
from passhat.grading.verdict import Grade
from passhat.language import amounts, ids, numbers, says
from passhat.task import Goal, Persona, ReferenceAction, Task, Words

RETAIL = load_domain("retail")
TASKS = list(RETAIL.tasks.values())
GRADING = Grading(RETAIL)
TOOLS = tuple(tool.schema for tool in RETAIL.tools.values())
WRITERS = {name for name, tool in RETAIL.tools.items() if tool.writes}
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "tasks.md"
UNASKED = ReferenceAction(
    name="modify_user_address",
    arguments={
        "address1": "1 Nowhere Street", "address2": "", "city": "Boise", "state": "ID",
        "country": "USA", "zip": "83701",
    },
)  # fmt: skip


def tagged(tag: str) -> list[Task]:
    """The tasks with this tag."""
    return [task for task in TASKS if tag in task.tags]


every_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
two_outcomes = pytest.mark.parametrize("task", tagged("two-outcomes"), ids=lambda task: task.id)


# --- helpers ------------------------------------------------------------------------------------


def goals_of(task: Task) -> Iterator[Goal]:
    """Every goal, fall-backs included."""
    for goal in task.user.goals:
        chain: Goal | None = goal
        while chain is not None:
            yield chain
            chain = chain.otherwise


def wordings(words: Words) -> list[str]:
    """All wordings of one fact."""
    return [words] if isinstance(words, str) else words


def checked(task: Task) -> list[str]:
    """Every value that the customer checks in a proposal."""
    return [w for goal in goals_of(task) for words in goal.check.values() for w in wordings(words)]


def named_ids(task: Task) -> set[str]:
    """Every id that the customer says or checks."""
    return set(ids("\n".join([customers_words(task), *checked(task)])))


def customers_words(task: Task) -> str:
    """All that the customer may ever say, their own data included."""
    said = [task.user.opening, *task.user.knows.values()]
    for goal in goals_of(task):
        said += [goal.ask, *goal.details.values()]
    with start_rows(RETAIL, task) as db:
        said += RETAIL.profile(db, task.user.customer).values()
    return "\n".join(said)


def reasons(task: Task) -> list[Words]:
    """What a refusal must give as its reason."""
    return [because for refusal in task.expect.refuse for because in refusal.because]


def tool_results(task: Task) -> str:
    """Everything the tools answer to the reference."""
    with start_rows(RETAIL, task) as db:
        answers = [
            RETAIL.call(db, action.name, action.arguments).content
            for outcome in task.expect.outcomes[:1]
            for action in outcome.actions
        ]
    return "\n".join(answers)


def writes_of(task: Task) -> list[list[ReferenceAction]]:
    """The writes of each accepted outcome."""
    return [
        [action for action in outcome.actions if action.name in WRITERS]
        for outcome in task.expect.outcomes
    ]


def outcome_after(task: Task, actions: list[ReferenceAction]) -> bool:
    """Whether the rows that these actions leave are accepted."""
    with start_rows(RETAIL, task) as db:
        for action in actions:
            assert RETAIL.call(db, action.name, action.arguments).error is None
        return GRADING.outcome.grade(task, db).passed


def play(task: Task, agent: str, seed: int = 0) -> Grade:
    """One episode with the agenda user, graded."""
    kind = agent_kind(agent)
    cheat = task if kind.sees_task else None
    brief = Brief("retail", RETAIL.policy, TOOLS, RETAIL.world.now.isoformat(), seed, cheat)
    player = kind.make(brief)
    with Episode.start(RETAIL, task, seed=seed) as episode:
        while episode.needs is not None:
            if episode.needs == "user":
                episode.user_turn()
            else:
                episode.act(player.act(episode.observation))
        return GRADING.grade(task, episode.transcript, episode.db)


# --- the set ------------------------------------------------------------------------------------


def test_there_are_tasks_of_every_kind() -> None:
    """Enough tasks in all, and several of each kind that a desk meets."""
    kinds = Counter(tag for task in TASKS for tag in task.tags)
    assert len(TASKS) >= 64
    for kind in ("multi-step", "refuse", "info", "conditional", "two-outcomes", "hand-over"):
        assert kinds[kind] >= 5, kind


def test_every_write_is_asked_for_several_times() -> None:
    """No tool that changes something is left out."""
    used = Counter(w.name for task in TASKS for writes in writes_of(task)[:1] for w in writes)
    assert {name: count for name, count in used.items() if count >= 5}.keys() == WRITERS


def test_customers_of_every_temper_write() -> None:
    """Each persona has several tasks, and many different people come to the desk."""
    personas = Counter(task.user.persona for task in TASKS)
    assert all(personas[persona] >= 5 for persona in get_args(Persona))
    assert len({task.user.customer for task in TASKS}) >= 50


def test_a_task_says_what_it_is_for() -> None:
    """A purpose on one line, tags that name its writes, and a reference that can be played."""
    for task in TASKS:
        assert task.purpose, task.id
        assert "\n" not in task.purpose, task.id
        assert task.expect.outcomes[0].actions, task.id
        written = {write.name for writes in writes_of(task) for write in writes}
        assert written == WRITERS & set(task.tags), task.id
        assert bool(task.expect.refuse) == ("refuse" in task.tags), task.id
        assert task.expect.hand_over == ("hand-over" in task.tags), task.id
        assert (len(task.expect.outcomes) > 1) == ("two-outcomes" in task.tags), task.id


# --- the reference ------------------------------------------------------------------------------


def test_the_reference_can_be_carried_out() -> None:
    """Every call of every accepted outcome succeeds on the rows that the task starts from."""
    for task in TASKS:
        GRADING.check(task)
        for outcome in task.expect.outcomes:
            with start_rows(RETAIL, task) as db:
                for action in outcome.actions:
                    done = RETAIL.call(db, action.name, action.arguments)
                    assert done.error is None, (task.id, action)


@every_task
def test_the_reference_agent_passes(task: Task) -> None:
    """Whatever the customer's phrasing, an agent that knows what to do gets it done."""
    for seed in range(3):
        assert play(task, "reference", seed).reasons() == []


@every_task
@pytest.mark.parametrize("agent", ["noop", "chatty-noop"])
def test_doing_nothing_fails(task: Task, agent: str) -> None:
    """Neither silence nor kind words pass anything."""
    assert play(task, agent).reward == 0.0


def test_one_change_too_many_fails() -> None:
    """An outcome that goes beyond the reference is not accepted, in any task."""
    for task in TASKS:
        address = UNASKED.arguments | {"user_id": task.user.customer}
        extra = UNASKED.model_copy(update={"arguments": address})
        for writes in writes_of(task):
            assert outcome_after(task, writes), task.id
            assert not outcome_after(task, [*writes, extra]), task.id


@two_outcomes
def test_two_accepted_outcomes_differ(task: Task) -> None:
    """Both ends pass, they are not the same end, and to do neither fails."""
    first, second = writes_of(task)
    assert outcome_after(task, first)
    assert outcome_after(task, second)
    assert GRADING.outcome.accepted(task)[0] != GRADING.outcome.accepted(task)[1]
    assert not outcome_after(task, [])


@two_outcomes
def test_customers_agree_to_either_outcome(task: Task) -> None:
    """An agent that goes for the second one is not talked out of it."""
    outcomes = task.expect.outcomes[::-1]
    expect = task.expect.model_copy(update={"outcomes": outcomes})
    assert play(task.model_copy(update={"expect": expect}), "reference").reasons() == []


@pytest.mark.parametrize(
    ("task_id", "changed"),
    [
        ("either-piston-pen", {"new_item_ids": ["3590059215"]}),  # amber, but a medium nib
        ("either-piston-pen", {"payment_method_id": "paypal_9678422"}),
        ("larger-rain-coat-in-either-color", {"new_item_ids": ["4749647444"]}),  # navy, but short
        ("larger-rain-coat-in-either-color", {"payment_method_id": "credit_card_7404113"}),
        ("right-handed-mouse-on-either-gift-card", {"new_item_ids": ["4593311573"]}),  # left-handed
    ],
)  # fmt: skip
def test_a_third_end_fails(task_id: str, changed: dict[str, object]) -> None:
    """What fits the request only nearly is not one of the two accepted outcomes."""
    task = RETAIL.task(task_id)
    (write,) = writes_of(task)[0]
    other = write.model_copy(update={"arguments": write.arguments | changed})
    assert not outcome_after(task, [other])


# --- fair to the agent --------------------------------------------------------------------------


def test_no_answer_is_in_the_customers_words() -> None:
    """Repeating what the customer said tells them nothing that counts."""
    for task in TASKS:
        said = customers_words(task)
        for fact in [*task.expect.tell, *reasons(task)]:
            assert not says(said, fact), (task.id, fact)


def test_every_answer_can_be_looked_up() -> None:
    """Facts to tell, and amounts in reasons and checks, stand in what the tools answer."""
    for task in TASKS:
        if "count" in task.tags:
            continue  # see the next test
        results = tool_results(task)
        money = {abs(number) for number in numbers(results.replace("-", " "))}
        for fact in task.expect.tell:
            assert any(
                says(results, wording) or not money.isdisjoint(amounts(wording))
                for wording in wordings(fact)
            ), (task.id, fact)
        for fact in [*reasons(task), *checked(task)]:
            for wording in wordings(fact):
                assert money.issuperset(amounts(wording)), (task.id, wording)


def test_the_count_is_right() -> None:
    """The pianos in stock, and the cheapest of those with 88 keys, counted in the rows."""
    piano = select(PRODUCTS.c.product_id).where(PRODUCTS.c.name == "Digital Piano")
    in_stock = select(VARIANTS).where(VARIANTS.c.product_id == piano.scalar_subquery())
    with RETAIL.world.engine().connect() as rows:
        stock = rows.execute(in_stock.where(VARIANTS.c.available == 1)).all()
    task = RETAIL.task("how-many-pianos-can-i-choose-from")
    assert says(str(len(stock)), task.expect.tell[0])
    assert says(tool_results(task), task.expect.tell[1])


def test_questions_wait_for_what_must_be_told() -> None:
    """A customer who has a question stays until it is answered, and asks no more than is graded."""
    for task in TASKS:
        asked = [fact for goal in goals_of(task) for fact in goal.until_told]
        assert all(fact in task.expect.tell for fact in asked), task.id
        assert not any(goal.confirm for goal in goals_of(task) if goal.until_told), task.id


def test_every_id_exists() -> None:
    """Nothing in a script points to rows that the world does not have."""
    columns = (
        CUSTOMERS.c.user_id,
        ORDERS.c.order_id,
        VARIANTS.c.item_id,
        PAYMENT_METHODS.c.payment_method_id,
    )
    with RETAIL.world.engine().connect() as rows:
        known = {one for column in columns for one in rows.execute(select(column)).scalars()}
    for task in TASKS:
        assert named_ids(task) <= known, task.id


def test_customers_speak_of_what_is_theirs() -> None:
    """Orders and payment methods are the customer's own, unless that is what the task is about."""
    for task in TASKS:
        with start_rows(RETAIL, task) as db:
            own = {row["order_id"] for row in db.find("orders", {"user_id": task.user.customer})}
            methods = db.find("payment_methods", {"user_id": task.user.customer})
            own |= {row["payment_method_id"] for row in methods}
        kinds = ("#W", "credit_card_", "gift_card_", "paypal_")
        named = {one for one in named_ids(task) if one.startswith(kinds)}
        assert (named <= own) == ("somebody-else" not in task.tags), task.id


def test_checks_agree_with_the_outcomes() -> None:
    """No customer corrects a proposal that would be right: their ids are those of the outcomes."""
    for task in TASKS:
        arguments = str([write.arguments for writes in writes_of(task) for write in writes])
        for value in checked(task):
            assert all(one in arguments for one in ids(value)), (task.id, value)
            if re.match(r"\d+ [A-Z]\w+ [A-Z]", value):  # a street
                assert value in arguments, (task.id, value)


def test_customers_can_be_identified() -> None:
    """By their e-mail address, or by name and zip code when they do not have the one on file."""
    for task in TASKS:
        with start_rows(RETAIL, task) as db:
            facts = RETAIL.profile(db, task.user.customer)
            way = ("find_user_id_by_email", {"email": facts["email"]})
            no_email = "email" in {*task.user.unknown, *task.user.knows}
            if no_email:
                name_zip = {"first_name": facts["first name"], "last_name": facts["last name"]}
                way = ("find_user_id_by_name_zip", {**name_zip, "zip": facts["zip"]})
            assert RETAIL.call(db, *way).content == task.user.customer, task.id
        assert no_email == ("name-and-zip" in task.tags), task.id


def test_the_namesake_tag_is_true() -> None:
    """Tagged are the tasks of customers who share their full name with somebody."""
    full_name = CUSTOMERS.c.first_name + " " + CUSTOMERS.c.last_name
    shared = select(full_name).group_by(full_name).having(func.count() > 1)
    with RETAIL.world.engine().connect() as rows:
        found = rows.execute(select(CUSTOMERS.c.user_id).where(full_name.in_(shared)))
        namesakes = set(found.scalars())
    for task in TASKS:
        assert ("namesake" in task.tags) == (task.user.customer in namesakes), task.id


def test_the_example_of_the_guide_is_a_task() -> None:
    """The worked example of docs/tasks.md can be graded as it stands."""
    (block,) = re.findall(r"```yaml\n(- id:.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    (task,) = read_tasks(_Text(block), "retail")
    GRADING.check(task)
    assert outcome_after(task, writes_of(task)[0])


class _Text:
    """A text that can be read like a file."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read_text(self, encoding: str) -> str:
        return self._text
