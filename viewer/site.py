"""The site: what every page needs, opened once."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import InfrastructureError, UsageError
from ..harness.labels import Labels
from ..harness.opening import open_engine
from ..harness.store import DEFAULT_STORE, Store
from .figures import Desk
from .index import Index, index_file, store_file
from .policies import Policies, spec_of
from .queries import Kept, Key, Queries, Wanted
from .rendering import compile_all, render
from .replays import Replays


class Site:
    """A store, and everything that pages are made of. Made by `open_site`.

    Attributes:
        store: The store.
        queries: Questions to it.
        index: What its transcripts say.
        desk: The figures of runs.
        labels: What people say about trials.
        replays: Results of `passhat replay`, to be shown beside.
        policies: What agents had to obey.
        person: Who labels; "" if each browser says so itself.
        why_no_labels: Why labels cannot be given; "" if they can.
        token: What every form of ours holds.
        orders: In which order trials are labelled.
        opened: Trials whose grade a person may have seen, so that a label is no longer blind;
            by "", somebody who gave no name yet.
    """

    def __init__(
        self, store: Store, labels: Labels, queries: Queries, index: Index, replays: Replays
    ) -> None:
        self.store = store
        self.labels = labels
        self.queries = queries
        self.index = index
        self.desk = Desk(queries, index)
        self.replays = replays
        self.policies = Policies()
        self.person = ""
        self.why_no_labels = ""
        self.token = secrets.token_urlsafe(24)
        self.orders = Kept(4)
        self.opened: set[tuple[str, str, str, int]] = set()
        self._file = store_file(index.engine)
        self._identity = _identity(self._file)

    def seen_by(self, person: str, run: str) -> set[Key]:
        """The trials of a run whose grade this person may have seen.

        What was opened without a name counts for everybody: it may have been anybody.
        """
        return {(t, n) for who, r, t, n in self.opened.copy() if r == run and who in ("", person)}

    def check(self) -> None:
        """Make sure that the store is still the file that was opened.

        Raises:
            InfrastructureError: It is gone, or another one has its place: what is read would be
                old, and a label would be written where nobody finds it.
        """
        if _identity(self._file) != self._identity:
            raise InfrastructureError(
                f"the store {self.store.name!r} was removed, or another file has taken its place, "
                "since this viewer was started: start passhat view again"
            )

    def warm(self) -> None:
        """Prepare in the background what the first pages would wait for."""
        threading.Thread(target=self._warm, name="warm", daemon=True).start()

    def _warm(self) -> None:
        compile_all()
        with suppress(Exception):  # whoever needs it will be told
            for run in self.queries.runs(Wanted(), 1)[0][:1]:
                self.policies.warm(spec_of(run))

    def close(self) -> None:
        """Stop following the store, and close it."""
        self.index.close()
        self.store.close()

    def render(self, template: str, **values: Any) -> str:
        """A page or a part of one."""
        return render(template, {"site": self} | values)


def _identity(file: Path | None) -> tuple[int, int] | None:
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def open_site(where: str | None = None, *, person: str = "", replays: Sequence[Path] = ()) -> Site:
    """Open a store for viewing; labels are kept in it if it can be written.

    Args:
        where: A path or a database URL; None: the default store.
        person: Who labels; "": each browser says so itself.
        replays: Files that ``passhat replay --json`` wrote.

    Raises:
        UsageError: There is no such store, or a file is no such result.
        InfrastructureError: The database does not answer.
    """
    shown = Replays.read(replays)
    text = where or os.environ.get("PASSHAT_STORE") or DEFAULT_STORE
    why = ""
    try:
        engine, name = open_engine(text, write=True, create=False)
    except UsageError as error:
        engine, name = open_engine(text, write=False, create=False)
        why = str(error)
    store = Store(engine, name)
    try:
        store.prepare(False)
        index = Index(engine, *index_file(engine))
    except BaseException:
        store.close()
        raise
    site = Site(store, Labels(engine, name), Queries(engine, store), index, shown)
    site.person, site.why_no_labels = person, why
    return site
