"""Real heap dumps of Android: a second reading in plain Python, and what ahat, Android's own tool, says of them.

ahat follows fields and elements alone, neither from instances to classes nor from classes to super classes and loaders;
what is on a stack is a root for it, and it doesn't align sizes. By these rules every object must have its dominator and
retain its bytes.

The dumps aren't part of the project. They are of Android's sources, compressed by zstd: ``android4.hprof.zst`` is
``perflib/src/test/resources/dialer.android-hprof`` of ``tools/base`` (Dalvik of Android 4, the dialer on an emulator),
``android8.hprof.zst`` is ``tools/ahat/etc/O.hprof`` of ``art``, 11.0.0_r48 (ART of Android 8, a program that tests
ahat). ``tests/oracles/AhatRetained.java`` and ``pack_ahat.py`` make ``*.ahat.zst`` and ``*.native.zst`` of each. Where
their folder isn't that of the other real files, MEMLENS_TEST_ANDROID names it.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import zstandard
from tests.python.conftest import DATA
from tests.python.graph_reading import Rows, dominated, edges, followed, load, plainly, type_names
from tests.python.graphs import dominator_sets, naive_dominators
from tests.python.hprof_files import Dump, fill
from tests.python.native_files import NativeDump
from tests.python.replays import hprof as replay

from memlens.model.graph import NONE, Graph
from memlens.packs.jvm.tests.test_hprof import check

FILES = Path(os.environ.get("MEMLENS_TEST_ANDROID", DATA / "heap" / "android"))
needs_dumps = pytest.mark.skipif(not FILES.is_dir(), reason=f"there are no dumps of Android at {FILES}")
NOT_FOLLOWED = (
    "class",
    "super class",
    "class loader",
    "protection domain",
    "signers",
    "constant",
    "local variable",
)
DUMPS = ["android4", "android8"] if FILES.is_dir() else []


def _dump(name: str) -> Path:
    return FILES / f"{name}.hprof.zst"


def _ahat(name: str, count: int) -> Rows:
    """Bytes, retained bytes and dominators, by the objects' ids (``tests/oracles/pack_ahat.py``)."""
    data = zstandard.decompress((FILES / f"{name}.ahat.zst").read_bytes())
    return np.frombuffer(data, "<u4").reshape(3, count).astype(np.int64)


OURS = "one of ours"
ours_and_both = pytest.mark.parametrize("name", [OURS, *DUMPS])


def _loaded(name: str, folder: Path) -> Graph:
    if name in DUMPS:
        return load(_dump(name))
    path = folder / "made.hprof"
    dump = NativeDump()
    one, two = (dump.instance(dump.id(), dump.object_class) for _ in range(2))
    # a chain, and what two hold together
    inner = dump.buffer(10, att=one)
    for root in (dump.buffer(20, att=inner), dump.buffer(30, att=two), dump.buffer(40, att=two)):
        dump.add(0xFF, "P", root)
    for owner in (one, two, inner, dump.instance(dump.id(), dump.object_class)):
        dump.register(owner, 1000)
    path.write_bytes(dump.end())
    return load(path)


def _roots(graph: Graph) -> Rows:
    """What roots of the file refer to."""
    in_file = np.array([kind != "class of the boot loader" for kind in graph.root_kinds])[graph.roots["kind"]]
    return np.unique(graph.roots["object"][in_file]).astype(np.uint32)


def _by_hand(graph: Graph, sizes: Rows) -> tuple[Rows, Rows, Rows]:
    """What is reached, each object's dominator, and what it retains, of a small dump."""
    plain, roots = plainly(graph, followed(graph, NOT_FOLLOWED)), _roots(graph).tolist()
    below, above = dominator_sets(plain, roots), naive_dominators(plain, roots)
    return (
        np.array([item in below for item in plain.objects]),
        np.array([NONE if above.get(item) is None else above[item] for item in plain.objects]),
        np.array([sum(int(sizes[each]) for each in below.get(item, ())) for item in plain.objects]),
    )


@ours_and_both
def test_a_second_reading(name: str, tmp_path: Path) -> None:
    if name in DUMPS:
        path = _dump(name)
    else:
        path = tmp_path / "made.hprof"
        # as Android writes them: of ids with four bytes, each object in the heap that a record names before it
        dump = Dump("1.0.3", 4)
        dump.add(0xFE, "IP", 65, dump.name("app"))
        fill(dump)
        dump.add(0xFE, "IP", 90, dump.name("zygote"))
        dump.instance(0x20_0000, 0x10_0120)
        dump.add(0x05, "P", 0x20_0000)
        path.write_bytes(dump.end())
    check(load(path), replay.Heap(replay.File(path)))


@ours_and_both
def test_dominators_and_retained_sizes_are_ahats(name: str, tmp_path: Path) -> None:
    graph = _loaded(name, tmp_path)
    count = len(graph.objects)
    if name in DUMPS:
        by_id = np.argsort(graph.objects.ids)
        place = np.empty(count, np.int64)
        place[by_id] = np.arange(count)
        sizes, retains, theirs = (column[place] for column in _ahat(name, count))
        # numbers of theirs are 2 more than places, and 1 is the root of all
        above = np.where(theirs < 2, NONE, by_id[np.maximum(theirs, 2) - 2])
        live = theirs > 0
    else:
        sizes = graph.objects.shallow
        live, above, retains = _by_hand(graph, sizes)
        assert 5 < int(live.sum()) < count
        assert retains[live].max() > sizes.max()
    reached, found, retained = dominated(
        graph, followed(graph, NOT_FOLLOWED), _roots(graph), sizes.astype(np.uint64), attached=False
    )
    assert np.array_equal(reached == 1, live)
    assert np.array_equal(retained[live].astype(np.int64), retains[live])
    assert np.array_equal(found[live], above[live])


@ours_and_both
def test_native_memory_is_ahats(name: str, tmp_path: Path) -> None:
    """What is registered for each object, and by its rules of dominators what each retains of that."""
    packed = FILES / f"{name}.native.zst"
    if name in DUMPS and not packed.is_file():
        pytest.skip(f"there is no {packed}")
    graph = _loaded(name, tmp_path)
    count = len(graph.objects)
    mine = np.zeros(count, np.uint64)
    mine[graph.natives["object"]] = graph.natives["bytes"]
    if name in DUMPS:
        theirs = np.frombuffer(zstandard.decompress(packed.read_bytes()), "<u4").reshape(2, count)
        place = np.argsort(np.argsort(graph.objects.ids))
        own, retains = (column[place].astype(np.uint64) for column in theirs)
        assert np.array_equal(mine, own)
        assert name == "android4" or int(mine.sum()) == 50_200
    else:
        retains = _by_hand(graph, mine)[2].astype(np.uint64)
        assert retains.any()
    reached, _, found = dominated(graph, followed(graph, NOT_FOLLOWED), _roots(graph), mine, attached=False)
    assert np.array_equal(found[reached == 1], retains[reached == 1])


@pytest.mark.parametrize("name", DUMPS)
def test_sizes_of_instances_and_classes_are_ahats_aligned(name: str) -> None:
    """It counts only the elements of an array; those have 12 bytes more, or 16, and are aligned as well."""
    graph = load(_dump(name))
    is_array = np.array([each.endswith("[]") for each in type_names(graph)])
    theirs = _ahat(name, len(is_array))[0][np.argsort(np.argsort(graph.objects.ids))]
    mine = graph.objects.shallow.astype(np.int64)
    assert np.array_equal(mine[~is_array], (theirs[~is_array] + 7) // 8 * 8)
    assert set((mine - theirs)[is_array].tolist()) <= set(range(12, 24))


@needs_dumps
def test_what_real_dumps_hold() -> None:
    old, new = load(_dump("android4")), load(_dump("android8"))
    assert _heaps(old) == {"zygote": 42_243, "app": 1_444}
    assert _heaps(new) == {"image": 61_590, "app": 20_875}
    assert new.settings["format_version"] == "1.0.3"
    assert not new.facts.sizes_inferred
    texts = {new.texts[number] for number in np.unique(new.objects.name).tolist()}
    # of eight bits a character and of sixteen
    assert {"hello, world", "Sigma (\u01a9) is not ASCII", "embedded\0..."} <= texts


@needs_dumps
def test_shortened_names(tmp_path: Path) -> None:
    """The program that tests ahat was shortened by ProGuard; its sources say what ``Main.a`` and its fields are."""
    dump = tmp_path / "android8.hprof.zst"
    dump.write_bytes(_dump("android8").read_bytes())
    (tmp_path / "android8.mapping.txt").write_text(
        "DumpedStuff -> b:\nMain -> Main:\n    DumpedStuff stuff -> a\n"
    )
    graph = load(dump)
    names, ids = type_names(graph), graph.objects.ids.tolist()
    main = ids[[graph.texts[name] for name in graph.objects.name.tolist()].index("Main")]
    edge = next(each for each in edges(graph)[ids.index(main)] if each[:2] == ("static field", "stuff"))
    assert names[ids.index(edge[2])] == "DumpedStuff"


def _heaps(graph: Graph) -> dict[str, int]:
    assert graph.objects.space is not None
    counts = np.bincount(graph.objects.space, minlength=len(graph.spaces)).tolist()
    return {name: count for name, count in zip(graph.spaces, counts, strict=True) if count}
