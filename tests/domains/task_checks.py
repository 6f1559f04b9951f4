"""What holds for the tasks of every domain: fair to an honest agent, and passed by no idle one.

A domain's ``test_tasks.py`` derives a class from `TaskChecks` and adds what only its own rows can
tell.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar, get_args

import pytest
from sqlalchemy import Column, select

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.domains.domain import Domain, load_domain
from passhat.envs.episode import Episode
from passhat.grading.grading import Grading
from passhat.grading.outcome import start_rows
from passhat.grading.verdict import Grade
from passhat.language import amounts, ids, numbers, says
from passhat.task import Goal, Persona, ReferenceAction, Task, Words

_NUMBERED = re.compile(r"\b(?=\d*[A-Z])(?=[A-Z]*\d)[A-Z\d]{6}\b")  # reservations and flights
_STREET = re.compile(r"\d+ [A-Z]\w+ [A-Z]")


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


def reasons(task: Task) -> list[Words]:
    """What a refusal must give as its reason."""
    return [because for refusal in task.expect.refuse for because in refusal.because]


def ids_in(text: str) -> list[str]:
    """Every id in a text, reservation and flight numbers among them."""
    return [*ids(text), *_NUMBERED.findall(text)]


class TaskSet:
    """The tasks of one domain, and what can be asked about them."""

    def __init__(self, name: str) -> None:
        self.domain: Domain = load_domain(name)
        self.tasks = list(self.domain.tasks.values())
        self.grading = Grading(self.domain)
        tools = self.domain.tools
        self.schemas = tuple(tool.schema for tool in tools.values())
        self.writers = {name for name, tool in tools.items() if tool.writes}

    def tagged(self, tag: str) -> list[Task]:
        """The tasks with this tag."""
        return [task for task in self.tasks if tag in task.tags]

    def facts(self, task: Task) -> dict[str, str]:
        """What the customer knows about themselves."""
        with start_rows(self.domain, task) as db:
            return self.domain.profile(db, task.user.customer) | task.user.knows

    def customers_words(self, task: Task) -> str:
        """All that the customer may ever say, their own data included."""
        said = [task.user.opening, *self.facts(task).values()]
        for goal in goals_of(task):
            said += [goal.ask, *goal.details.values()]
        return "\n".join(said)

    def named_ids(self, task: Task) -> set[str]:
        """Every id that the customer says or checks."""
        return set(ids_in("\n".join([self.customers_words(task), *checked(task)])))

    def tool_results(self, task: Task) -> str:
        """Everything the tools answer to the reference."""
        with start_rows(self.domain, task) as db:
            return "\n".join(
                self.domain.call(db, action.name, action.arguments).content
                for outcome in task.expect.outcomes[:1]
                for action in outcome.actions
            )

    def writes_of(self, task: Task) -> list[list[ReferenceAction]]:
        """The writes of each accepted outcome."""
        return [
            [action for action in outcome.actions if action.name in self.writers]
            for outcome in task.expect.outcomes
        ]

    def accepts(self, task: Task, actions: list[ReferenceAction]) -> bool:
        """Whether the rows that these actions leave are accepted."""
        with start_rows(self.domain, task) as db:
            for action in actions:
                assert self.domain.call(db, action.name, action.arguments).error is None, action
            return self.grading.outcome.grade(task, db).passed

    def accepts_changed(self, task_id: str, **changed: object) -> bool:
        """Whether the first outcome's last write is accepted with other arguments."""
        task = self.domain.task(task_id)
        *before, write = self.writes_of(task)[0]
        other = write.model_copy(update={"arguments": write.arguments | changed})
        return self.accepts(task, [*before, other])

    def play(self, task: Task, agent: str, seed: int = 0) -> Grade:
        """One episode with the agenda user, graded."""
        kind = agent_kind(agent)
        cheat = task if kind.sees_task else None
        now = self.domain.world.now.isoformat()
        brief = Brief(self.domain.name, self.domain.policy, self.schemas, now, seed, cheat)
        player = kind.make(brief)
        with Episode.start(self.domain, task, seed=seed) as episode:
            while episode.needs is not None:
                if episode.needs == "user":
                    episode.user_turn()
                else:
                    episode.act(player.act(episode.observation))
            return self.grading.grade(task, episode.transcript, episode.db)

    def known(self, *columns: Column[str]) -> set[str]:
        """Every value that the world has in these columns."""
        with self.domain.world.connect() as rows:
            return {value for column in columns for value in rows.execute(select(column)).scalars()}


class TaskChecks:
    """The checks; a class derived from it says of which tasks."""

    shelf: ClassVar[TaskSet]
    least_tasks: ClassVar[int]
    least_customers: ClassVar[int]

    @classmethod
    def pytest_generate_tests(cls, metafunc: pytest.Metafunc) -> None:
        """One test for each task, or for each with two accepted outcomes."""
        for argument, tasks in (
            ("task", cls.shelf.tasks),
            ("choice", cls.shelf.tagged("two-outcomes")),
        ):
            if argument in metafunc.fixturenames:
                metafunc.parametrize(argument, tasks, ids=[task.id for task in tasks])

    def unasked(self, task: Task) -> ReferenceAction:
        """A change of the customer's rows that no task asks for."""
        raise NotImplementedError

    # --- the set ------------------------------------------------------------------------------

    def test_there_are_tasks_of_every_kind(self) -> None:
        """Enough tasks in all, and several of each kind that a desk meets."""
        kinds = Counter(tag for task in self.shelf.tasks for tag in task.tags)
        assert len(self.shelf.tasks) >= self.least_tasks
        for kind in ("multi-step", "refuse", "info", "conditional", "two-outcomes", "hand-over"):
            assert kinds[kind] >= 5, kind

    def test_every_write_is_asked_for_several_times(self) -> None:
        """No tool that changes something is left out."""
        used = Counter(
            write.name
            for task in self.shelf.tasks
            for writes in self.shelf.writes_of(task)[:1]
            for write in writes
        )
        often = {name for name, count in used.items() if count >= 5}
        assert often == self.shelf.writers

    def test_customers_of_every_temper_write(self) -> None:
        """Each persona has several tasks, and many different people come to the desk."""
        personas = Counter(task.user.persona for task in self.shelf.tasks)
        assert all(personas[persona] >= 5 for persona in get_args(Persona))
        assert len({task.user.customer for task in self.shelf.tasks}) >= self.least_customers

    def test_a_task_says_what_it_is_for(self) -> None:
        """A purpose on one line, tags that name its writes, and a reference that can be played."""
        for task in self.shelf.tasks:
            assert task.purpose, task.id
            assert "\n" not in task.purpose, task.id
            assert task.expect.outcomes[0].actions, task.id
            written = {write.name for writes in self.shelf.writes_of(task) for write in writes}
            assert written == self.shelf.writers & set(task.tags), task.id
            assert bool(task.expect.refuse) == ("refuse" in task.tags), task.id
            assert task.expect.hand_over == ("hand-over" in task.tags), task.id
            assert (len(task.expect.outcomes) > 1) == ("two-outcomes" in task.tags), task.id

    # --- the reference ------------------------------------------------------------------------

    def test_the_reference_can_be_carried_out(self) -> None:
        """Every call of every accepted outcome succeeds on the rows that the task starts from."""
        domain = self.shelf.domain
        for task in self.shelf.tasks:
            self.shelf.grading.check(task)
            for outcome in task.expect.outcomes:
                with start_rows(domain, task) as db:
                    for action in outcome.actions:
                        done = domain.call(db, action.name, action.arguments)
                        assert done.error is None, (task.id, action)

    def test_the_reference_agent_passes(self, task: Task) -> None:
        """Whatever the customer's phrasing, an agent that knows what to do gets it done."""
        for seed in range(2):
            assert self.shelf.play(task, "reference", seed).reasons() == []

    @pytest.mark.parametrize("agent", ["noop", "chatty-noop"])
    def test_doing_nothing_fails(self, task: Task, agent: str) -> None:
        """Neither silence nor kind words pass anything."""
        assert self.shelf.play(task, agent).reward == 0.0

    def test_one_change_too_many_fails(self) -> None:
        """An outcome that goes beyond the reference is not accepted, in any task."""
        for task in self.shelf.tasks:
            for writes in self.shelf.writes_of(task):
                assert self.shelf.accepts(task, writes), task.id
                assert not self.shelf.accepts(task, [*writes, self.unasked(task)]), task.id

    def test_two_accepted_outcomes_differ(self, choice: Task) -> None:
        """Both ends pass, they are not the same end, and to do neither fails."""
        for writes in self.shelf.writes_of(choice):
            assert self.shelf.accepts(choice, writes)
        first, second = self.shelf.grading.outcome.accepted(choice)
        assert first != second
        assert not self.shelf.accepts(choice, [])

    def test_customers_agree_to_either_outcome(self, choice: Task) -> None:
        """An agent that goes for the second one is not talked out of it."""
        first, second = choice.expect.outcomes
        reads = [action for action in first.actions if action.name not in self.shelf.writers]
        second = second.model_copy(update={"actions": [*reads, *second.actions]})
        expect = choice.expect.model_copy(update={"outcomes": [second, first]})
        turned = choice.model_copy(update={"expect": expect})
        assert self.shelf.play(turned, "reference").reasons() == []

    # --- fair to the agent --------------------------------------------------------------------

    def test_no_answer_is_in_the_customers_words(self) -> None:
        """Repeating what the customer said tells them nothing that counts."""
        for task in self.shelf.tasks:
            said = self.shelf.customers_words(task)
            for fact in [*task.expect.tell, *reasons(task)]:
                assert not says(said, fact), (task.id, fact)

    def test_every_answer_can_be_looked_up(self) -> None:
        """Facts to tell, and amounts in reasons and checks, stand in what the tools answer."""
        for task in self.shelf.tasks:
            if "count" in task.tags:
                continue  # the domain's own test counts
            results = self.shelf.tool_results(task)
            money = {abs(number) for number in numbers(results.replace("-", " "))}
            for fact in task.expect.tell:
                assert any(
                    says(results, wording) or not money.isdisjoint(amounts(wording))
                    for wording in wordings(fact)
                ), (task.id, fact)
            for fact in [*reasons(task), *checked(task)]:
                for wording in wordings(fact):
                    assert money.issuperset(amounts(wording)), (task.id, wording)

    def test_questions_wait_for_what_must_be_told(self) -> None:
        """A customer who has a question stays until it is answered, and asks no more than that."""
        for task in self.shelf.tasks:
            asked = [fact for goal in goals_of(task) for fact in goal.until_told]
            assert all(fact in task.expect.tell for fact in asked), task.id
            assert not any(goal.confirm for goal in goals_of(task) if goal.until_told), task.id

    def test_checks_agree_with_the_outcomes(self) -> None:
        """No customer corrects a proposal that would be right: their ids are those of outcomes."""
        for task in self.shelf.tasks:
            writes = [write for outcome in self.shelf.writes_of(task) for write in outcome]
            arguments = str([write.arguments for write in writes])
            for value in checked(task):
                assert all(one in arguments for one in ids_in(value)), (task.id, value)
                if _STREET.match(value):
                    assert value in arguments, (task.id, value)
