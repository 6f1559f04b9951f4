"""The environments are there whoever is imported first, and nobody waits for Gymnasium."""

import subprocess
import sys

import pytest

MADE = "print(gymnasium.make('passhat/Retail-v0').spec.id)"


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        f"import passhat, gymnasium; {MADE}",
        f"import gymnasium, passhat; {MADE}",
        f"import passhat; from gymnasium.envs import registration; import gymnasium; {MADE}",
        "import gymnasium; print(gymnasium.make('passhat:passhat/Retail-v0').spec.id)",
        f"import passhat, gymnasium, importlib; importlib.reload(gymnasium); {MADE}",
    ],
)
def test_the_order_of_imports_does_not_matter(code: str) -> None:
    """Before, after, through the module prefix, and after a reload."""
    assert run(code) == "passhat/Retail-v0"


def test_importing_the_package_imports_nothing_heavy() -> None:
    """Gymnasium, NumPy and SQLAlchemy come when they are needed."""
    heavy = "{'gymnasium', 'numpy', 'sqlalchemy', 'rich', 'pydantic'}"
    assert run(f"import passhat, sys; print(sorted({heavy} & set(sys.modules)))") == "[]"


def test_the_hook_is_gone_once_it_has_served() -> None:
    """The import system is left as it was found."""
    code = "import sys; before = len(sys.meta_path); import passhat, gymnasium; "
    assert run(f"{code} print(len(sys.meta_path) == before)") == "True"
