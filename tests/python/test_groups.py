"""The tree table: sums that add up at every level, against grouping by brute force."""

import contextlib
import random
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from tests.python.conftest import real_files
from tests.python.recordings import EXPANDABLE
from tests.python.replays import torch as oracle
from tests.python.replays.torch import Alloc
from tests.python.test_filters import made

from memlens.errors import BadRequestError
from memlens.model.frames import KIND_NAMES, LIBRARY, NATIVE, USER, SourceFrame
from memlens.packs.pytorch.frames import source_frame
from memlens.packs.pytorch.operators import operator_of
from memlens.store.snapshot import Snapshot
from memlens.views.naming.operators import operators_of_stacks
from memlens.views.selection.columns import device_of, operator_of_stack
from memlens.views.selection.sets import AllocationSet, rows_of
from memlens.views.tables.groupings import KINDS as KINDS_OF_MODELS
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.groups import (
    Branch,
    Group,
    GroupOrder,
    MemberOrder,
    groups,
    highlighted_rows,
    members,
    natural,
)

KINDS: list[GroupKind] = [*KINDS_OF_MODELS["timeline"]]


def all_groups(
    snapshot: Snapshot, branch: Branch, order: GroupOrder = "bytes", *, descending: bool = True
) -> list[Group]:
    """Every group of a branch, page by page."""
    found: list[Group] = []
    while True:
        page = groups(snapshot, branch, order, len(found), 7, descending=descending)
        assert page.offset == len(found)
        found += page.rows
        if len(found) >= page.groups:
            assert len(found) == page.groups
            assert (sum(g.bytes for g in found), sum(g.count or 0 for g in found)) == (page.bytes, page.count)
            return found


def name_of(alloc: Alloc, kind: str) -> str | None:
    """The name of an allocation's group by the rules alone; None for names that this function doesn't compute."""
    frames = [source_frame(*place) for place in alloc.frames]
    if kind in ("line", "function", "file"):
        if not frames:
            return "No stack"
        label = min(frames, key=lambda each: each.kind)
        if KIND_NAMES[label.kind] == "native":
            return operator_of([each.function for each in frames]) or label.function
        base = label.file.replace("\\", "/").split("/")[-1]
        return {"line": f"{base}:{label.line}", "function": label.function, "file": base}[kind]
    if kind == "caller":
        return caller_of(frames)
    return None


def caller_of(frames: list[SourceFrame]) -> str:
    """The nearest line of Python above the charged one, of the user's own if that is."""
    if not frames:
        return "No stack"
    label = min(frames, key=lambda each: each.kind)
    most = USER if label.kind == USER else LIBRARY
    above = frames[frames.index(label) + 1 :] if label.kind != NATIVE else []
    for each in above:
        if each.kind <= most and (each.file, each.line) != (label.file, label.line):
            return f"{each.file.replace(chr(92), '/').split('/')[-1]}:{each.line}"
    return "No caller"


def check_tree(snapshot: Snapshot, raw: Any, of: AllocationSet, chance: random.Random) -> None:
    device, rows = rows_of(snapshot, of)
    first = device.first_allocation
    found = oracle.allocations(raw, of.device)
    inside = (device.allocations(rows) - first).tolist()
    total, count = sum(found[n].size for n in inside), len(inside)
    for kind in KINDS:
        top = all_groups(snapshot, Branch(of, [kind]))
        assert (sum(g.bytes for g in top), sum(g.count or 0 for g in top)) == (total, count), kind
        assert [g.bytes for g in top] == sorted((g.bytes for g in top), reverse=True)
        seen: list[int] = []
        for group in top:
            page = members(snapshot, Branch(of, [kind], [group.key]), "size", 0, 1000, descending=True)
            assert (page.bytes, page.count) == (group.bytes, group.count)
            numbers = [row.allocation - first for row in page.rows]
            if (group.count or 0) <= 1000:
                seen += numbers
                sizes = [found[n].size for n in numbers]
                assert sizes == sorted(sizes, reverse=True)
                assert (group.largest_bytes, sum(sizes)) == (sizes[0], group.bytes)
                assert group.largest_allocation is not None
                assert found[group.largest_allocation - first].size == sizes[0]
                guessed = [bool(row.label and row.label.source == "inferred") for row in page.rows]
                if kind == "line" and group.place:
                    places = {(row.label.file, row.label.line) for row in page.rows if row.label}
                    assert places == {(group.place.file, group.place.line)}
                    sizes_guessed = [found[n].size for n, each in zip(numbers, guessed, strict=True) if each]
                    assert group.inferred_bytes == sum(sizes_guessed)
                names = {
                    name_of(found[n], kind) for n, each in zip(numbers, guessed, strict=True) if not each
                }
                assert names - {None} <= {group.name.text}
                highlighted = highlighted_rows(snapshot, Branch(of, [kind], [group.key]), device.whole)
                assert np.flatnonzero(highlighted).tolist() == sorted(numbers)
            if group.filter:
                # the offered filter term matches the group and nothing else of the set
                narrow = groups(
                    snapshot, Branch(of, [kind], [], group.filter), "bytes", 0, 10, descending=True
                )
                assert [(g.key, g.bytes, g.count) for g in narrow.rows] == [
                    (group.key, group.bytes, group.count)
                ], group
                assert (narrow.set_bytes, narrow.set_count) == (group.bytes, group.count)
        if count <= 1000:
            assert sorted(seen) == inside
    for _ in range(4):
        check_nested(snapshot, of, chance.sample(KINDS, 3), chance)


def check_nested(snapshot: Snapshot, of: AllocationSet, by: list[GroupKind], chance: random.Random) -> None:
    path: list[int] = []
    for _ in by:
        found = all_groups(snapshot, Branch(of, by, path))
        whole = members(snapshot, Branch(of, by, path), "start", 0, 5, descending=False)
        assert (sum(g.bytes for g in found), sum(g.count or 0 for g in found)) == (whole.bytes, whole.count)
        if not found:
            return
        path = [*path, chance.choice(found).key]
    with pytest.raises(BadRequestError):
        groups(snapshot, Branch(of, by, path), "bytes", 0, 5, descending=True)


def sets_of(snapshot: Snapshot, chance: random.Random, filter_text: str = "") -> list[AllocationSet]:
    info = snapshot.timeline.devices[0]
    a, b = sorted(chance.randrange(info.events + 1) for _ in range(2))
    return [
        AllocationSet(info.device, filter=filter_text),
        AllocationSet(info.device, "live", a, None, filter_text),
        AllocationSet(info.device, "freed", a, b, filter_text),
        AllocationSet(info.device, "survived", 0, b, filter_text),
    ]


def test_a_generated_trace(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    raw = made(tmp_path / "s.pickle")
    snapshot = opened(tmp_path / "s.pickle")
    chance = random.Random(1)
    for filter_text in ("", "size>600"):
        for of in sets_of(snapshot, chance, filter_text):
            check_tree(snapshot, raw, of, chance)


@pytest.mark.slow
def test_the_sample(sample: Path, opened: Callable[[Path], Snapshot]) -> None:
    chance = random.Random(2)
    snapshot, raw = opened(sample), oracle.load(sample)
    for of in sets_of(snapshot, chance):
        check_tree(snapshot, raw, of, chance)


@pytest.mark.parametrize(
    "path",
    [
        EXPANDABLE,
        *real_files(
            "zijian*9e5*", "flexgen__oom*", "silmont__mem_*", "cpu_profile_mlp*", "docubox*", "magma*"
        ),
    ],
    ids=lambda path: path.name,
)
def test_real_files(path: Path, looked_at: Callable[[Path], Snapshot]) -> None:
    chance = random.Random(3)
    snapshot, raw = looked_at(path), oracle.load(path)
    for of in sets_of(snapshot, chance)[:2]:
        check_tree(snapshot, raw, of, chance)
    # the operators of all stacks equal those computed one by one
    operators, names = operators_of_stacks(snapshot)
    for stack, number in enumerate(operators.tolist()):
        reported = names[number] if number < len(names) else None
        assert reported == operator_of_stack(snapshot, stack)


def test_orders(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    raw = made(tmp_path / "s.pickle")
    snapshot = opened(tmp_path / "s.pickle")
    of = AllocationSet(0, "allocated", 0, len(raw["device_traces"][0]))
    for descending in (False, True):
        columns: dict[GroupOrder, str] = {"count": "count", "largest": "largest_bytes"}
        for order, column in columns.items():
            values = [
                getattr(g, column)
                for g in all_groups(snapshot, Branch(of, ["size"]), order, descending=descending)
            ]
            assert values == sorted(values, reverse=descending)
        named = [
            g.name.text for g in all_groups(snapshot, Branch(of, ["line"]), "name", descending=descending)
        ]
        known = ["aten::mm", "model.py:88", "model.py:88", "No stack", "train.py:9"]
        assert named == (known[::-1] if descending else known)
        check_members(snapshot, raw, of, descending=descending)


def check_members(snapshot: Snapshot, raw: Any, of: AllocationSet, *, descending: bool) -> None:
    found = oracle.allocations(raw, 0)
    last = len(raw["device_traces"][0])
    keys: dict[MemberOrder, Callable[[Alloc], int]] = {
        "size": lambda a: a.size,
        "start": lambda a: a.start,
        "address": lambda a: a.addr,
        "life": lambda a: time_of(raw, a.end or last) - time_of(raw, a.start),
    }
    for order, key in keys.items():
        page = members(snapshot, Branch(of, []), order, 0, 1000, descending=descending)
        values = [key(found[row.allocation]) for row in page.rows]
        assert values == sorted(values, reverse=descending)
        tail = members(snapshot, Branch(of, []), order, 3, 2, descending=descending)
        assert tail.rows == page.rows[3:5]


def test_a_filter_that_matches_nothing(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    made(tmp_path / "s.pickle")
    snapshot = opened(tmp_path / "s.pickle")
    for of in (AllocationSet(0, filter="nowhere.py"), AllocationSet(0, "allocated", 3, 90, "nowhere.py")):
        for kind in KINDS:
            for order in get_args(GroupOrder):
                assert all_groups(snapshot, Branch(of, [kind]), order) == []
        assert members(snapshot, Branch(of, []), "size", 0, 10, descending=True).rows == []


def test_names_are_sorted_naturally() -> None:
    names = ["b.py:9", "B.py:10", "b.py", "a9b10", "a9b9", "a"]
    assert sorted(names, key=natural) == ["a", "a9b9", "a9b10", "b.py", "b.py:9", "B.py:10"]


def time_of(raw: Any, moment: int) -> int:
    time_us: int = raw["device_traces"][0][max(moment, 1) - 1]["time_us"]
    return time_us


def test_a_tree_has_its_limits(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    of = AllocationSet(0)
    for call in (
        lambda: groups(snapshot, Branch(of, []), "bytes", 0, 5, descending=True),
        lambda: groups(snapshot, Branch(of, ["line"] * 7), "bytes", 0, 5, descending=True),
        lambda: groups(snapshot, Branch(of, ["line"], [1, 2]), "bytes", 0, 5, descending=True),
        lambda: groups(snapshot, Branch(of, ["line"]), "bytes", 0, 10**6, descending=True),
        lambda: members(snapshot, Branch(of, []), "size", -1, 5, descending=True),
        lambda: groups(snapshot, Branch(of, ["line"], [], "size>"), "bytes", 0, 5, descending=True),
    ):
        with pytest.raises(BadRequestError):
            call()
    nowhere = groups(snapshot, Branch(of, ["line", "stack"], [10**6]), "bytes", 0, 5, descending=True)
    assert (nowhere.groups, nowhere.bytes, nowhere.rows) == (0, 0, [])


def test_closing_the_snapshot_releases_memory(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    narrowed = weakref.ref(device_of(snapshot, 0, "size>1"))
    with contextlib.closing(snapshot):
        groups(snapshot, Branch(AllocationSet(0), ["line"]), "bytes", 0, 5, descending=True)
        assert narrowed() is not None
        assert len(snapshot._kept) > 1
    assert narrowed() is None
    assert len(snapshot._kept) == 0
