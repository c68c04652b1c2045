"""memray's captures: their header, and what memray's own reader says of them against memray's own reports.

Reading needs memray, which isn't part of the development environment: ``npm test`` installs the one of
``tests/python/memray.lock`` in ``.cache/memray`` (or MEMLENS_TEST_MEMRAY names its Python); without it those tests are
skipped. Captures of another file format are read where ``.cache/memray-FORMAT`` is an environment with the memray of
it, such as ``.cache/memray-11`` for memray 1.18, which nothing installs.
"""

import html
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.python.conftest import ROOT, real_profiles
from tests.python.counted import perhaps
from tests.python.profile_reading import FIXTURES, damage, load, samples_of, value
from tests.python.recordings import MEMRAY
from tests.python.server_harness import wait_until

from memlens.cli import main
from memlens.errors import MemlensError
from memlens.formats import read
from memlens.formats.containers import open_source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.lz4_head import lz4_head
from memlens.formats.tools import Tools
from memlens.model.frames import POSSIBLE_ARENA, USER, SourceFrame
from memlens.model.profile import Profile
from memlens.packs.python import memray, memray_reading, memray_times
from memlens.packs.python.memray import MemrayNeededError
from memlens.server.protocol.settings import Settings
from memlens.server.settings import Configuration
from memlens.store.files.processes import is_running
from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes
from memlens.views.findings.headline import headline
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.groups import Branch, groups

PYTHON = Path(os.environ.get("MEMLENS_TEST_MEMRAY") or ROOT / ".cache" / "memray" / "bin" / "python")
needs_memray = pytest.mark.skipif(
    not PYTHON.exists(), reason=f"no memray: {PYTHON} isn't there, see the head of this file"
)
CAPTURES = [MEMRAY, *real_profiles("memray/*.bin")]


def python_at(version: int) -> Path:
    """The Python with the memray of a file format, if it is installed."""
    return PYTHON if version == 13 else ROOT / ".cache" / f"memray-{version}" / "bin" / "python"


INSTALLED = [13, *(version for version in (12, 11, 10, 9) if python_at(version).exists())]
"""The file formats whose memray is there; that of the newest is checked for by ``needs_memray``."""
SCRIPT = """
import memray, sys
scope = {"__name__": "index"}
exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"), scope)
to = memray.FileDestination(sys.argv[1], overwrite=True, compress_on_exit=sys.argv[5] == "compressed")
with memray.Tracker(destination=to, trace_python_allocators=True, file_format=memray.FileFormat[sys.argv[3]]):
    kept = scope["main"]()
    if sys.argv[4] == "killed":
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
"""


def header(
    version: int = 13, *, allocations: int = 5, end_ms: int = 2000, command: bytes = b"python x.py"
) -> bytes:
    python = struct.pack("<i", 0x030B07F0) if version > 11 else b""
    kind = b"\0" if version > 9 else b""
    return (
        b"memray\0"
        + struct.pack("<i", version)
        + python
        + b"\0"
        + kind
        + struct.pack("<qqqq", allocations, 9, 1000, end_ms)
        + command
        + b"\0"
        + struct.pack("<iQ", 77, 1)
    )


def read_with(path: Path, python: Path | str, scratch: Path) -> Profile:
    with open_source(path, scratch, lambda *_: None) as source:
        source.tools = Tools({"memray.python": str(python)})
        profile = read(source, scratch, lambda *_: None)
    assert isinstance(profile, Profile)
    return profile


@cache
def as_read(path: Path) -> Profile:
    """What is read of a capture that no test writes, once for the tests that ask about it."""
    with tempfile.TemporaryDirectory() as scratch:
        return read_with(path, python_for(path), Path(scratch))


def recorded(
    folder: Path, *, kind: str = "ALL_ALLOCATIONS", killed: bool = False, compressed: bool = True
) -> Path:
    """A capture of ``src/index.py``."""
    path = folder / "index.bin"
    command = [
        str(PYTHON),
        "-c",
        SCRIPT,
        str(path),
        str(FIXTURES / "src" / "index.py"),
        kind,
        "killed" if killed else "",
        "compressed" if compressed else "",
    ]
    subprocess.run(command, check=not killed, timeout=120)
    return path


# ---- without memray ----


@pytest.mark.parametrize("version", memray.VERSIONS)
def test_without_memray_the_error_says_what_to_install(tmp_path: Path, version: int) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(header(version))
    with pytest.raises(MemrayNeededError) as caught:
        read_with(path, sys.executable, tmp_path)
    said = str(caught.value)
    words, needed = memray.VERSIONS[version]
    assert f"recorded by memray {words}" in said
    assert f'pip install "memray{needed}"' in said
    assert "memlens.memray.python" in said
    assert f"file format {version}" in said


@pytest.mark.parametrize(
    ("version", "words"), [(8, "before 1.4"), (99, "newer than Memlens"), (-1, "before 1.4")]
)
def test_versions_that_no_memray_reads_are_reported(tmp_path: Path, version: int, words: str) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(header(version))
    with pytest.raises(MemrayNeededError, match=words):
        load(path)


def test_a_file_that_is_not_an_interpreter(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(header())
    with pytest.raises(MemrayNeededError, match="can't be run"):
        read_with(path, tmp_path / "no-python", tmp_path)


def stand_in(folder: Path, text: str) -> Path:
    """A substitute for the interpreter that runs this code."""
    program = folder / "python"
    program.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{text}\n", "utf-8")
    program.chmod(0o755)
    return program


@pytest.mark.skipif(sys.platform == "win32", reason="scripts aren't programs there")
def test_a_bare_name_is_an_interpreter_of_path_and_a_path_is_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows, and an entry of ``PATH`` that isn't absolute, would begin with the folder that Memlens runs in."""
    (tmp_path / "bin").mkdir()
    stand_in(tmp_path, "open('ran-in-project', 'w')\nprint('[\"missing\"]')")
    stand_in(tmp_path / "bin", 'print(\'["refused", "by PATH"]\')')
    path = tmp_path / "x.bin"
    path.write_bytes(header())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", str(tmp_path / "bin"))))
    with pytest.raises(MemlensError, match="by PATH"):
        read_with(path, "python", tmp_path)
    with pytest.raises(MemlensError, match="by PATH"):
        read_with(path, "bin/python", tmp_path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MemrayNeededError, match="no program python in the folders of PATH"):
        read_with(path, "python", tmp_path)
    assert not list(tmp_path.rglob("ran-in-project"))
    # nor does the setting mean a file of the workspace by it
    configuration = Configuration()
    configuration.replace(Settings(programs={"memray.python": "python"}))
    configuration.set_folders([("project", tmp_path)])
    assert configuration.programs == {"memray.python": Path("python")}


@pytest.mark.skipif(sys.platform == "win32", reason="scripts aren't programs there")
def test_how_the_interpreter_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No requests to debuginfod, no imports from other folders, no shell, nothing on stdin."""
    unwanted = {"DEBUGINFOD_URLS", "PYTHONPATH", "PYTHONSTARTUP"}
    for name in unwanted:
        monkeypatch.setenv(name, "http://127.0.0.1:1 /nowhere")
    reported = tmp_path / "report.json"
    program = stand_in(
        tmp_path,
        f"reported = [sys.argv[1:], dict(os.environ), os.getcwd(), sys.stdin.read()]\n"
        f"json.dump(reported, open({str(reported)!r}, 'w'))\nprint('[\"missing\"]')",
    )
    path = tmp_path / "x; touch $(echo pwned) `y`.bin"
    path.write_bytes(header())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(MemrayNeededError):
        read_with(path, program, scratch)
    arguments, environment, folder, said = json.loads(reported.read_text())
    assert arguments[0] == "-c"
    assert arguments[2] == str(path)
    assert not unwanted & set(environment)
    assert Path(folder) == scratch
    assert said == ""
    assert {each.name for each in tmp_path.iterdir()} == {path.name, "python", "scratch", "report.json"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="scripts aren't programs there")
@pytest.mark.parametrize("silent", [True, False])
def test_an_interpreter_that_does_not_end_is_ended(
    silent: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memray, "_MOST_SECONDS", 1.0)
    line = "" if silent else "    print('[\"memory\",1,2,3]', flush=True)\n"
    program = stand_in(
        tmp_path, f"print(os.getpid(), file=open('pid', 'w'))\nwhile True:\n{line}    time.sleep(0.1)"
    )
    path = tmp_path / "x.bin"
    path.write_bytes(header())
    with pytest.raises(DamagedSnapshotError, match="ended"):
        read_with(path, program, tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system ends it there")
def test_the_reading_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    (tmp_path / "memray.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(60)\n", "utf-8")
    program = Path(memray.__file__).with_name("memray_reading.py")
    command = [sys.executable, "-c", program.read_text("utf-8"), "x.bin", "1", "1", "1"]
    code = f"import subprocess; child = subprocess.Popen({command!r}); print(child.pid, flush=True); child.wait()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as starter:
        assert starter.stdout is not None
        child = int(starter.stdout.readline())
        assert starter.stdout.readline() == b"here\n"
        assert is_running(child)
        starter.kill()
    wait_until(lambda: not is_running(child), 20)


OPENING = """
import ctypes
__version__ = "1.20"
level = 0
def set_log_level(new):
    global level
    level = new
def FileReader(path, **more):
    opened = ctypes.CDLL(None).open(path.encode(), 0)
    raise OSError(f"{opened} {level}")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders, and no memray, there")
def test_a_binary_that_is_a_pipe_is_not_waited_for_and_memray_logs_nothing(tmp_path: Path) -> None:
    """A substitute for memray opens, as memray does in C, what a native capture names as a binary."""
    (tmp_path / "memray.py").write_text(OPENING, "utf-8")
    os.mkfifo(tmp_path / "binary")
    program = Path(memray.__file__).with_name("memray_reading.py").read_text("utf-8")
    said = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "binary"), "1", "1", "1"],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        timeout=60,
    )
    assert [json.loads(line) for line in said.stdout.splitlines()] == [
        ["version", "1.20"],
        ["refused", f"-1 {memray_reading.SILENT}"],
    ]
    assert said.stderr == b""


def test_a_reader_that_dies_is_reported(tmp_path: Path) -> None:
    """The interpreter may be any program: here one that prints nothing, or something unexpected."""
    path = tmp_path / "x.bin"
    path.write_bytes(header())
    lines: tuple[str, ...] = (
        '["record",1]',
        '["peaks",[1,2]]',
        '["memory",1,2,[]]',
        '["lived",0,"t","malloc",[0,1,8,1]]',
    )
    stack = '["stack",[]]\n["memory",1,2,3]\n["lived",0,"t","malloc",'
    lines += tuple(
        f"{stack}{row}]" for row in ("[0,1,8]", "[1,1,8,1]", "[0,2,8,1]", "[0,-1,8,9e9]", '["",1,8,1]')
    )
    for text in (
        "exit 3",
        "echo 'oh no' >&2; kill -11 $$",
        "echo nonsense",
        *(f"printf '%s\\n' '{line}'; echo '[\"done\"]'" for line in lines),
    ):
        program = tmp_path / "python"
        program.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        program.chmod(0o755)
        with pytest.raises(DamagedSnapshotError):
            read_with(path, program, tmp_path)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_headers_in_lz4_frames(path: Path) -> None:
    found = re.match(r"v1\.(\d+)", path.name)
    with open_source(path, path.parent, lambda *_: None) as source:
        reported = memray._header(source)
    assert reported.version == {"10": 10, "18": 11, "19": 12}[found[1]] if found else reported.version == 13
    assert (
        reported.command.endswith((".py", ".py 4", ".py 20", ".py 60", ".py 40")) or ".py" in reported.command
    )
    assert (reported.allocations > 0) != reported.aggregated
    assert 0 < reported.end_ms - reported.start_ms < 600_000
    assert reported.native == ("native" in path.name)
    assert reported.aggregated == ("aggregate" in path.name)


def lz4_by_literals(data: bytes) -> bytes:
    """An LZ4 frame with only literals."""
    rest = len(data) - 15
    block = b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255]) + data
    return b"\x04\x22\x4d\x18\x40\x40\xc0" + struct.pack("<I", len(block)) + block + bytes(4)


def test_lz4_as_specified() -> None:
    """Literals, a match that overlaps itself, and a block that isn't compressed."""
    data = bytes(range(256)) * 3
    assert lz4_head(lz4_by_literals(data), 10_000) == data
    assert lz4_head(lz4_by_literals(data), 20) == data[:20]
    block = b"\x36abc\x03\x00" + b"\x10!"
    frame = b"\x04\x22\x4d\x18\x40\x40\xc0" + struct.pack("<I", len(block)) + block
    assert lz4_head(frame, 100) == b"abc" + (b"abc" * 4)[:10] + b"!"
    stored = b"\x04\x22\x4d\x18\x48\x40" + bytes(8) + b"\xc0" + struct.pack("<I", 5 | 1 << 31) + b"hello"
    assert lz4_head(stored, 100) == b"hello"


@pytest.mark.slow
def test_damaged_headers_are_reported(tmp_path: Path) -> None:
    for seed, data in enumerate((header(), lz4_by_literals(header()))):
        _, whole = damage(data, tmp_path / "x.bin", 40, seed)
        assert whole == 0


# ---- with memray ----


@needs_memray
def test_the_recording_leads_to_the_lines_of_the_program(tmp_path: Path) -> None:
    profile = read_with(recorded(tmp_path), PYTHON, tmp_path)
    source = (FIXTURES / "src" / "index.py").read_text("utf-8").splitlines()
    peak: Counter[str] = Counter()
    for stack, values in samples_of(profile):
        if stack and stack[0].kind == USER:
            assert Path(stack[0].file).name == "index.py"
            peak[source[stack[0].line - 1].strip()] += values[0]
    line, size = peak.most_common(1)[0]
    assert line.startswith("line = ")
    assert size > 200 * 11 * 9
    assert value(profile, "temporary_allocations") > 0
    assert {profile.strings[number] for number in profile.labels["text"].tolist()} >= {
        "main thread",
        "pymalloc_malloc",
    }
    assert not {"killed", "aggregated"} & {warning.code for warning in profile.warnings}


@needs_memray
def test_a_killed_process_is_reported(tmp_path: Path) -> None:
    profile = read_with(recorded(tmp_path, killed=True), PYTHON, tmp_path)
    assert "killed" in {warning.code for warning in profile.warnings}
    assert value(profile, "peak_bytes") > 0


@needs_memray
def test_an_aggregated_capture_has_no_temporary_allocations(tmp_path: Path) -> None:
    profile = read_with(recorded(tmp_path, kind="AGGREGATED_ALLOCATIONS"), PYTHON, tmp_path)
    assert "aggregated" in {warning.code for warning in profile.warnings}
    assert [kind.meaning for kind in profile.value_types] == ["peak", "peak", "end", "end"]


@needs_memray
def test_a_capture_of_another_version_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(header(10))
    with pytest.raises(MemrayNeededError, match=r"has memray 1\.20"):
        read_with(path, PYTHON, tmp_path)


@pytest.mark.slow
@needs_memray
def test_damaged_captures_are_reported_or_read(tmp_path: Path) -> None:
    whole = recorded(tmp_path).read_bytes()
    outcomes: set[str] = set()
    for number in range(1, 8):
        path = tmp_path / f"cut{number}.bin"
        path.write_bytes(whole[: len(whole) * number // 8])
        try:
            profile = read_with(path, PYTHON, tmp_path)
        except MemlensError:  # any other exception fails the test
            outcomes.add("refused")
        else:
            outcomes |= {warning.code for warning in profile.warnings}
    assert outcomes & {"refused", "broken"}


@pytest.mark.slow
@needs_memray
def test_captures_with_other_numbers_and_names_are_reported_or_read(tmp_path: Path) -> None:
    # without compression nothing has a checksum
    whole = recorded(tmp_path, compressed=False).read_bytes()
    chance, path, outcomes = random.Random(36), tmp_path / "edited.bin", set[str]()
    for number in range(16):
        edited = bytearray(whole)
        length = 1 + number % 8
        for _ in range(1 + number):
            place = chance.randrange(200, len(whole.rstrip(b"\0")))
            # half of them move what follows
            edited[place : place + length * (number % 2)] = chance.randbytes(length)
        path.write_bytes(edited)
        try:
            profile = read_with(path, PYTHON, tmp_path)
        except MemlensError:  # any other exception fails the test
            outcomes.add("refused")
        else:
            outcomes.add("read")
            assert all((each >= 0).all() for each in profile.values)
    assert outcomes == {"refused", "read"}


RAW = """
import ctypes, mmap, memray, os, sys
take = ctypes.pythonapi.PyMem_RawMalloc  # goes by way of malloc, which memray records
take.restype, take.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc = ctypes.CDLL(None)  # called by address, which memray doesn't see
free, unmap = libc.free, libc.munmap
free.restype, free.argtypes = None, [ctypes.c_void_p]
unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PAGE = 4096

def reused():
    return take(4_000)

def kept():
    return take(5_000)

def wide(pages):
    return mmap.mmap(-1, pages * PAGE)

def narrow(pages):
    return mmap.mmap(-1, pages * PAGE)

def address_of(mapped):
    return ctypes.addressof(ctypes.c_char.from_buffer(mapped))

all = []
with memray.Tracker(sys.argv[1]):
    kept()
    for _ in range(200):
        free(reused())
    for number in range(40):
        all.append(wide(64))
        # the system fills such gaps: wholly, partly, by one range or by several
        unmap(address_of(all[-1]) + 8 * PAGE, (8 + number) * PAGE)
        all += [narrow(4 + number % 9) for _ in range(3)]
        if number == 30:  # the peak is before this, and some of what is covered ends
            high = [take(1 << 20) for _ in range(8)]
            for each in high:
                ctypes.pythonapi.PyMem_RawFree(ctypes.c_void_p(each))
    mmap.mmap(-1, PAGE).close()
os._exit(0)  # the objects must not unmap what others own now
"""

REPLAY = """
import json, memray, sys
reader = memray.FileReader(sys.argv[1])
free = {int(kind) for kind in memray.AllocatorType if kind.name.endswith("FREE")}
maps, unmaps = int(memray.AllocatorType.MMAP), int(memray.AllocatorType.MUNMAP)
live, last, reused, temporary = {}, {}, [], []
pages, made, now, most, covered = {}, 0, 0, 0, 0
at_peak = {}

def by_function():
    sums = {}
    for size, function in live.values():
        sums.setdefault("malloc " + function, [0, set()])[0] += size
        sums["malloc " + function][1].add(len(sums["malloc " + function][1]))
    for here in pages.values():
        number, function = here[-1]  # the last one that was mapped there has the page
        sums.setdefault("mmap " + function, [0, set()])[0] += 4096
        sums["mmap " + function][1].add(number)
    return {name: [size, len(numbers)] for name, (size, numbers) in sums.items()}

watched = len(sys.argv) > 2
for record in reader.get_allocation_records():
    address = record.address
    latest = last.get(record.tid)
    if record.allocator == unmaps:
        # only what is unmapped whole is temporary
        if latest and latest == (address, record.size):
            temporary.append(latest[1])
        for page in range(address // 4096, (address + record.size + 4095) // 4096):
            now -= 4096 * len(pages.pop(page, ()))
    elif record.allocator in free:
        if latest and latest[0] == address:
            temporary.append(latest[1])
            last.pop(record.tid)
        now -= live.pop(address, (0,))[0]
    else:
        last[record.tid] = (address, record.size)
        function = (record.stack_trace() or [("?",)])[0][0]
        now += record.size
        if record.allocator == maps:
            made += 1
            for page in range(address // 4096, (address + record.size) // 4096):
                covered += page in pages
                pages.setdefault(page, []).append((made, function))
        else:
            if address in live:
                reused.append(live[address][0])
            live[address] = (record.size, function)
    if watched and now >= most:  # by memray's count, which includes covered mappings
        most, at_peak = now, by_function()
sums = [[sum(each), len(each)] for each in ([size for size, _ in live.values()], reused, temporary)]
json.dump({"sums": sums, "covered": covered, "end": by_function(), "peak": at_peak}, sys.stdout)
"""


def replayed(path: Path, python: Path, *options: str) -> dict[str, Any]:
    """An independent replay of every record: bytes and number of what malloc left live at the end, of what lay at
    reused addresses, and of temporaries ("sums"); pages that were mapped over others; and, by the innermost function,
    what was live at the end and, with an option, at the moment that memray takes for the peak."""
    printed = subprocess.run(
        [python, "-c", REPLAY, path, *options], check=True, capture_output=True, timeout=300
    )
    figures: dict[str, Any] = json.loads(printed.stdout)
    return figures


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize("most_whole", [20_000_000, 10])
@pytest.mark.parametrize("version", INSTALLED)
def test_reusing_an_address_ends_the_previous_allocation(
    version: int, most_whole: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Allocations and mappings, at the peak and at the end, in small and large captures."""
    monkeypatch.setattr(memray, "_MOST_WHOLE", most_whole)
    python = python_of(version)
    path = tmp_path / "reused.bin"
    subprocess.run([python, "-c", RAW, path], check=True, timeout=120)
    replay = replayed(path, python, "peak")
    live, reused, _ = replay["sums"]
    assert reused[1] >= 150
    assert replay["covered"] > 40
    profile = read_with(path, python, tmp_path)
    peak: Counter[tuple[str, int]] = Counter()
    end: Counter[tuple[str, int]] = Counter()
    for sample, (stack, values) in enumerate(samples_of(profile)):
        kind = "mmap" if "mmap" in labels_of(profile, sample) else "malloc"
        name = f"{kind} {unmarked(stack)[0].function if unmarked(stack) else '?'}"
        for column in range(2):
            peak[name, column] += values[column]
            end[name, column] += values[2 + column]
    for sums, figures in ((peak, replay["peak"]), (end, replay["end"])):
        assert +sums == +Counter(
            {(name, column): row[column] for name, row in figures.items() for column in range(2)}
        )
    assert sum(size for (name, column), size in end.items() if name[:3] == "mal" and not column) == live[0]
    assert ("large" in {warning.code for warning in profile.warnings}) == (most_whole == 10)
    assert profile.settings["command"] == f"-c {path}"
    if version == 9:
        return  # memray before 1.8 records neither lifetimes nor a curve to compare with
    assert profile.times is not None
    assert profile.times.series["live_bytes"][-1] == value(profile, "leaked_bytes")
    assert profile.times.series["live_count"][-1] == value(profile, "leaked_allocations")
    messages = [warning.message for warning in profile.warnings if warning.code == "reused"]
    assert len(messages) == 1
    assert format_bytes(reused[0] + replay["covered"] * 4096) in messages[0]


class Mapped(NamedTuple):
    """The fields of memray's record that mappings need."""

    address: int
    size: int
    tid: int = 1
    stack_id: int = 0
    native_stack_id: int = 0
    native_segment_generation: int = 0


@pytest.mark.parametrize("seed", range(30))
def test_mappings_that_replace_others(seed: int) -> None:
    """Against the owner of every single byte, and against all mappings that were never unmapped."""
    chance = random.Random(seed)
    mappings = memray_reading._Mappings()
    own: dict[int, int] = {}
    held: dict[int, list[int]] = {}
    places: list[int] = []
    for _ in range(chance.randrange(1, 60)):
        begin, size = chance.randrange(40), chance.randrange(12)
        span = range(begin, begin + size)
        if chance.random() < 0.6:
            number = len(places)
            places.append(chance.randrange(3))
            mappings.map(Mapped(begin, size, stack_id=places[-1]))
            own |= dict.fromkeys(span, number)
            for at in span:
                held.setdefault(at, []).append(number)
        else:
            gone = sum(len(held.pop(at, [])) for at in span)
            assert mappings.unmap(Mapped(begin, size)) == gone
            own = {at: number for at, number in own.items() if at not in span}
    numbers = Counter(own.values())
    covered = Counter(number for at, here in held.items() for number in here if own.get(at) != number)
    expected = {
        (1, place, 0, 0): [
            (numbers[number], covered[number])
            for number, of in enumerate(places)
            if of == place and numbers[number] + covered[number]
        ]
        for place in range(3)
    }
    assert {place: list(rows) for place, rows in mappings.held().items()} == {
        place: rows for place, rows in expected.items() if rows
    }
    assert mappings.covered_by_place() == {
        place[:3]: (sum(row[1] for row in rows), sum(not row[0] for row in rows))
        for place, rows in expected.items()
        if any(row[1] for row in rows)
    }


def labels_of(profile: Profile, sample: int) -> set[str]:
    chosen = profile.labels[profile.labels["sample"] == sample]
    return {profile.strings[number] for number in chosen["text"].tolist()}


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize(
    "path",
    [path for path in CAPTURES if path.stat().st_size < 400_000 and "aggr" not in path.name],
    ids=lambda path: path.name,
)
def test_temporary_allocations(path: Path) -> None:
    """Freed before the thread allocates anything else, by a replay of every record; nothing is counted twice."""
    profile = as_read(path)
    replay = replayed(path, python_for(path))
    _, reused, temporary = replay["sums"]
    assert [value(profile, "temporary_bytes"), value(profile, "temporary_allocations")] == temporary
    title = next(kind.title.text for kind in profile.value_types if kind.name == "temporary_bytes")
    assert title == "Temporary: freed before the next allocation of the thread"
    assert ("reused" in {warning.code for warning in profile.warnings}) == bool(
        reused[1] or replay["covered"]
    )


# ---- pymalloc's pools ----


@pytest.mark.skipif(sys.platform == "win32", reason="scripts aren't programs there")
def test_ranked_lines_mark_possible_pools(
    tmp_path: Path,
    opened: Callable[[Path], Snapshot],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arena = 1 << 20
    rows: list[list[object]] = [
        ["version", "1.20.0"], ["allocator", "pymalloc", 0], ["whole", 1], ["frame", "dumps", "/app.py", 12],
        ["stack", [0]], ["frame", "keep", "/app.py", 20], ["stack", [1]],
        ["record", "leaked", 0, "main", "mmap", 6 * arena, 6], ["record", "leaked", 0, "main", "malloc", 100, 1],
        ["record", "leaked", 1, "main", "malloc", 3 * arena, 1],
        ["record", "high_watermark", 0, "main", "mmap", 6 * arena, 6],
        ["record", "high_watermark", 1, "main", "malloc", 3 * arena, 1], ["done"],
    ]  # fmt: skip
    text = "\n".join(json.dumps(row) for row in rows)
    monkeypatch.setenv("MEMLENS_MEMRAY_PYTHON", str(stand_in(tmp_path, f"print({text!r})")))
    path = tmp_path / "x.bin"
    path.write_bytes(header())
    snapshot = opened(path)

    def ranked(value: int, by: GroupKind) -> list[tuple[str, str, int]]:
        answer = groups(snapshot, Branch(AllocationSet(0, value=value), [by]), "bytes", 0, 9, descending=True)
        return [(row.name.text, row.detail.text, row.bytes) for row in answer.rows]

    assert ranked(2, "line") == [
        ("app.py:12", "dumps, perhaps pools: 6 MiB", 6 * arena + 100),
        ("app.py:20", "keep", 3 * arena),
    ]
    assert ranked(3, "function")[0] == ("dumps", "app.py, perhaps pools: 6", 7)
    assert ranked(2, "package") == [("Your code", "perhaps pools: 6 MiB", 9 * arena + 100)]
    assert "app.py:12 dumps() 6 MiB (67%, perhaps pools: 6 MiB); app.py:20" in headline(snapshot, None).text
    for command in (["info"], ["lines", "--value", "leaked"]):
        assert main([*command, str(path), "--cache-dir", str(tmp_path / "cache")]) == 0
        assert "note: Python's own allocator, pymalloc, was not traced" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="scripts aren't programs there")
@pytest.mark.parametrize(
    ("allocator", "traced", "other", "warned", "marked"),
    [
        ("pymalloc", 0, "malloc", True, True),
        ("pymalloc debug", 0, "malloc", True, True),
        ("mimalloc", 0, "malloc", True, False),
        ("pymalloc", 1, "malloc", False, False),
        ("malloc", 0, "malloc", False, False),
        # memray before 1.11 doesn't record whether objects were traced, but its records show it
        ("pymalloc", -1, "malloc", True, True),
        ("pymalloc", -1, "pymalloc_malloc", False, False),
    ],
)
def test_pools_are_marked(
    tmp_path: Path, allocator: str, traced: int, other: str, *, warned: bool, marked: bool
) -> None:
    """For every version of memray, by the output of its reader."""
    arena = 1 << 20
    rows: list[list[object]] = [
        ["version", "1.20.0"], ["allocator", allocator, traced], ["whole", 1], ["frame", "dumps", "/app.py", 12],
        ["stack", [0]], ["frame", "load", "/app.py", 20], ["stack", [1]], ["frame", "old", "/app.py", 30],
        ["stack", [2]],
        ["record", "high_watermark", 0, "main", "mmap", 3 * arena, 3],
        ["record", "leaked", 0, "main", "mmap", arena, 1],
        # on the same line, but not an arena
        ["record", "leaked", 0, "main", other, arena, 1],
        # mapped, but of another size, if only once
        ["record", "leaked", 1, "main", "mmap", arena, 1], ["record", "high_watermark", 1, "main", "mmap", 4096, 1],
        # as large as arenas were up to Python 3.9
        ["record", "leaked", 2, "main", "mmap", 2 << 18, 2], ["done"],
    ]  # fmt: skip
    text = "\n".join(json.dumps(row) for row in rows)
    path = tmp_path / "x.bin"
    path.write_bytes(header())
    profile = read_with(path, stand_in(tmp_path, f"print({text!r})"), tmp_path)
    found: Counter[tuple[bool, int]] = Counter()
    for stack, values in samples_of(profile):
        found[stack[0] == POSSIBLE_ARENA, unmarked(stack)[0].line] += values[2]
    bare = {(False, 12): arena, (False, 20): arena}
    pools = {(True, 12): arena, (True, 30): 2 << 18}
    if not marked:
        bare, pools = {(False, 12): 2 * arena, (False, 20): arena, (False, 30): 2 << 18}, {}
    assert {place: size for place, size in found.items() if size} == bare | pools
    said = [warning.message for warning in profile.warnings if warning.code == "pools"]
    assert len(said) == warned
    if warned:
        assert allocator in said[0]
        assert "--trace-python-allocators" in said[0]
        assert ("3 MiB at the peak and 1.50 MiB at the end" in said[0]) == marked


@needs_memray
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_captures_whose_objects_were_not_recorded_are_reported(path: Path) -> None:
    """As in memray's own report, by its metadata; only mapped memory is marked."""
    if path.stat().st_size > 400_000 and "native" in path.name:
        pytest.skip("memray takes minutes over its symbols")
    python = python_for(path)
    profile = as_read(path)
    code = (
        "import json, memray, sys; found = memray.FileReader(sys.argv[1]).metadata; "
        "json.dump([found.python_allocator, getattr(found, 'trace_python_allocators', None)], sys.stdout)"
    )
    said = subprocess.run([python, "-c", code, path], check=True, capture_output=True, timeout=120)
    allocator, traced = json.loads(said.stdout)
    assert traced is not None or format_of(path) < 11  # all of these were made without the option
    assert profile.settings["python_allocator"] == allocator
    warned = allocator.startswith("pymalloc") and not traced
    assert ("pools" in {warning.code for warning in profile.warnings}) == warned
    marks = [
        sample for sample, (stack, _) in enumerate(samples_of(profile)) if stack[:1] == (POSSIBLE_ARENA,)
    ]
    assert all("mmap" in labels_of(profile, sample) for sample in perhaps(marks))
    assert bool(marks) == warned


FILES = [
    path
    for path in CAPTURES
    if not path.name.startswith("v1.") and "native" not in path.name and "pymalloc" not in path.name
]


def unmarked(stack: tuple[SourceFrame, ...]) -> tuple[SourceFrame, ...]:
    """A stack as in memray, without the marks of pools."""
    return stack[1:] if stack[:1] == (POSSIBLE_ARENA,) else stack


COMMANDS = """
import json, memray.commands, sys
for command in json.loads(sys.argv[1]):
    assert not memray.commands.main(command), command
"""


def run_memray(*commands: list[str]) -> None:
    """Run commands of memray's in one process, as starting it takes longer than they do."""
    subprocess.run([PYTHON, "-c", COMMANDS, json.dumps(commands)], check=True, capture_output=True)


def table(path: Path) -> Counter[tuple[str, str]]:
    """The rows that ``memray table`` wrote: bytes and allocations by innermost place."""
    found = re.search(r"const packed_data = (\[.*?\]);\n", path.read_text("utf-8"), re.DOTALL)
    assert found is not None
    rows: Counter[tuple[str, str]] = Counter()
    data: list[dict[str, Any]] = json.loads(found[1])
    for row in data:
        place = html.unescape(row["stack_trace"])
        rows[place, "bytes"] += row["size"]
        rows[place, "count"] += row["n_allocations"]
    return rows


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_figures_agree_with_memrays_own_reports(path: Path, tmp_path: Path) -> None:
    profile = as_read(path)
    # its options, by the column of what it then shows
    tables: dict[int, list[str]] = {0: [], 2: ["--leaks"], 4: ["--temporary-allocation-threshold=0"]}
    out = tmp_path / "stats.json"
    run_memray(
        *(
            ["table", *options, "-o", str(tmp_path / f"{column}.html"), str(path)]
            for column, options in tables.items()
        ),
        ["stats", "--json", "-o", str(out), str(path)],
    )
    for column, options in tables.items():
        mine: Counter[tuple[str, str]] = Counter()
        for marked, values in samples_of(profile):
            stack = unmarked(marked)
            place = f"{stack[0].function} at {stack[0].file}:{stack[0].line}" if stack else "???"
            mine[place, "bytes"] += values[column]
            mine[place, "count"] += values[column + 1]
        assert +mine == +table(tmp_path / f"{column}.html"), options
    stats = json.loads(out.read_text("utf-8"))
    assert value(profile, "peak_bytes") == stats["metadata"]["peak_memory"]
    if "total_bytes" in {kind.name for kind in profile.value_types}:
        assert value(profile, "total_bytes") == stats["total_bytes_allocated"]
        assert value(profile, "total_allocations") == stats["total_num_allocations"]
        counts = profile.values[[kind.name for kind in profile.value_types].index("total_allocations")]
        assert profile.sizes is not None
        assert int((profile.sizes * counts).sum()) == stats["total_bytes_allocated"]
    else:
        assert "aggregated" in {warning.code for warning in profile.warnings}
    assert profile.settings["command"] == stats["metadata"]["command_line"]
    assert profile.times is not None
    assert profile.times.series["live_bytes"].max() <= stats["metadata"]["peak_memory"]


# ---- over time ----


def format_of(path: Path) -> int:
    with open_source(path, path.parent, lambda *_: None) as source:
        return memray._header(source).version


def python_for(path: Path) -> Path:
    """The Python with the memray of a capture; the test is skipped where there is none."""
    return python_of(format_of(path))


def python_of(version: int) -> Path:
    """The Python with the memray of a file format; the test is skipped where there is none."""
    python = python_at(version)
    if not python.exists():
        pytest.skip(f"no memray for file format {version}: {python} isn't there")
    return python


TEMPORAL = """
import json, memray, sys
reader = memray.FileReader(sys.argv[1])
native = reader.metadata.has_native_traces
rows = []
for record in reader.get_temporal_allocation_records(merge_threads=False):
    trace = record.hybrid_stack_trace() if native else record.stack_trace()
    for lived in record.intervals:
        rows.append([trace, lived.allocated_before_snapshot, lived.deallocated_before_snapshot, lived.n_bytes,
                     lived.n_allocations])
memory = [[line.time, line.rss, line.heap] for line in reader.get_memory_snapshots()]
json.dump({"rows": rows, "memory": memory}, sys.stdout)
"""

Places = Counter[tuple[tuple[tuple[str, str, int], ...], str]]
FULL = [path for path in CAPTURES if path.stat().st_size < 400_000 and "aggr" not in path.name]


@cache
def temporal(path: Path, python: Path) -> dict[str, Any]:
    said = subprocess.run([python, "-c", TEMPORAL, path], check=True, capture_output=True, timeout=120)
    reported: dict[str, Any] = json.loads(said.stdout)
    return reported


def place(frames: Any) -> tuple[tuple[str, str, int], ...]:
    return tuple((str(name), str(file), int(line)) for name, file, line in frames)


def changes_of(profile: Profile, first: int, last: int) -> tuple[Places, Places]:
    """What each stack allocated and freed in the bins that end at the edges ``first`` to ``last``."""
    assert profile.times is not None
    begin, end = (int(profile.times.change_offsets[edge]) for edge in (first, last + 1))
    stacks = [
        place((f.function, f.file, f.line) for f in unmarked(frames)) for frames, _ in samples_of(profile)
    ]
    allocated: Places = Counter()
    freed: Places = Counter()
    for row in profile.times.changes[begin:end].tolist():
        sample, more, less, more_count, less_count = row
        allocated[stacks[sample], "bytes"] += more
        allocated[stacks[sample], "count"] += more_count
        freed[stacks[sample], "bytes"] += less
        freed[stacks[sample], "count"] += less_count
    return +allocated, +freed


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize("most_edges", [4096, 7])
@pytest.mark.parametrize("path", FULL, ids=lambda path: path.name)
def test_what_stacks_allocated_and_freed_over_time(
    path: Path, most_edges: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against memray's records of lifetimes, added up one by one."""
    python = python_for(path)
    reported = temporal(path, python)
    if most_edges == memray_times._MOST_EDGES:
        profile = as_read(path)
    else:
        monkeypatch.setattr(memray_times, "_MOST_EDGES", most_edges)
        profile = read_with(path, python, tmp_path)
    times = profile.times
    assert times is not None
    assert times.has_flow
    assert not times.has_short_lived
    memory = reported["memory"]
    lines = len(memory)
    step = -(-(lines + 1) // most_edges)
    ends = [*range(step - 1, lines, step), lines]
    assert len(times.time_us) == len(ends) <= most_edges
    # what is live at each edge agrees with memray's own count at that time
    for edge, line in enumerate(ends[:-1]):
        assert times.time_us[edge] == (memory[line][0] - memory[0][0]) * 1000
        assert times.series["rss_bytes"][edge] == memory[line][1]
        assert times.series["live_bytes"][edge] == memory[line][2]
    assert times.series["live_bytes"][-1] == value(profile, "leaked_bytes")
    assert times.series["live_count"][-1] == value(profile, "leaked_allocations")
    assert times.peaks.max() == value(profile, "peak_bytes")
    assert (times.peaks >= times.series["live_bytes"]).all()
    chance = random.Random(1)
    for _ in range(12):
        first, last = sorted(chance.choices(range(len(ends)), k=2))
        after = ends[first - 1] if first else -1
        allocated: Places = Counter()
        freed: Places = Counter()
        for frames, begin, end, size, count in reported["rows"]:
            for sums, when in ((allocated, begin), (freed, end)):
                if when is not None and after < when <= ends[last]:
                    sums[place(frames), "bytes"] += size
                    sums[place(frames), "count"] += count
        assert changes_of(profile, first, last) == (+allocated, +freed)


@pytest.mark.slow
@needs_memray
@pytest.mark.parametrize("path", FULL, ids=lambda path: path.name)
def test_a_large_capture_has_the_same_peak_and_end(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few points of the curve, and without temporary and total allocations."""
    python = python_for(path)
    whole = as_read(path)
    monkeypatch.setattr(memray, "_MOST_WHOLE", 10)
    large = read_with(path, python, tmp_path)
    assert len(large.value_types) == 4
    assert "large" in {warning.code for warning in large.warnings}
    assert large.times is not None
    assert large.times.has_flow
    assert len(large.times.time_us) <= 17 or format_of(path) < 11
    assert large.times.peaks.max() == value(whole, "peak_bytes")

    def by_stack(profile: Profile) -> Counter[Any]:
        sums: Counter[Any] = Counter()
        for stack, values in samples_of(profile):
            for number in range(4):
                sums[unmarked(stack), number] += values[number]
        return +sums

    assert by_stack(large) == by_stack(whole)


@needs_memray
def test_a_killed_process_is_read_by_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its header has no figures, so its size is known only after reading."""
    path = recorded(tmp_path, killed=True)
    monkeypatch.setattr(memray, "_MOST_WHOLE", 10)
    profile = read_with(path, PYTHON, tmp_path)
    assert {"killed", "large"} <= {warning.code for warning in profile.warnings}
