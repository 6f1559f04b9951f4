"""The command line. Every command imports what it needs when it is called, so that --help is fast.

Exit codes: 0 fine; 1 a bug in passhat; 2 the request cannot be met as it is; 3 infrastructure (the
store, or too many trials lost); 130 interrupted.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
import typer.core
import typer.main

from . import browse
from .curve import curve
from .diff import diff
from .export import export
from .fake_claude import fake_claude
from .fidelity import fidelity
from .gate import gate
from .importing import import_
from .mcp_stdio import mcp_stdio
from .play import play
from .power import power
from .regrade import regrade
from .reliability import reliability
from .replay import replay
from .report import report
from .run import resume, run
from .show import show
from .view import view

FINE, BUG, USAGE, INFRASTRUCTURE, INTERRUPTED = 0, 1, 2, 3, 130


class Command(typer.core.TyperCommand):
    """A command whose help keeps the examples of its docstring one to a line."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the docstring; its examples as they stand."""
        text, _, examples = inspect.cleandoc(self.help or "").partition("For example:")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text.strip())
        with formatter.section("For example"):
            for line in filter(None, map(str.strip, examples.splitlines())):
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")


app = typer.Typer(
    name="passhat",
    help="Measure whether a customer-service agent can be relied on: episodes, grades, pass^k.",
    epilog="Start with: passhat run retail --agent slippery:0.05 --trials 8",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (
    run,
    resume,
    curve,
    diff,
    power,
    gate,
    show,
    report,
    view,
    browse.runs,
    browse.domains,
    browse.tasks,
    browse.agents,
    browse.users,
    play,
    reliability,
    regrade,
    replay,
    fidelity,
    export,
    fake_claude,
    mcp_stdio,
):
    app.command(cls=Command)(command)
app.command("import", cls=Command)(import_)


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Measure whether a customer-service agent can be relied on: episodes, grades, pass^k."""
    if version:
        from importlib import metadata

        typer.echo(metadata.version("passhat"))
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script: runs a command; whatever goes wrong is one line on stderr.

    Args:
        arguments: Of the command line; by default those of this process.
    """
    code = _run(sys.argv[1:] if arguments is None else list(arguments))
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, e.g. head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    from ..errors import InfrastructureError, PasshatError

    if os.environ.get("PASSHAT_DEBUG") == "1":
        return _invoke(arguments)
    try:
        return _invoke(arguments)
    except InfrastructureError as error:
        return _complain(error, INFRASTRUCTURE)
    except PasshatError as error:
        return _complain(error, USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return FINE
    except OSError as error:
        where = f": {error.filename!r}" if error.filename else ""
        return _complain(f"{error.strerror or error}{where}", USAGE)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return _complain(f"a bug in passhat: {what}; PASSHAT_DEBUG=1 shows where", BUG)


def _invoke(arguments: list[str]) -> int:
    """Call the command; what is wrong with the command line itself is said like everything else."""
    command = typer.main.get_command(app)
    try:
        code = command.main(arguments, prog_name="passhat", standalone_mode=False)
    except Exception as error:
        format_message = getattr(error, "format_message", None)  # typer's own errors have one
        if format_message is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(format_message(), err=True)
            return USAGE
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "passhat"
        return _complain(f"{format_message().rstrip('.')}; see {path} --help", USAGE)
    return code if isinstance(code, int) else FINE


def _complain(what: object, code: int) -> int:
    from ..harness.sources import printable

    line = printable(" ".join(str(what).split()))
    print(f"passhat: {line}", file=sys.stderr)
    return code
