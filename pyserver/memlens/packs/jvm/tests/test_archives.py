"""The source of library types in archives on this machine: where they lie, which is meant, and what is refused."""

import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.python import hprof_files
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import open_view

from memlens.errors import MemlensError
from memlens.packs.jvm.places import likeness, of_source
from memlens.packs.jvm.source_archives import SOURCES, text_of
from memlens.sources import archives as archives_module
from memlens.sources.archives import Archives, Found
from memlens.sources.declarations import TypeName

pytest_plugins = ("tests.python.server_fixtures",)

CACHE = (
    "package com.acme.cache;\n\n/* {version} */\npublic class Cache {{\n    static class Entry {{ }}\n}}\n"
)
ENTRY = TypeName("com.acme.cache", ("Cache", "Entry"))


def written(path: Path, **members: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/") + ".java", text)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's folder without any archives, and a machine without a JDK."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("GRADLE_USER_HOME", raising=False)
    return tmp_path / "home"


def archives_of(*named: Path) -> Archives:
    return Archives(SOURCES, lambda: list(named), of_source)


def find(wanted: TypeName = ENTRY, named: list[Path] | None = None) -> Found:
    return archives_of(*named or []).find("hprof", wanted, threading.Event())


def places(found: Found) -> list[tuple[str, str, int]]:
    return [(each.archive.name, each.member, each.line) for each in found.declared]


def test_archives_of_build_tools_and_of_a_jdk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find()
    assert (found.declared, found.searched, found.places, found.complete) == ([], 0, [], True)
    maven = home / ".m2" / "repository"
    written(
        maven / "com/acme/cache/1.0/cache-1.0-sources.jar", com__acme__cache__Cache=CACHE.format(version=1)
    )
    # neither is one of source, whatever it holds
    written(maven / "com/acme/cache/1.0/cache-1.0.jar", com__acme__cache__Cache=CACHE.format(version=0))
    written(
        maven / "com/acme/cache/1.0/cache-1.0-javadoc.jar", com__acme__cache__Cache=CACHE.format(version=0)
    )
    assert places(find()) == [("cache-1.0-sources.jar", "com/acme/cache/Cache.java", 5)]
    gradle = home / "gradle"
    monkeypatch.setenv("GRADLE_USER_HOME", str(gradle))
    folder = gradle / "caches/modules-2/files-2.1/org.lib/lib/2.0/0a1b"
    written(folder / "lib-2.0-sources.jar", org__lib__Lib="package org.lib;\nclass Lib { }\n")
    assert places(find(TypeName("org.lib", ("Lib",)))) == [("lib-2.0-sources.jar", "org/lib/Lib.java", 2)]
    # a JDK's, with a folder for each module
    jdk = home / "jdk"
    monkeypatch.setenv("JAVA_HOME", str(jdk))
    text = "package java.util;\n\npublic class HashMap {\n  static class Node { }\n}\n"
    written(jdk / "lib" / "src.zip", java__base__java__util__HashMap=text)
    found = find(TypeName("java.util", ("HashMap", "Node")))
    assert places(found) == [("src.zip", "java/base/java/util/HashMap.java", 4)]
    assert found.searched == 1, "the others weren't read for it"
    assert found.places == [maven, gradle / "caches/modules-2/files-2.1", jdk / "lib" / "src.zip"]


def test_versions_of_a_library_are_offered_the_newest_first(home: Path) -> None:
    maven = home / ".m2" / "repository"
    for version, text in (("9.1", "a"), ("10.0-jre", "b"), ("9.2", "a"), ("2.0", "c")):
        written(
            maven / f"com/acme/cache/{version}/cache-{version}-sources.jar",
            com__acme__cache__Cache=CACHE.format(version=text),
        )
    # of the same name, in another package
    other = "package org.other;\nclass Cache { class Entry { } }\n"
    written(maven / "com/acme/other/1/other-1-sources.jar", org__other__Cache=other)
    found = find()
    # 9.1 has the same file as 9.2
    assert [each.archive.name for each in found.declared] == [
        "cache-10.0-jre-sources.jar", "cache-9.2-sources.jar", "cache-2.0-sources.jar",
    ]  # fmt: skip
    assert {each.artifact for each in found.declared} == {"cache-sources.jar"}


def test_a_file_need_not_lie_in_the_folders_of_its_package(home: Path) -> None:
    folder = home / "sources"
    text = "package kotlinx.jobs\n\nclass Job\n"
    path = folder / "jobs-src.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("commonMain/other/Job.kt", "package kotlinx.other\n\n\n\nclass Job\n")
        archive.writestr("commonMain/Job.kt", text)
    found = find(TypeName("kotlinx.jobs", ("Job",)), [folder])
    assert places(found) == [("jobs-src.zip", "commonMain/Job.kt", 3)]
    assert text_of(path, "commonMain/Job.kt") == text


@pytest.mark.parametrize("said", [True, False])
def test_an_archive_that_comes_later_is_found(
    home: Path, monkeypatch: pytest.MonkeyPatch, said: bool
) -> None:
    named = home / "libs"
    archives = archives_of(named)
    archives.begin()
    assert archives.find("hprof", ENTRY, threading.Event()).declared == []
    written(named / "cache-sources.jar", com__acme__cache__Cache=CACHE.format(version=1))
    assert archives.find("hprof", ENTRY, threading.Event()).declared == [], "the list is a moment old"
    if said:
        archives.changed()
    else:
        monkeypatch.setattr(archives_module, "_LISTED_S", 0.0)
    assert len(archives.find("hprof", ENTRY, threading.Event()).declared) == 1


def test_a_search_can_be_ended(home: Path) -> None:
    named = home / "libs"
    written(named / "cache-sources.jar", com__acme__cache__Cache=CACHE.format(version=1))
    stop = threading.Event()
    stop.set()
    found = archives_of(named).find("hprof", ENTRY, stop)
    assert (found.declared, found.complete) == ([], False)


def test_damaged_archives_and_other_files_are_refused(home: Path) -> None:
    named = home / "libs"
    whole = written(named / "cache-sources.jar", com__acme__cache__Cache=CACHE.format(version=1))
    data = whole.read_bytes()
    (named / "empty-sources.jar").write_bytes(b"")
    (named / "torn-sources.jar").write_bytes(data[: len(data) // 2])
    # packed so that Python would unpack any of it at once, whatever a part of it becomes
    for name, method in (("bz-sources.jar", zipfile.ZIP_BZIP2), ("xz-sources.jar", zipfile.ZIP_LZMA)):
        with zipfile.ZipFile(named / name, "w", method) as archive:
            archive.writestr("com/acme/cache/Cache.java", CACHE.format(version=3))
    # its directory is whole, its content isn't
    (named / "bad-sources.jar").write_bytes(data[:60] + bytes(20) + data[80:])
    assert places(find(named=[named])) == [("cache-sources.jar", "com/acme/cache/Cache.java", 5)]
    secret = home / "secret.java"
    secret.write_text("class Secret { }")
    for archive, member in (
        (named / "torn-sources.jar", "com/acme/cache/Cache.java"),
        (named / "bad-sources.jar", "com/acme/cache/Cache.java"),
        (named / "bz-sources.jar", "com/acme/cache/Cache.java"),
        (named / "xz-sources.jar", "com/acme/cache/Cache.java"),
        (whole, "com/acme/cache/Gone.java"),
        (whole, "../../secret.java"),
        (whole, "META-INF/MANIFEST.MF"),
        (secret, "Secret.java"),
        (named / "gone.jar", "Gone.java"),
    ):
        with pytest.raises(MemlensError):
            text_of(archive, member)


def test_what_resembles_a_package() -> None:
    maven = Path("/home/me/.m2/repository/com/google/guava/guava/31/guava-31-sources.jar")
    gradle = Path("/home/me/files-2.1/com.google.guava/guava/31/0a/guava-31-sources.jar")
    for archive in (maven, gradle):
        assert likeness(archive, "com.google.common.collect") == 2
        assert likeness(archive, "com.googlecode") == 1
        assert likeness(archive, "org.slf4j") == 0
    jdk = Path("/usr/lib/jvm/17/lib/src.zip")
    assert likeness(jdk, "java.util") > likeness(maven, "com.google.guava")
    assert likeness(jdk, "com.google.guava") == 0


def test_a_jdk_is_known_by_its_program(tmp_path: Path) -> None:
    program = tmp_path / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("")
    program.chmod(0o755)
    link = tmp_path / "bin" / "java"
    link.parent.mkdir()
    link.symlink_to(program)
    assert tmp_path / "jdk" / "lib" / "src.zip" in of_source({"PATH": str(link.parent)})


def type_of(server: LspClient, snapshot: str, name: str) -> Any:
    return server.request("memlens/librarySource", {"snapshot": snapshot, "type": name})


@pytest.mark.slow
def test_the_server_asks_once_which_version_is_meant(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path
) -> None:
    libraries = workspace / "libraries"
    for version in ("1.0", "2.0"):
        text = "\n" * int(version[0]) + CACHE.format(version=version)
        written(libraries / f"cache-{version}-sources.jar", com__acme__cache__Cache=text)
    folders = {"source_archives": [str(libraries)], "cache_directory": str(cache_folder)}
    server.notify("workspace/didChangeConfiguration", {"settings": folders})
    dump = tmp_path / "dump.hprof"
    dump.write_bytes(hprof_files.small().end())
    snapshot = open_view(server, dump)["snapshot"]
    name = "com.acme.cache.Cache$Entry"
    newest, oldest = (str(libraries / f"cache-{version}-sources.jar") for version in ("2.0", "1.0"))
    answer = type_of(server, snapshot, name)
    assert (answer["found"], answer["candidates"]) == (None, [newest, oldest])
    server.request("memlens/remember", {"file": answer["artifact"], "path": oldest})
    found = type_of(server, snapshot, name)["found"]
    assert (found["archive"], found["line"]) == (oldest, 6)
    place = {"archive": found["archive"], "member": found["member"]}
    text = server.request("memlens/archivedText", place)["text"]
    assert text.split("\n")[found["line"] - 1].strip() == "static class Entry { }"
    asked = {"snapshot": snapshot, "type": name, "text": text}
    assert server.request("memlens/declaration", asked)["line"] == found["line"]
    assert server.request("memlens/declaration", {**asked, "type": "com.acme.Gone"})["line"] == 0
    # what isn't there, and where it was looked for
    gone = type_of(server, snapshot, "com.acme.cache.Gone")
    assert (gone["found"], gone["candidates"]) == (None, [])
    assert str(libraries) in gone["looked_for"]
    assert "source archives (*-sources.jar, src.zip) in " in gone["looked_for"]
    assert type_of(server, snapshot, "int[]")["looked_for"] == ""
    # what a build tool has downloaded meanwhile is found at once
    written(
        libraries / "gone-1.0-sources.jar", com__acme__cache__Gone="package com.acme.cache;\nclass Gone { }\n"
    )
    assert type_of(server, snapshot, "com.acme.cache.Gone")["found"] is None
    server.request("memlens/librariesChanged", {})
    assert type_of(server, snapshot, "com.acme.cache.Gone")["found"]["line"] == 2
    with pytest.raises(RpcError):
        server.request("memlens/archivedText", {**place, "member": "../secret"})


def test_a_chosen_file_of_a_type_is_remembered(server: LspClient, tmp_path: Path, workspace: Path) -> None:
    dump = tmp_path / "dump.hprof"
    dump.write_bytes(hprof_files.small().end())
    snapshot = open_view(server, dump)["snapshot"]
    unknown = server.request("memlens/objectSource", {"snapshot": snapshot, "object": 0})
    name = unknown["type"]
    package, _, own = name.rpartition(".")
    outer = own.split("$")[0]
    assert unknown["declared"] == {"language": "jvm", "symbol": f"{package}.{outer}"}
    files = [Path(workspace, each, *package.split("."), f"{outer}.java") for each in ("a", "b")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text(f"package {package};\nclass {outer} {{ }}\n")
    # the answer for this name is kept for a while, as long as the folders stay the same
    server.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}})
    found = server.request("memlens/objectSource", {"snapshot": snapshot, "object": 0})
    assert (found["path"], found["candidates"], found["declared"]) == (
        None,
        [str(each) for each in files],
        None,
    )
    server.request("memlens/remember", {"file": name, "path": str(files[1])})
    found = server.request("memlens/objectSource", {"snapshot": snapshot, "object": 0})
    assert (found["path"], found["line"]) == (str(files[1]), 2)
