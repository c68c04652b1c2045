"""Out-of-memory events, against an allocator on a device of limited memory that records its true state."""

import json
import pickle
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import frame, real_programs
from tests.python.limited_allocator import DeviceFullError, LimitedAllocator, asked_of_driver
from tests.python.model_allocator import KIB, MIB
from tests.python.recordings import TORCH
from tests.python.replays import torch as oracle
from tests.python.test_allocator import open_data
from tests.python.test_reserved import known_sizes, parts, true_gap
from tests.python.tries import tries

from memlens.cli import main
from memlens.errors import MemlensError
from memlens.model.frames import USER
from memlens.packs.pytorch.frames import source_frame
from memlens.packs.pytorch.ooms import marks, oom
from memlens.packs.pytorch.tests.test_replay import asked_again, served
from memlens.store.snapshot import Snapshot
from memlens.views.findings.ahead import findings
from memlens.views.findings.headline import headline
from memlens.views.findings.trace.oom import MOST_EVENTS
from memlens.views.trace.oom.answers import Finding, OomAnswer
from memlens.views.trace.oom.report import report

SHARED_POOL = (0, 0)


def run(allocator: LimitedAllocator, chance: random.Random, steps: int) -> None:
    """A program that continues after it ran out of memory."""
    for _ in range(steps):
        what = chance.random()
        if what < 0.6 or not (allocator.live or allocator.pending):
            size = chance.choice(
                (700, 300 * KIB, MIB, MIB + 1, 3 * MIB, 9 * MIB, 15 * MIB, 26 * MIB, 50 * MIB)
            )
            allocator.line = chance.randint(1, 5)
            try:
                allocator.malloc(
                    size + chance.choice((0, -1, 513)),
                    chance.choice((0, 0, 0, 7)),
                    chance.choice((SHARED_POOL, (0, 1))),
                )
            except DeviceFullError:
                if allocator.live and chance.random() < 0.5:
                    allocator.request_free(0)
                    allocator.complete_free(-1)
        elif what < 0.85 and allocator.live:
            allocator.request_free(chance.randrange(99))
            if chance.random() < 0.8:
                allocator.complete_free(-1)
        elif allocator.pending:
            allocator.complete_free(chance.randrange(99))


def holes_of(held: tuple[Any, ...]) -> list[int]:
    """The free pieces of a segment."""
    found, at = [], held[0]
    for addr, size, _, state, _ in held[6]:
        if state == "inactive":
            continue
        found.append(addr - at)
        at = addr + size
    found.append(held[0] + held[1] - at)
    return [free for free in found if free]


def expected(allocator: LimitedAllocator, event: int) -> dict[str, Any]:
    entry, state = allocator.events[event], allocator.states[event]
    size, small = entry["size"], entry["size"] <= MIB
    places: dict[str, list[int]] = {}
    pinned: list[tuple[Any, ...]] = []
    pinning: dict[int, int] = {}
    line_of = {a["number"]: a["line"] for a in allocations(allocator)}
    lines: dict[int, int] = {}
    for held in state:
        _, total, stream, pool, is_small, expandable, blocks = held
        active = [block for block in blocks if block[3] != "inactive"]
        for block in active:
            lines[line_of[block[4]]] = lines.get(line_of[block[4]], 0) + block[2]
        if stream != entry["stream"]:
            why = "other_stream"
        elif pool != entry["pool_id"]:
            why = "other_pool"
        elif is_small != small:
            why = "other_size_class"
        else:
            why = "usable"
        holes = holes_of(held)
        usable = False
        for hole in holes:
            rest = why == "usable" and active and not (is_small or expandable) and hole <= MIB
            places.setdefault("rest" if rest else why, []).append(hole)
            usable |= why == "usable" and not rest
        if usable and active:
            pinned.append((hex(held[0]), total, sum(holes), max(holes), len(active)))
            for number in {line_of[block[4]] for block in active}:
                pinning[number] = pinning.get(number, 0) + sum(holes)
    first = event
    while first and allocator.events[first - 1]["action"] in ("segment_free", "segment_unmap"):
        first -= 1
    retry = None
    for later in range(event + 1, len(allocator.events)):
        other = allocator.events[later]
        rounded = max(512, -(-other["size"] // 512) * 512)
        if other["action"] == "alloc" and rounded == size and other["stream"] == entry["stream"]:
            retry = later
            break
    return {
        "places": {why: (sum(sizes), len(sizes), max(sizes)) for why, sizes in places.items()},
        "pinned": sorted(pinned),
        "pinning": pinning,
        "lines": lines,
        "returned": (event - first, sum(e["size"] for e in allocator.events[first:event])),
        "retry": retry,
    }


def allocations(allocator: LimitedAllocator) -> list[dict[str, int]]:
    made = [entry for entry in allocator.events if entry["action"] == "alloc"]
    return [{"number": number, "line": entry["frames"][0]["line"]} for number, entry in enumerate(made)]


@pytest.mark.slow
@settings(max_examples=tries(60), deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.integers(60, 400))
def test_an_event_is_explained_by_the_allocator_s_state(
    tmp_path_factory: pytest.TempPathFactory, seed: int, expandable: bool, capacity_mib: int
) -> None:
    allocator = LimitedAllocator(expandable, capacity_mib * MIB)
    run(allocator, random.Random(seed), 120)
    snapshot = open_data(tmp_path_factory.mktemp("oom"), allocator.snapshot(0))
    reported = known_sizes(allocator.states[-1])
    events = [number for number, entry in enumerate(allocator.events) if entry["action"] == "oom"]
    found_marks = marks(snapshot)
    assert [mark.event for mark in found_marks.marks] == events
    assert found_marks.count == len(events) == snapshot.timeline.devices[0].ooms
    for event in events:
        entry, answer = allocator.events[event], oom(snapshot, 0, event)
        wanted = expected(allocator, event)
        assert answer.device_free_bytes == entry["device_free"]
        assert (answer.requested_bytes, answer.moment) == (entry["size"], event + 1)
        page = (2 if entry["size"] <= MIB else 20) * MIB
        paged = any(held[5] for held in allocator.states[event])
        assert answer.driver_bytes == (
            -(-entry["size"] // page) * page if paged else asked_of_driver(entry["size"])
        )
        assert answer.frames[0].line == entry["frames"][0]["line"]
        assert {p.why: (p.bytes, p.pieces, p.largest_bytes) for p in answer.places} == wanted["places"]
        assert answer.pinned_count == len(wanted["pinned"])
        assert wanted["pinned"] == sorted(
            (p.address, p.size_bytes, p.free_bytes, p.largest_free_bytes, p.block_count)
            for p in answer.pinned
        )
        for segment in answer.pinned:
            low = int(segment.address, 16)
            assert all(low <= int(block.address, 16) < low + segment.size_bytes for block in segment.blocks)
            assert len(segment.blocks) == min(segment.block_count, 8)
        assert {p.frame.line: p.pinned_bytes for p in answer.pinning if p.frame} == wanted["pinning"]
        assert {line.frame.line: line.bytes for line in answer.lines if line.frame} == wanted["lines"]
        assert (answer.returned_segments, answer.returned_bytes) == wanted["returned"]
        assert (answer.retry.event if answer.retry else None) == wanted["retry"]
        assert parts(answer.gap) == answer.gap.reserved_bytes
        assert answer.gap.wholly_free_bytes == true_gap(allocator.states[event], reported)["wholly_free"]
        check_words(answer, expandable)
        if not expandable and event == events[0] and answer.verdict != "limit":
            # what an allocator with expandable segments does
            fits = not runs_out(allocator.events[: event + 1], allocator.capacity)
            assert ("expandable-segments" in {finding.code for finding in answer.findings}) == fits
    snapshot.close()


def runs_out(events: list[dict[str, Any]], capacity: int) -> bool:
    """Whether expandable segments don't get the memory of a request that failed, the last of some events."""
    return served(asked_again(events), expandable=True, capacity=capacity).events[-1]["action"] == "oom"


def check_words(answer: OomAnswer, expandable: bool) -> None:
    """The sentences follow from the figures of the same answer, and never contradict them."""
    free, size = answer.device_free_bytes, answer.requested_bytes
    assert free is not None
    in_segments = sum(place.bytes for place in answer.places)
    usable = next((place for place in answer.places if place.why == "usable"), None)
    codes = {finding.code for finding in answer.findings}
    if answer.verdict == "too_large":
        assert size > free + in_segments
        if size + answer.gap.requested_bytes > free + answer.gap.reserved_bytes:
            assert "no-setting-helps" in codes
    if "no-setting-helps" in codes:
        assert not codes & {"expandable-segments", "other-setting", "max-split-size"}
    if answer.verdict == "fragmented":
        assert usable is not None
        assert usable.largest_bytes < size <= usable.bytes + free
    if answer.verdict == "elsewhere":
        assert (usable.bytes if usable else 0) + free < size <= in_segments + free
    if "expandable-segments" in codes:
        assert not expandable
        assert "replayed with it, the trace reserves" in find(answer, "expandable-segments").text.text
    for finding in answer.findings:
        assert finding.text.text.endswith(".")
        assert "-0" not in finding.text.text


def find(answer: OomAnswer, code: str) -> Finding:
    (found,) = [finding for finding in answer.findings if finding.code == code]
    return found


def two_devices() -> dict[str, Any]:
    """A request to device 0 exceeds its memory; device 1 has enough, but in pieces. Both continue."""
    zero = LimitedAllocator(False, 64 * MIB)
    zero.take(10, 30 * MIB)
    zero.take(11, 20 * MIB)
    with pytest.raises(DeviceFullError):
        zero.take(12, 400 * MIB)
    one = LimitedAllocator(False, 170 * MIB)
    for line in (21, 21, 22, 23):
        # the freed block leaves a hole of 36 MiB after a block of 3 MiB
        large = one.take(20, 39 * MIB)
        one.drop(large)
        one.take(line, 3 * MIB)
        one.take(24, 36 * MIB)
    one.drop(*[number for number in list(one.live) if number % 3 == 2])
    with pytest.raises(DeviceFullError):
        one.take(25, 60 * MIB)
    last = one.live[-1]
    one.drop(last)
    one.take(25, 40 * MIB - 200)
    with pytest.raises(DeviceFullError):
        one.take(25, 60 * MIB)
    data = zero.snapshot(0)
    other = one.snapshot(0)
    for segment in other["segments"]:
        segment["device"] = 1
    return {
        "segments": data["segments"] + other["segments"],
        "device_traces": [*data["device_traces"], *other["device_traces"]],
        "allocator_settings": {"expandable_segments": False, "max_split_size": -1},
    }


def test_two_devices_run_out_of_memory_for_two_reasons(tmp_path: Path) -> None:
    snapshot = open_data(tmp_path, two_devices())
    found = [mark for mark in marks(snapshot).marks if mark.kind == "oom"]
    assert [mark.device for mark in found] == [0, 1, 1]
    zero, one, two = (oom(snapshot, mark.device, mark.event) for mark in found)

    assert zero.verdict == "too_large"
    assert (zero.device_free_bytes, zero.gap.reserved_bytes) == (14 * MIB, 50 * MIB)
    assert (
        "14 MiB on the device and 0 B in segments come to 14 MiB, 386 MiB too little"
        in zero.findings[0].text.text
    )
    assert "14 MiB free and 50 MiB reserved come to 64 MiB" in zero.findings[0].text.text
    assert find(zero, "no-setting-helps").advice
    largest = find(zero, "largest-line")
    assert largest.frame is not None
    assert (largest.frame.file, largest.frame.line) == ("/job/model.py", 10)
    assert (
        "model.py:10 (layer10) held the most: 30 MiB in 1 allocation, 60% of what was live"
        in largest.text.text
    )
    assert "is less than the 386 MiB by which the request exceeded all that was free" in largest.text.text
    assert zero.retry is None

    assert one.verdict == "fragmented"
    assert one.headline.text.startswith("60 MiB were requested and the device had")
    (usable,) = [place for place in one.places if place.why == "usable"]
    assert usable.largest_bytes < 60 * MIB <= usable.bytes + (one.device_free_bytes or 0)
    # 50 MiB would have been left on the device, as blocks of 3 MiB hold pages of 20 MiB
    assert runs_out(two_devices()["device_traces"][1][: one.event + 1], 170 * MIB)
    assert "expandable-segments" not in {finding.code for finding in one.findings}
    assert "expandable_segments:True, " in find(one, "no-setting-helps").text.text
    assert "no allocator setting would have helped" in headline(snapshot, 1).text
    pin = find(one, "pinning-line")
    assert pin.frame is not None
    assert pin.frame == one.pinning[0].frame
    assert pin.allocation is not None
    assert one.retry is None
    assert two.event > one.event
    snapshot.close()


def test_a_large_segment_that_a_small_block_splits(tmp_path: Path) -> None:
    allocator = LimitedAllocator(False, 100 * MIB)
    allocator.drop(allocator.take(1, 64 * MIB))
    allocator.take(2, 2 * MIB)
    allocator.take(3, 30 * MIB, stream=7)
    with pytest.raises(DeviceFullError):
        allocator.take(4, 63 * MIB)
    allocator.drop(0 + allocator.live[0])
    allocator.take(4, 63 * MIB)
    snapshot = open_data(tmp_path, allocator.snapshot(0))
    (mark,) = [mark for mark in marks(snapshot).marks if mark.kind == "oom"]
    answer = oom(snapshot, 0, mark.event)
    assert (answer.verdict, answer.device_free_bytes) == ("fragmented", 6 * MIB)
    assert [(p.why, p.bytes, p.pieces) for p in answer.places] == [("usable", 62 * MIB, 1)]
    # the small block would have been in another segment, of 20 MiB, or have held a page of 20 MiB
    codes = {finding.code for finding in answer.findings}
    assert "no-setting-helps" in codes
    assert not codes & {"max-split-size", "expandable-segments"}
    (segment,) = answer.pinned
    assert segment.large_enough
    assert [block.label.line for block in segment.blocks if block.label] == [2]
    assert answer.retry is not None
    assert (answer.retry.same_stack, answer.retry.failures_between) == (True, 0)
    retried = find(answer, "retry-succeeded")
    assert "from the same stack" in retried.text.text
    assert retried.allocation == answer.retry.allocation
    snapshot.close()


def of_19_mib(asked_bytes: int, capacity: int) -> LimitedAllocator:
    """Four requests for 19.25 MiB fill 20 MiB each, as remainders up to 1 MiB aren't split off; the fifth fails."""
    allocator = LimitedAllocator(False, capacity)
    for line in range(1, 5):
        allocator.take(line, 19 * MIB + MIB // 4)
    with pytest.raises(DeviceFullError):
        allocator.take(9, asked_bytes)
    return allocator


@pytest.mark.parametrize(
    ("asked_bytes", "capacity", "says", "text"),
    [
        # 77 and 22.5 MiB are 99.5 in one expandable segment of five pages of 20 MiB
        (22 * MIB + MIB // 2, 100 * MIB, "expandable-segments", "the trace reserves 100 MiB at the peak"),
        # the same, but the fifth page is more than there is
        (22 * MIB + MIB // 2, 100 * MIB - 100 * KIB, "no-setting-helps", "Replayed with expandable_segments:True"),
        # 77 and 23.5 MiB are more than there is, however they are placed
        (23 * MIB + MIB // 2, 100 * MIB, "no-setting-helps", "No setting of the allocator would have helped"),
    ],
)  # fmt: skip
def test_a_setting_may_save_what_rounding_takes(
    tmp_path: Path, asked_bytes: int, capacity: int, says: str, text: str
) -> None:
    allocator = of_19_mib(asked_bytes, capacity)
    snapshot = open_data(tmp_path, allocator.snapshot(0))
    answer = oom(snapshot, 0, len(allocator.events) - 1)
    assert (answer.verdict, answer.device_free_bytes) == ("too_large", capacity - 80 * MIB)
    codes = {finding.code for finding in answer.findings}
    assert codes & {"expandable-segments", "no-setting-helps"} == {says}
    assert text in find(answer, says).text.text
    (said,) = (each.text for each in findings(snapshot, 0, 100).findings if each.rule == "out_of_memory")
    assert ("no allocator setting would have helped" in said) == (says == "no-setting-helps")
    assert ("With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" in said) == (says != "no-setting-helps")
    # nothing was free in the segments, so that is no reason
    assert "free in segments" not in said
    snapshot.close()


def test_settings_that_fail_earlier_do_not_help_either(tmp_path: Path) -> None:
    """Two segments of 34 MiB of 71 are 80 in expandable segments, and 72 as eighths of powers of two."""
    allocator = LimitedAllocator(False, 71 * MIB)
    for line in (1, 2):
        allocator.take(line, 33 * MIB + MIB // 4)
    with pytest.raises(DeviceFullError):
        allocator.take(3, 3 * MIB + MIB // 2)
    snapshot = open_data(tmp_path, allocator.snapshot(0))
    answer = oom(snapshot, 0, len(allocator.events) - 1)
    assert "the request or an earlier one fails as well" in find(answer, "no-setting-helps").text.text
    snapshot.close()


def in_holes(hopeless: bool) -> LimitedAllocator:
    """120 MiB fail where 80 are free, and 38 in each of four segments of 40; in expandable ones a page of 20 is kept of
    each, so that 200 of 240 MiB are enough. ``hopeless``: 8000 MiB have failed before."""
    allocator = LimitedAllocator(False, 240 * MIB)
    if hopeless:
        with pytest.raises(DeviceFullError):
            allocator.take(5, 8000 * MIB)
    large = []
    for _ in range(4):
        allocator.drop(allocator.take(11, 40 * MIB))
        allocator.take(10, 2 * MIB)
        large.append(allocator.take(11, 38 * MIB))
    allocator.drop(*large)
    with pytest.raises(DeviceFullError):
        allocator.take(30, 120 * MIB)
    return allocator


CONCLUSIONS = {"expandable-segments", "other-setting", "max-split-size", "no-setting-helps", "enough"}


@pytest.mark.parametrize("hopeless", [False, True])
def test_an_event_is_not_judged_by_the_failure_of_an_earlier_one(tmp_path: Path, hopeless: bool) -> None:
    allocator = in_holes(hopeless)
    snapshot = open_data(tmp_path, allocator.snapshot(0))
    answer = oom(snapshot, 0, len(allocator.events) - 1)
    assert (answer.verdict, answer.device_free_bytes) == ("fragmented", 80 * MIB)
    codes = {finding.code for finding in answer.findings} & CONCLUSIONS
    if hopeless:
        # every replay fails at the first request, whatever would have become of this one
        assert not codes
        assert find(oom(snapshot, 0, 0), "no-setting-helps").text.text.startswith("No setting")
    else:
        assert "expandable-segments" in codes
        assert "reserves 200 MiB at the peak" in find(answer, "expandable-segments").text.text
    snapshot.close()


@pytest.mark.parametrize(
    ("capacity", "helps"),
    # 200 MiB, which a replay with expandable segments reserves, are more than 190
    [(220 * MIB, True), (190 * MIB, False)],
)
def test_an_event_is_judged_by_what_the_device_had_then(tmp_path: Path, capacity: int, helps: bool) -> None:
    allocator = in_holes(hopeless=False)
    allocator.capacity = capacity
    with pytest.raises(DeviceFullError):
        allocator.take(31, 110 * MIB)
    snapshot = open_data(tmp_path, allocator.snapshot(0))
    answer = oom(snapshot, 0, len(allocator.events) - 1)
    assert (answer.verdict, answer.device_free_bytes) == ("fragmented", capacity - 160 * MIB)
    codes = {finding.code for finding in answer.findings}
    assert ("expandable-segments" in codes) == helps
    assert "no-setting-helps" not in codes
    snapshot.close()


def test_a_request_above_what_other_programs_left_is_hopeless(tmp_path: Path) -> None:
    allocator = in_holes(hopeless=False)
    allocator.drop(*list(allocator.live))
    allocator.empty_cache()
    allocator.capacity = 50 * MIB
    allocator.take(20, 40 * MIB)
    with pytest.raises(DeviceFullError):
        allocator.take(31, 90 * MIB)
    snapshot = open_data(tmp_path, allocator.snapshot(0))
    answer = oom(snapshot, 0, len(allocator.events) - 1)
    # 40 and 90 MiB are more than 50, however they are placed
    assert {finding.code for finding in answer.findings} & CONCLUSIONS == {"no-setting-helps"}
    assert "10 MiB free and 40 MiB reserved come to 50 MiB" in answer.findings[0].text.text
    snapshot.close()


def test_memory_of_other_streams_pools_and_sizes_is_not_usable(tmp_path: Path) -> None:
    allocator = LimitedAllocator(False, 150 * MIB)
    for line, (stream, pool) in enumerate(((7, SHARED_POOL), (0, (0, 1)), (0, SHARED_POOL)), 1):
        held = allocator.take(line, 40 * MIB, stream, pool)
        allocator.drop(held)
        allocator.take(line, 2 * MIB, stream, pool)
    allocator.take(9, 4 * KIB)
    with pytest.raises(DeviceFullError):
        allocator.take(4, 39 * MIB)
    snapshot = open_data(tmp_path, allocator.snapshot(0))
    answer = oom(snapshot, 0, len(allocator.events) - 1)
    assert {place.why: place.bytes for place in answer.places} == {
        "usable": 38 * MIB, "other_stream": 38 * MIB, "other_pool": 38 * MIB, "other_size_class": 2 * MIB - 4 * KIB,
    }  # fmt: skip
    assert answer.pool == "(0, 0)"
    assert answer.driver_bytes == 40 * MIB
    assert answer.verdict == "fragmented"
    text = find(answer, "not-for-it").text.text
    assert "38 MiB in segments of other streams, the largest piece 38 MiB" in text
    assert "private pools" in text
    snapshot.close()


def test_missing_information_is_not_guessed(tmp_path: Path) -> None:
    trace: list[dict[str, Any]] = [
        {"action": "alloc", "addr": 4096, "size": 100, "stream": 0},
        {"action": "oom", "size": 5 * MIB, "stream": 0},
        {"action": "oom", "size": 5 * MIB, "stream": 0, "device_free": 30 * MIB},
        {"action": "oom", "size": 5 * MIB, "stream": 0, "device_free": 6 * MIB},
        {"action": "oom", "size": -5, "stream": 0, "device_free": 6 * MIB},
        {"action": "snapshot", "addr": 0, "size": 77, "stream": 0},
    ]
    snapshot = open_data(tmp_path, {"segments": [], "device_traces": [trace]})
    unknown, limit, step, negative = (oom(snapshot, 0, event) for event in range(1, 5))
    assert (unknown.verdict, unknown.device_free_bytes, unknown.segments_known) == ("unknown", None, False)
    assert "doesn't say what the device had free" in unknown.findings[0].text.text
    assert not {finding.code for finding in unknown.findings} & {"expandable-segments", "max-split-size"}
    assert unknown.lines[0].frame is None
    words = "\n".join(report([unknown], marks(snapshot), snapshot.info))
    assert "  active 512 B: requested 100 B, rounding 412 B" in words
    assert "what was reserved is not in the file" in words
    assert "  reserved " not in words
    assert limit.verdict == "limit"
    assert "is not in the file" in limit.findings[0].text.text
    assert "asks the driver for 20 MiB at once" in step.findings[0].text.text
    assert negative.requested_bytes == 0
    found = marks(snapshot)
    assert [(mark.kind, mark.event) for mark in found.marks] == [
        *(("oom", n) for n in range(1, 5)),
        ("snapshot", 5),
    ]
    assert found.marks[-1].size_bytes == 77
    for wrong in (0, 5, -1, 6):
        with pytest.raises(MemlensError):
            oom(snapshot, 0, wrong)
    with pytest.raises(MemlensError):
        oom(snapshot, 3, 0)
    snapshot.close()


def test_the_command_line_explains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.pickle"
    path.write_bytes(pickle.dumps(two_devices()))
    cache = ["--cache-dir", str(tmp_path / "cache")]
    assert main(["oom", str(path), *cache]) == 0
    text = capsys.readouterr().out
    assert text.count("out of memory, device 1") == 2
    assert "No setting of the allocator would have helped" in text
    assert "/job/model.py:10 layer10" in text
    assert main(["oom", str(path), "--json", *cache]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert [answer["verdict"] for answer in answers] == ["too_large", "fragmented", "fragmented"]
    assert main(["info", str(path), *cache]) == 0
    assert "out of memory, device 0, event 5: 400 MiB were requested" in capsys.readouterr().out


def test_a_file_without_an_event_is_reported(
    tmp_path: Path, sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["oom", str(sample), "--cache-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "The trace has no out-of-memory event.\n"
    kept, bare = tmp_path / "kept.zip", tmp_path / "bare.pickle"
    assert main(["export", str(sample), "--snapviewer", str(kept), "--cache-dir", str(tmp_path)]) == 0
    block = {"size": 512, "requested_size": 500, "address": 4096, "state": "active_allocated"}
    segment = {"device": 0, "address": 4096, "total_size": 512, "stream": 0, "blocks": [block]}
    bare.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [[]]}))
    for path, words in ((kept, "SnapViewer's archives don't keep"), (bare, "The file has no trace")):
        capsys.readouterr()
        assert main(["oom", str(path), "--cache-dir", str(tmp_path)]) == 0
        assert capsys.readouterr().out.startswith(words)


def asked(opened: Callable[[Path], Snapshot], tmp_path: Path, stacks: list[Any], name: str) -> list[str]:
    """Where requests with these stacks came from, in the answers and in the report."""
    ooms = [
        {"action": "oom", "size": MIB, "stream": 0, "device_free": 9, "frames": frames} for frames in stacks
    ]
    path = tmp_path / f"{name}.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [ooms]}))
    snapshot = opened(path)
    answers = [oom(snapshot, 0, number) for number in range(len(stacks))]
    lines = list(report(answers, marks(snapshot), snapshot.info))
    assert [line.strip() for line in lines if " requested at " in line or "was recorded" in line] == [
        answer.asked_by.text for answer in answers
    ]
    for answer in answers:
        assert (answer.asked_at is None) == (not answer.asked_by.text.startswith("requested at "))
    sentences = [each.text for each in findings(snapshot, 0, 100).findings if each.rule == "out_of_memory"]
    if sentences:
        assert headline(snapshot, 0).text.startswith(sentences[0].partition(" Try ")[0])
    for answer, sentence in zip(answers[:MOST_EVENTS], sentences, strict=True):
        at = answer.asked_at
        if at is None:
            assert sentence.startswith(f"Out of memory: 1 MiB requested, 9 B free; {answer.asked_by}.")
        else:
            name = re.split(r"[/\\]", at.file)[-1]
            assert sentence.startswith(f"Out of memory at {name}:{at.line}: 1 MiB requested, 9 B free.")
    return [answer.asked_by.text for answer in answers]


@pytest.mark.parametrize("path", [*TORCH, *real_programs("*.pickle")], ids=lambda path: path.stem[:40])
def test_where_real_requests_came_from(
    path: Path, opened: Callable[[Path], Snapshot], tmp_path: Path
) -> None:
    """The user's innermost line, else a library's, else a sentence that there is none."""
    data = oracle.load(path)
    traces = [] if isinstance(data, list) else data["device_traces"]
    # events share the lists of their frames, but not all
    lists = {id(entry["frames"]): entry for trace in traces for entry in trace if entry.get("frames")}
    stacks = {oracle.frames_of(entry): entry["frames"] for entry in lists.values()}
    chosen = random.Random(1).sample(list(stacks.values()), min(40, len(stacks)))
    for frames, reported in zip(chosen, asked(opened, tmp_path, chosen, "real"), strict=True):
        python = [
            f for f in frames if f["line"] and re.search(r"\.py$|<ipython-input|ipykernel", f["filename"])
        ]
        # whose code a frame is, is tested elsewhere
        user = [f for f in python if source_frame(f["filename"], f["line"], f["name"]).kind == USER]
        if python:
            best = (user or python)[0]
            assert reported == f"requested at {best['filename']}:{best['line']} {best['name']}"
        elif not any("): " in f["name"] for f in frames):  # the profiler stores places in names
            assert reported.startswith("no Python frame was recorded for the request")
        assert "unwind" not in reported


def test_a_request_without_python_names_operators(opened: Callable[[Path], Snapshot], tmp_path: Path) -> None:
    native = [
        "torch::unwind::unwind()", "torch::CapturedTraceback::gather(bool, bool, bool)",
        "torch::cuda::(anonymous namespace)::gather_with_cpp()",
        "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
    ]  # fmt: skip
    operators = ["at::_ops::empty_like::call(at::Tensor const&)", "at::_ops::bmm::call(at::Tensor const&)"]

    def frames(*names: str) -> list[Any]:
        return [frame("??", 0, name) for name in names]

    stacks = [
        [], frames(*native), frames(*native, "my_kernel()", "clone"), frames(*native, operators[1]),
        frames(*native, *operators),
    ]  # fmt: skip
    none = "no Python frame was recorded for the request"
    assert asked(opened, tmp_path, stacks, "native") == [
        "no stack was recorded for the request",
        none,
        f"{none}; the innermost native function is my_kernel()",
        f"{none}; the outermost operator is aten::bmm",
        f"{none}; the outermost operator is aten::bmm, the innermost aten::empty_like",
    ]


@pytest.mark.parametrize("path", [*TORCH, *real_programs("*.pickle")], ids=lambda path: path.stem[:40])
def test_the_recorder_itself_is_never_named(path: Path, looked_at: Callable[[Path], Snapshot]) -> None:
    snapshot = looked_at(path)
    labels = set(snapshot.stacks.label.tolist())
    named = {row[2] for number, row in snapshot.frames.rows(labels - {0xFFFFFFFF}).items()}
    assert not [name for name in named if name.startswith(("torch::unwind", "torch::CapturedTraceback"))]
