"""Files without a folder that are named like a library's: they are the user's if the workspace has them."""

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.python import recordings
from tests.python.conftest import real_profiles
from tests.python.counted import perhaps
from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view

from memlens.ingest import ingest
from memlens.model.frames import LIBRARY, USER
from memlens.model.libraries import is_by_name_only
from memlens.model.own_libraries import Libraries
from memlens.store.files.cache import Cache
from memlens.store.relabel import files_in_doubt, open_with
from memlens.store.snapshot import Snapshot

pytest_plugins = ("tests.python.server_fixtures",)

# an allocator of the program, a header named like one of C++'s library, and a copy of one of C's files
MASSIF = """\
desc: --time-unit=B
cmd: ./app
time_unit: B
#-----------
snapshot=0
#-----------
time=10
mem_heap_B=7000
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=peak
n3: 7000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 4000 0x1: arena_get_block (malloc.c:30)
  n0: 4000 0x2: main (main.c:5)
 n1: 2000 0x3: std::allocator<int>::allocate(unsigned long) (allocator.h:31)
  n1: 2000 0x4: grow (allocator.h:8)
   n0: 2000 0x5: main (main.c:6)
 n1: 1000 0x6: strdup (strdup.c:42)
  n0: 1000 0x7: main (main.c:7)
"""
IN_DOUBT = ["malloc.c", "strdup.c"]


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "massif.out.app"
    path.write_text(MASSIF)
    return path


@pytest.mark.parametrize(
    ("file", "function", "doubtful"),
    [
        ("vector.tcc", "grow", True),
        ("vector.tcc", "void std::vector<int>::_M_realloc_insert<int>(int*)", False),
        ("marshal.c", "write_all", True),
        ("marshal.c", "PyMarshal_ReadObjectFromFile", False),
        ("libc-start.c", "__libc_start_main", False),
        ("mine.cc", "std::vector<int>::push_back(int&&)", False),
        ("mine.cc", "f", False),
        ("/glibc-2.36/malloc/malloc.c", "arena_get_block", False),
    ],
)
def test_a_folder_a_namespace_or_a_prefix_decides(file: str, function: str, doubtful: bool) -> None:
    assert is_by_name_only(file, function) is doubtful


def test_the_workspace_decides_about_files_without_a_folder_unless_the_setting_does() -> None:
    own = Libraries().with_own_files(["malloc.c", "a[b].c"])
    assert own.kind_of("malloc.c", "f", LIBRARY) == USER
    assert own.kind_of("a[b].c", "f", LIBRARY) == USER
    assert own.kind_of("glibc/malloc.c", "f", LIBRARY) == LIBRARY
    assert own.kind_of("list.c", "f", LIBRARY) == LIBRARY
    assert Libraries(["malloc.c"]).with_own_files(["malloc.c"]).kind_of("malloc.c", "f", LIBRARY) == LIBRARY


@pytest.mark.parametrize(
    "path",
    [recordings.MASSIF, recordings.DHAT, *real_profiles("massif/*", "dhat/*")],
    ids=lambda path: path.name,
)
def test_few_names_in_real_files_are_ambiguous(path: Path, cache: Cache) -> None:
    archive = ingest(path, cache, lambda *_: None)
    with closing(Snapshot.open(archive)) as snapshot:
        names = files_in_doubt(snapshot)
        before = list(snapshot.frames.each())
    assert len(names) <= 20
    with closing(open_with(archive, Libraries().with_own_files(names))) as snapshot:
        after = list(snapshot.frames.each())
    changed = [old for old, new in zip(before, after, strict=True) if old != new]
    assert {file for file, _, _, _ in changed} == set(names)
    for file, _, function, kind in perhaps(changed):
        assert kind == LIBRARY
        assert "/" not in file
        # a module of the user has a PyInit_ as well
        assert not function.replace("PyInit_", "").startswith(("std::", "__gnu_cxx::", "Py", "_Py", "__"))


def own_bytes(server: LspClient, path: Path, view: str = "v1") -> dict[str, int]:
    """The bytes live at the peak by the line that stacks are attributed to, from the tables for SQL."""
    snapshot = open_view(server, path, view)["snapshot"]
    query = "SELECT file, line, live_at_peak_bytes FROM stacks JOIN frames USING (frame)"
    rows = server.request("memlens/sql", {"snapshot": snapshot, "query": query})["rows"]
    server.request("memlens/close", {"snapshot": snapshot, "view": view})
    return {f"{file}:{line}": int(held) for file, line, held in rows if held}


@pytest.mark.slow
def test_the_workspace_decides_whose_a_file_is(server: LspClient, workspace: Path, profile: Path) -> None:
    assert own_bytes(server, profile) == {"main.c:5": 4000, "main.c:6": 2000, "main.c:7": 1000}
    own = workspace / "code" / "malloc.c"
    other = workspace / "third_party" / "libc" / "strdup.c"
    other.parent.mkdir(parents=True)
    for file in (own, workspace / "allocator.h", other):
        file.write_text("\n" * 50)
    # forget what is known about files
    server.add_folder(workspace / "code")
    assert own_bytes(server, profile) == {"malloc.c:30": 4000, "main.c:6": 2000, "main.c:7": 1000}
    open_view(server, profile)
    text = server.hover(own, 30)
    assert text is not None
    # a line to which only a part is attributed has its self value here
    assert "Live at the peak: **3.91 KiB (4,000 bytes)**\n" in text


@pytest.mark.slow
def test_a_workspace_that_never_answers_does_not_prevent_opening(
    workspace: Path, cache_folder: Path, profile: Path
) -> None:
    (workspace / "malloc.c").write_text("\n" * 50)
    asked: list[list[str]] = []
    answered = threading.Event()

    def find_files(params: Any) -> Any:
        asked.append(params["names"])
        answered.wait(60)
        return {"paths": []}

    with LspClient() as client:
        client.handlers["memlens/findFiles"] = find_files
        client.start(workspace, {"cache_directory": str(cache_folder)}, find_files=True)
        try:
            assert own_bytes(client, profile)["main.c:5"] == 4000
        finally:
            answered.set()
    assert asked[0] == IN_DOUBT
