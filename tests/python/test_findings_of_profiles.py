"""Which rules apply to which profiles, and their sentences: generated profiles, with figures checked by SQL."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.python.test_findings import check_figures, rules
from tests.python.test_profile_model import archived

from memlens.model.frames import LIBRARY, NATIVE, POSSIBLE_ARENA, USER, Frames, SourceFrame
from memlens.model.info import ValueType
from memlens.model.profile import CHANGE_DTYPE, Profile, ProfileTimes
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.views.findings.ahead import findings, headline

KIB, MIB = 1 << 10, 1 << 20

TYPES: dict[str, ValueType] = {
    kind.name: kind
    for kind in (
        ValueType("total_count", "count", "total", Text("Allocations made")),
        ValueType("total_bytes", "bytes", "total", Text("Allocated in total")),
        ValueType("peak_bytes", "bytes", "peak", Text("Live at the peak")),
        ValueType("leaked_count", "count", "end", Text("Leaked allocations")),
        ValueType("leaked_bytes", "bytes", "end", Text("Leaked: live at the end")),
        ValueType("temporary_count", "count", "temporary", Text("Temporary allocations")),
        ValueType("written_bytes", "bytes", "other", Text("Written to the blocks")),
    )
}

Row = tuple[str, int, dict[str, int]]
"""A function, whose code it is, and the values of its one line."""
Make = Callable[..., Snapshot]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Make]:
    snapshots: list[Snapshot] = []

    def make(
        shown: str, *rows: Row, times: ProfileTimes | None = None, inner: SourceFrame | None = None
    ) -> Snapshot:
        profile = profile_of(shown, *rows, times=times, inner=inner)
        snapshots.append(archived(profile, tmp_path / f"archive{len(snapshots)}"))
        assert check_figures(snapshots[-1])
        return snapshots[-1]

    yield make
    for snapshot in snapshots:
        snapshot.close()


def profile_of(shown: str, *rows: Row, times: ProfileTimes | None, inner: SourceFrame | None) -> Profile:
    """A profile of one sample for each row, whose line has the row's number; the first one's calls ``inner``."""
    names = [name for name in TYPES if any(name in values for _, _, values in rows)]
    frames = [
        SourceFrame(f"/p/{'lib' if kind == LIBRARY else 'app'}.cpp" if kind != NATIVE else "/usr/lib/x.so",
                    0 if kind == NATIVE else number, function, kind)
        for number, (function, kind, _) in enumerate(rows, 1)
    ]  # fmt: skip
    stacks = [[number] for number in range(len(rows))]
    if inner is not None:
        frames.append(inner)
        stacks[0].insert(0, len(rows))
    starts = np.cumsum([0, *map(len, stacks)]).astype(np.uint64)
    sequence = np.array([frame for stack in stacks for frame in stack], np.uint32)
    values = [np.array([row[2].get(name, 0) for row in rows], np.int64) for name in names]
    return Profile(
        "test", Frames(frames, starts, sequence), [TYPES[name] for name in names], names.index(shown),
        np.arange(len(rows), dtype=np.uint32), values, times=times,
    )  # fmt: skip


def text_of(snapshot: Snapshot, rule: str) -> list[str]:
    return [each.text for each in findings(snapshot, None, 100).findings if each.rule == rule]


REST: Row = ("rest", USER, {"peak_bytes": 100 * MIB, "leaked_bytes": 32 * KIB, "total_bytes": 200 * MIB})


@pytest.mark.parametrize("case", ["leaks", "library", "little", "pools"])
def test_leaks(made: Make, case: str) -> None:
    kind = LIBRARY if case == "library" else USER
    leaked = 4 * KIB if case == "little" else 30 * MIB
    row: Row = ("app::parse(int)", kind, {"peak_bytes": 50 * MIB, "leaked_bytes": leaked, "leaked_count": 9})
    snapshot = made("peak_bytes", row, REST, inner=POSSIBLE_ARENA if case == "pools" else None)
    assert text_of(snapshot, "leak") == (
        [("app.cpp:1 (app::parse) leaks 30 MiB in 9 allocations, 100% of what is never freed. Free it, or let a "
          "shorter-lived owner hold it.")]
        if case == "leaks"
        else []
    )  # fmt: skip
    if case == "leaks":
        assert headline(snapshot, None).text.startswith(
            "Peak 150 MiB. Held by app.cpp:2 rest() 100 MiB (67%); app.cpp:1 app::parse() 50 MiB (33%). "
            "app.cpp:1 (app::parse) leaks 30 MiB"
        )


def flow(changes: list[list[tuple[int, int, int]]]) -> ProfileTimes:
    """Times with what each sample allocated and freed in each bin."""
    rows, offsets = [], [0, 0]
    for each in changes:
        rows += [(sample, more, less, 1, 1) for sample, more, less in each]
        offsets.append(len(rows))
    edges = np.arange(len(changes) + 1, dtype=np.int64) * 1000
    peaks = np.full(len(edges), 100 * MIB, np.int64)
    return ProfileTimes(edges, {"live_bytes": edges}, peaks, np.array(offsets, np.uint64),
                        np.array(rows, CHANGE_DTYPE))  # fmt: skip


@pytest.mark.parametrize("grows", [True, False])
def test_growth(made: Make, grows: bool) -> None:
    # one line grows in every bin, the other one goes up and down
    changes = [
        [(0, 5 * MIB if grows or not number else 0, 0), (1, 40 * MIB, 0) if number % 2 else (1, 0, 40 * MIB)]
        for number in range(1, 11)
    ]
    rows: list[Row] = [
        ("grows", USER, {"peak_bytes": 50 * MIB}),
        ("waves", USER, {"peak_bytes": 40 * MIB}),
        ("rest", USER, {"peak_bytes": 10 * MIB}),
    ]
    snapshot = made("peak_bytes", *rows, times=flow(changes))
    grown = ": 10 MiB after 20% of it, 40 MiB after 80%; at the peak it has 50 MiB."
    expected = f"app.cpp:1 (grows) grows throughout the run{grown}"
    assert text_of(snapshot, "growth") == [expected] * grows


@pytest.mark.parametrize("share", [0.6, 0.4])
def test_one_site(made: Make, share: float) -> None:
    rows: list[Row] = [("most", USER, {"peak_bytes": round(share * 100 * MIB)})]
    rows += [(f"f{n}", USER, {"peak_bytes": round((1 - share) * 25 * MIB)}) for n in range(4)]
    snapshot = made("peak_bytes", *rows)
    assert text_of(snapshot, "one_site") == ["app.cpp:1 (most) has 60 MiB, 60% of the peak."] * (share > 0.5)


@pytest.mark.parametrize("kind", [USER, LIBRARY])
@pytest.mark.parametrize("many", [True, False])
def test_temporary_and_small_allocations(made: Make, kind: int, many: bool) -> None:
    count = 400_000 if many else 4_000
    row: Row = (
        "work", kind, {"total_count": count, "total_bytes": 24 * count, "temporary_count": count // 2}
    )  # fmt: skip
    rest: Row = ("rest", USER, {"total_count": 500_000, "total_bytes": 5_000_000_000, "temporary_count": 10})
    snapshot = made("total_bytes", row, rest)
    expected = many and kind == USER
    assert (
        text_of(snapshot, "temporary_allocations")
        == [
            (
                "app.cpp:1 (work) makes 200,000 temporary allocations, 22% of all: each is freed before the next one "
                "is made. Reuse a buffer, or reserve its capacity once."
            )
        ]
        * expected
    )
    assert (
        text_of(snapshot, "small_allocations")
        == [
            (
                "app.cpp:1 (work) made 400,000 allocations of 24 B on average, 44% of all that were ever made. An "
                "arena, a pool or a single array of values would avoid the allocator's work and its overhead for each."
            )
        ]
        * expected
    )


@pytest.mark.parametrize("held", [0, 20 * MIB])
def test_churn(made: Make, held: int) -> None:
    row: Row = ("work", USER, {"total_bytes": 300 * MIB, "peak_bytes": held})
    snapshot = made("peak_bytes", row, REST)
    assert text_of(snapshot, "churn") == [
        (
            "app.cpp:1 (work) allocates 300 MiB over the run, 60% of all, and holds 0 B at the peak: reuse "
            "buffers to save that work."
        )
    ] * (not held)


@pytest.mark.parametrize(
    ("file", "function", "expected"),
    [
        ("/usr/include/c++/12/bits/basic_string.h", "std::string::append", True),
        ("/usr/local/go/src/bytes/buffer.go", "bytes.growSlice", True),
        ("/usr/local/go/src/go/parser/parser.go", "go/parser.ParseFile", False),
        ("/usr/include/qt/qstring.h", "QString::append", False),
    ],
)
def test_advice_on_how_to_allocate_is_for_lines_that_allocate_themselves(
    made: Make, file: str, function: str, *, expected: bool
) -> None:
    values = {"total_bytes": 300 * MIB, "total_count": 30_000_000, "temporary_count": 10_000_000}
    inner = SourceFrame(file, 9, function, LIBRARY)
    snapshot = made("total_bytes", ("work", USER, values), REST, inner=inner)
    advice = {"churn", "small_allocations", "temporary_allocations"}
    assert advice.intersection(rules(snapshot)) == (advice if expected else set())


@pytest.mark.parametrize("written", [MIB, 8 * MIB])
def test_oversized_buffers(made: Make, written: int) -> None:
    row: Row = ("buffer", USER, {"total_bytes": 10 * MIB, "written_bytes": written})
    rest: Row = ("rest", USER, {"total_bytes": 10 * MIB, "written_bytes": 30 * MIB})
    snapshot = made("total_bytes", row, rest)
    assert text_of(snapshot, "oversized_buffers") == [
        (
            "app.cpp:1 (buffer) allocates 10 MiB and writes only 1 MiB to it (9 MiB stay untouched): the buffers are "
            "larger than needed."
        )
    ] * (written == MIB)


@pytest.mark.parametrize("named", [True, False])
def test_no_symbols(made: Make, named: bool) -> None:
    row: Row = ("known" if named else "x.so at 0x7f0011223344", NATIVE, {"peak_bytes": 60 * MIB})
    other: Row = ("other", NATIVE, {"peak_bytes": 40 * MIB})
    snapshot = made("peak_bytes", row, other)
    assert text_of(snapshot, "no_symbols") == [
        (
            "Names are missing: 60 MiB (60%) is in functions known by address only, most of them in x.so. Symbolize "
            "the profile where it was recorded, to see lines."
        )
    ] * (not named)


def test_differences_have_no_shares(made: Make) -> None:
    rows: list[Row] = [("more", USER, {"peak_bytes": 9 * MIB}), ("less", USER, {"peak_bytes": -5 * MIB})]
    snapshot = made("peak_bytes", *rows)
    assert headline(snapshot, None).text == (
        "Live at the peak, as a difference: 4 MiB. Grew most: app.cpp:1 more() 9 MiB."
    )
    assert rules(snapshot) == []


HELPED = (
    # file and line, innermost first
    (30, (("pool.py", 3), ("pool.py", 9), ("index.py", 7), ("main.py", 1))),
    (50, (("pool.py", 3), ("pool.py", 9), ("cache.py", 8), ("main.py", 2))),
    (12, (("pool.py", 3), ("pool.py", 9), ("index.py", 9), ("main.py", 1))),
    (8, (("other.py", 5), ("main.py", 1))),
)


@pytest.mark.parametrize("has_functions", [True, False])
@pytest.mark.parametrize(
    ("shares", "said"),
    [
        (
            HELPED,
            (
                "Held by cache.py:8 f8() 50 MiB (50%); index.py:7 f7() 30 MiB (30%); index.py:9 f9() 12 MiB (12%), "
                "all through pool.py:3 f3() (92%); other.py:5 f5() 8 MiB (8%)."
            ),
        ),
        # one caller after another has everything
        ([(each, stack[:2]) for each, stack in HELPED[1:3]], "Held by pool.py:3 f3() 62 MiB (100%)."),
        # the recursion's own line isn't a caller
        ([(9, (("a.py", 1), ("a.py", 1), ("b.py", 2)))], "Held by a.py:1 f1() 9 MiB (100%)."),
        # a fifth has no caller, and so isn't divided
        ([HELPED[0], (40, (("pool.py", 3),))], "Held by pool.py:3 f3() 70 MiB (100%)."),
    ],
)
def test_a_helper_that_has_nearly_everything_is_named_after_its_callers(
    tmp_path: Path, shares: list[tuple[int, tuple[tuple[str, int], ...]]], said: str, has_functions: bool
) -> None:
    """Without functions, as tracemalloc's, frames are called by their lines, which are said once."""
    places = sorted({place for _, stack in shares for place in stack})
    frames = [
        SourceFrame(f"/app/{file}", line, f"f{line}" if has_functions else f"{file}:{line}", USER)
        for file, line in places
    ]
    starts = np.cumsum([0, *(len(stack) for _, stack in shares)]).astype(np.uint64)
    sequence = np.array([places.index(place) for _, stack in shares for place in stack], np.uint32)
    profile = Profile(
        "test", Frames(frames, starts, sequence), [TYPES["peak_bytes"], TYPES["leaked_bytes"]], 0,
        np.arange(len(shares), dtype=np.uint32), [np.array([each * MIB for each, _ in shares], np.int64)] * 2,
    )  # fmt: skip
    said = said if has_functions else re.sub(r" f\d\(\)", "", said)
    with closing(archived(profile, tmp_path / "archive")) as snapshot:
        assert said in headline(snapshot, None).text
        # who calls a helper can free what it leaks
        leaked = next(each.text for each in findings(snapshot, None, 9).findings if each.rule == "leak")
        callers, _, helper = said.removeprefix("Held by ").partition(", all through ")
        assert (f"% of what is never freed, for {callers}. Free it" in leaked) == bool(helper)
