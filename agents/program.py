"""A program that is run for one conversation: what it prints is kept aside, and no child stays."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

TAIL_BYTES: Final = 1_500
"""How much of what a program printed last is kept, to be shown when it fails."""

_MARK: Final = "PASSHAT_PROGRAM"
"""An environment variable by which descendants are known that left the process group."""


class _Tail(asyncio.Protocol):
    """Takes everything that comes through a pipe, and remembers the end of it."""

    def __init__(self) -> None:
        self.kept = b""

    def data_received(self, data: bytes) -> None:
        self.kept = (self.kept + data)[-TAIL_BYTES:]


class Program:
    """A running program, in a process group of its own.

    It gets no input, and stdout and stderr go into one pipe: stdout of ours is for results.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        pipe: asyncio.ReadTransport,
        tail: _Tail,
        mark: str,
    ) -> None:
        self._process = process
        self._pipe = pipe
        self._tail = tail
        self._mark = mark

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str]) -> Program:
        """Start a command, with these environment variables beside our own.

        Raises:
            OSError: It cannot be started.
        """
        loop = asyncio.get_running_loop()
        mark = secrets.token_hex(16)
        reading, writing = os.pipe()
        try:
            pipe, tail = await loop.connect_read_pipe(_Tail, os.fdopen(reading, "rb"))
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=writing,
                    stderr=writing,
                    env={**os.environ, **env, _MARK: mark},
                    start_new_session=True,
                )
            except BaseException:
                pipe.close()
                raise
        finally:
            os.close(writing)
        return cls(process, pipe, tail, mark)

    async def wait(self, seconds: float | None = None) -> int | None:
        """Its exit code, once it has ended; None if it has not after so many seconds."""
        with suppress(TimeoutError):
            return await asyncio.wait_for(self._process.wait(), seconds)
        return None

    @property
    def printed(self) -> str:
        """The end of what it printed, for a message; "" if it printed nothing."""
        text = self._tail.kept.decode("utf-8", "replace").strip()
        return f"; it printed last: {' | '.join(text.splitlines()[-8:])}" if text else ""

    async def kill(self) -> None:
        """End it with all its children, and let go of the pipe."""
        try:
            if hasattr(os, "killpg"):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            elif self._process.returncode is None:
                self._process.kill()
            await self._process.wait()
            for pid in _descendants(self._mark):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        finally:
            self._pipe.close()


def _descendants(mark: str) -> Iterator[int]:
    """The processes that inherited this mark; none where the system has no ``/proc``."""
    wanted = f"{_MARK}={mark}".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or is somebody else's
            if wanted in environment.read_bytes().split(b"\0"):
                yield int(environment.parent.name)
