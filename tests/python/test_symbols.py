"""Names of native addresses: small programs of ours, built in many ways, and profiles that they wrote of themselves.

tests/fixtures/symbols/make.py says how each was built. The sources say which lines the frames have to be.
"""

import json
import math
import re
import shutil
import struct
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.lsp_client import LspClient
from tests.python.profile_reading import load, samples_of
from tests.python.server_harness import open_view

from memlens.formats.symbols import lookup
from memlens.formats.symbols.elf import Binary
from memlens.formats.symbols.line_programs import program_at, rows_of
from memlens.formats.symbols.metered import Information, Meter
from memlens.formats.symbols.names import plain_name
from memlens.formats.symbols.places import Places, opened
from memlens.formats.tools import Tools
from memlens.ingest import ingest
from memlens.model.frames import SourceFrame
from memlens.model.profile import Profile
from memlens.packs.go.tests.pprof_files import Builder
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot

pytest_plugins = ("tests.python.server_fixtures",)

FIXTURES = ROOT / "tests" / "fixtures" / "symbols"
FUNCTIONS = {
    "c": ("shelve", "restock", "main"),
    "cc": ("shop::Shelf<double>::shelve(unsigned long)", "shop::restock(std::vector<int, std::allocator<int> > const&)",
           "main"),
    # debug = "line-tables-only" has no scopes of inlined functions
    "rust": ("shelve<u64>", "shop::shop::restock", "main"),
}  # fmt: skip
SOURCES = {"c": "shop.c", "cc": "shop.cc", "rust": "shop.rs"}
WITH_LINES = (
    "c", "c-fixed", "c-compressed", "c-zstd", "c-old", "c-split", "c-package", "c-shared", "c-debuglink", "c-build-id",
    "c-prelinked", "cc", "cc-fixed", "cc-split", "cc-split-4", "cc-package-4", "cc-shared", "cc-debuglink", "rust",
    "rust-build-id",
)  # fmt: skip


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the programs."""
    folder = tmp_path_factory.mktemp("symbols")
    with tarfile.open(FIXTURES / "binaries.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def line(source: str, mark: str) -> int:
    """Return the number of the line with a mark."""
    text = (FIXTURES / "src" / source).read_text("utf-8").splitlines()
    (number,) = (number for number, line in enumerate(text, 1) if f" {mark}" in line)
    return number


def frames_of(profile: Profile) -> list[SourceFrame]:
    """Return the frames of a profile's one stack, the innermost first."""
    ((frames, _),) = samples_of(profile)
    return list(frames)


def is_unnamed(profile: Profile) -> bool:
    """Return whether all frames have addresses in place of names."""
    return all(" at 0x" in frame.function for frame in frames_of(profile))


def warnings_of(profile: Profile) -> str:
    """Return what is said about names."""
    return " ".join(str(warning.message) for warning in profile.warnings if warning.code == "no-symbols")


@pytest.mark.parametrize("build", WITH_LINES)
def test_lines_and_inlined_functions(build: str, builds: Path) -> None:
    language = build.partition("-")[0]
    source = SOURCES[language]
    marks = [line(source, mark) for mark in ("INNERMOST", "INLINED CALL", "OUTERMOST")]
    profile = load(builds / build / "profile.heap", builds / build / "bin", builds / build)
    found = [(frame.function, frame.line, frame.file) for frame in frames_of(profile)[:3]]
    assert "inlined functions are missing" not in warnings_of(profile)
    assert found == [
        (function, number, f"/build/shop/{source}")
        for function, number in zip(FUNCTIONS[language], marks, strict=True)
    ]


@pytest.mark.parametrize("language", SOURCES)
def test_symbols_without_lines(language: str, builds: Path) -> None:
    folder = builds / f"{language}-symbols"
    profile = load(folder / "profile.heap", folder / "bin")
    # symbols know nothing of what was inlined
    assert [frame.function for frame in frames_of(profile)[:2]] == [*FUNCTIONS[language][1:]]
    assert "Without lines: shop. Build with -g" in warnings_of(profile)


def test_no_further_binary_is_read_when_time_is_up(builds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "MOST_SECONDS", -lookup._MOST_FURTHER_SECONDS)
    folder = builds / "c-symbols"
    profile = load(folder / "profile.heap", folder / "bin")
    assert is_unnamed(profile)
    assert "so some addresses have no name or no line" in warnings_of(profile)


def test_a_stripped_binary_without_its_debug_file(builds: Path) -> None:
    folder = builds / "c-stripped"
    profile = load(folder / "profile.heap", folder / "bin")
    assert is_unnamed(profile)
    said = warnings_of(profile)
    assert "Without lines: shop." in said
    assert "Not found here: libc.so.6." in said


def test_a_debug_file_without_its_binary(builds: Path, tmp_path: Path) -> None:
    shutil.copytree(builds / "c-build-id" / ".build-id", tmp_path / ".build-id")
    (debug,) = (path for path in tmp_path.rglob("*.debug") if path.is_file())
    # the profile in text has no build id, so by its name
    shutil.copy(debug, tmp_path / "shop.debug")
    profile = load(builds / "c-build-id" / "profile.heap", tmp_path)
    assert [frame.line for frame in frames_of(profile)[:2]] == [
        line("shop.c", mark) for mark in ("INNERMOST", "INLINED CALL")
    ]


@pytest.mark.parametrize("build", ["c-split", "c-package", "cc-split-4", "cc-package-4", "cc-shared"])
@pytest.mark.parametrize("what", ["missing", "cut off", "of another build"])
def test_linked_debug_information_that_is_not_there(
    build: str, what: str, builds: Path, tmp_path: Path
) -> None:
    """Lines and the functions that symbols name stay."""
    folder = shutil.copytree(builds / build, tmp_path / build)
    (linked,) = (folder / "bin").glob("shop.dw*")
    data = linked.read_bytes()
    linked.unlink()
    if what == "cut off":
        linked.write_bytes(data[: len(data) // 2])
    if what == "of another build":
        other = "c-shared" if build == "cc-shared" else "cc-split"
        shutil.copy(next((builds / other / "bin").glob("shop.dw*")), linked)
    profile = load(folder / "profile.heap", folder / "bin")
    source = SOURCES[build.partition("-")[0]]
    names = [frame.function for frame in frames_of(profile)]
    lines = [frame.line for frame in frames_of(profile)]
    assert FUNCTIONS[build.partition("-")[0]][1] in names[:2]
    assert {line(source, "INNERMOST"), line(source, "OUTERMOST")} <= set(lines)
    name = {"c-package": "shop.dwo", "cc-package-4": "shop.dwo"}.get(build, linked.name)
    assert f"so inlined functions are missing: {name}." in warnings_of(profile)


@pytest.mark.parametrize("layout", ["beside the profile", "its path below a folder", "its name in a folder"])
def test_where_binaries_are_found(layout: str, builds: Path, tmp_path: Path) -> None:
    build = builds / "c"
    profile = shutil.copy(build / "profile.heap", tmp_path)
    places = {
        "beside the profile": tmp_path / "shop",
        "its path below a folder": tmp_path / "root" / "srv" / "shop" / "bin" / "shop",
        "its name in a folder": tmp_path / "root" / "shop",
    }
    assert is_unnamed(load(Path(profile)))
    places[layout].parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(build / "bin" / "shop", places[layout])
    assert frames_of(load(Path(profile), tmp_path / "root"))[0].function == "shelve"


def test_a_binary_of_another_build_is_not_used(builds: Path, tmp_path: Path) -> None:
    shutil.copy(builds / "rust" / "bin" / "shop", tmp_path)
    profile = load(builds / "c" / "profile.heap", tmp_path)
    assert is_unnamed(profile)
    assert "Of another build than the one that ran, so not used: shop." in warnings_of(profile)


@pytest.mark.parametrize("build", ["c-debuglink", "c-build-id"])
def test_a_debug_file_of_another_build_is_not_used(build: str, builds: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(builds / build, tmp_path / build)
    (debug,) = (path for path in folder.rglob("*.debug") if path.is_file())
    data = bytearray(debug.read_bytes())
    # the build id, or what the checksum is of
    at = data.index(bytes.fromhex("c0ffee")) if build == "c-build-id" else len(data) - 1
    data[at] ^= 1
    debug.write_bytes(data)
    profile = load(folder / "profile.heap", folder / "bin", folder)
    assert is_unnamed(profile)
    assert "Of another build than the one that ran, so not used:" in warnings_of(profile)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "name"),
    [("cc", "shop"), ("cc-split", "shop.dwo"), ("cc-package-4", "shop.dwp"), ("cc-shared", "shop.dwz")],
)
def test_damaged_binaries(build: str, name: str, builds: Path, tmp_path: Path) -> None:
    """Cut off anywhere and with bytes flipped, a file costs its own names at most."""
    profile = builds / build / "profile.heap"
    shutil.copytree(builds / build / "bin", tmp_path / "bin")
    whole = (tmp_path / "bin" / name).read_bytes()
    times = 60 if name == "shop" else 20
    for number in range(times):
        data = bytearray(whole[: len(whole) * number // times] if number % 2 else whole)
        for at in range(number * 97 % 1009, len(data), 1009):
            data[at] ^= 1 << number % 8
        (tmp_path / "bin" / name).write_bytes(data)
        frames = frames_of(load(profile, tmp_path / "bin"))
        assert len(frames) >= 5
        assert name == "shop" or "main" in [each.function for each in frames]


def test_debug_information_that_cannot_be_read(builds: Path, tmp_path: Path) -> None:
    data = bytearray((builds / "c-compressed" / "bin" / "shop").read_bytes())
    with (builds / "c-compressed" / "bin" / "shop").open("rb") as file:
        section = Binary(tmp_path, file).elf.get_section_by_name(".debug_info")
        assert section is not None
        # another compression than zlib's and zstd's
        data[section["sh_offset"]] = 7
    (tmp_path / "shop").write_bytes(data)
    profile = load(builds / "c-compressed" / "profile.heap", tmp_path)
    assert frames_of(profile)[0].function == "restock"
    assert "The debug information of shop can't be read" in warnings_of(profile)


def test_a_binary_that_claims_endless_parts(builds: Path, tmp_path: Path) -> None:
    data = bytearray((builds / "c" / "bin" / "shop").read_bytes())
    (table,) = struct.unpack_from("<Q", data, 40)
    # more sections than 16 bits hold: the first one's size says how many
    struct.pack_into("<H", data, 60, 0)
    struct.pack_into("<Q", data, table + 32, 1 << 32)
    (tmp_path / "shop").write_bytes(data)
    assert is_unnamed(load(builds / "c" / "profile.heap", tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="paths of profiles are those of other systems")
def test_what_names_in_a_profile_may_lead_to(tmp_path: Path) -> None:
    places = Places([tmp_path], tmp_path / "beside")

    def own(path: str) -> list[Path]:
        return [place for place in places.of_binary(path, "") if tmp_path not in place.parents]

    assert own("/usr/bin/shop") == [Path("/usr/bin/shop")]
    for name in (
        "/net/host/shop",
        "//host/share/shop",
        "/a/../net/host/shop",
        r"\\host\share\shop",
        "../shop",
        "shop",
    ):
        assert own(name) == []
    inside = [
        place for name in ("/a/../../shop", "..", "/", "\0") for place in places.of_binary(name, "../../x")
    ]
    assert all(".." not in place.parts and tmp_path in place.parents for place in inside)
    assert not list(
        Places([], tmp_path, only_folders=True).of_debug_file(Path("/usr/bin/shop"), "ab" * 20, "..")
    )
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (
        Path("/dev/zero"),
        Path("/proc/self/exe"),
        tmp_path / "link",
        tmp_path,
        tmp_path / "missing",
    ):
        assert opened(path) is None


def test_an_allocator_is_not_whose_code_it_is(tmp_path: Path) -> None:
    """The profiler's own hook is the innermost frame of every stack."""
    profile = tmp_path / "server.heap"
    hook, own, main = "0x7f0000001001 0x7f0000001101", ("0x400501", "0x400701"), "0x400601"
    rows = "".join(
        f"@ {hook} {site} {main}\n  t*: 1: {size} [0: 0]\n  t0: 1: {size} [0: 0]\n"
        for site, size in zip(own, (3 << 20, 1 << 20), strict=True)
    )
    profile.write_text(
        f"heap_v2/1\n  t*: 2: {4 << 20} [0: 0]\n  t0: 2: {4 << 20} [0: 0]\n{rows}\nMAPPED_LIBRARIES:\n"
        "00400000-00500000 r-xp 00000000 00:00 0 /opt/app/server\n"
        "7f0000000000-7f0000100000 r-xp 00000000 00:00 0 /opt/app/libjemalloc.so.2\n"
    )
    found = memlens(
        "findings", profile, "--cache-dir", tmp_path / "cache", "--symbols", tmp_path / "none"
    ).stdout
    head = found.splitlines()[0]
    assert "Held by server at 0x400500 3 MiB (75%); server at 0x400700 1 MiB (25%)." in head
    assert (
        "Names are missing: 4 MiB (100%) is in functions known by address only, most of them in server.\n"
        in found
    )
    # one advice, in the warning
    assert found.count("Copy them") == 1
    assert "Install" not in found
    assert "libjemalloc" not in found


def test_names() -> None:
    assert plain_name("_ZN4shop7restockERKSt6vectorIiSaIiEE") == FUNCTIONS["cc"][1]
    assert plain_name("_ZN4shop4shop7restock17h0123456789abcdefE") == "shop::shop::restock"
    assert plain_name("malloc@@GLIBC_2.2.5") == "malloc"
    # a name whose substitutions double it at each step would be longer than any memory
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    bomb = "_Z1f" + "1AIiiE" + "".join(f"1BIS{digits[number]}_S{digits[number]}_E" for number in range(30))
    assert len(plain_name(bomb)) < 100_000
    deep = "_Z1f" + "P" * 16_000 + "i"
    assert plain_name(deep) == deep


def in_archive(archive: Path) -> list[str]:
    """Return which of the program's functions an archive names."""
    with closing(Snapshot.open(archive)) as snapshot:
        return [name for name in FUNCTIONS["c"] if snapshot.frames.in_function(name.__eq__).any()]


def archive_of(profile: Path, cache: Cache) -> Path:
    """Return the archive of a profile, made if there is none that is current."""
    return cache.find(profile) or ingest(profile, cache, lambda *_: None)


@pytest.mark.slow
def test_archives_keep_names_and_are_made_again_when_more_would_be_found(
    builds: Path, tmp_path: Path
) -> None:
    profile = Path(shutil.copy(builds / "c" / "profile.heap", tmp_path))
    plain = Cache(tmp_path / "cache", tools=Tools())
    archive = archive_of(profile, plain)
    assert in_archive(archive) == []
    assert plain.find(profile) == archive

    folder = Cache(tmp_path / "cache", tools=Tools(symbol_folders=[builds / "c" / "bin"]))
    assert folder.find(profile) is None
    assert in_archive(archive_of(profile, folder)) == [*FUNCTIONS["c"]]
    assert folder.find(profile) == archive
    off = Cache(tmp_path / "cache", tools=Tools(look_up_symbols=False))
    assert off.find(profile) is None
    assert in_archive(archive_of(profile, off)) == []

    assert in_archive(archive_of(profile, plain)) == []
    shutil.copy(builds / "c" / "bin" / "shop", tmp_path)
    assert plain.find(profile) is None
    assert in_archive(archive_of(profile, plain)) == [*FUNCTIONS["c"]]
    (tmp_path / "shop").unlink()
    assert in_archive(archive_of(profile, plain)) == [*FUNCTIONS["c"]]
    # where nothing else may be looked at, what another search found is shown
    assert Cache(tmp_path / "cache", tools=Tools(only_folders=True)).find(profile) == archive


def test_folders_on_the_command_line(builds: Path, tmp_path: Path) -> None:
    profile = builds / "c-debuglink" / "profile.heap"
    cache = ("--cache-dir", tmp_path)
    assert "Held by shop.c:" not in memlens("findings", profile, *cache).stdout
    folders = ("--symbols", builds / "c-debuglink" / "bin")
    held = f"Held by shop.c:{line('shop.c', 'INNERMOST')} shelve() 4 KiB (100%)"
    assert held in memlens("findings", profile, *cache, *folders).stdout
    memlens("ingest", profile, *cache, "--progress", "none")
    assert held not in memlens("findings", profile, *cache).stdout


def recorded(profile: Path) -> tuple[tuple[int, ...], list[int]]:
    """Return where the code of a program was (start, end, offset in the file), and the innermost calls in it."""
    text = profile.read_text("utf-8")
    row = re.search(
        r"^([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) \S+ \d+ +/srv/shop/bin/shop$", text, re.MULTILINE
    )
    stack = re.search(r"^@ (.*)$", text, re.MULTILINE)
    assert row is not None
    assert stack is not None
    return tuple(int(number, 16) for number in row.groups()), [
        int(address, 16) - 1 for address in stack[1].split()[:2]
    ]


@pytest.mark.parametrize("build", ["c", "c-fixed", "c-build-id", "rust"])
def test_addresses_of_pprof(build: str, builds: Path, tmp_path: Path) -> None:
    """The same stacks as what jemalloc's converters write: locations with an address in a mapping."""
    (start, end, offset), calls = recorded(builds / build / "profile.heap")
    builder = Builder(("inuse_space", "bytes"))
    build_id = builder.text("00C0FFEE" * 5 if build == "c-build-id" else "")
    builder.message["mapping"] = [
        {"id": 1, "memory_start": start, "memory_limit": end, "file_offset": offset,
         "filename": builder.text("/srv/shop/bin/shop"), "build_id": build_id},
    ]  # fmt: skip
    builder.sample([builder.location(address=call, mapping=1) for call in calls], 4096)
    path = tmp_path / "heap.pb"
    path.write_bytes(builder.bytes())
    expected = frames_of(load(builds / build / "profile.heap", builds / build / "bin", builds / build))[:3]
    assert frames_of(load(path, builds / build / "bin", builds / build)) == expected
    unnamed = load(path)
    assert is_unnamed(unnamed)
    assert "Not found here: shop." in warnings_of(unnamed)


@pytest.mark.slow
def test_folders_in_the_settings(builds: Path, workspace: Path, cache_folder: Path) -> None:
    shutil.copytree(builds / "cc-debuglink" / "bin", workspace / "binaries")
    settings = {"cache_directory": str(cache_folder), "symbol_folders": ["${workspaceFolder}/binaries"]}
    with LspClient() as client:
        client.start(workspace, settings)
        opened = open_view(client, builds / "cc-debuglink" / "profile.heap")
        asked = {"snapshot": opened["snapshot"], "of": {"device": 0}}
        options = {"direction": "bottom_up", "merge": "function"}
        rows = client.request(
            "memlens/flameFunctions",
            {**asked, "value": "bytes", "options": options, "order": "inclusive", "offset": 0, "limit": 9},
        )["rows"]
    assert FUNCTIONS["cc"][1] in str(rows)


MASSIF = """desc: --massif-out-file=massif.out
cmd: /srv/shop/bin/shop
time_unit: i
#-----------
snapshot=0
#-----------
time=0
mem_heap_B=4096
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=peak
n1: 4096 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 4096 {inner}
  n0: 4096 {outer}
"""
DHAT = {
    "dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "instrs",
    "Mtu": "Minstr", "tuth": 500, "cmd": "shop", "pid": 1, "tg": 1, "te": 2,
    "pps": [{"tb": 4096, "tbk": 1, "tl": 1, "mb": 4096, "mbk": 1, "gb": 4096, "gbk": 1, "eb": 4096, "ebk": 1,
             "fs": [1, 2]}],
}  # fmt: skip


@pytest.mark.parametrize("build", ["c", "c-fixed", "c-debuglink"])
@pytest.mark.parametrize("tool", ["massif", "dhat"])
def test_addresses_of_valgrind(tool: str, build: str, builds: Path, tmp_path: Path) -> None:
    """valgrind says nothing of mappings, and loads all position-independent programs at one address."""
    (start, _, offset), calls = recorded(builds / build / "profile.heap")
    moved = 0 if build == "c-fixed" else 0x108000 - (start - offset)
    inner, outer = (f"0x{call + moved:X}: ??? (in /srv/shop/bin/shop)" for call in calls)
    path = tmp_path / "valgrind.out"
    path.write_text(
        MASSIF.format(inner=inner, outer=outer)
        if tool == "massif"
        else json.dumps({**DHAT, "ftbl": ["[root]", inner, outer]})
    )
    expected = frames_of(load(builds / build / "profile.heap", builds / build / "bin"))[:3]
    assert frames_of(load(path, builds / build / "bin")) == expected
    unnamed = load(path)
    assert is_unnamed(unnamed)
    assert "Not found here: shop." in warnings_of(unnamed)


@pytest.mark.parametrize("build", ["c", "c-fixed", "c-prelinked", "rust"])
def test_addresses_of_raw_heaptrack(build: str, builds: Path, tmp_path: Path) -> None:
    """heaptrack writes how far each binary was moved, and its segments."""
    (start, _, _), calls = recorded(builds / build / "profile.heap")
    with (builds / build / "bin" / "shop").open("rb") as file:
        segments = Binary(builds, file).segments
    code = next(part for part in segments if part.is_code)
    bias = start - (code.address - code.address % 4096)
    listed = " ".join(f"{part.address:x} {part.memory_bytes:x}" for part in segments)
    path = tmp_path / "heaptrack.shop"
    path.write_text(
        f"v 10400 3\nx 12 /srv/shop/bin/shop\nX shop\nI 1000 100\nm 1 -\nm 1 x {bias:x} {listed}\n"
        f"t {calls[1] + 1:x} 0\nt {calls[0] + 1:x} 1\n+ 1000 2 5000\nc 1\n"
    )
    profile = load(path, builds / build / "bin")
    assert profile.tree is not None
    found, node = [], int(profile.stacks[0])
    while node:
        found.append(profile.frames.frames[int(profile.tree.frames[node])])
        node = int(profile.tree.parents[node])
    assert found == frames_of(load(builds / build / "profile.heap", builds / build / "bin"))[:3]
    assert "Not found here: shop." in warnings_of(load(path))


FOREVER = Meter(1 << 30, math.inf)


def informations(builds: Path) -> Iterator[tuple[Any, Information]]:
    """The library's own view of debug information, and the one with a meter."""
    for name in ("c", "cc", "cc-split-4", "rust"):
        for file in sorted((builds / name).rglob("*")):
            if file.is_file() and file.read_bytes()[:4] == b"\x7fELF":
                with file.open("rb") as stream:
                    metered = Binary(file, stream).debug_information(math.inf)
                    if metered is not None:
                        yield ELFFile(stream).get_dwarf_info(), metered


def texts_of(information: Information) -> Callable[[int, int], bytes | None]:
    texts = {0x1F: information.get_string_from_linetable, 0x0E: information.get_string_from_table}
    return lambda form, offset: texts[form](offset)


def test_line_programs_are_those_of_the_library(builds: Path) -> None:
    compared = 0
    for theirs, own in informations(builds):
        for unit in theirs.iter_CUs():
            program = theirs.line_program_for_CU(unit)
            if program is None:
                continue
            offset = unit.get_top_DIE().attributes["DW_AT_stmt_list"].value
            found = program_at(own.sections["line"], offset, texts_of(own), FOREVER, is_little=True)
            assert found.folders == list(program["include_directory"])
            assert found.files == [(each.name, each.dir_index) for each in program["file_entry"]]
            states = [entry.state for entry in program.get_entries() if entry.state is not None]
            rows = [(each.address, each.file, each.line, bool(each.end_sequence)) for each in states]
            assert [tuple(row) for row in rows_of(found, FOREVER)] == rows
            compared += len(rows)
    assert compared > 100
