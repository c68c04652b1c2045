"""What allocations come to that are halved, freed at once or computed again: figures were worked out by hand."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.conftest import real_programs
from tests.python.test_allocator import open_data

from memlens.errors import BadRequestError
from memlens.packs.pytorch.ooms import marks, oom
from memlens.packs.pytorch.tests.reference_allocator import MIB, DeviceFullError, ReferenceAllocator
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.views.selection.changes import Changes
from memlens.views.selection.columns import device_of, live_rows
from memlens.views.selection.terms import quoted
from memlens.views.sql.query import SqlSession
from memlens.views.sql.schema import schema_of
from memlens.views.trace.oom.answers import ReplayBudget
from memlens.views.trace.picture.boxes import Box
from memlens.views.trace.picture.viewport import viewport
from memlens.views.trace.what_if import Again, Run, WhatIf, what_if
from memlens.views.trace.what_if_words import computed_again, conclusion, fragmentation, largest

ENGINE = {
    "filename": "??",
    "line": 0,
    "name": "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)",
}
KINDS = ("without", "halve", "free-at-once", "recompute")
LINES = {"x": 5, "t": 6, "y": 7}
"""The lines of a layer."""


def at(file: str, line: int) -> list[dict[str, Any]]:
    return [{"filename": f"/job/{file}.py", "line": line, "name": "forward"}]


def layer(number: int) -> list[tuple[str, int]]:
    """What a layer asks for: ``x`` is held for its backward pass, ``t`` is freed at once, ``y`` is its result."""
    return [(f"x{number}", 10), (f"t{number}", 4), (f"t{number}", 0), (f"y{number}", 8)]


BACKWARD = [("g2", 6), ("y2", 0), ("x2", 0), ("g1", 6), ("g2", 0), ("y1", 0), ("x1", 0), ("g1", 0)]
STEP = [*layer(1), *layer(2), *BACKWARD]


def recorded(steps: list[tuple[str, int]], capacity: int = 1 << 40, lost: int = 0) -> dict[str, Any]:
    """The snapshot of a program: names with the mebibytes that are asked for, 0 for a free."""
    allocator = ReferenceAllocator(capacity=capacity)
    names: list[str] = []
    live: dict[str, int] = {}
    for name, size in steps:
        before, is_full = len(allocator.events), False
        if size:
            live[name] = len(names)
            names.append(name)
            try:
                allocator.malloc(live[name], size * MIB, 0, (0, 0))
            except DeviceFullError:
                is_full = True
        else:
            allocator.request_free(live[name])
            allocator.complete_free(live[name])
        in_engine = name[0] == "g" or (not size and name[0] in "xy")
        frames = [ENGINE] if in_engine else at("layer", LINES[name[0]]) if name[0] in LINES else at(name, 1)
        for event in allocator.events[before:]:
            event["frames"] = frames
        if is_full:
            break
    return allocator.snapshot(lost)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., Snapshot]]:
    with contextlib.ExitStack() as stack:

        def opened(*args: Any, **named: Any) -> Snapshot:
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            return stack.enter_context(contextlib.closing(open_data(folder, recorded(*args, **named))))

        yield opened


def figures(row: Run) -> tuple[float, float]:
    """Mebibytes that are allocated and reserved at the peak."""
    return row.peak_allocated_bytes / MIB, row.peak_reserved_bytes / MIB


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            Changes(halve=("file:c.py",)),
            "With these allocations halved it would have fitted, with 260 MiB reserved",
        ),
        (
            Changes(without=("file:c.py",)),
            "Without these allocations it would have fitted, with 60 MiB reserved",
        ),
        # only some of what the line allocates: the request that failed is none of them
        (Changes(halve=("file:c.py size<50MiB",)), "memory would still have run out"),
        (Changes(free_at_once=("file:c.py",)), "memory would still have run out"),
    ],
)
def test_the_request_that_failed_is_changed_with_its_line(
    changes: Changes, said: str, made: Callable[..., Snapshot]
) -> None:
    # by hand: of 260 MiB a has 60 and c 100 when another c of 300 fails; half of it fits, beside 60 and 50
    steps = [("a", 60), ("c", 40), ("c", 0), ("c", 100), ("c", 300)]
    found = what_if(made(steps, capacity=260 * MIB), changes=changes)
    assert said in str(conclusion(found))


# a gets a segment of 40 MiB, b one of 20, and c is placed where a was
PLAIN = [("a", 40), ("b", 20), ("a", 0), ("c", 30), ("b", 0), ("c", 0)]


@pytest.mark.parametrize(
    ("changes", "allocated", "reserved", "line"),
    [
        (Changes(), 60, 60, "a.py:1 (forward)"),
        # c needs a segment of its own, as 20 MiB are too few
        (Changes(halve=("file:a.py",)), 50, 70, "c.py:1 (forward)"),
        (Changes(halve=("file:b.py",)), 50, 50, "a.py:1 (forward)"),
        # b is placed where a was, and c doesn't fit behind it
        (Changes(free_at_once=("file:a.py",)), 50, 70, "c.py:1 (forward)"),
        (Changes(free_at_once=("file:c.py",)), 60, 60, "a.py:1 (forward)"),
        (Changes(without=("file:a.py",)), 50, 50, "c.py:1 (forward)"),
        (
            Changes(
                halve=(
                    "file:a.py",
                    "file:b.py",
                    "file:c.py",
                )
            ),
            30,
            30,
            "a.py:1 (forward)",
        ),
        # what is left out isn't there to be halved, and what is freed at once is halved as well
        (Changes(without=("file:a.py",), halve=("file:a.py",)), 50, 50, "c.py:1 (forward)"),
        (Changes(free_at_once=("file:a.py",), halve=("file:a.py",)), 50, 50, "c.py:1 (forward)"),
    ],
)
def test_allocations_are_halved_and_freed_at_once(
    changes: Changes, allocated: int, reserved: int, line: str, made: Callable[..., Snapshot]
) -> None:
    found = what_if(made(PLAIN), settings=["recorded"], changes=changes)
    assert found.calibration.exact
    row = found.rows[-1]
    assert figures(row) == (allocated, reserved)
    assert str(row.largest[0].name) == line


def test_a_layer_is_computed_again_when_its_backward_pass_begins(made: Callable[..., Snapshot]) -> None:
    found = what_if(made(STEP), changes=Changes(recompute=("file:layer.py",)))
    # recorded: x1, y1, x2, y2 and g2; computed again: y1, y2, x2 and g2, as x1 waits for its own layer
    assert [figures(row) for row in found.rows] == [(42, 50), (32, 50)]
    assert found.again == Again(2, 6, 2)
    assert str(computed_again(found)).startswith("2 of 6 allocations are held until the backward pass")
    # y1 and y2 are the layers' results
    assert (str(found.rows[1].largest[0].name), found.rows[1].largest[0].bytes) == (
        "layer.py:7 (forward)",
        16 * MIB,
    )


def test_a_single_line_is_computed_again_where_it_is_needed(made: Callable[..., Snapshot]) -> None:
    found = what_if(made(STEP), changes=Changes(recompute=("layer.py:7",)))
    # x1, x2, y2 and g2: y1 is computed again when y2 and x2 have been released
    assert [figures(row)[0] for row in found.rows] == [42, 34]
    assert found.again == Again(2, 2, 2)


def test_what_is_computed_again_is_halved_as_well(made: Callable[..., Snapshot]) -> None:
    changes = Changes(recompute=("file:layer.py",), halve=("file:layer.py",))
    found = what_if(made(STEP), changes=changes)
    # y1 and x1 at half their size, with g1 and g2; before that y1, y2, x2 and g2 were 19
    assert figures(found.rows[1])[0] == 4 + 5 + 6 + 6


def test_what_died_in_the_forward_pass_is_held_as_in_the_steps_before(made: Callable[..., Snapshot]) -> None:
    # x1, y1, x2 and y2 are live in three segments when 30 MiB more are asked for
    snapshot = made([*STEP, *layer(1), *layer(2), ("z", 30)], capacity=60 * MIB)
    assert what_if(snapshot).rows[0].out_of_memory is not None
    found = what_if(snapshot, changes=Changes(recompute=("file:layer.py",)))
    # the second step's first layer is freed, its second may still be running. x2 takes the place of x1, y2 is placed
    # after y1, and the segment that nothing needs is returned
    assert found.again == Again(3, 12, 3)
    assert found.rows[1].out_of_memory is None
    assert figures(found.rows[1]) == (32, 60)


@pytest.mark.parametrize(
    ("held", "asked", "capacity", "enough"),
    [
        # 20 instead of 40 MiB of a leave 40 for z
        ([("a", 40), ("b", 30)], 40, 100, "Half of what a.py:1 (forward) allocates"),
        # half of a and b are too little, and so is half of all; without a there are 20 MiB more
        ([("a", 40), ("b", 30)], 65, 100, "Without what a.py:1 (forward) allocates"),
        # each of the three is too little
        ([("a", 30), ("b", 30), ("c", 30)], 70, 100, None),
        # with half of a there are 10 + 32 + 48, and half of b needs a segment of 20
        ([("a", 20), ("b", 16), ("c", 16)], 48, 88, "Without what a.py:1 (forward) allocates"),
    ],
)
def test_what_would_have_been_enough_is_said(
    held: list[tuple[str, int]], asked: int, capacity: int, enough: str | None, made: Callable[..., Snapshot]
) -> None:
    snapshot = made([*held, ("z", asked)], capacity=capacity * MIB)
    (mark,) = [mark for mark in marks(snapshot).marks if mark.kind == "oom"]
    said = [each for each in oom(snapshot, 0, mark.event).findings if each.code == "enough"]
    assert [str(each.text).split(" would")[0].split(" the request")[0] for each in said] == (
        [enough] if enough else []
    )


def test_replays_for_many_requests_are_bounded(made: Callable[..., Snapshot]) -> None:
    snapshot = made([("a", 30), ("b", 30), ("c", 30), ("z", 70)], capacity=100 * MIB)
    (mark,) = [mark for mark in marks(snapshot).marks if mark.kind == "oom"]
    # half of a and all of a, half of b and all of b, half of c, but not all of c
    budget = ReplayBudget(5)
    codes = [each.code for each in oom(snapshot, 0, mark.event, budget).findings]
    assert "not-tried" in codes
    # what has been replayed costs nothing
    codes = [each.code for each in oom(snapshot, 0, mark.event, ReplayBudget(1)).findings]
    assert not {"not-tried", "enough"} & {*codes}


def test_it_is_said_where_the_trace_does_not_show_what_is_computed_again(
    made: Callable[..., Snapshot],
) -> None:
    with pytest.raises(BadRequestError, match="none of its C"):
        what_if(made(PLAIN), changes=Changes(recompute=("file:a.py",)))
    with pytest.raises(BadRequestError, match="None of the allocations"):
        what_if(made(STEP), changes=Changes(recompute=("layer.py:6",)))


def test_what_was_there_before_the_trace_is_changed(made: Callable[..., Snapshot]) -> None:
    # the allocation of a is lost: 40 MiB are live before the first event
    snapshot = made(PLAIN, lost=2)
    assert [figures(row) for row in what_if(snapshot, changes=Changes(free_at_once=("is:before",))).rows] == [
        (60, 60),
        (50, 70),
    ]
    found = what_if(snapshot, changes=Changes(halve=("is:before",)))
    assert [figures(row) for row in found.rows] == [(60, 60), (50, 70)]
    assert found.laid_out_anew


@pytest.mark.parametrize("path", real_programs("*.pickle"), ids=lambda path: path.name)
def test_layers_of_real_steps_are_those_of_their_models(
    path: Path, looked_at: Callable[[Path], Snapshot]
) -> None:
    """A model of 12 layers, one of 36, and three steps of one of 24, each layer by itself."""
    expected = {
        "niu__forward_and_backward_memory_snapshot_": 12,
        "bcrafton": 12,
        "nothanmin__memory_snapshot__": 36,
        "wedson__medium_512_training": 3 * 24,
    }
    layers = next((layers for name, layers in expected.items() if path.name.startswith(name)), None)
    if layers is None:
        return
    snapshot = looked_at(path)
    found = what_if(snapshot, 0, changes=Changes(recompute=("size>0",)))
    assert found.again is not None
    assert found.again.layers == layers
    assert found.rows[1].peak_allocated_bytes <= found.rows[0].peak_allocated_bytes
    for kind in KINDS:
        check_timeline(snapshot, 0, kind, "size>64KiB")


def test_lines_that_keep_segments_reserved_are_named(made: Callable[..., Snapshot]) -> None:
    """Of a segment of 20 MiB 4 are used when 18 more are reserved."""
    snapshot = made([("x1", 4), ("t1", 8), ("t1", 0), ("y1", 18)])
    found = what_if(snapshot)
    gaps = found.fragmentation
    assert gaps is not None
    assert [gaps.reserved_bytes, gaps.active_bytes, gaps.split_bytes, gaps.cached_bytes] == [
        38 * MIB, 22 * MIB, 16 * MIB, 0,
    ]  # fmt: skip
    (pin,) = gaps.pinning
    assert pin.frame is not None
    assert (pin.frame.line, pin.segments) == (LINES["x"], 1)
    assert (pin.bytes, pin.pinned_bytes, pin.alone_bytes) == (4 * MIB, 16 * MIB, 16 * MIB)
    assert str(fragmentation(found)) == (
        "When most was reserved, 22 MiB of 38 MiB reserved were in blocks, 16 MiB free in segments with blocks, and "
        "0 B in segments without any."
    )
    tables.fill(snapshot, lambda *_: None)
    with contextlib.closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        query = "SELECT settings_tried, peak_reserved_bytes FROM what_if(0, NULL, 'layer.py:5')"
        assert session.ask(query).rows == [["recorded", 38 * MIB], ["recorded", 20 * MIB]]
        query = "SELECT settings_tried, peak_reserved_bytes FROM what_if(0, 'expandable_segments:True')"
        assert session.ask(query).rows == [["recorded", 38 * MIB], ["expandable_segments:True", 40 * MIB]]
        (example,) = [each for each in schema_of(snapshot).examples if "without each" in each.title]
        assert [row[1] for row in session.ask(example.query).rows]


def said(found: WhatIf) -> str:
    return f"{conclusion(found)} {largest(found)}"


def test_what_changes_come_to_is_said(made: Callable[..., Snapshot]) -> None:
    found = what_if(made(PLAIN), changes=Changes(halve=("file:b.py",)))
    assert said(found) == (
        "With these allocations halved 50 MiB would have been reserved at the peak instead of 60 MiB. "
        "The largest at the peak is then a.py:1 (forward), with 40 MiB of 50 MiB allocated."
    )
    found = what_if(made(PLAIN), changes=Changes(halve=("file:b.py",), without=("file:c.py",)))
    assert said(found).startswith("With these changes ")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", [0, 4])
def test_the_timeline_is_that_of_the_replay(made: Callable[..., Snapshot], kind: str, before: int) -> None:
    snapshot = made(STEP, lost=before)
    check_timeline(snapshot, 0, kind, "file:layer.py")


def check_timeline(snapshot: Snapshot, number: int, kind: str, text: str) -> None:
    """A device's live bytes with changes, in each moment, against the replay's; and what they are made of."""
    changed = device_of(snapshot, number, f"{kind}:{quoted(text)}")
    changes = Changes(**{kind.replace("-", "_"): (text,)})
    axis = changed.info.event_axis
    found = what_if(
        snapshot, number, settings=["default"], changes=changes, columns=int(axis.x1 - axis.x0), axis="event"
    )
    assert found.curves is not None
    assert changed.live[: len(found.curves.changed)].tolist() == found.curves.changed
    assert changed.info.peak_bytes == max(found.curves.changed)
    assert bool((np.diff(changed.start.astype(np.int64)) >= 0).all())
    for moment in {0, changed.info.peak_moment, changed.info.events // 2, changed.info.events}:
        rows = live_rows(changed, moment)
        assert changed.size[rows].sum() == changed.live[moment]
        assert changed.live_count[moment] == len(rows)


def test_what_the_picture_is_made_of_with_changes(made: Callable[..., Snapshot]) -> None:
    snapshot = made(STEP)
    # by hand: x1 10, y1 8, x2 10, y2 8 are held when g2 is asked for, and then x1 and x2 aren't
    (whole, again) = (device_of(snapshot, 0, text) for text in ("", "recompute:file:layer.py"))
    assert whole.info.peak_bytes == 42 * MIB
    x1 = int(np.flatnonzero(whole.size == 10 * MIB)[0])
    lives = np.flatnonzero(again.rows == x1)
    assert len(lives) == 2
    assert again.end[lives[0]] <= again.start[lives[1]] < again.end[lives[1]]
    assert again.row_of(whole.first_allocation + x1) == lives[0]
    (halved,) = (device_of(snapshot, 0, text) for text in ("halve:file:layer.py:5 size>9MiB",))
    assert set(halved.size.tolist()) == {5 * MIB}
    picture = viewport(
        snapshot,
        0,
        Box("event", 0.0, float(whole.info.events), 0.0, 64.0 * MIB, 64, 64),
        "halve:file:layer.py:5",
    )
    assert (
        picture.geometry
        != viewport(
            snapshot, 0, Box("event", 0.0, float(whole.info.events), 0.0, 64.0 * MIB, 64, 64)
        ).geometry
    )


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("-halve:file:layer.py", "can't be excluded"),
        ('halve:"without:x"', "can't change what is changed"),
        ("halve:file:nowhere.py", "matches no allocation"),
        ("recompute:size<5MiB", "None of the allocations to compute again"),
    ],
)
def test_changes_that_mean_nothing_are_refused(made: Callable[..., Snapshot], text: str, part: str) -> None:
    with pytest.raises(BadRequestError, match=part):
        device_of(made(STEP), 0, text)
