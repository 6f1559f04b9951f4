"""Registers the Gymnasium environments, without making everybody wait for Gymnasium.

Gymnasium (with NumPy) takes ten times as long to import as everything that a command such as
``passhat runs`` needs. So the environments are registered when Gymnasium is imported: at once if it
has been already, else by a hook that runs when somebody imports it, and then goes away.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

ENTRY_POINT = "passhat.envs.desk:DeskEnv"


def register_environments() -> None:
    """``passhat/<Domain>-v0`` for every folder of ``domains/``, and ``passhat/Desk-v0``."""
    import gymnasium

    gymnasium.register("passhat/Desk-v0", ENTRY_POINT)
    for folder in sorted((Path(__file__).parent / "domains").iterdir()):
        if (folder / "__init__.py").is_file():
            name = "".join(part.capitalize() for part in folder.name.split("_"))
            gymnasium.register(f"passhat/{name}-v0", ENTRY_POINT, kwargs={"domain": folder.name})


def register_with_gymnasium() -> None:
    """Register now, or as soon as Gymnasium is imported."""
    if "gymnasium" in sys.modules:
        register_environments()
    elif not any(isinstance(finder, _WhenImported) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenImported())


class _WhenImported(MetaPathFinder):
    """Lets the real finders find Gymnasium, and has its loader register our environments after."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenRegister(spec.loader)
        return spec


class _ThenRegister(Loader):
    """A module's own loader, with a registration behind it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        spec.loader = self.loader  # so that nobody meets this one again, e.g. on reload
        self.loader.exec_module(module)
        register_environments()
