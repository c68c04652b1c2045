"""Heap profiles of Java programs against ``go tool pprof``, and the errors for profiles that aren't of memory."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.python.conftest import real_profiles
from tests.python.profile_reading import damage, load, samples_of, value
from tests.python.recordings import DHAT, GO_TEXT, JEMALLOC, PPROF, TCMALLOC

from memlens.errors import MemlensError
from memlens.formats import scanning
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.frames import LIBRARY, NATIVE, USER, package_of

GO = shutil.which("go")
needs_go = pytest.mark.skipif(GO is None, reason="go isn't installed")

HEAP = """--- heapz 1 ---
format = java
resolution = bytes
     7048     1 @ 0x00000003 0x00000004 0x00000005
     4752     9 @ 0x0000002b 0x00000004
  4194304     2 @ 0x00000006 0x00000003 0x00000007
      240     5 @ 0x00000097


 0x00000003 com.shop.Cart.add (Cart.java:34)
 0x00000004 com.shop.Main$Loop.lambda$run$0 (Main.java:7)
 0x00000005 java.util.HashMap.resize (HashMap.java:704)
 0x00000006 memcpy (/lib/x86_64-linux-gnu/libc.so.6)
 0x00000007 com.shop.Cart.<init> (Native Method)
 0x0000002b generated stub/JIT
 0x000000ff com.shop.Never.called (Never.java:1)
 0x00000097 GC
"""


def recorded(folder: Path, text: str = HEAP) -> Path:
    path = folder / "java.heap"
    path.write_text(text, "utf-8")
    return path


def by_pprof(path: Path, value_name: str) -> tuple[Counter[str], Counter[str]]:
    """The flat and cumulative value of each function, as ``go tool pprof -top`` prints them."""
    command = [
        str(GO), "tool", "pprof", f"-sample_index={value_name}", "-top", "-nodecount=100000", "-nodefraction=0",
        "-edgefraction=0", "-unit=B", str(path),
    ]  # fmt: skip
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    flat: Counter[str] = Counter()
    cumulative: Counter[str] = Counter()
    for line in text.splitlines():
        found = re.fullmatch(r" *(\d+)B? +[\d.]+% +[\d.]+% +(\d+)B? +[\d.]+%  (.*)", line)
        if found is not None:
            flat[found[3]] += int(found[1])
            cumulative[found[3]] += int(found[2])
    assert cumulative
    return +flat, cumulative


@pytest.mark.slow
@needs_go
@pytest.mark.parametrize("column", [0, 1])
def test_figures_agree_with_pprof(tmp_path: Path, column: int) -> None:
    for path in (recorded(tmp_path), *real_profiles("public/google-pprof/java.heap")):
        profile = load(path)
        flat: Counter[str] = Counter()
        cumulative: Counter[str] = Counter()
        for stack, values in samples_of(profile):
            flat[stack[0].function] += values[column]
            for name in {frame.function for frame in stack}:
                cumulative[name] += values[column]
        theirs = by_pprof(path, profile.value_types[column].name)
        # pprof gives all stubs the same name
        mine = [
            Counter({name.replace("generated stub/JIT", "STUB"): size for name, size in each.items()})
            for each in (flat, cumulative)
        ]
        assert (+mine[0], +mine[1]) == (theirs[0], +theirs[1])
        assert profile.value_types[profile.default_value].name == "inuse_space"
        assert [warning.code for warning in profile.warnings] == ["sampled"]


@needs_go
@pytest.mark.parametrize(
    ("path", "places"),
    [(None, 2), *((path, 100) for path in real_profiles("public/google-pprof/java.heap"))],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_places_agree_with_pprof(path: Path | None, places: int, tmp_path: Path) -> None:
    path = path or recorded(tmp_path)
    text = subprocess.run(
        [str(GO), "tool", "pprof", "-raw", path], capture_output=True, text=True, check=True, timeout=120
    )
    theirs = {each for each in re.findall(r"M=1 (\S+) ([\w.]+):(\d+):0", text.stdout) if each[2] != "0"}
    # pprof leaves out the folders of packages
    assert {
        (each.function, each.file.rpartition("/")[2], str(each.line))
        for each in load(path).frames.frames
        if each.line
    } == theirs
    assert len(theirs) > places


def test_the_lines_of_a_program(tmp_path: Path) -> None:
    """Packages are folders, which distinguish files of the same name; Java's own library isn't the user's."""
    frames = {frame.function: frame for frame in load(recorded(tmp_path)).frames.frames}
    add, run, resize = (
        frames[name]
        for name in ("com.shop.Cart.add", "com.shop.Main$Loop.lambda$run$0", "java.util.HashMap.resize")
    )
    assert (add.file, add.line, add.kind) == ("com/shop/Cart.java", 34, USER)
    assert (run.file, run.line, run.kind) == ("com/shop/Main.java", 7, USER)
    assert (resize.file, resize.line, resize.kind) == ("java/util/HashMap.java", 704, LIBRARY)
    assert package_of(resize.file, resize.function, resize.kind) == "Java's library"
    for name in ("memcpy", "com.shop.Cart.<init>", "generated stub/JIT", "GC"):
        assert (frames[name].line, frames[name].kind) == (0, NATIVE)
    assert frames["memcpy"].file == "/lib/x86_64-linux-gnu/libc.so.6"
    assert "com.shop.Never.called" not in frames


def test_warnings(tmp_path: Path) -> None:
    unnamed = load(recorded(tmp_path, HEAP.replace(" 0x00000097 GC\n", "")))
    assert [warning.code for warning in unnamed.warnings] == ["sampled", "no-symbols"]
    assert "0x97" in {frame.function for frame in unnamed.frames.frames}
    for end in (HEAP.index("0x00000007") + 4, HEAP.index("add (Cart"), len(HEAP) - 2):
        cut = load(recorded(tmp_path, HEAP[:end]))
        assert [warning.code for warning in cut.warnings] == ["sampled", "cut-file"]
        assert value(cut, "inuse_objects") > 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("heapz 1", "heapz 2", "version 2"),
        ("= java", "= perl", "format = perl"),
        ("= bytes", "= pages", "resolution = pages"),
    ],
)
def test_other_headers_are_rejected(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(NotASnapshotError, match=words):
        load(recorded(tmp_path, HEAP.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new"),
    [("4752     9 @", "4752     0 @"), ("     1 @", "     1 ?"), ("0x0000002b 0", "0x0000002g 0")],
)
def test_invalid_rows_are_rejected(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(DamagedSnapshotError):
        load(recorded(tmp_path, HEAP.replace(old, new, 1)))


def test_step_size_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(tmp_path)
    whole = list(samples_of(load(path)))
    monkeypatch.setattr(scanning, "_STEP_BYTES", 20)
    assert list(samples_of(load(path))) == whole


def test_damaged_files_are_reported(tmp_path: Path) -> None:
    errors, intact = damage(HEAP.encode(), tmp_path / "java.heap", 400, 8)
    assert errors > 50
    assert intact > 10


# ---- other files ----

OTHERS = {
    "*.contention": "lock contention",
    "cppbench.cpu": "CPU profile",
    "go*.cpu": "CPU profile",
    "java.cpu": "CPU profile",
    "*collapsed*": "folded stacks",
    "*dump.txt": "folded stacks",
    "fuzz*": "doesn't belong in a heap profile",
}


def error_of(path: Path) -> str:
    """The expected error, empty if the file can be read."""
    return next((words for pattern, words in OTHERS.items() if path.match(pattern)), "")


@pytest.mark.parametrize(
    "path",
    [
        *PPROF,
        GO_TEXT,
        TCMALLOC,
        JEMALLOC,
        DHAT,
        *real_profiles("public/google-pprof/*", "public/flameshow/*", "public/parca/*", "public/firefox/*"),
    ],
    ids=lambda path: path.name,
)
def test_public_files_open_or_are_recognised(path: Path) -> None:
    words = error_of(path)
    if not words:
        assert load(path).values[0].any()
        return
    with pytest.raises(MemlensError, match=words):
        load(path)


CONTENTION = """--- contentionz 1 ---
cycles/second = 1000000000
sampling period = 100
ms since reset = 5000
discarded samples = 0
  19490304       27 @ 0x400c97 0x400d02
       768        1 @ 0x400c97 0x400e11
"""


@needs_go
@pytest.mark.parametrize(
    "path",
    [
        None,
        *(
            path
            for path in real_profiles("public/google-pprof/*")
            if error_of(path) and "fuzz" not in path.name
        ),
    ],
    ids=lambda path: path.name if path else "made.contention",
)
def test_files_converted_by_pprof_open(path: Path | None, tmp_path: Path) -> None:
    """As the error advises."""
    if path is None:
        path = tmp_path / "made.contention"
        path.write_text(CONTENTION)
        with pytest.raises(MemlensError, match=error_of(path)):
            load(path)
    converted = tmp_path / "converted.pb.gz"
    command = [str(GO), "tool", "pprof", "-proto", f"-output={converted}", str(path)]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    assert load(converted).values[0].any()


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (
            b"--- threadz 1 ---\n\n--- Thread 7fbd9c7fe940 (name: main/14748) stack: ---\n",
            "stacks of threads",
        ),
        (b"--- mutex:\ncycles/second=3201000000\n", "lock contention"),
        (b"goroutine profile: total 37\n1 @ 0x43\n", "counts goroutines"),
        (b"-" * 80 + b"\nCommand:            ./x\nMassif arguments:   (none)\n", "ms_print"),
        (b"BZh91AY&SY\x0e", "bzip2"),
        (b"\xfd7zXZ\0\0", "xz"),
        (b"a;b;" + b"c;" * 4000, "folded stacks"),
    ],
)
def test_other_files_are_recognised(tmp_path: Path, head: bytes, words: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(head)
    with pytest.raises(NotASnapshotError, match=words):
        load(path)
