"""Sizes of Java's objects, which aren't in the dump: inferred from addresses, against HotSpot's own table."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.python.conftest import ROOT
from tests.python.graph_reading import load, type_names
from tests.python.hprof_files import BYTE, LONG, OBJECT, Dump
from tests.python.java_classes import JAVAC

from memlens.packs.jvm.tests.test_hprof import made

SOURCE = ROOT / "tests" / "fixtures" / "heap" / "src" / "Layouts.java"
DESCRIPTORS = {"[F": "float[]", "[D": "double[]", "[Ljava.util.Date;": "java.util.Date[]"}
TYPES = {"Layouts$One", "Layouts$Two", "Layouts$Three", "java.util.Date", *DESCRIPTORS.values()}


@pytest.mark.parametrize(
    ("references", "header", "array_header"),
    [(4, 12, 16), (8, 16, 24), (8, 12, 16), (4, 8, 12), (8, 8, 12), (8, 16, 20)],
)
def test_the_layout_is_the_one_that_fits_the_addresses(
    tmp_path: Path, references: int, header: int, array_header: int
) -> None:
    dump = Dump()
    dump.klass(0x100, "java.lang.Object")
    dump.klass(0x200, "java.lang.Object[]", 0x100)
    for kind, name in ((BYTE, "byte[]"), (LONG, "long[]")):
        dump.klass(0x200 + 8 * kind, name, 0x100)
    dump.klass(0x300, "Pair", 0x100, [("first", OBJECT), ("second", OBJECT)])
    at, wanted = 0x7F25_CC63_0000, []
    for count in range(40):
        for element, kind in ((1, BYTE), (8, LONG), (references, OBJECT)):
            begin = -(-array_header // 8) * 8 if element == 8 else array_header
            size = -(-(begin + element * count) // 8) * 8
            if kind == OBJECT:
                dump.objects(at, 0x200, [0] * count)
            else:
                dump.numbers(at, kind, bytes(element * count))
            wanted.append(size)
            at += size
    dump.instance(at, 0x300, "PP", 0, 0)
    wanted.append(-(-(header + 2 * references) // 8) * 8)
    graph = load(made(tmp_path, dump.end()))
    assert graph.objects.shallow.tolist()[-len(wanted) :] == wanted
    assert graph.settings["reference_bytes"] == references
    assert graph.settings["object_header_bytes"] == header
    (said,) = (each.message for each in graph.warnings if each.code == "inferred-sizes")
    assert f"references of {references} bytes" in said
    assert "119 of 120 arrays" in said or "120 of 120 arrays" in said


def test_two_large_arrays_are_enough(tmp_path: Path) -> None:
    """With references of 8 bytes the second array begins 16 + 8 n after the first, with compressed ones it couldn't."""
    dump, count = Dump(), 100_000
    dump.klass(0x100, "java.lang.Object")
    dump.klass(0x200, "java.lang.Object[]", 0x100)
    for each in range(2):
        dump.objects(0x7F25_CC63_0030 + each * (16 + 8 * count), 0x200, [0] * count)
    graph = load(made(tmp_path, dump.end()))
    assert graph.objects.shallow.tolist()[-2:] == [16 + 8 * count] * 2


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run([*JAVAC, "-d", folder, SOURCE], check=True)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("javac") and shutil.which("java")), reason="needs a JDK")
@pytest.mark.parametrize(
    "options",
    [
        "-XX:+UseSerialGC",
        "-XX:+UseSerialGC -XX:-UseCompressedOops",
        "-XX:+UseZGC",
        "-XX:+UseCompactObjectHeaders",
    ],
)
def test_sizes_are_those_of_the_virtual_machine(classes: Path, tmp_path: Path, options: str) -> None:
    dump, table = tmp_path / "layouts.hprof", tmp_path / "table.txt"
    command = ["java", "-Xmx200m", *options.split(), "-cp", str(classes), "Layouts", str(dump), str(table)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Unrecognized VM option" in done.stderr + done.stdout:
        pytest.skip(f"this Java has no {options}")
    assert done.returncode == 0, done.stderr
    graph = load(dump)
    found: dict[str, list[int]] = {}
    for name, size in zip(type_names(graph), graph.objects.shallow.tolist(), strict=True):
        if name in TYPES:
            found.setdefault(name, []).append(size)
    compared = 0
    for count, size, name in re.findall(r"^ *\d+: +(\d+) +(\d+) +(\S+)", table.read_text(), re.MULTILINE):
        if (name := DESCRIPTORS.get(name, name)) in TYPES and len(found[name]) == int(count):
            assert sum(found[name]) == int(size), name
            compared += 1
    assert compared >= 6
