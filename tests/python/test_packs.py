"""Packs: what they declare is there, a start loads none of their code, and nothing else names their worlds."""

import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from memlens.formats import FORMATS
from memlens.packs import registry
from memlens.packs.api import Pack, Part

PACKAGE = Path(registry.__file__).parents[1]
PACKS = pytest.mark.parametrize("pack", registry.packs(), ids=lambda pack: pack.name)


WORDS = {
    "android": "dalvik",
    "jvm": r"java(?!script)|jvm|jruby|hotspot|kotlin|groovy|clojure",
    "go": "goroutine",
    "native": "valgrind|jemalloc|tcmalloc|gperftools",
    "python": r"cpython(?!\.)|heap dumps? of python|python (?:heap|dump)s?|python's (?:dump|frame)",
    "v8": r"javascript|node\.?js|chrome|devtools|heap(?:snapshot|timeline|profile\b)",
}
"""Further words of a world."""

IMPORTED = (
    "dump.py",
    "record.py",
    "launching/site/sitecustomize.py",
    "remote_dump.py",
    "server/requirements.py",
)
"""What is imported by programs, and by whatever Python there is, that may have no other package."""

OWN = "python"
"""The world that Memlens itself is of: its name alone says nothing."""


def parts_of(declared: Any) -> list[Part[Any]]:
    """All code that a declaration refers to."""
    if isinstance(declared, Part):
        return [declared]
    if isinstance(declared, (tuple, list)):
        return [part for each in declared for part in parts_of(each)]
    if not isinstance(declared, Struct):
        return []
    return [part for name in declared.__struct_fields__ for part in parts_of(getattr(declared, name))]


def words_of(pack: Pack) -> re.Pattern[str]:
    """Everything that names a pack's world: its title, its formats, its runtimes, and further words."""
    names = [
        *(each.name for each in pack.formats),
        *(each.name for each in pack.runtimes if each.name != "node"),
    ]
    if pack.name == OWN:
        names.remove(OWN)
    words = [*map(re.escape, names), *([WORDS[pack.name]] if pack.name in WORDS else [])]
    title = "(?!)" if pack.name == OWN else rf"(?<!\w){re.escape(pack.title)}(?!\w| on | to )"
    return re.compile(rf"(?i:(?<![a-z])(?:{'|'.join(words)}))|{title}")


@PACKS
def test_all_that_a_pack_declares_is_in_its_folder(pack: Pack) -> None:
    parts = parts_of(pack)
    assert parts
    for part in parts:
        assert part.place.split(".")[2] in {pack.name, pack.builds_on}
        assert part.load() is not None
    for each in pack.formats:
        assert FORMATS[each.name] == each.title
        assert each.file_names or each.endings, each.name
        assert set(each.shared) <= set(each.file_names)
        assert all(re.fullmatch(r"[\w-]+", ending) for ending in each.endings)
        reader = each.reader.load()
        assert callable(reader.sniff)
        assert callable(reader.read)
    assert list((PACKAGE / "packs" / pack.name / "tests").glob("test_*.py"))


def test_every_folder_is_a_pack_and_names_are_unique() -> None:
    folders = {path.parent.name for path in (PACKAGE / "packs").glob("*/__init__.py")} - {"api"}
    assert folders == {pack.name for pack in registry.packs()}
    for names in (
        [each.name for pack in registry.packs() for each in pack.formats],
        [each.name for pack in registry.packs() for each in pack.runtimes],
    ):
        assert len(names) == len(set(names))


@functools.cache
def naming_any() -> dict[str, str]:
    """The texts outside of packs that may name the world of one."""
    any_pack = re.compile("|".join(words_of(pack).pattern for pack in registry.packs()))
    texts, looked_at = {}, 0
    for path in PACKAGE.rglob("*"):
        if path.suffix not in (".py", ".pyx", ".pxd", ".pyi", ".sql", ".toml"):
            continue
        # import-linter holds packs apart
        if path.is_relative_to(PACKAGE / "packs") and path.name != "registry.py":
            continue
        looked_at += 1
        # examples open a sample
        text = path.read_text("utf-8").replace(".hprof.zst", "")
        if any_pack.search(text):
            texts[path.relative_to(PACKAGE).as_posix()] = text
    assert looked_at > 400
    return texts


@PACKS
def test_nothing_outside_of_a_pack_names_its_world(pack: Pack) -> None:
    words, found = words_of(pack), []
    for name, text in naming_any().items():
        for line in text.splitlines() if words.search(text) else ():
            if (
                words.search(line)
                and not line.startswith("_FIRST = (")
                and name not in IMPORTED
                and name not in found
            ):
                found.append(name)
    assert found == []


def test_every_folder_is_a_pack_of_its_name() -> None:
    folders = {path.parent.name for path in (PACKAGE / "packs").glob("*/__init__.py")} - {"api"}
    assert sorted(pack.name for pack in registry.packs()) == sorted(folders)


def test_starting_loads_no_code_of_a_pack() -> None:
    program = (
        "import sys; import memlens.cli; import memlens.formats; "
        "print(*(name for name in sys.modules if name.startswith('memlens.packs.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    declared = {"api", "registry", *(pack.name for pack in registry.packs())}
    names = {name.removeprefix("memlens.packs.") for name in loaded.stdout.split()}
    assert {name for name in names if not name.startswith("api.")} == declared
