"""Archives of heap dumps whose checksums are right and whose contents aren't: nothing hangs or crashes."""

import contextlib
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.fuzz.wrong_columns import CORPUS, FILLINGS, copied, graph_columns, is_wrong, outcome, overwrite
from tests.python.command_line import memlens

from memlens.cli.ask import ask
from memlens.cli.command_line import parse
from memlens.ingest import ingest
from memlens.model.timeline import NEVER
from memlens.store.files.cache import Cache
from memlens.store.manifest import InconsistentError
from memlens.store.objects.walks import dominators_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables.fill import fill, remove
from memlens.views.findings.ahead import findings
from memlens.views.heap.reachable import shortest_paths as shortest
from memlens.views.heap.reachable.shortest_paths import SHORTEST_PATHS, ShortestPaths, shortest_paths

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="questions are asked in processes that are forked"
)

FILE = CORPUS / "small.hprof"
_TREES = ("object_dominator", "object_dominated", "object_dominated_start", "object_group", "compact_first")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingest(FILE, Cache(tmp_path_factory.mktemp("wrong")), lambda *_: None)


def check(archive: Path, folder: Path, name: str, filling: str) -> None:
    copy = copied(archive, folder)
    overwrite(copy, name, FILLINGS[filling])
    said = outcome(copy, archive)
    assert not is_wrong(said), f"{name}, {filling}: {said}"


@pytest.mark.slow
@pytest.mark.parametrize("filling", ["zeros", "itself", "reversed"])
@pytest.mark.parametrize("name", _TREES)
def test_walks_along_a_tree_end(archive: Path, tmp_path: Path, name: str, filling: str) -> None:
    check(archive, tmp_path, name, filling)


def test_a_node_can_not_be_its_own_child(tmp_path: Path) -> None:
    """In a dump with more than one type on a way down."""
    found = ingest(CORPUS / "images.hprof", Cache(tmp_path), lambda *_: None)
    for name in ("compact_first", "compact_last"):
        check(found, tmp_path, name, "zeros")
        with contextlib.closing(Snapshot.open(tmp_path / "copy")) as snapshot:
            for column in ("first", "last"):
                with pytest.raises(InconsistentError, match="children of none or of several"):
                    getattr(snapshot.compact, column)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.nightly) for part in range(1, 8))]
)
def test_every_column_of_a_graph_may_be_wrong(archive: Path, tmp_path: Path, part: int) -> None:
    """Each in one way; ``npm run fuzz -- --columns`` tries all ways."""
    each = list(zip(graph_columns(archive), itertools.cycle(FILLINGS), strict=False))[part::8]
    assert each
    for name, filling in each:
        check(archive, tmp_path, name, filling)


@pytest.mark.parametrize("filling", ["zeros", "itself"])
def test_a_command_reads_the_file_again(tmp_path: Path, filling: str) -> None:
    options = parse(["types", str(FILE), "--cache-dir", str(tmp_path)])

    def question(snapshot: Snapshot) -> list[int]:
        numbers = np.flatnonzero(snapshot.objects.distance != NEVER)
        found: list[int] = dominators_of(snapshot.objects, numbers).tolist()
        return found

    first = ask(options, question)
    (own,) = tmp_path.iterdir()
    overwrite(own, "object_dominator", FILLINGS[filling])
    assert ask(options, question) == first


@pytest.mark.parametrize(("file", "sizes"), [
    ("everything.pickle", "0.size"), ("service.heaptrack.zst", "sample_value.0"),
])  # fmt: skip
def test_columns_of_traces_and_profiles_may_be_wrong(tmp_path: Path, file: str, sizes: str) -> None:
    found = ingest(CORPUS / file, Cache(tmp_path), lambda *_: None)
    copy = copied(found, tmp_path)
    overwrite(copy, sizes, FILLINGS["zeros"])
    with contextlib.closing(Snapshot.open(copy)) as snapshot:
        assert findings(snapshot, None, 100) is not None
    copy = copied(found, tmp_path)
    overwrite(copy, "line_frame", FILLINGS["zeros"])
    with (
        contextlib.closing(Snapshot.open(copy)) as snapshot,
        pytest.raises(InconsistentError, match="Rows of"),
    ):
        fill(snapshot, lambda *_: None)


@pytest.mark.parametrize(("name", "query"), [
    ("type_shallow", "SELECT sum(shallow_bytes) FROM types"),
    ("reference_target", "SELECT count(*) FROM objects AS o, paths_to(o.object)"),
])  # fmt: skip
def test_sql_reads_the_file_again(tmp_path: Path, name: str, query: str) -> None:
    command = ("sql", FILE, query, "--cache-dir", tmp_path)
    right = memlens(*command).stdout
    (own,) = tmp_path.iterdir()
    remove(own)
    overwrite(own, name, FILLINGS["largest" if name == "type_shallow" else "reversed"])
    again = memlens(*command)
    assert again.stdout == right
    assert memlens(*command).stderr == ""


@pytest.mark.parametrize("name", ShortestPaths._fields)
def test_a_kept_tree_of_shortest_paths_that_is_no_tree_is_made_again(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    copy = copied(archive, tmp_path)

    def tree() -> dict[str, list[int]]:
        with contextlib.closing(Snapshot.open(copy)) as snapshot:
            return {key: column.tolist() for key, column in shortest_paths(snapshot)._asdict().items()}

    right, is_checked = tree(), name in ("begin", "member", "group", "first", "last")
    for filling in FILLINGS.values():
        with contextlib.closing(Snapshot.open(copy)) as snapshot:
            own = shortest._make(snapshot)
            wrong = filling(np.array(getattr(own, name))).view(getattr(own, name).dtype)
            monkeypatch.setattr(
                shortest, "_make", lambda _, own=own, wrong=wrong: own._replace(**{name: wrong})
            )
            SHORTEST_PATHS.write(snapshot)
            monkeypatch.undo()
        found = tree()
        # amounts aren't evidence for anything, and cost no more than a figure
        assert found == right or not is_checked or found[name] == wrong.tolist()
        assert len(found["first"]) == len(right["first"])
        with contextlib.closing(Snapshot.open(copy)) as snapshot:
            assert shortest_paths(snapshot).is_tree_of(snapshot)
        SHORTEST_PATHS.drop(copy)
