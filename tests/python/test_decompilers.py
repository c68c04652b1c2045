"""Decompilers of the user: where they are found, what is run, what comes of it, and what is said where nothing does.

A program that notes how it is called stands in for Java. With ``MEMLENS_TEST_DECOMPILERS``, jars of CFR, Vineflower or
FernFlower like a class path, those decompile a class of the JDK as well.
"""

import os
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.python import hprof_files
from tests.python.java_classes import class_file, jar
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import open_view

from memlens.sources import decompilers as decompilers_module
from memlens.sources.archives import Archives
from memlens.sources.class_archives import CLASSES
from memlens.sources.declarations import TypeName, line_of
from memlens.sources.decompilers import Decompiled, DecompilerError, Decompilers, Tools, jars
from memlens.sources.places import java_homes, of_classes

pytest_plugins = ("tests.python.server_fixtures",)

posix = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for Java is a script")

NAMES = ("com/acme/Cache", "com/acme/Cache$Entry", "com/acme/Cached")
MEMBER = "com/acme/Cache.class"
CFR = "org.benf.cfr.reader.Main"
FERNFLOWER = "org.jetbrains.java.decompiler.main.decompiler.ConsoleDecompiler"
REAL = [Path(each) for each in os.environ.get("MEMLENS_TEST_DECOMPILERS", "").split(os.pathsep) if each]

JAVA = f"""#!{sys.executable}
import os, pathlib, sys, time
home = pathlib.Path(__file__).parent.parent
with open(home / "calls", "a") as calls:
    print(*sys.argv[1:], sep=" ", file=calls)
    print("in", os.getcwd(), *sorted(map(str, pathlib.Path().rglob("*.class"))), file=calls)
    print("with", os.environ.get("JAVA_TOOL_OPTIONS"), os.environ.get("CLASSPATH"), file=calls)
mode = (home / "mode").read_text()
if mode == "old":
    sys.exit("java.lang.UnsupportedClassVersionError: Main has been compiled by a more recent version")
if mode == "hangs":
    time.sleep(600)
if mode == "fails":
    sys.exit("it is obfuscated")
out = pathlib.Path(sys.argv[sys.argv.index("--outputdir") + 1] if "--outputdir" in sys.argv else sys.argv[-1])
(out / "com" / "acme").mkdir(parents=True)
(out / "com" / "acme" / "Cache.java").write_text("package com.acme;\\n\\nclass Cache {{\\n  class Entry {{ }}\\n}}\\n")
"""


class Java:
    """A home of the stand-in. Its mode is "works", "old", "fails" or "hangs"."""

    def __init__(self, home: Path, mode: str = "works") -> None:
        self.home = home
        self.program = home / "bin" / "java"
        self.program.parent.mkdir(parents=True)
        self.program.write_text(JAVA, encoding="utf-8")
        self.program.chmod(0o755)
        self.becomes(mode)

    def becomes(self, mode: str) -> None:
        (self.home / "mode").write_text(mode)

    @property
    def calls(self) -> list[str]:
        calls = self.home / "calls"
        return calls.read_text().splitlines() if calls.exists() else []


def decompiler(path: Path, main: str = CFR) -> Path:
    return jar(path, main.replace(".", "/"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's folder on a machine without Java."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    for name in ("JAVA_HOME", "GRADLE_USER_HOME", "ProgramFiles", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    return jar(tmp_path / "libs" / "cache-1.0.jar", *NAMES)


def decompiled(archive: Path, tools: Tools) -> Decompiled:
    return Decompilers(lambda: tools).decompile(archive, MEMBER, threading.Event())


def refusal(archive: Path, tools: Tools) -> str:
    with pytest.raises(DecompilerError) as raised:
        decompiled(archive, tools)
    assert "memlens.java.decompiler" in str(raised.value)
    return str(raised.value)


def found(home: Path, extension: Path | None = None) -> list[str]:
    return [path.relative_to(home).as_posix() for path in jars(Tools(None, None, extension), os.environ)]


def test_decompilers_are_found_where_tools_keep_them(home: Path) -> None:
    assert found(home) == []
    maven, gradle = ".m2/repository", ".gradle/caches/modules-2/files-2.1"
    coursier = ".cache/coursier/v1/https/repo1.maven.org/maven2"
    toolbox = (
        ".local/share/JetBrains/Toolbox/apps/intellij-idea/plugins/java-decompiler/lib/java-decompiler.jar"
    )
    extension = "ext/server/plugins/com.jetbrains.java-decompiler-engine_253.1.jar"
    places = [
        f"{maven}/org/vineflower/vineflower/1.11.1/vineflower-1.11.1.jar",
        f"{maven}/org/vineflower/vineflower/1.9.3/vineflower-1.9.3.jar",
        f"{coursier}/org/vineflower/vineflower/1.10.0/vineflower-1.10.0.jar",
        f"{gradle}/org.benf/cfr/0.152/0a1b/cfr-0.152.jar",
        extension,
        toolbox,
    ]
    others = [
        f"{maven}/org/vineflower/vineflower/1.11.1/vineflower-1.11.1-sources.jar",
        f"{maven}/org/benf/cfr/0.152/cfr-0.152-javadoc.jar",
        f"{maven}/org/benf/cfr/0.152/cfr-0.152.pom",
        f"{maven}/org/benf/other/1/cfr-1.jar",
    ]
    for place in [*reversed(places), *others]:
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).touch()
    assert found(home, home / "ext") == places
    assert found(home) == [place for place in places if place != extension]
    # what the settings name is the only one
    named = home / "mine.jar"
    assert list(jars(Tools(named, None, home / "ext"), os.environ)) == [named]


@posix
@pytest.mark.parametrize("main", [CFR, FERNFLOWER])
def test_a_class_is_decompiled_with_those_in_it(
    tmp_path: Path, classes: Path, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-javaagent:other.jar")
    monkeypatch.setenv("CLASSPATH", "other.jar")
    java = Java(tmp_path / "jdk")
    tools = Tools(decompiler(tmp_path / "tool.jar", main), java.home, None)
    every = Decompilers(lambda: tools)
    made = every.decompile(classes, MEMBER, threading.Event())
    assert made.by == "tool.jar"
    assert line_of(made.text, TypeName("com.acme", ("Cache", "Entry"))) == 4
    call, files, environment = java.calls
    assert f"-cp {tools.jar} {main} " in call
    assert str(classes) in call, "the others of the library are found in it"
    assert files.split()[2:] == ["classes/com/acme/Cache$Entry.class", "classes/com/acme/Cache.class"]
    assert not Path(files.split()[1]).exists(), "the folder is removed"
    assert environment == "with None None"
    # it is made once, as long as neither the archive nor the settings change
    assert every.decompile(classes, MEMBER, threading.Event()) == made
    assert len(java.calls) == 3
    jar(classes, *NAMES, source="Cache.java")
    os.utime(classes, ns=(1, 1))
    every.decompile(classes, MEMBER, threading.Event())
    assert len(java.calls) == 6
    # of a folder, as long as the class file is the same
    file = tmp_path / "target" / "classes" / MEMBER
    file.parent.mkdir(parents=True)
    file.write_bytes(class_file("com/acme/Cache"))
    for changed_at in (1, 2):
        os.utime(file, ns=(changed_at, changed_at))
        for _ in range(2):
            every.decompile(tmp_path / "target" / "classes", MEMBER, threading.Event())
    assert len(java.calls) == 12


@posix
def test_another_java_and_another_decompiler_are_tried(tmp_path: Path, classes: Path, home: Path) -> None:
    old, new = Java(tmp_path / "jdk", "old"), Java(tmp_path / "ext" / "jre" / "21")
    vineflower = decompiler(
        home / ".m2/repository/org/vineflower/vineflower/1.1/vineflower-1.1.jar", FERNFLOWER
    )
    cfr = decompiler(home / ".m2/repository/org/benf/cfr/0.152/cfr-0.152.jar")
    tools = Tools(None, old.home, tmp_path / "ext")
    assert decompiled(classes, tools).by == vineflower.name
    assert (len(old.calls), len(new.calls)) == (3, 3), "the first Java is too old for it"
    new.becomes("fails")
    said = refusal(classes, tools)
    assert f"{cfr}, run by {new.program}, made no source: it is obfuscated" in said
    vineflower.write_bytes(b"")
    new.becomes("works")
    assert decompiled(classes, tools).by == cfr.name


def test_what_is_missing_is_said(tmp_path: Path, classes: Path) -> None:
    nothing = Tools(None, None, None)
    said = refusal(classes, nothing)
    assert "JAVA_HOME, the PATH or the setting java.jdt.ls.java.home" in said
    said = refusal(classes, nothing._replace(java_home=tmp_path / "no-jdk"))
    assert "JAVA_HOME" in said
    with pytest.raises(DecompilerError, match=r"Gone\.class"):
        Decompilers(lambda: nothing).decompile(classes, "com/acme/Gone.class", threading.Event())


@posix
def test_what_is_no_decompiler_is_said_and_not_run(tmp_path: Path, classes: Path) -> None:
    java = Java(tmp_path / "jdk")
    assert "No decompiler was found: neither CFR nor Vineflower in Maven's" in refusal(
        classes, Tools(None, java.home, None)
    )
    for name in ("other.jar", "none.jar"):
        other = tmp_path / name
        if name == "other.jar":
            jar(other, "com/acme/Main")
        said = refusal(classes, Tools(other, java.home, None))
        assert f"{other} is neither CFR nor Vineflower" in said
    assert java.calls == []


@posix
def test_a_decompiler_ends_when_it_is_cancelled_or_takes_too_long(
    tmp_path: Path, classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = Java(tmp_path / "jdk", "hangs")
    tools = Tools(decompiler(tmp_path / "tool.jar"), java.home, None)
    stop = threading.Event()
    stop.set()
    with pytest.raises(DecompilerError, match="stopped"):
        Decompilers(lambda: tools).decompile(classes, MEMBER, stop)
    monkeypatch.setattr(decompilers_module, "_MOST_S", 0.5)
    assert "it took more than" in refusal(classes, tools)


@pytest.mark.slow
@posix
def test_the_server_shows_a_class_that_only_a_jar_has(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path
) -> None:
    dump = tmp_path / "dump.hprof"
    dump.write_bytes(hprof_files.small().end())
    java = Java(tmp_path / "jdk")
    settings: dict[str, Any] = {
        "cache_directory": str(cache_folder),
        "java_home": str(java.home),
        "java_decompiler": str(tmp_path / "gone.jar"),
    }
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    snapshot = open_view(server, dump)["snapshot"]

    def asked(name: str) -> Any:
        return server.request("memlens/libraryClass", {"snapshot": snapshot, "type": name})

    newest, oldest = (
        jar(workspace / "lib" / f"cache-{version}.jar", *NAMES, source=f"{version}.java")
        for version in (2, 1)
    )
    entry = "com.acme.Cache$Entry"
    answer = asked(entry)
    assert (answer["found"], answer["candidates"]) == (None, [str(newest), str(oldest)])
    artifact = answer["artifact"]
    server.request("memlens/remember", {"file": artifact, "path": str(oldest)})
    answer = asked(entry)
    assert answer["found"] is None
    assert answer["problem"] == (
        f"{oldest} has the class. {tmp_path / 'gone.jar'} is neither CFR nor Vineflower or FernFlower."
    )
    assert answer["looked_for"].startswith("2 jars and folders of class files in ")
    assert str(workspace) in answer["looked_for"]
    settings["java_decompiler"] = str(decompiler(tmp_path / "tool.jar"))
    settings["remembered_paths"] = {artifact: str(oldest)}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    place = asked(entry)["found"]
    assert place == {"archive": str(oldest), "member": MEMBER, "line": 5}
    text = server.request("memlens/archivedText", {"archive": str(oldest), "member": MEMBER})["text"]
    first, *others = text.split("\n")
    assert first == f"// Decompiled by tool.jar from the class in {oldest}"
    assert others[3] == "  class Entry { }"
    # what no jar has, what is no class, and what is refused
    gone = asked("com.acme.Gone")
    assert (gone["found"], gone["candidates"], gone["problem"]) == (None, [], "")
    assert asked("int[]")["looked_for"] == ""
    for member in ("../Cache.class", "com/acme/Gone.class"):
        with pytest.raises(RpcError):
            server.request("memlens/archivedText", {"archive": str(oldest), "member": member})


@posix
def test_the_file_of_the_workspace_that_a_class_was_compiled_from_needs_no_decompiler(
    server: LspClient, tmp_path: Path, workspace: Path, cache_folder: Path
) -> None:
    dump = tmp_path / "dump.hprof"
    dump.write_bytes(hprof_files.small().end())
    settings = {"cache_directory": str(cache_folder), "java_decompiler": str(tmp_path / "gone.jar")}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    snapshot = open_view(server, dump)["snapshot"]
    with zipfile.ZipFile(workspace / "texts.jar", "w") as archive:
        archive.writestr("com/acme/Texts.class", class_file("com/acme/Texts", "strings.kt", (9, 4)))
    folder = workspace / "src" / "elsewhere"
    folder.mkdir(parents=True)
    (folder / "strings.kt").write_text('@file:JvmName("Texts")\npackage com.acme\n\nfun trim() = 1\n')
    # of another package
    (workspace / "src" / "strings.kt").write_text("package com.acme.other\n\nfun trim() = 1\n")
    answer = server.request("memlens/libraryClass", {"snapshot": snapshot, "type": "com.acme.Texts"})
    assert answer["local"] == {"path": str(folder / "strings.kt"), "line": 4}
    (folder / "copy").mkdir()
    (folder / "copy" / "strings.kt").write_text("package com.acme\n")
    server.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}})
    answer = server.request("memlens/libraryClass", {"snapshot": snapshot, "type": "com.acme.Texts"})
    assert (answer["local"], answer["found"]) == (None, None)
    assert "has the class" in answer["problem"]


@pytest.mark.parametrize("tool", REAL, ids=lambda path: path.name)
def test_a_real_decompiler_shows_a_class_of_the_jdk(tool: Path) -> None:
    [home] = java_homes({"JAVA_HOME": os.environ.get("MEMLENS_TEST_JAVA", ""), "PATH": "/usr/bin"})[:1]
    wanted = TypeName("java.util", ("HashMap", "Node"))
    places = [path for path in of_classes({"JAVA_HOME": str(home)}) if path.is_file()]
    [archived] = (
        Archives(CLASSES, lambda: places, lambda _: []).find("hprof", wanted, threading.Event()).declared
    )
    made = Decompilers(lambda: Tools(tool, home, None)).decompile(
        archived.archive, archived.member, threading.Event()
    )
    assert made.by == tool.name
    assert "static class Node" in made.text.split("\n")[line_of(made.text, wanted) - 1]


def test_hostile_classes_reach_no_command(tmp_path: Path, classes: Path) -> None:
    with zipfile.ZipFile(classes, "w") as archive:
        archive.writestr("--help.class", class_file("../--help"))
    with pytest.raises(DecompilerError, match="is another class"):
        Decompilers(lambda: Tools(None, None, None)).decompile(classes, "--help.class", threading.Event())
