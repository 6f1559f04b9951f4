"""stdout is for results: what agents print while a run goes on must not get between them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Final

_STDOUT: Final = 1
_STDERR: Final = 2


@contextmanager
def clean_stdout() -> Iterator[None]:
    """While it is entered, whatever is printed goes to stderr.

    Not only by Python: by C code and by programs that are started, too, since they write to the
    descriptor. For the command line only: it is the descriptor of the whole process.
    """
    sys.stdout.flush()
    try:
        kept = os.dup(_STDOUT)
    except OSError:  # closed: nothing printed gets anywhere
        yield
        return
    with suppress(OSError):
        os.dup2(_STDERR, _STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).fflush(None)  # C keeps back what goes to a pipe
        os.dup2(kept, _STDOUT)
        os.close(kept)
