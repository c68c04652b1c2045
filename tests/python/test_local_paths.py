"""Names from files become paths only below folders of the user, and on disks of this machine."""

import ast
import asyncio
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from tests.python.conftest import ROOT

from memlens import local_paths
from memlens.local_paths import below, file_below, is_local
from memlens.packs.v8.source_maps import SourceMaps
from memlens.regular_files import content, opened
from memlens.sources import binding, in_place, zips
from memlens.sources.archives import DAMAGED
from memlens.sources.binding import Binder, Places
from memlens.sources.cells import read_cells
from memlens.sources.declarations import text_of
from memlens.sources.edits import Edits
from memlens.sources.finder import Finder
from memlens.sources.paths import mapped, parse

WORK = PureWindowsPath(r"C:\work")
ELSEWHERE = [
    r"x/\\host.example\share\a.py",
    r"/x/\\host.example\share\a.py",
    r"/\\host.example\share\a.py",
    r"\\host.example\share\a.py",
    "//host.example/share/a.py",
    r"file:///x/\\host.example\share/a.js",
    "a/\\\\?\\UNC\\host.example\\share\\a.py",
    r"webpack/\\.\pipe\x",
    r"\\.\pipe\x",
    r"\\?\C:\Windows\win.ini",
    r"\\?\UNC\host.example\share\a.py",
    r"./C:\Windows\win.ini",
    r"a/D:\b.py",
    r"a/D:b.py",
    "D:b.py",
    r"/\host.example\share\a.js",
    r"\host\..\..\a.py",
    r"x/..\..\Startup\a.bat",
    r"a/..\..\b.py",
    r"a\..\..\..\b.py",
    "a/b.py:stream",
    "a/NUL",
    "a/nul.txt",
    "con.py/a",
    "a/COM1.log",
    "a/lpt9 .txt",
    "a/conin$",
    "a/b.py. .",
    "a/b.py ",
    "a/b\0c.py",
    "a/b\nc.py",
    "a/b*.py",
    "\\\\?\\GLOBALROOT\\Device\\Mup\\host.example\\share",
    r"\??\C:\a.py",
    r"\\.\C:\a.py",
    "//?/UNC/host.example/share/a.py",
    "//./pipe/x",
    "file://host.example/share/a.py",
    "file:////host.example/share/a.py",
    r"file:\\host.example\share\a.py",
    r"file://\\host.example\share\a.py",
    "file:///%5c%5chost.example%5cshare%5ca.py",
    "file:///x/%2e%2e/%2e%2e/a.py",
    "smb://host.example/share/a.py",
    r"a/\\host.example@SSL@8080\DavWWWRoot\a.py",
    "a/COM\u00b9.py",
    "a/CON .txt",
    "a/aux:",
    "a/b.py::$DATA",
    "a/...",
    "a/ ",
    "C:",
    "C:\\",
    "c|/a.py",
    "a//host.example/share",
    "/net/host.example/a.py",
    "a/b|c.py",
    "",
    "/",
    ".",
    "..",
    "../..",
    "a/../../b.py",
]


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("folder", [WORK, PureWindowsPath(r"\\mine\sources"), PureWindowsPath("D:/")])
def test_windows_joins_no_name_to_anything_but_a_file_below_the_folder(
    folder: PureWindowsPath, name: str
) -> None:
    for parts in (name.split("/"), re.split(r"[\\/]", name), [name]):
        joined = below(folder, parts)
        if joined is not None:
            assert joined.is_relative_to(folder)
            assert joined.drive == folder.drive
            assert len(joined.parts) == len(folder.parts) + len(parts)
            assert not set(joined.parts[len(folder.parts) :]) & {"..", ""}
            assert not re.search(r'[:<>"|?*\0-\x1f]', "".join(joined.parts[len(folder.parts) :]))
    if "\\" in name:
        assert below(folder, name.split("/")) is None


@pytest.mark.parametrize(
    "name", ["a.py", "src/a.py", "src/größe.py", "a b/c.py", "conf/console.py", ".x/y..z"]
)
@pytest.mark.parametrize("folder", [WORK, PureWindowsPath(r"\\mine\sources"), PurePosixPath("/work")])
def test_ordinary_names_are_joined(folder: PurePath, name: str) -> None:
    assert below(folder, name.split("/")) == folder / name


def test_a_colon_or_a_backslash_is_part_of_a_name_elsewhere() -> None:
    folder = PurePosixPath("/work")
    assert below(folder, ["a:b.py"]) == folder / "a:b.py"
    assert below(folder, [r"a\b.py"]) == folder / r"a\b.py"
    for parts in (["a/b.py"], ["/etc/passwd"], ["..", "a"], [".."], ["a", ""], ["a\0"], []):
        assert below(folder, parts) is None, parts
    assert file_below(Path("/work"), "../a.py") is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PureWindowsPath(r"C:\src\a.py"), True),
        (PureWindowsPath(r"\\host.example\share\a.py"), False),
        (PureWindowsPath("//host.example/share/a.py"), False),
        (PureWindowsPath(r"\\?\C:\a.py"), False),
        (PureWindowsPath(r"\\.\pipe\a"), False),
        (PureWindowsPath(r"C:a.py"), False),
        (PureWindowsPath(r"\a.py"), False),
        (PureWindowsPath("C:\\"), False),
        (PureWindowsPath(r"C:\a\NUL"), False),
        (PureWindowsPath(r"C:\a\b.py:c"), False),
        (PurePosixPath("/src/a.py"), True),
        (PurePosixPath("//host/a.py"), False),
        (PurePosixPath("/net/host.example/a.py"), False),
        (PurePosixPath("/afs/host.example/a.py"), False),
        (PurePosixPath("/var/run/user/1000/gvfs/smb-share:server=host.example,share=x/a.py"), False),
        (PurePosixPath("/Network/Servers/a.py"), False),
        (PurePosixPath("/proc/self/mem"), False),
        (PurePosixPath("/dev/tty"), False),
        (PurePosixPath("/sys/kernel/debug/tracing/trace_pipe"), False),
        (PurePosixPath("/run/user/1000/gvfs/smb-share:server=host.example,share=x/a.py"), False),
        (PurePosixPath("/run/media/me/disk/a.py"), True),
        (PurePosixPath("/dev/shm/a.py"), True),
        (PurePosixPath("//dev/shm/a.py"), False),
        (PurePosixPath("src/a.py"), False),
        (PurePosixPath("/"), False),
    ],
)
def test_what_may_be_looked_at_as_it_stands(path: PurePath, expected: bool) -> None:
    assert is_local(path) is expected


@pytest.mark.parametrize(
    "path",
    [
        "/Net/host.example/a.py",
        "/NETWORK/Servers/a.py",
        "/Dev/fd/0",
        "/System/Volumes/Data/net/host.example/a.py",
    ],
)
def test_macos_ignores_case(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_local(PurePosixPath(path))
    monkeypatch.setattr(local_paths, "_IS_MACOS", True)
    assert not is_local(PurePosixPath(path))
    assert is_local(PurePosixPath("/System/Volumes/Data/Users/me/a.py"))
    assert is_local(PurePosixPath("/Users/me/a.py"))


def test_folders_of_the_user_may_be_anywhere() -> None:
    assert is_local(PurePosixPath("/net/home/me/a.py"), [PurePosixPath("/net/home/me")])
    share = PureWindowsPath(r"\\mine\sources")
    assert is_local(share / "a.py", [share])
    assert not is_local(PureWindowsPath(r"\\other\sources\a.py"), [share])


@pytest.mark.parametrize("name", ELSEWHERE)
def test_mappings_lead_nowhere_else(name: str) -> None:
    foreign = parse(f"/srv/app/{name}") or parse(name)
    if foreign is None:
        return
    folder: Any = WORK
    for path in mapped(foreign, {"/srv/app": folder, "/": folder, "": folder}):
        assert path.is_relative_to(WORK)
        assert path.drive == "C:"
        assert ".." not in path.parts


def test_nothing_of_another_machine_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows: every path that is looked at is seen here, with pathlib's rules of Windows in place of our own."""
    looked: list[PurePath] = []
    monkeypatch.setattr(binding, "Path", PureWindowsPath)
    monkeypatch.setattr(in_place, "Path", PureWindowsPath)
    monkeypatch.setattr("memlens.sources.in_place.os.name", "nt")
    monkeypatch.setattr(binding, "is_file", looked.append)
    folder: Any = WORK
    places = Places({"/srv": folder, "/": folder}, {}, [folder])
    binding._without_search([*ELSEWHERE, "src/a.py", r"C:\src\b.py", "/srv/c.py"], places)
    assert {str(path) for path in looked} >= {r"C:\work\src\a.py", r"C:\src\b.py", r"C:\work\c.py"}
    for path in looked:
        assert re.fullmatch("[A-Za-z]:", path.drive), path
        assert not set(path.parts) & {"..", "."}
        assert not any(re.search(r"[:\0]|[. ]$", part) for part in path.parts[1:]), path


def test_a_map_of_a_script_is_beside_it_or_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside.map").write_text(
        '{"version":3,"sources":["secret.ts"],"names":[],"mappings":"AAAA"}'
    )
    folder = tmp_path / "dist"
    folder.mkdir()
    script = folder / "app.js"
    for name, is_read in (("app.js.map", True), ("./app.js.map", True), ("../outside.map", False)):
        (folder / "app.js.map").write_text((tmp_path / "outside.map").read_text())
        script.write_text(f"a\n//# sourceMappingURL={name}\n")
        assert (SourceMaps([folder]).of(str(script)) is not None) is is_read, name
        assert (SourceMaps([folder]).of("x/app.js") is not None) is is_read, name
    script.write_text(f"a\n//# sourceMappingURL={tmp_path / 'outside.map'}\n")
    assert SourceMaps([folder]).of(str(script)) is None


def test_bindings_of_hostile_names_find_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    work = tmp_path / "work"
    work.mkdir()
    binder = Binder(Finder(), lambda: Places({"/srv": work}, {}, [work]))
    bindings, _ = asyncio.run(binder.without_search([*ELSEWHERE, "/srv/../a.py", "../a.py"]))
    assert not any(found.paths for found in bindings.values())


def test_names_are_joined_to_folders_in_one_place() -> None:
    """Outside of it no path is joined from several components at once: those come from a file."""
    found = []
    files = [*(ROOT / "pyserver" / "memlens").rglob("*.py")]
    assert len(files) > 300
    for file in files:
        found += [
            (file.name, line.strip())
            for line in file.read_text("utf-8").splitlines()
            if re.search(r"\.joinpath\(", line) and "files(" not in line
        ]
    assert found == [
        ("local_paths.py", "joined = folder.joinpath(*names)"),
    ], found


LOOKS = {
    "open", "stat", "lstat", "exists", "is_file", "is_dir", "is_symlink", "read_bytes", "read_text", "iterdir", "glob",
    "rglob", "resolve", "readlink", "samefile", "scandir", "listdir", "isfile", "isdir", "realpath", "getsize",
    "getmtime", "memmap", "fromfile", "mmap",
}  # fmt: skip
NAMED_BY_FILES = "names from a file, by local_paths"
LOOKING = {
    "fleet/database.py": "summaries that the user named",
    "fleet/listing.py": "a place that the user named",
    "fleet/place.py": "a place that the user named",
    "fleet/run.py": "a place that the user named",
    "formats/containers.py": "the file itself",
    "packs/jvm/obfuscation.py": "mappings beside the file, and those of a setting",
    "formats/packing.py": "the file itself",
    "packs/python/own_names.py": "Python's own library",
    "packs/python/dumping.py": "a process and its program",
    "formats/searched.py": "what was searched before",
    "packs/v8/source_maps.py": NAMED_BY_FILES,
    "formats/symbols/lookup.py": "folders of the user",
    "formats/symbols/places.py": NAMED_BY_FILES,
    "packs/ruby/own_names.py": "files of Memlens",
    "packs/v8/dumping/heap_profiler.py": "the dump that it writes",
    "packs/v8/dumping/pages.py": "the port of a browser, in its folder",
    "packs/v8/own_names.py": "files of Memlens",
    "packs/v8/streamed.py": "the file itself, and what has its name beside it",
    "formats/zip_files.py": "members of the file itself",
    "ingest.py": "an archive",
    "model/libraries.py": "files of Memlens",
    "server/prompts.py": "files of Memlens",
    "packs/pytorch/machinery.py": "files of Memlens",
    "packs/dotnet/dumping.py": "the dump that it writes",
    "packs/jvm/dumping.py": "the dump that it has written",
    "packs/jvm/flight/recording.py": "the folder that it is written in",
    "packs/python/memray_meter.py": "the capture that it writes",
    "packs/others.py": "installed packages",
    "packs/pytorch/export.py": "a temporary folder",
    "packs/pytorch/snapviewer.py": "a temporary folder",
    "packs/registry.py": "files of Memlens and of installed packages",
    "server/contract.py": "the build",
    "server/sessions/open_fleet.py": "summaries that the user opened",
    "server/handlers/fleet.py": NAMED_BY_FILES,
    "server/handlers/named.py": "files that a setting names",
    "server/handlers/snapshots.py": "files that the user opens",
    "server/handlers/tools.py": "views' own files, and what folders.py lets pass",
    "server/requirements.py": "files of Memlens",
    "server/sessions/children.py": "what a killed child has left beside the user's file",
    "server/sessions/opened.py": "files that the user opens",
    "server/sessions/registry.py": "an archive",
    "server/sessions/sql.py": "an archive",
    "server/sources.py": "asks binding.py",
    "server/tools/folders.py": "paths of a model, only in the folders that it may read",
    "server/manifest.py": "the build",
    "server/tools/session.py": "paths of a model, only in the folders that it may read",
    "sources/archives.py": "archives of classes that the user or the build named",
    "sources/binding.py": "asks in_place.py",
    "sources/in_place.py": NAMED_BY_FILES,
    "sources/cells.py": "notebooks that binding.py found",
    "packs/jvm/class_archives.py": NAMED_BY_FILES,
    "sources/declarations.py": "files of the workspace",
    "sources/edits.py": "files that binding.py found",
    "sources/index.py": "folders of the workspace",
    "sources/notebooks.py": "notebooks of the workspace",
    "packs/jvm/places.py": "the user's Java",
    "packs/jvm/source_archives.py": "members of archives of classes",
    "sources/zips.py": "archives of classes",
    "remote_files.py": NAMED_BY_FILES,
    "views/heap/objects/same_objects.py": "an archive of a file that a filter names, for which the user is asked",
    "views/sql/schema.py": "files of Memlens",
}
"""Modules above the store that look at a disk, and whose names they look for."""


def test_only_these_modules_look_at_a_disk() -> None:
    """A module that is added says here whose names it looks for; names from a file pass through the one function."""
    package = ROOT / "pyserver" / "memlens"
    found = set()
    for layer in (
        "formats",
        "sources",
        "fleet",
        "views",
        "export",
        "model",
        "packs",
        "server",
        "remote_files.py",
        "ingest.py",
    ):
        for file in [package / layer] if layer.endswith(".py") else (package / layer).rglob("*.py"):
            if "tests" in file.parts[len(package.parts) :]:
                continue
            text = file.read_text("utf-8")
            if re.search(r"^from memlens.*regular_files", text, re.MULTILINE) or any(
                map(_looks, ast.walk(ast.parse(text)))
            ):
                found.add(file.relative_to(package).as_posix())
    assert found == set(LOOKING)
    for name, reason in LOOKING.items():
        imports = re.search(
            r"^from memlens.* import .*(below|local_paths)", (package / name).read_text("utf-8"), re.MULTILINE
        )
        assert (imports is not None) is (reason == NAMED_BY_FILES), name


def _looks(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name in LOOKS
    return False


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _link_to(target: str) -> Callable[[Path], None]:
    return lambda place: place.symlink_to(target)


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")
@pytest.mark.parametrize(
    "put",
    [
        _pipe,
        Path.mkdir,
        *map(_link_to, ("/dev/zero", "/dev/stdin", "/proc/self/maps", "/proc/kmsg", "circle")),
    ],
)
def test_only_regular_files_are_opened_by_a_name(put: Callable[[Path], None], tmp_path: Path) -> None:
    """A clone may have a link to a device under any name, a read of which has no end, or a pipe, which waits."""
    for name in ("circle", "Session.java", "a.ipynb", "a-sources.jar", "a.py", "a.js.map"):
        place = tmp_path / name
        put(place)
        with pytest.raises(OSError, match=r"regular file|symbolic links"):
            opened(place)
        assert content(place, 100) is None
    assert text_of(str(tmp_path / "Session.java")) == ""
    assert read_cells(tmp_path / "a.ipynb") == []
    assert asyncio.run(Edits().state(str(tmp_path / "a.py"), "v1")).functions is None
    with pytest.raises(DAMAGED):
        zips.opened(tmp_path / "a-sources.jar")


def test_what_is_searched_for_is_opened_in_one_place() -> None:
    folder = ROOT / "pyserver" / "memlens"
    opens = {"open", "read_bytes", "read_text", "ZipFile", "fdopen"}
    found = {
        (file.name, node.lineno)
        for file in (*(folder / "sources").glob("*.py"), folder / "packs" / "v8" / "source_maps.py",
                     *(folder / "formats" / "symbols").glob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in opens
        # a member of an archive
        and ast.unparse(node.func) not in ("archive.open", "self._zip.open", "super().open")
    }  # fmt: skip
    assert found == set()
