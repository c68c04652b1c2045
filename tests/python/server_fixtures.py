"""Fixtures of the server's tests, a pytest plugin: a server process, a workspace, a big snapshot."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.bench.generate import generate
from tests.python.lsp_client import LspClient


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "code").mkdir(parents=True)
    lines = [f"# line {number}" for number in range(1, 40)]
    lines[8] = "def step():"
    lines[28] = "def main():"
    (folder / "code" / "train.py").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def cache_folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def own_server(workspace: Path, cache_folder: Path) -> Iterator[LspClient]:
    """A server process for one test."""
    with LspClient() as client:
        client.start(workspace, {"cache_directory": str(cache_folder)})
        yield client
    assert "Traceback" not in client.stderr.decode(), client.stderr.decode()


@pytest.fixture
def server(
    running_server: Callable[[], LspClient], workspace: Path, cache_folder: Path
) -> Iterator[LspClient]:
    """The server process of all tests: it is empty for each test, with that test's workspace and archives."""
    client = running_server()
    client.enter(workspace, {"cache_directory": str(cache_folder)})
    yield client
    client.leave()
    assert "Traceback" not in client.stderr.decode(), client.stderr.decode()


@pytest.fixture(scope="session")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], LspClient]]:
    """A server process for all tests, because starting one takes a second; another one if a test ended it."""
    folder = tmp_path_factory.mktemp("server")
    with contextlib.ExitStack() as started:
        clients: list[LspClient] = []

        def running() -> LspClient:
            if not clients or clients[-1].process.poll() is not None:
                clients.append(started.enter_context(LspClient()))
                clients[-1].start(folder, {"cache_directory": str(folder / "cache")})
            return clients[-1]

        yield running


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of about 70 MB, which takes a second to read."""
    # one for all of pytest-xdist's processes, because making it takes seconds
    own = tmp_path_factory.getbasetemp()
    path = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "big.pickle"
    if not path.exists():
        generate(own / "being-made.pickle", 400_000)
        (own / "being-made.pickle").rename(path)
    assert path.stat().st_size > 60e6
    return path
