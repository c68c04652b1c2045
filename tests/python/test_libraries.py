"""Whose code a frame is: the examples and near misses of each rule in the tables, and all real files."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.bench.attribution import DATA, judgements, measure, recordings
from tests.python.conftest import ROOT, archive_of
from tests.python.recordings import DHAT, GO, HEAPTRACK, MASSIF, SAMPLE, TRACEMALLOC

from memlens.errors import MemlensError
from memlens.model.frames import LIBRARY, NATIVE, USER, package_of, profiled_frame
from memlens.model.languages import (
    AllocationFunctions,
    Binaries,
    allocating_binaries,
    allocation_functions,
    is_allocation_function,
)
from memlens.model.libraries import Rule, misjudged, qualified, rules
from memlens.packs.pytorch.frames import source_frame
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.name)
def test_examples_and_near_misses(rule: Rule) -> None:
    assert rule.fits
    assert rule.near
    assert rule.of_examples or "{" not in rule.library
    assert misjudged(rule) == []


@pytest.mark.parametrize("row", allocation_functions(), ids=lambda row: row.name)
def test_functions_that_allocate(row: AllocationFunctions) -> None:
    assert row.fits
    assert row.near
    assert [each for each in row.fits if not is_allocation_function(each, "app")] == []
    assert [each for each in row.near if is_allocation_function(each, "app")] == []


@pytest.mark.parametrize("row", allocating_binaries(), ids=lambda row: row.name)
def test_libraries_that_allocate(row: Binaries) -> None:
    assert row.fits
    assert row.near
    assert [each for each in row.fits if not is_allocation_function("f", each)] == []
    assert [each for each in row.near if is_allocation_function("f", each)] == []


def test_names_of_rules_are_distinct() -> None:
    names = [rule.name for rule in rules()]
    assert len(names) == len(set(names)) > 80


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("main", "main"),
        ("std::vector<A<B>, C>::push_back(A<B>&&)", "std::vector::push_back"),
        ("std::pair<int, int> mine::make<int>(std::string)", "mine::make"),
        ("mine::(anonymous namespace)::f(int)", "mine::{anonymous}::f"),
        ("std::operator<< <std::char_traits<char> >(std::ostream&)", "std::operator<<"),
        ("mine::A::operator()(int) const", "mine::A::operator{}"),
    ],
)
def test_qualified_name_of_a_function(function: str, name: str) -> None:
    assert qualified(function) == name


def test_kinds_of_frames_follow_the_table() -> None:
    assert source_frame("./misc/../sysdeps/unix/sysv/linux/x86_64/clone3.S", 81, "clone3").kind == NATIVE
    assert source_frame("/usr/include/c++/12/functional", 7, "operator()").kind == NATIVE
    assert source_frame("none", 0, "threading.py(973): run").kind == LIBRARY
    assert source_frame("none", 0, "test/train.py(7): main").kind == USER
    assert source_frame("threading.py", 9, "run").kind == USER
    assert profiled_frame("src/a.c", 7, "f", "/usr/lib/libfoo.so").kind == LIBRARY
    assert profiled_frame("src/a.c", 7, "f", "/home/me/app").kind == USER


def test_libraries_of_the_setting_are_named_by_folder() -> None:
    """Libraries only by the setting."""
    assert package_of("/home/me/shared/kit/a.py", "f", LIBRARY) == "kit"
    assert package_of("kit.py", "f", LIBRARY) == "kit.py"
    assert package_of("tree.cpp", "std::f(int)", LIBRARY) == "C++'s library"


# paths that are never the user's, independently of the table
PLACES = (
    "site-packages/", "dist-packages/", "lib/python3.", "/uv/python/", "torchinductor_", "sysdeps/", "/pkg/mod/",
    "/go/src/runtime/", "@v0.", "@v1.", "/vendor/github.com/", "/rustc/", "/rust/deps/", "library/std/",
    "library/core/", "/usr/include/", "/usr/lib/", "/qtbase/src/", "Objects/", "3rdparty/", "./elf/", "./libio/",
    "<frozen ",
)  # fmt: skip
# uic's ui_*.h looks like a hand-written header, and KDE's style is in a developer's home like the program
UNKNOWABLE = ("ui_mainwindow.h", "/breeze/kstyle/")


OWN = [SAMPLE, GO, MASSIF, DHAT, HEAPTRACK, TRACEMALLOC]


# every rule has its cases in test_examples_and_near_misses
@pytest.mark.slow
@pytest.mark.parametrize("path", [*OWN, *recordings()], ids=lambda path: path.name[:40])
def test_the_largest_lines_of_real_files_are_the_users(
    path: Path, real_archives: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ten largest lines are the user's according to the manual judgements, and none is missed."""
    try:
        archive = archive_of(path, real_archives)
    except MemlensError as error:
        pytest.skip(str(error))
    with closing(Snapshot.open(archive)) as snapshot:
        for file in {file for file, _, _, kind in snapshot.frames.each() if kind == USER}:
            name = file.replace("\\", "/")
            assert not any(place in name for place in PLACES), name
        folder = ROOT if path in OWN else DATA
        result = measure(snapshot, path.relative_to(folder).as_posix(), judgements())
    wrong = [
        (line, verdict)
        for line, _, verdict in result.top
        if not verdict and not any(part in line[0] for part in UNKNOWABLE)
    ]
    assert wrong == []
    assert result.missed == 0
    assert result.top or path not in OWN
