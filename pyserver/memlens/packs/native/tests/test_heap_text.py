"""Heap profiles in text against google/pprof's conversion, Go's other format of the same profile, and by hand."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import real_profiles
from tests.python.profile_reading import FIXTURES, damage, load, samples_of, value
from tests.python.recordings import GO as GO_PROTO
from tests.python.recordings import GO_TEXT, JEMALLOC, TCMALLOC, TCMALLOC_BY_PPROF
from tests.python.tries import tries

from memlens.formats import scanning
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.frames import LIBRARY, USER

GO = FIXTURES / "go-heap.debug1.txt"


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def pairs(*patterns: str) -> list[tuple[Path, Path]]:
    """The real files of two formats that are of the same heap, if there are any."""
    found = [real_profiles(pattern) for pattern in patterns]
    return [(found[0][0], found[1][0])] if all(found) else []


def name_of(value: object) -> str:
    return value.name if isinstance(value, Path) else str(value)


@pytest.mark.parametrize(
    ("heap", "converted"),
    [(TCMALLOC, TCMALLOC_BY_PPROF), *pairs("gperftools/tree.hp.0008.heap", "gperftools/tree.0008.pb.gz")],
    ids=name_of,
)
def test_gperftools_as_pprof_converts_it(heap: Path, converted: Path) -> None:
    """``go tool pprof -proto`` of the same file: every sample, its addresses and its values."""
    text, proto = load(heap), load(converted)
    assert [kind.name for kind in text.value_types] == [kind.name for kind in proto.value_types]
    for (stack, values), (expected, expected_values) in zip(samples_of(text), samples_of(proto), strict=True):
        assert values == expected_values
        # two locations of the conversion have a line without a function
        assert all(
            frame.function == same.function or same.function == "?"
            for frame, same in zip(stack, expected, strict=True)
        )


def truncated(folder: Path) -> Path:
    """Our recording as gperftools leaves it where its buffer is full: without the last rows."""
    rows = TCMALLOC.read_text("utf-8").split("\n")
    end = rows.index("")
    return written(folder / "truncated.heap", "\n".join(rows[:5] + rows[end:]))


@pytest.mark.parametrize(
    ("path", "bytes_in_header", "words", "most"),
    [
        (None, 1_053_165, ("1.00 MiB in 2,088 allocations in total", ""), 300_000),
        *(
            (path, 151_755_900, ("145 MiB in 919,422 allocations in total", "1 MiB"), 10**6)
            for path in real_profiles("gperftools/tree.hp.0008.heap")
        ),
    ],
    ids=name_of,
)
def test_gperftools_truncates_its_files(
    path: Path | None, bytes_in_header: int, words: tuple[str, ...], most: int, tmp_path: Path
) -> None:
    profile = load(path or truncated(tmp_path))
    message = next(warning.message for warning in profile.warnings if warning.code == "rows-missing")
    assert "919,422 in total" not in message
    assert all(each in message for each in words)
    assert profile.settings["header_alloc_bytes"] == bytes_in_header
    assert value(profile, "alloc_space") < most


@pytest.mark.parametrize(
    ("heap", "other", "sources"),
    [
        (GO_TEXT, GO_PROTO, {"orders.go"}),
        *(
            (*each, {"main.go"})
            for each in pairs("pprof/go-heap-mid.debug1.txt.zst", "pprof/go-heap-mid.pb.gz")
        ),
    ],
    ids=name_of,
)
def test_go_text_equals_go_proto(heap: Path, other: Path, sources: set[str]) -> None:
    """The same heap in both of Go's formats: totals agree, and so do the stacks without hidden functions."""
    text, proto = load(heap), load(other)
    for name in ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"):
        assert math.isclose(value(text, name), value(proto, name), rel_tol=0.02), name
    # the text also has stacks of which nothing is left
    used = {frame for stack, values in samples_of(text) if any(values) for frame in stack}
    lines = {(frame.file, frame.line, frame.function) for frame in used if frame.kind == USER}
    assert lines <= {(frame.file, frame.line, frame.function) for frame in proto.frames.frames}
    assert {Path(file).name for file, _, _ in lines} == sources
    assert any(frame.kind == LIBRARY for frame in text.frames.frames)


@pytest.mark.parametrize(
    ("path", "program"),
    [(JEMALLOC, "./service"), *((path, "/home/me/a3/src/tree") for path in real_profiles("jemalloc/*.heap"))],
    ids=name_of,
)
def test_settings_and_labels_of_jemalloc(path: Path, program: str) -> None:
    """Everything but the figures, which are in ``test_replays.py``."""
    profile = load(path)
    assert len(profile.labels) == len(profile.stacks)
    assert profile.strings == {1: "thread", 2: "t0"}
    name = Path(program).name
    found = {frame.file for frame in profile.frames.frames if frame.function.startswith(f"{name} at 0x55")}
    assert found == {program}
    codes = {warning.code for warning in profile.warnings}
    assert {"sampled", "no-symbols"} <= codes
    assert "rows-missing" not in codes


BOTH = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]


@pytest.mark.parametrize(
    ("path", "values", "total", "rate"),
    [
        (TCMALLOC, BOTH, 4_200, None),
        (GO, BOTH, None, 512),
        *((path, BOTH, None, 524_288) for path in real_profiles("public/google-pprof/gobench.heap")),
        *(
            (path, ["objects", "space"], 178_257_920, None)
            for path in real_profiles("public/google-pprof/cppbench.growth")
        ),
        *((path, BOTH[2:], None, 524_288) for path in real_profiles("public/google-pprof/cppbench.heap")),
    ],
    ids=name_of,
)
def test_values_and_rates(path: Path, values: list[str], total: int | None, rate: int | None) -> None:
    profile = load(path)
    assert [kind.name for kind in profile.value_types] == values
    assert total is None or value(profile, values[-1]) == total
    assert (profile.settings.get("sampling_rate_bytes") or None) == rate


def test_named_frames_of_go() -> None:
    """The recording in the repository: the lines in Go's comments."""
    profile = load(GO)
    mine = {(frame.file, frame.line) for frame in profile.frames.frames if frame.kind == USER}
    assert mine
    source = (FIXTURES / "src" / "words.go").read_text("utf-8").splitlines()
    assert all(file.endswith("words.go") and 0 < line <= len(source) for file, line in mine)
    assert not any(warning.code == "no-symbols" for warning in profile.warnings)


THREADS = """heap_v2/1000
  t*: 9: 900 [0: 0]
  t0: 5: 500 [0: 0]
  t7: 4: 400 [0: 0]
@ 0x1001 0x2002
  t*: 5: 500 [0: 0]
  t0: 3: 300 [0: 0]
  t7: 2: 200 [0: 0]
@ 0x2002
  t*: 4: 400 [0: 0]
  t7: 1: 100 [0: 0]

MAPPED_LIBRARIES:
00001000-00002000 r-xp 00000000 08:01 12 /usr/bin/one
00002000-00003000 r-xp 00001000 08:01 12 /home/me/a b
"""


def test_sum_is_used_if_threads_do_not_add_up(tmp_path: Path) -> None:
    profile = load(written(tmp_path / "x.heap", THREADS))
    scale = 1 / (1 - math.exp(-0.1))
    named = [profile.strings[row["text"]] for row in profile.labels]
    assert (named, profile.labels["sample"].tolist()) == (["t0", "t7"], [0, 1])
    assert profile.values[1].tolist() == [round(number * scale) for number in (300, 200, 400)]
    assert [[(frame.file, frame.function) for frame in stack] for stack, _ in samples_of(profile)][1:] == [
        [("/usr/bin/one", "one at 0x1000"), ("/home/me/a b", "a b at 0x2001")],
        [("/home/me/a b", "a b at 0x2001")],
    ]


ROWS = st.lists(
    st.tuples(
        st.integers(0, 9), st.integers(0, 10**9), st.integers(0, 10**4), st.integers(0, 10**9),
        st.lists(st.integers(1, 2**64 - 1), max_size=4),
    ),
    max_size=8,
)  # fmt: skip


@pytest.mark.slow
@given(ROWS, st.sampled_from(["heapprofile", "heap_v2/4096", "heap/8192", "heap_v2/1"]), st.booleans())
@settings(max_examples=tries(150), deadline=None)
def test_any_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[Any], kind: str, wide: bool) -> None:
    """google/pprof's ``scaleHeapSample`` written out, whatever the columns' width."""
    head = [sum(row[at] for row in rows) for at in range(4)]
    lines = ["heap profile: {}: {} [{}: {}] @ ".format(*head) + kind]
    for row in rows:
        numbers = "{:6}: {:8} [{:6}: {:8}]" if wide else "{}: {} [{}: {}]"
        lines.append(numbers.format(*row[:4]) + " @" + "".join(f" {address:#x}" for address in row[4]))
    path = written(tmp_path_factory.mktemp("any") / "x.heap", "\n".join(lines) + "\n")
    profile = load(path)
    rate = 4096 if kind.startswith("heap") and kind.endswith(("4096", "8192")) else 0

    def scaled(count: int, size: int) -> tuple[int, int]:
        if not rate:
            return count, size
        if not count or not size:
            return 0, 0
        # expm1: 1 - exp would lose precision for blocks of less than a byte, which don't occur in programs
        scale = -1 / math.expm1(-size / count / rate)
        return int(count * scale), int(size * scale)

    has_total = any(row[:2] != row[2:4] for row in rows) and any(row[2] or row[3] for row in rows)
    types = [kind.name for kind in profile.value_types]
    assert ("alloc_space" in types) == (has_total and any(
        any(row[at] != row[at + 2] for row in rows) and any(row[at + 2] for row in rows) for at in (0, 1)
    ))  # fmt: skip
    live = types.index("inuse_objects")
    for (stack, values), row in zip(samples_of(profile), rows, strict=True):
        assert tuple(frame.function for frame in stack) == tuple(f"{address - 1:#x}" for address in row[4])
        assert np.allclose(values[live : live + 2], scaled(row[0], row[1]), rtol=1e-7, atol=1)
        if len(types) == 4:
            assert np.allclose(values[:2], scaled(row[2], row[3]), rtol=1e-7, atol=1)


def test_a_file_that_ends_within_a_line(tmp_path: Path) -> None:
    text = "heap profile: 3: 30 [3: 30] @ heapprofile\n1: 10 [1: 10] @ 0x10\n2: 20 [2: 2"
    profile = load(written(tmp_path / "x.heap", text))
    assert value(profile, "inuse_space") == 10
    assert next(warning.code for warning in profile.warnings) == "rows-missing"


WRONG = {
    "a line of another kind": "heap profile: 1: 1 [1: 1] @ heapprofile\nnonsense\n",
    "an invalid address": "heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x1 y\n",
    "a number that is too large": "heap profile: 1: 1 [1: 1] @ heapprofile\n1: 9999999999999999999 [1: 1] @ 0x1\n",
    "sums that are too large": "heap profile: 1: 1 [1: 1] @ heapprofile\n"
    + "1: 999999999999999999 [1: 1] @ 0x1\n" * 9,
    "a stack that is too deep": "heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @"
    + " 0x1" * 5000
    + "\n",
    "a thread without a number": THREADS.replace("t7", "tx"),
    "threads above a stack": THREADS.replace("t*: 5: 500 [0: 0]", "t*: 5: 500 0: 0"),
}


@pytest.mark.parametrize("what", WRONG)
def test_invalid_contents_are_reported(tmp_path: Path, what: str) -> None:
    with pytest.raises(DamagedSnapshotError):
        load(written(tmp_path / "x.heap", WRONG[what]))


def test_unknown_kinds_are_reported(tmp_path: Path) -> None:
    profile = load(written(tmp_path / "x", "heap profile: 1: 5 [1: 5] @ heapest\n1: 5 [1: 5] @ 0x1\n"))
    assert "heapest" in next(
        warning.message for warning in profile.warnings if warning.code == "unknown-kind"
    )


@pytest.mark.parametrize("text", [THREADS, None], ids=["threads", "go"])
def test_step_size_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    path = written(tmp_path / "x.heap", text) if text else GO
    whole = list(samples_of(load(path)))
    monkeypatch.setattr(scanning, "_STEP_BYTES", 50)
    assert list(samples_of(load(path))) == whole


@pytest.mark.parametrize("text", [THREADS, None], ids=["threads", "go"])
def test_damaged_files_are_reported(tmp_path: Path, text: str | None) -> None:
    errors, intact = damage(text.encode() if text else GO.read_bytes(), tmp_path / "x.heap", 300, 8)
    assert errors > 50
    assert intact > 10


def test_other_versions_of_jemallocs_format_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "jeprof.heap"
    path.write_text("heap_v3/524288\n  t*: 1: 2 [0: 0]\n@ 0x1\n  t*: 1: 2 [0: 0]\n")
    with pytest.raises(NotASnapshotError, match=r"version 3 .*heap_v3.* Memlens reads heap_v2"):
        load(path)
