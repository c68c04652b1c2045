"""Names from files become paths only below folders of the user, and on disks of this machine."""

import asyncio
import re
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from tests.python.conftest import ROOT

from memlens.formats.source_maps import SourceMaps
from memlens.local_paths import below, file_below, is_local
from memlens.sources import binding
from memlens.sources.binding import Binder, Places
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
        (PurePosixPath("/Network/Servers/a.py"), False),
        (PurePosixPath("src/a.py"), False),
        (PurePosixPath("/"), False),
    ],
)
def test_what_may_be_looked_at_as_it_stands(path: PurePath, expected: bool) -> None:
    assert is_local(path) is expected


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
    monkeypatch.setattr("memlens.sources.binding.os.name", "nt")
    monkeypatch.setattr(binding, "_is_file", looked.append)
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
