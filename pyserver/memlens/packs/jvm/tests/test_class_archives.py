"""Classes without source: what their files say, in which jars and folders they are, and what is refused."""

import shutil
import struct
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.python import hprof_files
from tests.python.java_classes import class_file, jar
from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view

from memlens.packs.jvm import class_files
from memlens.packs.jvm.class_archives import CLASSES, compiled_from
from memlens.packs.jvm.places import of_classes
from memlens.sources.archives import Archives, Found
from memlens.sources.declarations import TypeName

pytest_plugins = ("tests.python.server_fixtures",)

ENTRY = TypeName("com.acme.cache", ("Cache", "Entry"))
NAMES = ("com/acme/cache/Cache", "com/acme/cache/Cache$Entry", "com/acme/cache/Cached", "com/acme/Cache")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    for name in ("JAVA_HOME", "GRADLE_USER_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def find(*named: Path, wanted: TypeName = ENTRY) -> Found:
    return Archives(CLASSES, lambda: list(named), of_classes).find("hprof", wanted, threading.Event())


def members(found: Found) -> list[tuple[str, str]]:
    return [(each.archive.name, each.member) for each in found.declared]


def test_a_class_file_says_its_name_its_source_and_its_first_line() -> None:
    data = class_file("com/acme/Cache$Entry", "caches.kt", (31, 12, 40))
    assert class_files.read(data) == ("com/acme/Cache$Entry", "caches.kt", 12)
    assert class_files.read(class_file("Bare")) == ("Bare", "", 0)
    for end in range(len(data)):
        assert class_files.read(data[:end]) in (None, class_files.read(data))
    for at in range(len(data)):
        for bit in (1, 0x80):
            class_files.read(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
    assert class_files.read(data[:8]) is None
    assert class_files.read(b"PK\3\4" + data) is None


def test_jars_of_build_tools_without_those_of_source(home: Path) -> None:
    maven = home / ".m2/repository/com/acme/cache"
    jar(maven / "1.0/cache-1.0.jar", *NAMES)
    jar(maven / "1.0/cache-1.0-sources.jar", *NAMES)
    jar(maven / "1.0/cache-1.0-javadoc.jar", *NAMES)
    jar(home / ".m2/repository/com/acme/env/1/env-1.jar", "com/acme/env/Env")
    assert members(find(wanted=TypeName("com.acme.env", ("Env",)))) == [
        ("env-1.jar", "com/acme/env/Env.class")
    ]
    jar(home / ".m2/repository/org/other/1/other-1.jar", "org/other/Cache", "com/acme/cache/Cache$Entry")
    found = find()
    assert members(found) == [("cache-1.0.jar", "com/acme/cache/Cache.class")]
    assert [each.artifact for each in found.declared] == ["cache.jar"]
    # of another version only if it differs
    jar(maven / "1.1/cache-1.1.jar", *NAMES)
    assert members(find()) == [("cache-1.1.jar", "com/acme/cache/Cache.class")]
    jar(maven / "2.0-rc1/cache-2.0-rc1.jar", *NAMES, source="Cache.java")
    assert [name for name, _ in members(find())] == ["cache-2.0-rc1.jar", "cache-1.1.jar"]
    assert find(wanted=TypeName("com.acme.cache", ("Gone",))).declared == []


def test_what_the_workspace_has_built_comes_first(home: Path) -> None:
    jar(home / ".m2/repository/com/acme/cache/1.0/cache-1.0.jar", *NAMES, source="Cache.java")
    workspace = home / "work"
    classes = workspace / "module" / "target" / "classes"
    for name in NAMES:
        file = classes / f"{name}.class"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(class_file(name))
    found = find(workspace)
    assert members(found) == [("classes", "com/acme/cache/Cache.class")]
    assert found.declared[0].archive == classes, "a class file says below which folder it is"
    # the same in a jar is one with it; a jar of an application has its own classes further down
    jar(workspace / "module/target/app.war", *NAMES, below="WEB-INF/classes/")
    assert len(find(workspace).declared) == 1
    shutil.rmtree(classes)
    assert members(find(workspace)) == [("app.war", "WEB-INF/classes/com/acme/cache/Cache.class")]
    # caches of tools aren't looked into
    jar(workspace / "node_modules/other/other.jar", "com/acme/cache/Only")
    assert find(workspace, wanted=TypeName("com.acme.cache", ("Only",))).declared == []


def test_a_class_says_which_file_it_was_compiled_from(tmp_path: Path) -> None:
    path = tmp_path / "cache.jar"
    classes = {
        "Cache": class_file("com/acme/Cache", "caches.kt", (7, 5)),
        "Cache$Entry": class_file("com/acme/Cache$Entry", "caches.kt", (31,)),
        "Odd": class_file("com/acme/Odd", "../../etc/passwd", (3,)),
        "Bare": class_file("com/acme/Bare"),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in classes.items():
            archive.writestr(f"com/acme/{name}.class", data)

    def source_of(*names: str) -> tuple[str, int]:
        return compiled_from(path, f"com/acme/{names[0]}.class", TypeName("com.acme", names))

    assert source_of("Cache") == ("caches.kt", 5)
    assert source_of("Cache", "Entry") == ("caches.kt", 31)
    assert source_of("Cache", "Gone") == ("caches.kt", 5)
    assert source_of("Odd") == source_of("Bare") == ("", 1)


def test_no_file_out_of_a_folder_of_classes_is_read(tmp_path: Path) -> None:
    (tmp_path / "Secret.class").write_bytes(class_file("Secret", "Secret.java", (1,)))
    (tmp_path / "classes").mkdir()
    for member in ("../Secret.class", "Gone.class"):
        with pytest.raises((KeyError, OSError)):
            compiled_from(tmp_path / "classes", member, TypeName("", (Path(member).stem,)))
    path = jar(tmp_path / "cache.jar", *NAMES)
    with pytest.raises(KeyError):
        compiled_from(path, "com/acme/Gone.class", TypeName("com.acme", ("Gone",)))


def test_the_server_names_the_file_of_the_workspace_that_a_class_was_compiled_from(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path
) -> None:
    dump = tmp_path / "dump.hprof"
    dump.write_bytes(hprof_files.small().end())
    server.notify("workspace/didChangeConfiguration", {"settings": {"cache_directory": str(cache_folder)}})
    snapshot = open_view(server, dump)["snapshot"]
    with zipfile.ZipFile(workspace / "texts.jar", "w") as archive:
        archive.writestr("com/acme/Texts.class", class_file("com/acme/Texts", "strings.kt", (9, 4)))
    folder = workspace / "src" / "elsewhere"
    folder.mkdir(parents=True)
    (folder / "strings.kt").write_text('@file:JvmName("Texts")\npackage com.acme\n\nfun trim() = 1\n')
    # of another package
    (workspace / "src" / "strings.kt").write_text("package com.acme.other\n\nfun trim() = 1\n")

    def asked(name: str) -> Any:
        return server.request("memlens/libraryClass", {"snapshot": snapshot, "type": name})

    assert asked("com.acme.Texts")["local"] == {"path": str(folder / "strings.kt"), "line": 4}
    (folder / "copy").mkdir()
    (folder / "copy" / "strings.kt").write_text("package com.acme\n")
    server.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}})
    # which of two isn't guessed
    answer = asked("com.acme.Texts")
    assert answer["local"] is None
    assert answer["looked_for"].startswith("1 jar or folder of class files in ")
    assert str(workspace) in answer["looked_for"]
    assert asked("com.acme.Gone")["local"] is None
    assert asked("int[]") == {"local": None, "looked_for": ""}


@pytest.mark.parametrize("package", ["com.acme.cache", "..", "com./etc", "-jar.cache"])
@pytest.mark.parametrize("name", ["..", "../Cache", "Ca\\che", "Ca che", "--help\0"])
def test_names_of_a_dump_choose_entries_and_nothing_else(home: Path, package: str, name: str) -> None:
    jar(home / "libs" / "cache.jar", *NAMES)
    assert find(home / "libs", wanted=TypeName(package, (name,))).declared == []


def test_attributes_that_overlap_are_damage() -> None:
    """Each attribute "Code" says that it has no bytes, so that the next one begins within it."""
    pool = b"".join(struct.pack(">BH", 1, len(text)) + text for text in (b"A", b"Code"))
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 52, 4) + pool + struct.pack(">BH", 7, 1)
    attribute = struct.pack(">HIHHIHH", 2, 0, 0, 0, 0, 0, 0xFFFF)
    method = struct.pack(">HHHH", 1, 1, 1, 0xFFFF)
    data = head + struct.pack(">HHHHHH", 1, 3, 0, 0, 0, 1) + method + 2_000 * attribute
    assert class_files.read(data) is None


@pytest.mark.parametrize(
    "record",
    [struct.pack("<4s8xI", b"PK\x05\x06", 17 << 20), struct.pack("<4s36xQ", b"PK\x06\x06", 17 << 20)],
)
def test_a_jar_whose_directory_would_fill_memory_is_not_opened(record: bytes, tmp_path: Path) -> None:
    path = jar(tmp_path / "cache.jar", *NAMES)
    path.write_bytes(record + path.read_bytes())
    with pytest.raises(zipfile.BadZipFile, match="too large"):
        compiled_from(path, f"{NAMES[0]}.class", ENTRY)
