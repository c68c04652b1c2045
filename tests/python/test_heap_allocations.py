"""The stacks that allocated a heap dump's objects, narrowed by the filter of these: against sums object by object."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from tests.python.conftest import real_heaps
from tests.python.heap_files import small_heap
from tests.python.recordings import TRACKED

from memlens.errors import BadRequestError
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.graph import tree_of
from memlens.views.flame.tables import children, details
from memlens.views.heap.filters.filters import chosen
from memlens.views.heap.objects.rows import type_names
from memlens.views.naming.frame_names import NO_STACK
from memlens.views.selection.items import BARE, stacks_of
from memlens.views.selection.profile_sets import set_at

Fits = Callable[[Snapshot, int], bool]

FILTERS: list[tuple[str, Fits]] = [
    ("", lambda *_: True),
    ("type:Array", lambda s, i: "array" in type_names(s)[s.objects.type[i]].lower()),
    ("retained>100", lambda s, i: int(s.objects.retained[i]) > 100),
    ("allocated-by:make", lambda s, i: any("make" in each.lower() for each in places(s, i))),
    ("-allocated-by:track.js:1*", lambda s, i: not any(in_lines(each) for each in places(s, i))),
    ("stack:1,3-5", lambda s, i: stack(s, i) in (1, 3, 4, 5)),
    ("stack:0x2-0x3 -type:Array", lambda s, i: stack(s, i) in (2, 3) and not FILTERS[1][1](s, i)),
]

ALLOCATED = TRACKED + real_heaps("v8/alloctrack*")


def in_lines(place: str) -> bool:
    return "track.js:1" in place


def stack(snapshot: Snapshot, item: int) -> int:
    assert snapshot.objects.stack is not None
    return int(snapshot.objects.stack[item])


def places(snapshot: Snapshot, item: int) -> Iterable[str]:
    """Functions and lines of the stack that allocated an object."""
    return _places(snapshot, stack(snapshot, item))


@kept
def _places(snapshot: Snapshot, number: int) -> list[str]:
    frames = snapshot.stack_frame_ids(number)
    rows = snapshot.frames.rows(frames).values()
    return [text for file, line, function, _ in rows for text in (function, f"{file}:{line}")]


@pytest.fixture(params=["small", *ALLOCATED], ids=str)
def dump(request: pytest.FixtureRequest, looked_at: Callable[[Path], Snapshot], tmp_path: Path) -> Snapshot:
    if request.param != "small":
        return looked_at(request.param)
    path = tmp_path / "small.heapsnapshot"
    path.write_bytes(small_heap().data())
    return looked_at(path)


@pytest.mark.parametrize(("text", "fits"), FILTERS, ids=[text for text, _ in FILTERS])
def test_objects_that_fit_are_summed_by_stack(dump: Snapshot, text: str, fits: Fits) -> None:
    expected: dict[int, Counter[str]] = {}
    for item in np.flatnonzero([fits(dump, item) for item in range(len(dump.objects.type))]).tolist():
        sums = expected.setdefault(stack(dump, item), Counter())
        sums.update(bytes=int(dump.objects.shallow[item]), count=1)
    found = stacks_of(dump, set_at(dump.info, "peak", filter_text=text))
    numbers = found.stacks.astype(np.int64)
    numbers[numbers == len(found.tree.ends) - len(BARE) + NO_STACK] = 0
    rows = zip(numbers.tolist(), *found.values.tolist(), strict=True)
    assert {number: Counter(bytes=size, count=count) for number, size, count in rows if count} == expected
    mask = chosen(dump, text)
    assert mask is None or int(mask.mask(dump).sum()) == sum(sums["count"] for sums in expected.values())


def test_the_stacks_of_a_box_have_its_objects(dump: Snapshot) -> None:
    of, compared = set_at(dump.info, "peak"), 0
    for merge in ("function", "line"):
        options = FlameOptions(merge=merge)
        tree, nodes = tree_of(dump, of, "bytes", options), [0]
        for parent in nodes:
            nodes += [row.node for row in children(tree, parent, 0, 1000, "mine").rows]
        for node in nodes[1:200]:
            answer = details(dump, of, "bytes", options, node)
            fits = chosen(dump, "stack:" + ",".join(map(str, answer.stacks)))
            assert fits is not None
            mask = fits.mask(dump)
            assert int(mask.sum()) == answer.node.count
            assert int(dump.objects.shallow[mask].sum()) == answer.node.bytes
            compared += 1
    assert compared > 3


def test_what_is_gone_is_narrowed_by_its_stack_alone(dump: Snapshot) -> None:
    info = dump.info
    assert info.model == "graph"
    assert info.allocations is not None
    if all(value.name != "allocated_bytes" for value in info.allocations.values):
        pytest.skip("the dump only has what is live")
    whole = stacks_of(dump, set_at(info, "peak", value="allocated_bytes"))
    some = set_at(info, "peak", value="allocated_bytes", filter_text="allocated-by:make")
    kept = [any("make" in each.lower() for each in _places(dump, number)) for number in whole.stacks.tolist()]
    assert stacks_of(dump, some).values.sum() == whole.values[:, kept].sum() > 0
    with pytest.raises(BadRequestError, match="only the stack of objects that are gone is known"):
        stacks_of(dump, set_at(info, "peak", value="allocated_bytes", filter_text="type:Array"))


@pytest.mark.parametrize("text", ["stack:x", "stack:3-", "stack:3-y", "stack>2"])
def test_numbers_of_stacks_are_checked(dump: Snapshot, text: str) -> None:
    if text == "stack:3-":
        assert chosen(dump, text) is not None
        return
    with pytest.raises(BadRequestError):
        chosen(dump, text)
