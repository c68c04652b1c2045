"""The Profile model from columns in memory to an archive and back, against sums by brute force."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.python.archived import source_lines

from memlens.model.frames import (
    LIBRARY,
    NATIVE,
    USER,
    Frames,
    SourceFrame,
    are_mixed,
    package_of,
    profiled_frame,
)
from memlens.model.info import ValueType
from memlens.model.profile import Profile, StackTree, companions
from memlens.model.timeline import NEVER
from memlens.store.manifest import SourceFile
from memlens.store.models import LackingError
from memlens.store.snapshot import Snapshot
from memlens.store.writer import write_archive
from memlens.texts import Text
from memlens.views.naming.attribution import own_values

TYPES = [
    ValueType("alloc_objects", "count", "total", Text("Allocations")),
    ValueType("alloc_space", "bytes", "total", Text("Allocated")),
    ValueType("inuse_space", "bytes", "live", Text("In use")),
]


def random_profile(seed: int, *, as_tree: bool) -> tuple[Profile, list[list[int]]]:
    """A profile with recursion, empty stacks and frames without lines, and each sample's frames innermost first."""
    chance = random.Random(seed)
    frames = [
        SourceFrame(
            f"{chance.choice('ab')}.cc", chance.randrange(1, 4), f"f{n}", chance.choice((USER, LIBRARY))
        )
        if n % 4
        else SourceFrame("lib.so", 0, f"n{n}", NATIVE)
        for n in range(12)
    ]
    stacks = [[chance.randrange(12) for _ in range(chance.randrange(1, 9) if n else 0)] for n in range(41)]
    starts = np.cumsum([0, *map(len, stacks)]).astype(np.uint64)
    sequence = np.array([frame for stack in stacks for frame in stack], np.uint32)
    of_samples = np.array([chance.randrange(len(stacks)) for _ in range(200)], np.uint32)
    values = [
        np.array([chance.randrange(-50 if kind == 2 else 0, 1000) for _ in range(200)], np.int64)
        for kind in range(3)
    ]
    profile = Profile("test", Frames(frames, starts, sequence), TYPES, 2, of_samples, values)
    if as_tree:
        tree, nodes = profile.stack_tree()
        empty = Frames(frames, np.zeros(1, np.uint64), np.empty(0, np.uint32))
        profile = Profile("test", empty, TYPES, 2, nodes, values, tree=tree)
    return profile, [stacks[stack] for stack in of_samples.tolist()]


def archived(profile: Profile, folder: Path) -> Snapshot:
    """Write a profile to an archive."""
    folder.mkdir()
    write_archive(profile, SourceFile("/tmp/test", 1, 1), folder, lambda *_: None)
    return Snapshot.open(folder)


@pytest.mark.parametrize("as_tree", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_lines_are_sums_of_their_samples(tmp_path: Path, seed: int, as_tree: bool) -> None:
    profile, stacks = random_profile(seed, as_tree=as_tree)
    snapshot = archived(profile, tmp_path / "archive")
    total: Counter[tuple[str, int, int]] = Counter()
    own: Counter[tuple[str, int, int]] = Counter()
    frames = profile.frames.frames
    for sample, stack in enumerate(stacks):
        lines = [(frames[number].file, frames[number].line) for number in stack if frames[number].line]
        for value in range(3):
            amount = int(profile.values[value][sample])
            for line in set(lines):
                total[(*line, value)] += amount
            if stack and frames[stack[0]].line:
                own[(frames[stack[0]].file, frames[stack[0]].line, value)] += amount
    of_lines = source_lines(snapshot)
    rows = {
        (file, line, value): amount
        for value in range(3)
        for (file, line, *_), amount in zip(of_lines, snapshot.line_values.value[value].tolist(), strict=True)
        if amount
    }
    assert rows == {key: n for key, n in total.items() if n}
    itself = {
        (file, line, number): amounts[number]
        for (file, line), amounts in own_values(snapshot, "any").items()
        for number in range(3)
        if amounts[number]
    }
    assert itself == {key: n for key, n in own.items() if n}
    # the figures of lines in every model: "in use" serves as the peak, which such a profile lacks
    for file, number, _, _, figures in of_lines:
        place = (file, number)
        assert tuple(figures[:3]) == (total[(*place, 1)], total[(*place, 0)], total[(*place, 2)])
    # samples, their stacks and their labels
    for sample, stack in enumerate(stacks):
        number = int(snapshot.samples.stack[sample])
        assert snapshot.stack_frame_ids(number) == stack
        shown = min(stack, key=lambda frame: (frames[frame].kind, stack.index(frame)), default=NEVER)
        assert int(snapshot.stacks.label[number]) == shown
    snapshot.close()


def test_values_in_info(tmp_path: Path) -> None:
    profile, _ = random_profile(3, as_tree=False)
    snapshot = archived(profile, tmp_path / "archive")
    info = snapshot.profile
    assert [value.total for value in info.values] == [int(column.sum()) for column in profile.values]
    assert [value.count for value in info.values] == [None, 0, None]
    assert [value.negative for value in info.values] == [False, False, True]
    assert snapshot.info.model == "profile"
    for ask in (
        lambda: snapshot.device(0),
        lambda: snapshot.trace.stack_totals,
        lambda: snapshot.timeline,
    ):
        with pytest.raises(
            LackingError, match=r"^A profile has no (devices|events), which are needed for this"
        ):
            ask()
    snapshot.close()


def test_companions_count_the_same_allocations() -> None:
    def kind(name: str, unit: str) -> ValueType:
        return ValueType(name, unit, "other", Text(name))

    types = [kind("x_space", "bytes"), kind("y_objects", "count"), kind("x_objects", "count")]
    assert companions(types) == [2, None, None]


def test_inconsistent_columns_are_rejected() -> None:
    profile, _ = random_profile(1, as_tree=False)
    empty = Frames([], np.zeros(1, np.uint64), np.empty(0, np.uint32))
    stacks, values = profile.stacks, profile.values
    with pytest.raises(ValueError, match="inconsistent"):
        Profile("test", profile.frames, TYPES, 3, stacks, values)
    with pytest.raises(ValueError, match="inconsistent"):
        Profile("test", empty, TYPES, 0, stacks, values)
    with pytest.raises(ValueError, match="inconsistent"):
        Profile("test", profile.frames, TYPES, 0, stacks, [*values[:2], np.full(len(stacks), 2**61)])
    one, value = np.zeros(1, np.uint32), [np.ones(1, np.int64)]
    with pytest.raises(ValueError, match="inconsistent"):
        Profile(
            "test", empty, TYPES[:1], 0, one, value, tree=StackTree(np.array([0, 1], np.uint32), stacks[:2])
        )


@pytest.mark.parametrize(
    ("file", "kind", "package"),
    [
        ("/home/me/service/src/main.rs", USER, ""),
        ("/home/me/go/src/github.com/me/app/main.go", USER, ""),
        ("/home/me/lib/tree.cpp", USER, ""),
        ("main.go", USER, ""),
        ("/usr/lib/go-1.19/src/encoding/json/decode.go", LIBRARY, "Go's encoding/json"),
        ("/usr/local/go/src/runtime/proc.go", LIBRARY, "Go's runtime"),
        ("runtime/proc.go", LIBRARY, "Go's runtime"),
        ("_cgo_gotypes.go", LIBRARY, "Go's library"),
        ("/root/go/pkg/mod/github.com/x/y@v1.2.3/sub/z.go", LIBRARY, "github.com/x/y"),
        ("/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/alloc/src/vec/mod.rs", LIBRARY, "Rust's library"),
        ("/home/me/.cargo/registry/src/index-6f17/serde_json-1.0.1/src/de.rs", LIBRARY, "serde_json"),
        ("/usr/include/c++/12/bits/new_allocator.h", LIBRARY, "C++'s library"),
        ("/usr/include/c++/12/vector", LIBRARY, "C++'s library"),
        ("/usr/include/boost/any.hpp", LIBRARY, "boost"),
        ("./malloc/malloc.c", LIBRARY, "the C library"),
        ("/usr/lib/python3.11/json/decoder.py", LIBRARY, "Python's library"),
        ("/venv/lib/python3.11/site-packages/numpy/core/x.py", LIBRARY, "numpy"),
        ("<ipython-input-1-abc>", USER, ""),
    ],
)  # fmt: skip
def test_whose_code_a_file_contains(file: str, kind: int, package: str) -> None:
    frame = profiled_frame(file, 7, "f")
    assert (frame.kind, frame.line) == (kind, 7)
    assert package_of(frame.file, frame.function, frame.kind) == package


def test_stacks_are_mixed_if_native_code_is_next_to_the_users() -> None:
    user, library = SourceFrame("/app/a.py", 1, "f", USER), SourceFrame("/usr/lib/x.py", 1, "g", LIBRARY)
    native, remark = (
        SourceFrame("libc.so", 0, "malloc", NATIVE),
        SourceFrame("", 0, "(stack cut off)", NATIVE),
    )
    namespace = SourceFrame("", 0, "(anonymous namespace)::f(int)", NATIVE)
    assert [are_mixed(frames) for frames in ([user, library, remark], [library, native], [user, native])] == [
        False, False, True
    ]  # fmt: skip
    assert are_mixed([user, namespace])


def test_frames_without_a_line_have_their_module() -> None:
    frame = profiled_frame("", 0, "0x7f00", "/lib/libfoo.so.1.2")
    assert frame == SourceFrame("/lib/libfoo.so.1.2", 0, "libfoo.so.1.2 at 0x7f00", NATIVE)
    assert package_of(frame.file, frame.function, frame.kind) == "libfoo.so"
    assert profiled_frame("a.c", 2**40, "f").line == 0
