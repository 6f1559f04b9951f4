"""The Gymnasium environment, under Gymnasium's own checkers and as its users use it."""

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import passhat  # noqa: F401  (registers the environments)
from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.envs.desk import DeskEnv
from passhat.envs.spaces import Moves, UnicodeText
from passhat.envs.wrappers import DenseReward, PlainText
from passhat.errors import UsageError

HELLO = {"type": "message", "content": "Hello! What is your e-mail address?"}


def desk(**options: Any) -> DeskEnv:
    """A desk without wrappers."""
    env = gymnasium.make("passhat/Retail-v0", **options).unwrapped
    assert isinstance(env, DeskEnv)
    return env


@pytest.mark.parametrize("name", ["passhat/Retail-v0", "passhat/Desk-v0"])
def test_gymnasiums_own_checker_finds_nothing(name: str) -> None:
    """check_env passes, and warns of nothing that is ours."""
    env = gymnasium.make(name, render_mode="ansi", disable_env_checker=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env.unwrapped, skip_render_check=False)
    assert [str(w.message) for w in caught] == []


def test_the_environment_is_found_by_module_and_id() -> None:
    """gymnasium.make imports the package itself when told where it is."""
    env = gymnasium.make("passhat:passhat/Retail-v0", task=next(iter(desk().domain.tasks)))
    env.reset(seed=1)
    env.close()


def test_the_seed_reaches_task_customer_and_spaces() -> None:
    """Same seed, same conversation; spaces sample the same."""
    first, second = desk(), desk()
    assert first.reset(seed=5) == second.reset(seed=5)
    assert first.step(HELLO)[0] == second.step(HELLO)[0]
    first.action_space.seed(3), second.action_space.seed(3)
    assert [first.action_space.sample() for _ in range(30)] == [
        second.action_space.sample() for _ in range(30)
    ]
    tasks = {desk().reset(seed=seed)[1]["task"] for seed in range(40)}
    assert len(tasks) > 10


def solve(env: Any, seed: int = 0) -> tuple[list[float], dict[str, Any], bool, bool]:
    """Let the reference agent play one episode: rewards, last info, terminated, truncated."""
    inner = env.unwrapped
    _, info = env.reset(seed=seed)
    task = inner.domain.task(info["task"])
    now = inner.domain.world.now.isoformat()
    agent = agent_kind("reference").make(Brief("retail", inner.policy, inner.tools, now, task=task))
    rewards, terminated, truncated = [], False, False
    while not (terminated or truncated):
        action = agent.act(info["observation"])
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
    return rewards, info, terminated, truncated


def test_the_reward_comes_at_the_end_and_is_one_for_a_pass() -> None:
    """Zero on the way, one at the end; the grade with all verdicts is in info."""
    rewards, info, terminated, truncated = solve(gymnasium.make("passhat/Retail-v0"))
    assert (set(rewards[:-1]), rewards[-1]) == ({0.0}, 1.0)
    assert (terminated, truncated, info["fault"]) == (True, False, None)
    assert info["grade"].passed


@pytest.mark.parametrize("seed", range(5))
def test_dense_rewards_add_up_to_the_final_score(seed: int) -> None:
    """Paid for right rows as they are written; the sum of a pass is one."""
    rewards, info, *_ = solve(DenseReward(gymnasium.make("passhat/Retail-v0")), seed)
    assert sum(rewards) == pytest.approx(1.0)
    assert info["grade"].partial == 1.0


def test_dense_reward_pays_less_than_one_for_a_failure() -> None:
    """Doing nothing earns the share of verdicts that silence satisfies."""
    env = DenseReward(gymnasium.make("passhat/Retail-v0"))
    env.reset(seed=2)
    _, reward, terminated, _, info = env.step({"type": "stop"})
    assert terminated
    assert reward == pytest.approx(info["grade"].partial)
    assert 0 < reward < 1


def test_the_turn_limit_truncates_and_an_ending_terminates() -> None:
    """The two flags mean what they say."""
    env = desk(max_turns=1)
    env.reset(seed=1)
    *_, terminated, truncated, info = env.step(HELLO)
    assert (terminated, truncated) == (False, True)
    assert info["grade"].reward == 0.0
    env.reset(seed=1)
    *_, terminated, truncated, _ = env.step({"type": "stop"})
    assert (terminated, truncated) == (True, False)


def test_rendering_shows_the_conversation_so_far() -> None:
    """Words, calls and results, one a line."""
    env = desk(render_mode="ansi")
    opening, _ = env.reset(seed=1)
    env.step(HELLO)
    env.step({"type": "tool_calls", "calls": [{"name": "list_all_product_types"}]})
    shown = env.render()
    assert shown is not None
    assert opening in shown
    assert "agent: Hello! What is your e-mail address?" in shown
    assert "  call list_all_product_types()\n    -> {" in shown


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: desk().step(HELLO), "reset"),
        (lambda: desk(task="no-such-task"), "no task 'no-such-task'"),
        (lambda: desk().reset(options={"task": "x"}), "no task 'x'"),
        (lambda: desk(user="nobody").reset(), "no user 'nobody'"),
        (lambda: desk(basis="vibes"), "no grading basis 'vibes'"),
        (lambda: gymnasium.make("passhat/Desk-v0", domain="reatil"), "did you mean 'retail'"),
    ],
)
def test_wrong_requests_say_what_is_wrong(act: Any, message: str) -> None:
    """One line with the value, and the nearest right one."""
    with pytest.raises(UsageError, match=message):
        act()


def test_random_moves_never_break_an_episode() -> None:
    """Ten episodes of sampled actions end as episodes do, with a grade."""
    env = desk(max_turns=12)
    env.action_space.seed(1)
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            action = env.action_space.sample()
            assert action in env.action_space
            observation, _, terminated, truncated, info = env.step(action)
            assert observation in env.observation_space
            over = terminated or truncated
        assert info["fault"] is not None
        assert info["fault"] == "agent", info["grade"].verdicts


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_many_desks_run_as_a_vector(mode: str) -> None:
    """Observations arrive unharmed from both kinds of vector environment."""
    options = {"shared_memory": False} if mode == "async" else {}
    envs = gymnasium.make_vec(
        "passhat/Retail-v0", num_envs=2, vectorization_mode=mode, vector_kwargs=options
    )
    try:
        observations, _ = envs.reset(seed=[3, 4])
        alone = [desk().reset(seed=seed)[0] for seed in (3, 4)]
        assert list(observations) == alone
        observations, rewards, terminated, truncated, _ = envs.step([HELLO, {"type": "stop"}])
        assert np.asarray(rewards).tolist() == [0.0, 0.0]
        assert list(terminated) == [False, True]
        assert list(truncated) == [False, False]
        assert all(isinstance(text, str) for text in observations)
    finally:
        envs.close()


def test_plain_text_is_a_message_only_when_asked_for() -> None:
    """The wrapper takes strings; the desk itself does not guess."""
    env = PlainText(gymnasium.make("passhat/Retail-v0"))
    env.reset(seed=1)
    assert env.step("What is your e-mail address?")[4]["turn"] == 1
    bare = desk()
    bare.reset(seed=1)
    with pytest.raises(UsageError, match="not an action"):
        bare.step("What is your e-mail address?")


def test_spaces_compare_by_what_they_hold() -> None:
    """Vector environments require it."""
    assert UnicodeText() == UnicodeText()
    assert UnicodeText(5) != UnicodeText(6)
    assert desk().action_space == desk().action_space
    assert Moves() != desk().action_space
    assert "x" * 6 not in UnicodeText(5)
    assert 5 not in UnicodeText()


def test_moves_survive_json() -> None:
    """to_jsonable and from_jsonable are each other's inverse."""
    space = desk().action_space
    space.seed(1)
    moves = [space.sample() for _ in range(20)]
    back = space.from_jsonable(space.to_jsonable(moves))
    assert space.to_jsonable(back) == space.to_jsonable(moves)
