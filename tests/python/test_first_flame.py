"""The flame graph that a snapshot opens with: read from the archive, it equals the computed one."""

import contextlib
import logging
import os
import pickle
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from tests.python.conftest import ROOT, event, frame, real_files, real_profiles
from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view, wait_until, write_snapshot
from tests.python.test_flame import laid_out, nodes_of
from tests.python.tries import tries

from memlens.ingest import ingest
from memlens.kernels.tree import calltree as kernel
from memlens.model.frames import is_remark
from memlens.progress import Report
from memlens.store.artefacts import read_columns, write_columns
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.views.flame import calltree
from memlens.views.flame import first as first_flame
from memlens.views.flame import graph as flame
from memlens.views.flame import tables as flame_tables
from memlens.views.flame.calltree import CallTree, FlameOptions, Nodes
from memlens.views.naming.frame_names import frame_names
from memlens.views.selection import items
from memlens.views.selection.columns import NEVER
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groups import Branch, groups

pytest_plugins = ("tests.python.server_fixtures",)

FILES = [
    ROOT / "samples" / "train.pickle",
    ROOT / "samples" / "words.pb.gz",
    *real_files("niu__forward_memory_snapshot_100*"),
    *real_profiles("heaptrack/heaptrack.node.zst", "pprof/go-heap.pb.gz", "massif/*"),
]
OPTIONS = FlameOptions()


def first_of(snapshot: Snapshot) -> CallTree:
    info = snapshot.info
    return flame.tree_of(snapshot, first_flame.opening_set(info), "bytes", first_flame.opening_options(info))


READ: list[CallTree] = []
"""The trees that were read in the current test."""


@pytest.fixture(autouse=True)
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    read = first_flame.read

    def noted(path: Path, snapshot: Snapshot, make: Callable[[], Nodes]) -> CallTree:
        READ.append(read(path, snapshot, make))
        return READ[-1]

    monkeypatch.setattr(first_flame, "read", noted)
    yield
    READ.clear()


def is_read(tree: CallTree) -> bool:
    return any(tree is each for each in READ)


def again(snapshot: Snapshot) -> Snapshot:
    return Snapshot.open(snapshot.archive)


def everything(snapshot: Snapshot) -> list[Any]:
    """Answers of each kind about the tree, at places spread over it."""
    tree = first_of(snapshot)
    found: list[Any] = [
        flame.picture(tree, x0, x1, depth, rows, 900, search)
        for x0, x1 in ((0, 1), (0.25, 0.5), (0.999, 1))
        for depth, rows, search in ((0, 100, ""), (2, 4, "a"))
    ]
    of, options = first_flame.opening_set(snapshot.info), first_flame.opening_options(snapshot.info)
    some = spread(nodes_of(tree))
    found += [flame_tables.children(tree, node, 0, 100) for node in some]
    found += [flame_tables.details(snapshot, of, "bytes", options, node) for node in some]
    found += [flame_tables.functions(tree, order, 0, 1000) for order in ("inclusive", "self", "name")]
    found += [flame_tables.search(tree, text) for text in ("e", "main", "no stack")]
    named = int(tree.name[some[min(3, len(some) - 1)]])
    if named != NEVER:
        for asked in (
            FlameOptions(focus=named),
            FlameOptions(hide=(named,)),
            FlameOptions() if options.collapse else FlameOptions(collapse=("*",)),
        ):
            other = flame.tree_of(snapshot, of, "bytes", asked)
            found.append(flame.picture(other, 0, 1, 0, 100, 900))
    return found


def remarks(tree: CallTree) -> set[str]:
    """Remarks of readers in place of frames, which belong to no package."""
    names = tree.names.names(np.unique(tree.name[1:]).tolist())
    return {name.function for name in names if not name.file and is_remark(name.function)}


def spread(nodes: list[int]) -> list[int]:
    """The first few nodes, and some up to the last."""
    return sorted({*nodes[:12], *nodes[:: max(len(nodes) // 40, 1)], nodes[-1]})


def with_nothing(path: Path) -> Path:
    """A trace with allocations of no bytes at all, alone and below others."""
    main, step, leaf = (
        frame("/x/a.py", line, name) for line, name in ((1, "main"), (2, "step"), (3, "leaf"))
    )
    trace = [event("alloc", 4096, 100, step, main), event("alloc", 8192, 0, leaf, step, main)]
    trace += [event("alloc", 16384, 0, leaf, leaf), event("alloc", 20480, 30), event("alloc", 24576, 7, main)]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}, protocol=4))
    return path


@pytest.mark.parametrize("path", [*FILES, None], ids=lambda path: "nothing" if path is None else path.name)
def test_the_stored_tree_equals_the_computed_one(
    path: Path | None, opened: Callable[[Path], Snapshot], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = opened(with_nothing(tmp_path / "nothing.pickle") if path is None else path)
    made = first_of(snapshot)
    assert not is_read(made)
    assert (path is None) == bool((made.widths[nodes_of(made)] == 0).any())
    expected = everything(snapshot)
    assert not (snapshot.archive / flame.FIRST_FLAME.name).exists(), "the answer comes first"
    snapshot.work_in_background()
    views = [
        (x0, x1, depth, rows, width)
        for x0, x1 in ((0, 1), (0.1, 0.6), (0.98, 1))
        for depth, rows in ((0, 100), (3, 2))
        for width in (80, 1600, 4000)
    ]
    with contextlib.closing(again(snapshot)) as other:
        with monkeypatch.context() as without:
            # pictures of large parts don't need the data that it was made from
            without.setattr(flame, "drawn_stacks", None)
            without.setattr(kernel, "merge", None)
            read = first_of(other)
            assert is_read(read)
            for view in views:
                if view[4] <= 4000 * (view[1] - view[0]):
                    assert flame.picture(read, *view) == flame.picture(made, *view)
        for view in views:
            assert flame.picture(read, *view) == flame.picture(made, *view)
        for column in ("name", "widths", "parents", "inclusive", "ends"):
            one, two = getattr(made, column), getattr(read, column)
            assert one.dtype == two.dtype
            assert np.array_equal(one, two), column
        assert everything(other) == expected
        names = frame_names(other)
        assert np.array_equal(names.merged("line"), frame_names(snapshot).merged("line"))
        assert np.array_equal(names.package_numbers(), made.names.package_numbers())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_numbers_and_places_follow_from_the_stacks(path: Path, opened: Callable[[Path], Snapshot]) -> None:
    """A node's number is the same in each set and order; its children are consecutive, in order."""
    snapshot = opened(path)
    of = first_flame.opening_set(snapshot.info)
    first = first_flame.opening_options(snapshot.info)
    whole = flame.tree_of(snapshot, of, "bytes", first)
    assert remarks(whole) == remarks(flame.tree_of(snapshot, of, "bytes", FlameOptions()))
    turned = FlameOptions(direction="bottom_up", merge="line")
    for options in (first, structs.replace(first, order="time"), turned):
        tree = flame.tree_of(snapshot, of, "bytes", options)
        if options.direction == "top_down":
            assert np.array_equal(tree.parents, whole.parents)
            assert np.array_equal(tree.name, whole.name)
        assert (tree.parents[1:] < np.arange(1, len(tree))).all()
        listed = sorted(laid_out(tree))
        assert listed == [0, *(np.flatnonzero(tree.widths[1:] > 0) + 1).tolist()]
        for node in spread(listed):
            children = tree.children(node).tolist()
            assert {int(tree.parents[child]) for child in children} <= {node}
            keys = [(-int(tree.widths[child]), int(tree.name[child])) for child in children]
            assert options.order == "time" or all(one < two for one, two in pairwise(keys))


def test_all_requests_use_the_same_tree(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    info = snapshot.timeline.devices[0]
    tree = first_of(snapshot)
    same = [AllocationSet(0, "freed"), AllocationSet(0, from_moment=info.peak_moment)]
    assert all(flame.tree_of(snapshot, of, "bytes", OPTIONS) is tree for of in same)
    profile = opened(ROOT / "samples" / "words.pb.gz")
    default = profile.profile.default_value
    tree = first_of(profile)
    assert flame.tree_of(profile, AllocationSet(0, value=default), "bytes", OPTIONS) is tree
    profile.work_in_background()
    snapshot.work_in_background()
    with contextlib.closing(again(profile)) as read, contextlib.closing(again(snapshot)) as other:
        assert is_read(flame.tree_of(read, AllocationSet(0, value=default), "bytes", OPTIONS))
        for archive, of, value, options in (
            (
                read,
                AllocationSet(0, value=(default + 1) % len(profile.profile.values)),
                "bytes",
                OPTIONS,
            ),
            (read, AllocationSet(0), "count", OPTIONS),
            (other, AllocationSet(0, from_moment=info.events), "bytes", OPTIONS),
            (other, AllocationSet(0, from_moment=0, to_moment=info.events), "bytes", OPTIONS),
            (other, AllocationSet(0, filter="size>1KiB"), "bytes", OPTIONS),
            (other, AllocationSet(0), "bytes", FlameOptions(merge="line")),
        ):
            assert not is_read(flame.tree_of(archive, of, value, options))


Columns = dict[str, Any]


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[Columns], Columns]:
    return lambda columns: {**columns, name: change(columns[name])}


def one(column: Any, place: int, value: int) -> Any:
    found = column.astype(np.uint64)
    found[place] = value
    return found


HOSTILE: dict[str, Callable[[Columns], Columns]] = {
    "a name there isn't": changed("name", lambda c: one(c, 0, 2**31)),
    "a name beyond 32 bits": changed("name", lambda c: one(c, 0, 2**40)),
    "a number beyond 32 bits": changed("number", lambda c: one(c, 1, 2**40)),
    "more beyond 32 bits": changed("more", lambda c: one(c, 1, 2**40)),
    "more than the whole": changed("more_bytes", lambda c: one(c, 1, 2**61)),
    "more than there is": changed("more_bytes", lambda c: one(c, 1, 137)),
    "a parent after its child": changed("parent", lambda c: one(c, 0, 1)),
    "a parent beyond 32 bits": changed("parent", lambda c: one(c, 0, 2**32)),
    "no root": lambda cs: {k: c if k.startswith(("frame", "deep")) else c[:0] for k, c in cs.items()},
    "wider than its parent": changed("bytes", lambda c: one(c, 1, int(c[0]) + 1)),
    "siblings wider than their parent": changed("bytes", lambda c: one(c, len(c) - 1, int(c[0]))),
    "too wide": changed("bytes", lambda c: one(c, 0, 2**62)),
    "less than nothing": changed("bytes", lambda c: one(c, 0, 2**64 - 1)),
    "fewer bytes": changed("bytes", lambda c: c[:-1]),
    "fewer names": changed("name", lambda c: c[:-1]),
    "fewer parents": changed("parent", lambda c: c[:-1]),
    "no depth": changed("deepest", lambda c: c[:0]),
    "an unknown package": changed("frame_package", lambda c: one(c, 0, 500).astype(np.uint16)),
    "an unknown function": changed("frame_function", lambda c: one(c, 0, 500).astype(np.uint16)),
    "fewer frames": lambda cs: {k: c[:-1] if k.startswith("frame_") else c for k, c in cs.items()},
    "a column less": lambda cs: {k: c for k, c in cs.items() if k != "more"},
    "signed": changed("more", lambda c: c.astype(np.int64)),
    "fractions": changed("bytes", lambda c: c.astype(np.float64)),
}  # fmt: skip


def put(snapshot: Snapshot, columns: Columns, packages: list[str]) -> None:
    """Replace the archive's tree by another one with a valid seal."""
    flame.FIRST_FLAME.drop(snapshot.archive)

    def make(_snapshot: Snapshot, path: Path, _report: Report) -> None:
        write_columns(path, columns, packages)

    flame.FIRST_FLAME._replace(make=make).write(snapshot)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_tree_is_rebuilt(name: str, opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    snapshot = opened(with_nothing(tmp_path / "a.pickle"))
    expected = everything(snapshot)
    snapshot.work_in_background()
    columns, packages = read_columns(snapshot.archive / flame.FIRST_FLAME.name)
    put(snapshot, HOSTILE[name](columns), packages)
    with contextlib.closing(again(snapshot)) as other:
        assert not is_read(first_of(other))
        assert everything(other) == expected
        other.work_in_background()
    with contextlib.closing(again(snapshot)) as mended:
        assert is_read(first_of(mended))
        assert everything(mended) == expected


def test_trees_with_other_packages_are_not_used(opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    snapshot = opened(with_nothing(tmp_path / "a.pickle"))
    first_of(snapshot)
    snapshot.work_in_background()
    columns, known = read_columns(snapshot.archive / flame.FIRST_FLAME.name)
    for packages in ([], ["mine", *known[1:]], [*known, *map(str, range(1000))]):
        put(snapshot, columns, packages)
        with contextlib.closing(again(snapshot)) as other:
            frame_names(other)
            assert not is_read(first_of(other))


@pytest.mark.slow
def test_trees_with_flipped_bits_or_truncated_still_answer(
    opened: Callable[[Path], Snapshot], sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = opened(sample)
    everything(snapshot)
    snapshot.work_in_background()
    path = snapshot.archive / flame.FIRST_FLAME.name
    whole, rng = path.read_bytes(), np.random.default_rng(5)
    monkeypatch.setattr(logging.getLogger("memlens"), "disabled", True)
    made = 0
    for number in range(tries(120)):
        data = bytearray(whole)
        if number % 5 == 0:
            data = data[: int(rng.integers(0, len(data)))]
        else:
            for place in rng.integers(0, len(data), 1 + number % 3).tolist():
                data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        with contextlib.closing(again(snapshot)) as other:
            other.ask(everything)
            made += not is_read(other.ask(first_of))
    assert made == tries(120), "its checksum covers the whole file"


def test_another_version_is_rebuilt(
    opened: Callable[[Path], Snapshot], sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = opened(sample)
    first_of(snapshot)
    snapshot.work_in_background()
    monkeypatch.setattr(
        flame, "FIRST_FLAME", flame.FIRST_FLAME._replace(version=flame.FIRST_FLAME.version + 1)
    )
    for expected in (False, True):
        with contextlib.closing(again(snapshot)) as other:
            assert is_read(first_of(other)) == expected
            other.work_in_background()


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks for maps in /proc")
def test_the_file_is_not_kept_open(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    first_of(snapshot)
    snapshot.work_in_background()
    with contextlib.closing(again(snapshot)) as other:
        assert is_read(first_of(other))
        everything(other)
        assert flame.FIRST_FLAME.name not in Path("/proc/self/maps").read_text("utf-8")


def test_the_file_appears_complete_and_counts_for_the_cache(
    cache: Cache, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = ingest(sample, cache, lambda *_: None)
    kept, left = archive / flame.FIRST_FLAME.name, archive / f"{flame.FIRST_FLAME.name}.partial-999999999"
    before = sum(file.stat().st_size for file in archive.iterdir())
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        with monkeypatch.context() as ended:

            def end(*_: Any) -> None:
                assert not kept.exists()
                raise OSError(28, os.strerror(28))

            ended.setattr(Path, "replace", end)
            picture = flame.picture(first_of(snapshot), 0, 1, 0, 100, 900)
            snapshot.work_in_background()
        # a full disk leaves the archive as it was
        assert sum(file.stat().st_size for file in archive.iterdir()) == before
        # leftovers of a killed process are removed at the next writing, or when the cache is examined
        left.write_bytes(b"x")
        cache.evict()
        assert not left.exists()
        left.write_bytes(b"x")
        flame.FIRST_FLAME.write(snapshot)
        assert not left.exists()
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        assert is_read(first_of(snapshot))
        assert flame.picture(first_of(snapshot), 0, 1, 0, 100, 900) == picture
    size = before + kept.stat().st_size
    Cache(cache.folder, size, spared_s=0).evict()
    assert archive.exists()
    Cache(cache.folder, size - 1, spared_s=0).evict()
    assert not archive.exists()


@pytest.mark.slow
def test_a_server_stores_it_and_the_next_one_answers_the_same(
    workspace: Path, cache_folder: Path, tmp_path: Path
) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    answers = []
    for number in range(2):
        with LspClient() as server:
            server.start(workspace, {"cache_directory": str(cache_folder)})
            asked = {
                "snapshot": open_view(server, path)["snapshot"], "of": {"device": 0}, "value": "bytes",
                "options": {},
            }  # fmt: skip
            assert len(list(cache_folder.rglob(flame.FIRST_FLAME.name))) == number
            view = {"x0": 0.0, "x1": 1.0, "width_px": 900, "first_depth": 0, "rows": 50, "search": "step"}
            found = [server.request("memlens/flame", {**asked, **view})]
            wait_until(lambda: list(cache_folder.rglob(flame.FIRST_FLAME.name)))
            found += [server.request("memlens/flameNode", {**asked, "node": node}) for node in range(4)]
            found.append(server.request("memlens/flameSearch", {**asked, "text": "main"}))
            answers.append(found)
    assert answers[0] == answers[1]
    assert not list(cache_folder.rglob("*.partial-*"))


def test_a_picture_from_the_largest_nodes_equals_that_of_all(
    opened: Callable[[Path], Snapshot], sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = opened(sample)
    moment = AllocationSet(0, from_moment=snapshot.info.devices[0].events // 2)  # pyrefly: ignore[missing-attribute]
    stacks = items.drawn_stacks(snapshot, moment)
    names = frame_names(snapshot).by("function")
    merged = calltree.merged(stacks.tree, frame_names(snapshot), OPTIONS)
    trees = []
    for part in (0, 10**9):
        monkeypatch.setattr(calltree, "FEW_PART", part)
        trees.append(calltree.build(stacks, merged, names, OPTIONS, 0))
    few, whole = trees
    assert few.outline is not None
    assert whole.outline is None
    assert (few.total, few.deepest) == (whole.total, whole.deepest)
    a_name = names.names([int(few.name[1])])[0].function
    for search in ("", a_name):
        for x0, x1 in ((0, 1), (0.3, 0.5)):
            pictures = [flame.picture(tree, x0, x1, 0, 100, 1600, search) for tree in trees]
            assert pictures[0] == pictures[1]


def test_few_allocations_are_grouped_like_their_stacks(
    opened: Callable[[Path], Snapshot], sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = opened(sample)
    answers = []
    for part in (0, 10**9):
        monkeypatch.setattr(items, "FEW_PART", part)
        branch = Branch(AllocationSet(0), ["line", "stack"])
        answers.append(groups(snapshot, branch, "bytes", 0, 1000, descending=True))
    assert answers[0] == answers[1]
    assert answers[0].rows
