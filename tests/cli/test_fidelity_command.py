"""`passhat fidelity`: a simulated customer beside recorded ones."""

import json
from collections.abc import Callable
from typing import Any

Passhat = Callable[..., Any]
RUN = ("run", "kiosk:DOMAIN", "--agent", "slippery:0.2", "--task", "zone-*", "--seed", "3")


def test_a_run_is_compared_with_its_own_kind_of_user(passhat: Passhat) -> None:
    """The agenda user does at every turn what it did in the run."""
    assert passhat(*RUN, "--name", "nightly").code == 0
    said = passhat("fidelity", "nightly")
    assert (said.code, said.err) == (0, "")
    assert "nightly: user agenda" in said.out
    assert "6 conversations" in said.out
    found = json.loads(passhat("fidelity", "nightly", "--json").out)
    assert found["cuts"] == found["answered"] == found["same_act"]["equal"]
    assert found["same_act"]["share"] == 1.0
    assert found["spent"]["sides"] == {}


def test_what_cannot_be_compared_is_said_in_one_line(passhat: Passhat) -> None:
    """No such run, no such file, a user that is none."""
    assert passhat(*RUN, "--name", "nightly").code == 0
    for arguments, why in (
        (("nobody",), "no run 'nobody'"),
        (("none.json",), "no such file: 'none.json'"),
        (("nightly", "--user", "agneda"), "did you mean 'agenda'"),
    ):
        said = passhat("fidelity", *arguments)
        assert said.code == 2
        assert why in said.err
        assert said.err.count("\n") == 1
