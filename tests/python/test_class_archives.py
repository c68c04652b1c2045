"""Classes without source: what their files say, in which jars, folders and images they are, and what is refused."""

import contextlib
import shutil
import struct
import subprocess
import threading
import zipfile
from pathlib import Path

import pytest
from tests.python.java_classes import class_file, image, jar

from memlens.sources import class_files
from memlens.sources.archives import DAMAGED, Archives, Found
from memlens.sources.class_archives import CLASSES, classes_of, compiled_from
from memlens.sources.declarations import TypeName
from memlens.sources.jimage import Image
from memlens.sources.places import java_homes, of_classes

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


def test_a_class_comes_with_those_in_it(tmp_path: Path) -> None:
    packed = jar(tmp_path / "cache.jar", *NAMES, source="caches.kt", below="BOOT-INF/classes/")
    whole = classes_of(packed, "BOOT-INF/classes/com/acme/cache/Cache.class")
    assert whole.name == "com/acme/cache/Cache"
    assert list(whole.files) == ["Cache.class", "Cache$Entry.class"]
    assert whole.files["Cache$Entry.class"] == class_file("com/acme/cache/Cache$Entry", "caches.kt")


@pytest.mark.parametrize("order", ["<", ">"])
def test_classes_of_a_jdk_are_in_its_module_image(
    home: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    names = ("java/util/HashMap", "java/util/HashMap$Node", "java/util/concurrent/HashMap", "com/acme/Cache")
    data = {f"java.base/{name}": class_file(name, "HashMap.java", (9,)) for name in names}
    path = image(home / "jdk/lib/modules", data, order)
    monkeypatch.setenv("JAVA_HOME", str(home / "jdk"))
    found = find(wanted=TypeName("java.util", ("HashMap", "Node")))
    assert members(found) == [("modules", "java.base/java/util/HashMap.class")]
    whole = classes_of(path, found.declared[0].member)
    assert compiled_from(path, found.declared[0].member, TypeName("java.util", ("HashMap", "Node"))) == (
        "HashMap.java",
        9,
    )
    assert list(whole.files.values()) == [data[f"java.base/{name}"] for name in names[:2]]
    assert find(wanted=TypeName("java.util", ("Map",))).declared == []
    # no image, and damaged ones
    whole_image = path.read_bytes()
    for end in range(len(whole_image) - sum(map(len, data.values()))):
        path.write_bytes(whole_image[:end])
        with pytest.raises((*DAMAGED, KeyError)):
            classes_of(path, "java.base/java/util/HashMap.class")
    for at in range(len(whole_image)):
        path.write_bytes(whole_image[:at] + bytes([whole_image[at] ^ 0x41]) + whole_image[at + 1 :])
        with contextlib.suppress(*DAMAGED, KeyError):
            classes_of(path, "java.base/java/util/HashMap.class")


@pytest.mark.slow
def test_the_image_of_this_machines_jdk() -> None:
    modules = [
        path for home in java_homes({"PATH": "/usr/bin"}) if (path := home / "lib" / "modules").is_file()
    ]
    tool = modules[0].parent.parent / "bin" / "jimage" if modules else None
    if tool is None or not tool.is_file():
        pytest.skip("needs a JDK with its jimage")
    listed = subprocess.run([tool, "list", modules[0]], capture_output=True, text=True, check=True).stdout
    with Image(modules[0]) as opened:
        paths = list(opened.paths(None))
    assert len(paths) == sum(line.endswith(".class") for line in listed.split("\n"))
    described = class_files.read(
        classes_of(modules[0], "java.base/java/util/HashMap.class").files["HashMap.class"]
    )
    assert described is not None
    assert described[:2] == ("java/util/HashMap", "HashMap.java")
    assert described.first_line > 100


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


def test_a_class_elsewhere_than_its_name_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("com/acme/Cache.class", class_file("com/acme/Other"))
        archive.writestr("x/../../Cache.class", class_file("x/../../Cache"))
        archive.writestr("com/acme/Text.class", "class Text { }")
        archive.writestr("com/acme/A.class", class_file("com/acme/A"))
        archive.writestr("com/acme/A$/../../B.class", b"")
        archive.writestr("com/acme/A$..\\B.class", b"")
    for member in ("com/acme/Cache.class", "x/../../Cache.class", "com/acme/Text.class"):
        with pytest.raises(ValueError, match="name"):
            classes_of(path, member)
    assert list(classes_of(path, "com/acme/A.class").files) == ["A.class"]
    with pytest.raises(KeyError):
        classes_of(path, "com/acme/Gone.class")
    # out of a folder
    (tmp_path / "Secret.class").write_bytes(class_file("Secret"))
    (tmp_path / "classes").mkdir()
    with pytest.raises(KeyError):
        classes_of(tmp_path / "classes", "../Secret.class")


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
        classes_of(path, f"{NAMES[0]}.class")


def test_an_image_whose_locations_never_end_is_read_to_its_end(tmp_path: Path) -> None:
    count = 20_000
    texts = b"\0class\0" + b"\0java/lang\0"
    # each location is all of these: a number of 8 bytes, as large as can be
    locations = (bytes([5 << 3 | 7]) + b"\xff" * 8) * count
    head = struct.pack("<7I", 0xCAFEDADA, 1, 0, 0, count, len(locations), len(texts))
    path = tmp_path / "modules"
    path.write_bytes(head + bytes(8 * count) + locations + texts)
    with Image(path) as opened:
        assert list(opened.paths(None)) == []
    # a place far behind the end
    locations = bytes([1 << 3 | 7]) + b"\xff" * 8 + bytes([4 << 3, 1]) + b"\0"
    head = struct.pack("<7I", 0xCAFEDADA, 1, 0, 0, 1, len(locations), len(texts))
    path.write_bytes(head + bytes(8) + locations + texts)
    with Image(path) as opened:
        assert list(opened.paths(None)) == ["//.class"]
