"""What tests of the viewer share: a store with a real run, and a viewer that serves it."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import copyfile

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from viewing import RETAIL, Open, Reader, Serve, made_store, serving

from passhat.viewer.site import Site, open_site


@pytest.fixture(scope="session")
def retail_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run of a synthetic agent on some retail tasks; to be copied, not changed."""
    path = tmp_path_factory.mktemp("retail") / "store.sqlite"
    made_store(path, RETAIL)
    return path


@pytest.fixture
def store_file(retail_store: Path, tmp_path: Path) -> Path:
    """A copy of that store."""
    path = tmp_path / "store.sqlite"
    copyfile(retail_store, path)
    return path


@contextmanager
def openings() -> Iterator[Open]:
    """Open sites that are closed at the end; their index is complete."""
    with ExitStack() as stack:

        def opened(path: Path, *, person: str = "", replays: tuple[Path, ...] = ()) -> Site:
            site = open_site(str(path), person=person, replays=replays)
            stack.callback(site.close)
            site.index.catch_up()
            return site

        yield opened


@pytest.fixture
def opening() -> Iterator[Open]:
    """Open sites that are closed when the test ends."""
    with openings() as opened:
        yield opened


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve sites over real HTTP until the test ends."""
    with ExitStack() as stack:

        def served(site: Site) -> Reader:
            return stack.enter_context(serving(site))

        yield served


@pytest.fixture(scope="module")
def site(retail_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The store, opened for tests that change nothing in it."""
    path = tmp_path_factory.mktemp("site") / "store.sqlite"
    copyfile(retail_store, path)
    with openings() as opened:
        yield opened(path)


@pytest.fixture(scope="module")
def port(site: Site) -> Iterator[int]:
    """Where that site is served."""
    with serving(site) as reader:
        yield reader.port


@pytest.fixture
def reader(port: int) -> Reader:
    """Somebody who reads that site."""
    return Reader(port)
