"""DHAT's profiles against an independent reader of the same JSON, and changed and damaged files."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import real_profiles
from tests.python.profile_reading import FIXTURES, damage, load, samples_of, value
from tests.python.replays import dhat
from tests.python.tries import tries

from memlens.formats import scanning
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.frames import LIBRARY, NATIVE, USER, Frames, SourceFrame
from memlens.packs.native.valgrind_frames import valgrind_frame, without_words_of_the_stack

FIXTURE = FIXTURES / "ledger.dhat.json"
FILES = [FIXTURE, *real_profiles("dhat/*.json", "public/firefox/*")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_value_types(path: Path) -> None:
    """The value types of each mode; their totals are in ``test_replays.py``."""
    data, profile = dhat.load(path), load(path)
    assert profile.value_types[profile.default_value].meaning == ("peak" if data["bklt"] else "total")
    assert [kind.name for kind in profile.value_types] == dhat.names_of(data)
    assert profile.settings["mode"] == data["mode"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_block_sizes(path: Path) -> None:
    data, profile = dhat.load(path), load(path)
    if data["mode"] == "ad-hoc":
        assert profile.sizes is None
        return
    assert profile.sizes is not None
    known = 0
    for size, point in zip(profile.sizes.tolist(), data["pps"], strict=True):
        if size:
            known += 1
            assert size * point["tbk"] == point["tb"]
        else:
            assert point["tbk"] > 1 or point["tb"] == 0
            assert "acc" not in point
    assert known == sum(point["tb"] > 0 and (point["tbk"] == 1 or "acc" in point) for point in data["pps"])


def test_the_recording_of_a_program_with_known_leaks() -> None:
    """The recording in the repository, whose program is beside it."""
    profile = load(FIXTURE)
    source = (FIXTURES / "src" / "ledger.cpp").read_text("utf-8").splitlines()
    leaked: Counter[str] = Counter()
    end = [kind.name for kind in profile.value_types].index("end_bytes")
    for stack, values in samples_of(profile):
        line = next((frame for frame in stack if frame.kind == USER), None)
        if line is not None and values[end]:
            assert line.file.endswith("src/ledger.cpp")
            leaked[source[line.line - 1].split("//")[0].strip()] += values[end]
    assert leaked == {"char *note = new char[64];": 150 * 64}
    assert value(profile, "read_bytes") > value(profile, "written_bytes") / 4 > 0


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("0x10B2A4: main (tree.cpp:29)", SourceFrame("tree.cpp", 29, "main", USER)),
        (
            "0x1: void f(int (*)(char)) (/a b/(x).cc:7)",
            SourceFrame("/a b/(x).cc", 7, "void f(int (*)(char))", USER),
        ),
        ("0x4C: malloc (in /usr/lib/x.so)", SourceFrame("/usr/lib/x.so", 0, "malloc", NATIVE)),
        ("0x4CAb: ??? (in /usr/lib/x.so)", SourceFrame("/usr/lib/x.so", 0, "x.so at 0x4cab", NATIVE)),
        ("0x2: ???", SourceFrame("", 0, "0x2", NATIVE)),
        ("0x3: work_log::main (work_log.rs:28:5)", SourceFrame("work_log.rs", 28, "work_log::main", USER)),
        ("0x3: <T as alloc::x::Y>::z (s.rs:2:9)", SourceFrame("s.rs", 2, "<T as alloc::x::Y>::z", LIBRARY)),
        ("0x4: _IO_getline (iogetline.c:60)", SourceFrame("iogetline.c", 60, "_IO_getline", LIBRARY)),
        ("[root]", SourceFrame("", 0, "[root]", NATIVE)),
        ("", SourceFrame("", 0, "", NATIVE)),
    ],
)
def test_frames_of_valgrind(text: str, frame: SourceFrame) -> None:
    assert valgrind_frame(text) == frame


NUMBER = st.integers(0, 2**50)
POINT = st.fixed_dictionaries(
    {"tb": NUMBER, "tbk": NUMBER, "fs": st.lists(st.integers(0, 3), max_size=5)},
    optional={
        "gb": NUMBER, "ebk": NUMBER, "acc": st.lists(st.integers(-9, 9), max_size=5),
        "later": st.recursive(
            st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6,
        ),
    },
)  # fmt: skip


@pytest.mark.slow
@given(
    st.lists(POINT, max_size=12), st.sampled_from([None, 1, (",", ":")]), st.randoms(use_true_random=False)
)
@settings(max_examples=tries(150), deadline=None)
def test_equivalent_json(
    tmp_path_factory: pytest.TempPathFactory, points: list[dict[str, Any]], style: Any, draw: Any
) -> None:
    """Keys in any order, any white space, and unknown keys, which are skipped."""
    items: list[tuple[str, Any]] = [
        ("dhatFileVersion", 2), ("mode", "heap"), ("verb", "Allocated"), ("bklt", True), ("bkacc", False),
        ("pps", points), ("ftbl", ["[root]", 'a "b" \\ (x.c:1)', "c", "é (y.c:2)"]), ("more", [{"pps": [1]}, "]}"]),
    ]  # fmt: skip
    tail = items[1:]
    draw.shuffle(tail)
    path = tmp_path_factory.mktemp("any") / "x.json"
    layout: dict[str, Any] = {"separators": style} if isinstance(style, tuple) else {"indent": style}
    path.write_text(json.dumps(dict([items[0], *tail]), **layout), "utf-8")
    frames = [valgrind_frame(text) for text in dict(items)["ftbl"]]
    profile = load(path)
    kept = [kind.name for kind in profile.value_types]
    expected = Counter(
        (tuple(frames[row] for row in point["fs"]), *(point.get(dhat.FIELDS[name], 0) for name in kept))
        for point in points
    )
    assert Counter((stack, *values) for stack, values in samples_of(profile)) == expected


WHOLE = FIXTURE.read_bytes()
WRONG: dict[str, tuple[bytes, bytes, str]] = {
    "a negative size": (b'"tbk":1', b'"tbk":-1', "'tbk'"),
    "a size of many digits": (b'"tb":', b'"tb":9999999999999999999', "'tb'"),
    "a fraction": (b'"tb":', b'"tb":1.', "'tb'"),
    "no size": (b'"tb":', b'"xx":', "'tb'"),
    "a size twice": (b'"tbk":', b'"tb":1,"tbk":', "'tb'"),
    "no stack": (b'"fs":', b'"sf":', "'fs'"),
    "a frame beyond the table": (b'"fs":[', b'"fs":[77777,', "frame 77,777"),
    "no points": (b'"pps"', b'"spp"', "list of program points"),
    "no frames": (b'"ftbl"', b'"xtbl"', "table of frames"),
    "frames that are not texts": (b'["[root]"', b"[1", "table of frames"),
    "no mode": (b'"mode"', b'"xode"', "mode"),
    "points twice": (b'"ftbl"', b'"pps":[],"ftbl"', "JSON"),
    "sums beyond counting": (b'"mbk":1\n', b'"mbk":1000000000000000000\n', "sum of the values"),
}


@pytest.mark.parametrize("what", WRONG)
def test_invalid_contents_are_reported(tmp_path: Path, what: str) -> None:
    old, new, words = WRONG[what]
    assert old in WHOLE
    path = tmp_path / "wrong.json"
    path.write_bytes(WHOLE.replace(old, new))
    with pytest.raises(DamagedSnapshotError) as caught:
        load(path)
    assert words in str(caught.value)


def test_other_versions(tmp_path: Path) -> None:
    path = tmp_path / "version.json"
    path.write_bytes(WHOLE.replace(b'"dhatFileVersion":2', b'"dhatFileVersion":1'))
    with pytest.raises(NotASnapshotError, match=r"version 1 of .* from valgrind before"):
        load(path)
    path.write_bytes(WHOLE.replace(b'"dhatFileVersion":2', b'"dhatFileVersion":3'))
    profile = load(path)
    assert [warning.code for warning in profile.warnings] == ["newer-version"]
    assert value(profile, "total_bytes") == sum(point["tb"] for point in json.loads(WHOLE)["pps"])


def test_deeply_nested_json_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_bytes(b'{"dhatFileVersion":2,"x":' + b"[" * 100_000)
    with pytest.raises(DamagedSnapshotError, match="nested"):
        load(path)


@pytest.mark.slow
def test_damaged_files_are_reported(tmp_path: Path) -> None:
    errors, intact = damage(WHOLE, tmp_path / "damaged.json", 400, 5)
    assert errors > 200
    assert intact > 10  # a changed digit may still be valid


def test_step_size_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(samples_of(load(FIXTURE)))
    monkeypatch.setattr(scanning, "_STEP_BYTES", 90)
    assert list(samples_of(load(FIXTURE))) == whole


def test_words_of_the_stack_are_no_callers() -> None:
    """Beyond a program's entry are the number of arguments and where they are; generated code below others stays."""
    texts = ["0x1: read (a.c:3)", "0x40: ???", "0x2: main (a.c:9)", "0x2: ???", "0x1FFF00096B: ???"]
    read, generated, entry, *words = (valgrind_frame(text) for text in texts)
    named = [read, generated, entry, *words]
    stacks = [[], [0, 1, 2, 3, 4], [0, 1, 2], [3], [0, 1], [4, 3]]
    starts = np.cumsum([0, *map(len, stacks)]).astype(np.uint64)
    sequence = np.array([number for stack in stacks for number in stack], np.uint32)
    kept = without_words_of_the_stack(Frames(named, starts, sequence))
    bounds = zip(kept.starts[:-1].tolist(), kept.starts[1:].tolist(), strict=True)
    assert [kept.sequence[a:b].tolist() for a, b in bounds] == [[], [0, 1, 2], [0, 1, 2], [], [0], []]
