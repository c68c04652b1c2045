"""tracemalloc's snapshots against tracemalloc itself, and against malicious pickles."""

import pickle
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.python.conftest import real_profiles
from tests.python.profile_reading import FIXTURES, damage, load, samples_of
from tests.python.tries import tries

from memlens.formats.pickles import UnsafePickleError
from memlens.formats.stacks import CUT
from memlens.model.profile import Profile

FIXTURE = FIXTURES / "tracemalloc.pickle"
FILES = [FIXTURE, *real_profiles("tracemalloc/*")]
TRACES = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 2**40),
        st.lists(
            st.tuples(st.sampled_from(["/home/me/a.py", "b.py", "<unknown>", "é.py"]), st.integers(0, 9)),
            max_size=4,
        ).map(tuple),
        st.integers(0, 5),
    ),
    max_size=30,
)


def totals(profile: Profile, depth: int | None) -> Counter[Any]:
    """Bytes and count by the innermost ``depth`` frames, without the marks of cut stacks."""
    found: Counter[Any] = Counter()
    for stack, (size, count) in samples_of(profile):
        names = tuple(
            f"{frame.file}:{frame.line}" if frame.file else frame.function for frame in stack if frame != CUT
        )
        found[names[:depth], "bytes"] += size
        found[names[:depth], "count"] += count
    return found


def name_of(file: str, line: int) -> str:
    """A frame as the reader returns it; one without a file is named by its place."""
    return f"{file}:{line}" if line or file != "<unknown>" else file


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize(("group", "depth"), [("lineno", 1), ("traceback", None)])
def test_totals_agree_with_tracemalloc(path: Path, group: str, depth: int | None) -> None:
    expected: Counter[Any] = Counter()
    for statistic in tracemalloc.Snapshot.load(str(path)).statistics(group):
        stack = tuple(name_of(frame.filename, frame.lineno) for frame in reversed(statistic.traceback))
        expected[stack, "bytes"] += statistic.size
        expected[stack, "count"] += statistic.count
    assert totals(load(path), depth) == expected


@pytest.mark.slow
@given(TRACES, st.integers(2, 5), st.integers(0, 2))
@settings(max_examples=tries(150), deadline=None)
def test_snapshots_of_all_versions_of_python(
    tmp_path_factory: pytest.TempPathFactory, traces: list[Any], protocol: int, older: int
) -> None:
    """``older`` omits what Python before 3.9 and before 3.6 didn't write."""
    rows: list[Any] = [trace if not older else trace[:3] if older == 1 else trace[1:3] for trace in traces]
    rows += rows[:3]  # the same object again: a reference
    path = tmp_path_factory.mktemp("any") / "snapshot"
    path.write_bytes(pickle.dumps(tracemalloc.Snapshot(rows, 4), protocol))
    profile = load(path)
    expected: Counter[Any] = Counter()
    cut = 0
    domains: Counter[int] = Counter()
    for domain, size, frames, total in traces + traces[:3]:
        stack = tuple(name_of(file, line) for file, line in frames)
        expected[stack, "bytes"] += size
        expected[stack, "count"] += 1
        cut += not older and total > len(frames)
        domains[domain if older < 2 else 0] += 1
    assert totals(profile, None) == expected
    marked = [number for number, frame in enumerate(profile.frames.frames) if frame == CUT]
    starts = profile.frames.starts[1:].astype(np.int64)[profile.stacks] - 1
    ends = np.append(profile.frames.sequence, [0])[starts]
    whole = np.diff(profile.frames.starts.astype(np.int64))[profile.stacks] > 0
    assert int(profile.values[1][np.isin(ends, marked) & whole].sum()) == cut
    if len(profile.labels):
        counted: Counter[int] = Counter()
        for sample, number in zip(
            profile.labels["sample"].tolist(), profile.labels["number"].tolist(), strict=True
        ):
            counted[number] += int(profile.values[1][sample])
        assert counted == domains
    else:
        assert not traces or set(domains) == {0}


def test_recording_in_the_repository() -> None:
    """The recording in the repository: its largest line, and stacks that are cut."""
    profile = load(FIXTURE)
    source = (FIXTURES / "src" / "index.py").read_text("utf-8").splitlines()
    names = [
        frame.file + ":" + source[frame.line - 1].strip() for frame in profile.frames.frames if frame.line
    ]
    assert any('src/index.py:line = " ".join' in name for name in names)
    assert CUT in profile.frames.frames
    assert [warning.code for warning in profile.warnings] == ["stacks-cut"]
    assert profile.settings == {"traceback_limit": 4}


def recorded(folder: Path, kept: int, depth: int) -> Path:
    """A snapshot, made in another process, of a block in ``depth`` calls with ``kept`` recorded frames."""
    path = folder / "deep.tracemalloc"
    code = (
        "import sys, tracemalloc\n"
        "def down(n):\n    return down(n - 1) if n > 1 else bytes(100_000)\n"
        f"tracemalloc.start({kept})\nkept = down({depth - 1})\n"
        "snapshot = tracemalloc.take_snapshot()\n"
        "snapshot.filter_traces([tracemalloc.Filter(True, '<string>')]).dump(sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=60)
    return path


@pytest.mark.parametrize(
    ("kept", "depth", "advice"),
    [
        (25, 90, "tracemalloc.start(50), or python -X tracemalloc=50, keeps twice as many."),
        (25, 30, "tracemalloc.start(30), or python -X tracemalloc=30, keeps all of them."),
        (1, 2, "tracemalloc.start(2), or python -X tracemalloc=2, keeps all of them."),
        (30, 30, None),
        (25, 4, None),
    ],
)
def test_advice_on_cut_stacks_keeps_more_frames(
    tmp_path: Path, kept: int, depth: int, advice: str | None
) -> None:
    warnings = load(recorded(tmp_path, kept, depth)).warnings
    assert [warning.code for warning in warnings] == ["stacks-cut"] * (advice is not None)
    if advice is not None:
        assert warnings[0].message.endswith(f"and the deepest has {depth}. {advice}")
        again = load(recorded(tmp_path, int(re.findall(r"start\((\d+)\)", advice)[0]), depth))
        assert ("all of them" in advice) == (not again.warnings)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_advice_uses_the_figures_of_the_snapshot(path: Path) -> None:
    snapshot = tracemalloc.Snapshot.load(str(path))
    totals = [(len(trace.traceback), trace.traceback.total_nframe or 0) for trace in snapshot.traces]
    kept, deepest = max(kept for kept, _ in totals), max(total for _, total in totals)
    found = [warning.message for warning in load(path).warnings if warning.code == "stacks-cut"]
    assert len(found) == (deepest > kept)
    for message in found:
        advised = int(re.findall(r"start\((\d+)\)", message)[0])
        assert kept < advised == min(deepest, 2 * kept)
        assert f"the deepest has {deepest}" in message


HEAD = b"\x80\x04\x8c\x0btracemalloc\x94\x8c\x08Snapshot\x94\x93\x94"
EVIL = {
    "another name of the module": b"\x80\x04\x8c\x0btracemalloc\x8c\x05start\x93)R.",
    "another module": HEAD + b"0\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",
    "another module, as text": HEAD + b"0cos\nsystem\n(X\x04\x00\x00\x00truetR.",
    "a call of the class": HEAD + b")R.",
    "arguments": HEAD + b"K\x01\x85\x81.",
    "state of a class": HEAD + b"}b.",
    "state that isn't a dict": HEAD + b")\x81K\x01b.",
    "an object of a list": HEAD + b"0])\x81.",
    "a subclass by name": b"\x80\x02ctracemalloc\n_Traces2\n)\x81.",
}


@pytest.mark.parametrize("what", EVIL)
def test_other_pickles_are_rejected(tmp_path: Path, what: str) -> None:
    path = tmp_path / "evil"
    path.write_bytes(EVIL[what])
    with pytest.raises(UnsafePickleError, match=r"opcode [A-Z_]+ would run code") as caught:
        load(path)
    offset = caught.value.offset
    assert offset is not None
    assert EVIL[what][offset] in b"cR\x81\x93b"


def test_damaged_files_are_reported(tmp_path: Path) -> None:
    errors, _ = damage(FIXTURE.read_bytes(), tmp_path / "damaged", 400, 4)
    assert errors > 250
