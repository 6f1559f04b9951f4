"""FakeModel: no model at all. It answers from a script, in this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..errors import RunStoppedError, UsageError
from ..transcript import Usage
from .fake_claude.scripts import Script
from .model import Model, Reply, Request
from .options import OptionReader

NOTHING = Usage(input_tokens=0, output_tokens=0, cost_dollars=0.0)
"""What a reply costs: no model reads or writes a token."""


class FakeModel(Model):
    """Answers by rules: the same scripts as those of ``passhat fake-claude``.

    Args:
        script: What is answered when.
        spec: As the user wrote it.
    """

    synthetic = True

    def __init__(self, script: Script, spec: str) -> None:
        self.spec = spec
        self._script = script

    @classmethod
    def from_options(cls, name: str, options: Mapping[str, str]) -> FakeModel:
        """The model of a spec.

        Raises:
            UsageError: There is an option, or the file holds no script.
        """
        read = OptionReader(f"fake:{name}", options, ("record",))
        return cls(Script.load(Path(name)), read.spec)

    async def complete(self, request: Request) -> Reply:
        """The answer of the first rule that fits.

        Raises:
            RunStoppedError: None does.
        """
        try:
            reply = self._script.reply(request.messages, request.system)
        except UsageError as error:
            raise RunStoppedError(f"{self.spec}: {error}") from None
        return replace(reply, usage=NOTHING)
