"""Dominator trees and graphs of hundreds of millions of generated objects, in mapped files.

``python tests/bench/heap_trees.py compact|dominators OBJECTS FOLDER [BYTES]`` makes the columns in FOLDER unless they
exist; then a separate process groups the tree, or computes dominators and retained sizes, with all columns beyond the
first BYTES (none by default) in mapped files. Prints seconds, CPU seconds and the maximum resident memory, including
mapped pages, as JSON.

Object 0 is the root, and object ``o`` holds ``4o + 1`` to ``4o + 4``. Numbers are permuted within blocks, as a heap's
addresses are. A graph also has a reference from each object to a nearby one, and from every fifth object to any other.
"""

import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.beside import measured  # noqa: E402

Rows = npt.NDArray[Any]

BLOCK = 1 << 16
FANOUT = 4
KINDS = 9
TYPES = 20_000
_AT_ONCE = 1 << 22
_AT_ONCE = 1 << 25
_ODD, _BACK = 40503, pow(40503, -1, BLOCK)


def shuffled(numbers: Rows, objects: int, factor: int = _ODD) -> Rows:
    """Numbers of objects, permuted within each block; those of the last block, which isn't full, keep their places."""
    moved = numbers & ~np.int64(BLOCK - 1) | numbers * factor & (BLOCK - 1)
    return np.where(numbers < objects // BLOCK * BLOCK, moved, numbers)


def mixed(numbers: Rows) -> Rows:
    """Pseudo-random numbers."""
    spread = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (spread ^ spread >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(32)


def own_bytes(numbers: Rows) -> Rows:
    """The shallow bytes of objects, by their numbers before the permutation."""
    return 16 + (mixed(numbers) & np.uint64(15)) * np.uint64(8)


def columns(folder: Path, objects: int) -> None:
    """Write the tree's columns: children by dominator, types, shallow and retained bytes."""
    own = np.memmap(folder / "own", np.uint64, "w+", shape=objects)
    for start in range(0, objects, _AT_ONCE):
        numbers = np.arange(start, min(start + _AT_ONCE, objects))
        own[numbers] = own_bytes(numbers)
    retained = np.memmap(folder / "by_rule", np.uint64, "w+", shape=objects)
    retained[:] = own
    last = objects - 1
    while last > 0:
        # all children of a part's objects are after it
        first_parent, last_parent = (last - 1) // FANOUT - (last - 1) // FANOUT // 2, (last - 1) // FANOUT
        first_parent = min(first_parent, last_parent)
        children = np.arange(FANOUT * first_parent + 1, last + 1)
        parents = (children - 1) // FANOUT - first_parent
        step = _AT_ONCE
        sums = np.zeros(last_parent - first_parent + 1, np.uint64)
        for start in range(0, len(children), step):
            np.add.at(sums, parents[start : start + step], retained[children[start : start + step]])
        retained[first_parent : last_parent + 1] += sums
        last = FANOUT * first_parent
    types = np.memmap(folder / "type", np.uint32, "w+", shape=objects)
    shallow = np.memmap(folder / "shallow", np.uint64, "w+", shape=objects)
    placed = np.memmap(folder / "retained", np.uint64, "w+", shape=objects)
    begin = np.memmap(folder / "begin", np.uint32, "w+", shape=objects + 2)
    child = np.memmap(folder / "child", np.uint32, "w+", shape=objects)
    done = 0
    for start in range(0, objects, _AT_ONCE):
        numbers = shuffled(np.arange(start, min(start + _AT_ONCE, objects)), objects, _BACK)
        part = slice(start, start + len(numbers))
        shallow[part], placed[part] = own[numbers], retained[numbers]
        # some types are common to all objects, the rest belong to one part of the program
        types[part] = (mixed(numbers) % np.uint64(KINDS)) * np.uint64(TYPES // KINDS) + (
            mixed(numbers // BLOCK) % np.uint64(TYPES // KINDS)
        )
        children = numbers[:, np.newaxis] * FANOUT + np.arange(1, FANOUT + 1)
        there = children < objects
        found = shuffled(children[there], objects)
        ends = np.cumsum(there.sum(axis=1))
        begin[part] = done + np.append(0, ends[:-1])
        child[done : done + len(found)] = found
        done += len(found)
    begin[objects], begin[objects + 1], child[done] = done, objects, 0
    for name in ("own", "by_rule"):
        (folder / name).unlink()


def references(folder: Path, objects: int) -> None:
    """Write a graph: the tree's references, one to a nearby object, from every fifth one to any; shallow bytes."""
    shallow = np.memmap(folder / "shallow", np.uint64, "w+", shape=objects)
    counts = np.memmap(folder / "start", np.uint64, "w+", shape=objects + 1)
    target = np.memmap(folder / "target", np.uint32, "w+", shape=objects * 2 + objects // 5 + 5)
    done = 0
    for start in range(0, objects, _AT_ONCE):
        places = np.arange(start, min(start + _AT_ONCE, objects))
        numbers = shuffled(places, objects, _BACK)
        shallow[places] = own_bytes(numbers)
        rows = np.full((len(places), FANOUT + 2), -1, np.int64)
        children = numbers[:, np.newaxis] * FANOUT + np.arange(1, FANOUT + 1)
        rows[:, :FANOUT] = np.where(children < objects, shuffled(children, objects), -1)
        rows[:, FANOUT] = (places + 1 + (mixed(places) & np.uint64(1023)).astype(np.int64)) % objects
        rows[:, FANOUT + 1] = np.where(places % 5 == 0, mixed(places).astype(np.int64) % objects, -1)
        found = rows[rows >= 0]
        counts[start : start + len(places)] = done + np.append(0, np.cumsum((rows >= 0).sum(axis=1))[:-1])
        target[done : done + len(found)] = found
        done += len(found)
    counts[objects] = done


_MAKE = {"compact": columns, "dominators": references}
_LAST_MADE = {"compact": "child", "dominators": "target"}


def opened(folder: Path, name: str, kind: Any) -> Rows:
    """A column for reading, mapped as an archive's are, so that its memory can be given back."""
    with (folder / name).open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), kind)


def work(what: str, objects: int, folder: Path, in_memory_bytes: int) -> None:
    """Run the measured work, in the measured process."""
    from memlens.kernels.graph import dominators as kernel
    from memlens.kernels.graph.columns import References
    from memlens.kernels.graph.referrers import referrers
    from memlens.store.objects.compact import Dominated, compact_tree
    from memlens.store.objects.room import Room, let_go

    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        room, files = Room(Path(scratch), in_memory_bytes), Room(Path(scratch), 0)
        if what == "compact":
            dominated = Dominated(opened(folder, "begin", np.uint32), opened(folder, "child", np.uint32))
            nodes, _ = compact_tree(
                dominated, TYPES, opened(folder, "type", np.uint32), opened(folder, "shallow", np.uint64),
                opened(folder, "retained", np.uint64), 0, room,
            )  # fmt: skip
            assert int(nodes["retained"][0]) == int(opened(folder, "shallow", np.uint64).sum())
            (folder / "said").write_text(json.dumps({"nodes": len(nodes["type"])}))
            return
        start = opened(folder, "start", np.uint64)
        target = opened(folder, "target", np.uint32)[: int(start[-1])]
        kind, retains = np.empty(0, np.uint8), np.ones(256, np.uint8)
        # a hole in a file, as no kind is read
        references = References(start, target, files(len(target), np.uint8), retains)

        def turned() -> tuple[Rows, Rows, Rows]:
            # these are written in order, and read from then on
            back = files(objects + 1, np.uint64), files(len(target), np.uint32), kind
            referrers(start, target, kind, *back, _AT_ONCE)
            # dominators need only these from here on
            for column in (start, target):
                let_go(column, 0, len(column))
            return back

        found, _, order, idom, _ = kernel.dominators(
            references, False, np.zeros(1, np.uint32), -1, False, turned, room
        )
        retained = files(found, np.uint64)
        kernel.retained_sizes(
            order[:found], idom[:found], found, opened(folder, "shallow", np.uint64), retained
        )
        assert int(retained[0]) == int(opened(folder, "shallow", np.uint64).sum())
        (folder / "said").write_text(json.dumps({"references": len(target)}))


def tree_figures(what: str, objects: int, folder: Path, in_memory_bytes: int = 0) -> dict[str, Any]:
    """Make the missing columns, and measure the work."""
    folder.mkdir(parents=True, exist_ok=True)
    own = [sys.executable, str(Path(__file__))]
    if not (folder / _LAST_MADE[what]).exists():
        # in a separate process: this one's memory would count in its children's maximum
        subprocess.run([*own, "make", what, str(objects), str(folder)], check=True)
    begun = time.perf_counter()
    run = measured([*own, "work", what, str(objects), str(folder), str(in_memory_bytes)])
    said = json.loads((folder / "said").read_text())
    return {
        "objects": objects, "wall_s": time.perf_counter() - begun, "cpu_s": run.cpu_s, "peak_bytes": run.peak_bytes,
        **said, "cores": os.cpu_count(),
    }  # fmt: skip


def main() -> None:
    """Run the command that the arguments name."""
    step = sys.argv.pop(1) if sys.argv[1] in ("work", "make") else ""
    what, objects, folder, *more = sys.argv[1:]
    number, place, in_memory_bytes = int(objects), Path(folder), int(more[0]) if more else 0
    if step == "work":
        work(what, number, place, in_memory_bytes)
    elif step == "make":
        _MAKE[what](place, number)
    else:
        print(json.dumps(tree_figures(what, number, place, in_memory_bytes)))


if __name__ == "__main__":
    main()
