"""How large something may be: figures by hand, and real traces that are predicted from two others of the program."""

import contextlib
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.python.conftest import DATA, real_files
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import open_view
from tests.python.test_allocator import open_data

from memlens.errors import BadRequestError
from memlens.packs.pytorch.tests.reference_allocator import MIB, ReferenceAllocator
from memlens.store.snapshot import Snapshot
from memlens.views.trace.how_large import HowLarge, asked_in, at_least, how_large
from memlens.views.trace.how_large_words import at_least_said, sizes_said
from memlens.views.trace.what_if import what_if

pytest_plugins = ("tests.python.server_fixtures",)


def trained(size: int, *, more: bool = False, noise: int = 0) -> dict[str, Any]:
    """A program's trace: 30 MiB, two that grow in proportion to the size, and one with its square. All are held."""
    allocator = ReferenceAllocator()
    asked = [("weights", 30 * MIB), ("x", size * 2 * MIB), ("x", size * 3 * MIB), ("scores", size**2 * MIB)]
    for number, (name, amount) in enumerate(
        [*asked, *([("other", noise * MIB)] * (1 + more) if noise else [])]
    ):
        allocator.malloc(number, amount, 0, (0, 0))
        for event in allocator.events[-2:]:
            event["frames"] = [{"filename": "/job/a.py", "line": len(name), "name": name}]
    return allocator.snapshot()


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Callable[..., HowLarge]]:
    with contextlib.ExitStack() as stack:

        def opened(data: dict[str, Any]) -> Snapshot:
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            return stack.enter_context(contextlib.closing(open_data(folder, data)))

        def asked(smaller: dict[str, Any], larger: dict[str, Any], *args: Any, **named: Any) -> HowLarge:
            return how_large(opened(larger), None, asked_in(opened(smaller), None), *args, **named)

        yield asked


def test_what_is_constant_linear_and_quadratic_is_told_apart(beside: Callable[..., HowLarge]) -> None:
    found = beside(trained(4), trained(6), (4, 6), [8, 12])
    # 30 + 5 n + n², each in a segment of its own, of whole 2 MiB
    assert [
        (row.size, row.peak_allocated_bytes // MIB, row.peak_reserved_bytes // MIB) for row in found.rows
    ] == [
        (6, 30 + 30 + 36, 30 + 12 + 18 + 36),
        (8, 30 + 40 + 64, 30 + 16 + 24 + 64),
        (12, 30 + 60 + 144, 30 + 24 + 36 + 144),
    ]
    lines = {
        str(line.name): (line.smaller_bytes // MIB, line.bytes // MIB, line.growth) for line in found.lines
    }
    assert lines == {
        "a.py:6 (scores)": (16, 36, "quadratic"),
        "a.py:1 (x)": (20, 30, "linear"),
        "a.py:7 (weights)": (30, 30, "constant"),
    }
    assert str(found.lines[0].name) == "a.py:6 (scores)"
    assert (found.check_bytes, found.checked_bytes) == (66 * MIB, 66 * MIB)
    assert found.largest is None


@pytest.mark.parametrize(
    # of size 10: 30 + 20 + 30 + 100; of 11 it would be 30 + 22 + 34 + 122
    ("capacity", "largest"),
    [(180, 10), (207, 10), (208, 11), (179, 9), (66, 4), (65, None)],
)
def test_the_largest_that_fits_is_found(
    capacity: int, largest: int | None, beside: Callable[..., HowLarge]
) -> None:
    assert beside(trained(4), trained(6), (4, 6), capacity_bytes=capacity * MIB).largest == largest


def test_what_has_no_pair_makes_a_range(beside: Callable[..., HowLarge]) -> None:
    # 8 MiB of 104, in a segment of 20, that the smaller one asks for twice: 8 to 32 MiB at twice the size
    found = beside(trained(4, noise=8, more=True), trained(6, noise=8), (4, 6), [12])
    row = found.rows[1]
    assert (row.peak_allocated_bytes // MIB, row.most_allocated_bytes // MIB) == (234 + 8, 234 + 32)
    assert (row.peak_reserved_bytes // MIB, row.most_reserved_bytes // MIB) == (234 + 20, 234 + 32)
    # 11 needs 208 and 28, 12 needs 234 and 32, or 20 if the 8 MiB are constant
    fits = beside(trained(4, noise=8, more=True), trained(6, noise=8), (4, 6), capacity_bytes=254 * MIB)
    assert (fits.largest, fits.possible) == (11, 12)
    assert str(list(sizes_said(fits, 4))[-1]) == (
        "Sizes of up to 11 certainly fit into 254 MiB, and up to 12 if what isn't known is constant."
    )
    with pytest.raises(BadRequestError, match="have no counterpart"):
        beside(trained(4, noise=20, more=True), trained(6, noise=20), (4, 6))


@pytest.mark.slow
def test_a_view_asks_beside_another(server: LspClient, tmp_path: Path) -> None:
    views = {}
    for size, name in ((6, "v1"), (4, "v1.other")):
        path = tmp_path / f"{size}.pickle"
        path.write_bytes(pickle.dumps(trained(size)))
        views[size] = open_view(server, path, name)["snapshot"]
    asked = {"device": 0, "other_device": 0, "capacity_bytes": 207 * MIB}
    for own, other in ((6, 4), (4, 6)):
        sizes = {"snapshot": views[own], "other": views[other], "size": own, "other_size": other}
        found = server.request("memlens/compareSizes", {**asked, **sizes})
        assert found["found"]["largest"] == 10
        growths = {line["name"]["text"]: line["growth"] for line in found["found"]["lines"]}
        assert growths["a.py:6 (scores)"] == "quadratic"
        assert sorted(growths.values()) == ["constant", "linear", "quadratic"]
        assert found["said"][-1]["text"] == "Sizes of up to 10 fit into 207 MiB."
    with pytest.raises(RpcError):
        server.request("memlens/compareSizes", {**asked, **sizes, "other_size": 4})


def test_sizes_that_say_nothing_are_refused(beside: Callable[..., HowLarge]) -> None:
    for sizes in ((6, 4), (100, 105), (0, 4)):
        with pytest.raises(BadRequestError, match="first two sizes"):
            beside(trained(4), trained(6), sizes)


def test_a_batch_that_certainly_fits_is_found_by_one_trace(tmp_path: Path) -> None:
    """20 MiB of parameters and 6 + 12 MiB, of which all but the parameters grow; each has a segment of its own."""
    allocator = ReferenceAllocator()
    for number, amount in enumerate((20, 12, 14)):
        allocator.malloc(number, amount * MIB, 0, (0, 0))
        category = "parameter" if not number else "activation"
        for event in allocator.events[-2:]:
            event["category"] = category
    with contextlib.closing(open_data(tmp_path, allocator.snapshot())) as snapshot:
        # 20 + 18 + 22 of 3/2, rounded up to 2 MiB; of 10/6 it would be 20 + 20 + 24
        for capacity, largest in ((60, 9), (64, 10), (46, 6), (45, None)):
            found = at_least(snapshot, None, 6, capacity * MIB)
            assert found.largest == largest, capacity
            assert (found.peak_bytes, found.constant_bytes) == (46 * MIB, 20 * MIB)
        with pytest.raises(BadRequestError, match="how much memory there was"):
            at_least(snapshot, None, 6)
    said = [str(each) for each in at_least_said(replace(found, largest=9, capacity_bytes=60 * MIB))]
    assert said[0].startswith("Sizes of up to 9 fit into 60 MiB if nothing grows faster than in proportion")
    assert said[1].startswith("Of 46 MiB at the peak 20 MiB are taken to be the same for each size")
    assert [str(each) for each in at_least_said(found)] == ["Not even size 6 certainly fits into 45 MiB."]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs real traces")
def test_what_one_trace_says_is_no_more_than_what_two_say(looked_at: Callable[[Path], Snapshot]) -> None:
    """Traces whose size is a sequence's, of which much grows with the square, don't hold; those of a batch do."""
    looked = 0
    for path in real_files("*.pickle"):
        snapshot = looked_at(path)
        device = snapshot.timeline.default_device
        if what_if(snapshot, device).calibration.reason is not None:
            continue
        peak = what_if(snapshot, device).rows[0].peak_reserved_bytes
        with contextlib.suppress(BadRequestError):
            found = at_least(snapshot, device, 100, 2 * peak)
            looked += 1
            assert found.largest is not None
            # twice as much memory is enough for no more than what grows could fill
            growing = found.peak_bytes - found.constant_bytes
            assert 100 <= found.largest <= 100 * (2 * peak - found.constant_bytes) / max(growing, 1)
    assert looked > 5


@pytest.mark.parametrize(
    ("program", "smaller", "larger", "other", "reserved"),
    DATA.is_dir()
    * [
        ("niu__forward_and_backward_memory_snapshot_{}__*", 100, 150, 200, True),
        ("niu__forward_and_backward_memory_snapshot_{}__*", 150, 200, 100, True),
        ("niu__forward_memory_snapshot_{}__*", 100, 150, 200, True),
        ("niu__forward_memory_snapshot_{}__*", 100, 200, 150, True),
        # these begin in the middle: what is reserved then is not known for another size
        ("wedson__medium_{}_inference*", 128, 256, 1024, False),
    ],
)
def test_a_run_that_was_held_out_is_predicted(
    program: str, smaller: int, larger: int, other: int, reserved: bool, looked_at: Callable[[Path], Snapshot]
) -> None:
    asked, trace, held_out = (
        looked_at(real_files(program.format(size))[0]) for size in (smaller, larger, other)
    )
    found = how_large(trace, 0, asked_in(asked, 0), (smaller, larger), [other])
    row = found.rows[1]
    recorded = what_if(held_out, 0).rows[0]
    assert row.peak_allocated_bytes == pytest.approx(held_out.device(0).info.peak_bytes, rel=0.001)
    assert row.most_allocated_bytes == pytest.approx(row.peak_allocated_bytes, rel=0.001)
    if reserved:
        assert row.peak_reserved_bytes == pytest.approx(recorded.peak_reserved_bytes, rel=0.001)


def test_it_is_said_in_sentences(beside: Callable[..., HowLarge]) -> None:
    found = beside(trained(4), trained(6), (4, 6), capacity_bytes=180 * MIB)
    first, *others = (str(each) for each in sizes_said(found, 4))
    assert first == (
        "31% of the allocated bytes are constant, 31% grow in proportion to the size, 38% with its square, "
        "and for 0% that isn't known."
    )
    assert others == [
        "Predicted from the larger trace, the smaller one would peak at 66 MiB; it peaked at 66 MiB.",
        "Sizes of up to 10 fit into 180 MiB.",
    ]
