"""passhat: can a customer-service agent be relied on? Episodes, grades, and pass^k.

Importing the package registers its Gymnasium environments: ``passhat/<Domain>-v0`` for every folder
of ``domains/``, and ``passhat/Desk-v0``, which takes ``domain=``.
"""

from pathlib import Path

import gymnasium

__version__ = "0.1.0"

_ENTRY_POINT = "passhat.envs.desk:DeskEnv"


def _register() -> None:
    gymnasium.register("passhat/Desk-v0", _ENTRY_POINT)
    for folder in sorted((Path(__file__).parent / "domains").iterdir()):
        if (folder / "__init__.py").is_file():
            name = "".join(part.capitalize() for part in folder.name.split("_"))
            gymnasium.register(f"passhat/{name}-v0", _ENTRY_POINT, kwargs={"domain": folder.name})


_register()
