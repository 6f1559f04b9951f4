"""Ctrl-C and SIGTERM: the first asks to stop, the second abandons what runs, the third insists."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While it is entered, signals become calls; outside the main thread it does nothing.

    A handler of Python's, not of asyncio's: it runs even while an agent that never waits holds the
    loop, so that the third Ctrl-C ends that one too.

    Args:
        stop: Called at the first signal.
        abandon: Called at the second. The third raises KeyboardInterrupt wherever we are.
    """

    def __init__(self, stop: Callable[[], object], abandon: Callable[[], object]) -> None:
        self.count = 0
        self._calls = (stop, abandon)
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > len(self._calls):
            raise KeyboardInterrupt
        self._calls[self.count - 1]()
