"""`passhat view`: a store as web pages on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def view(
    store: Annotated[
        str | None,
        typer.Argument(
            metavar="STORE",
            help="A file, or a database URL. [default: $PASSHAT_STORE, else passhat.sqlite here]",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="By default the first free one from 8642 on."),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; by default this machine alone.")] = (
        "127.0.0.1"
    ),
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Let --host be one that other machines reach."),
    ] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    person: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Who labels, whatever the browser says.")
    ] = "",
    replay: Annotated[
        list[Path] | None,
        typer.Option(
            "--replay", metavar="FILE", help="What passhat replay --json wrote; repeatable."
        ),
    ] = None,
) -> None:
    """Read runs, conversations and failures in the browser; label them; search them.

    The address is printed, and opened if there is a display. Ctrl-C ends it. Nobody but this
    machine can ask, and no page loads anything from elsewhere.

    For example:
        passhat view

        passhat view team.sqlite --port 9000 --no-browser

        passhat view --replay replay.json --as Ana
    """
    from ..viewer.server import need_packages, serve
    from ..viewer.site import open_site

    need_packages()
    site = open_site(store, person=person.strip(), replays=replay or ())
    try:
        serve(
            site,
            host=host,
            port=port,
            allow_remote=allow_remote,
            browser=not no_browser,
            say=lambda address: typer.echo(f"{address}  (Ctrl-C ends it)"),
        )
    finally:
        site.close()
