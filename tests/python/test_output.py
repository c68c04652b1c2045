"""Nothing is ever lost: all writers of Memlens, in one table, and no code that writes around the one function."""

import ast
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.systems import needs_posix

from memlens.dumping import take
from memlens.dumping.processes import Process
from memlens.errors import BadRequestError
from memlens.fleet.database import Database
from memlens.fleet.parquet import write_parquet
from memlens.store.files.disk import partial_file
from memlens.store.files.output import Output, RefusedError, snapshot_format

TRACE = ROOT / "samples" / "train.pickle"
PROFILE = ROOT / "samples" / "words.pb.gz"
HEAP = ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst"
KEPT = b"somebody's file, of which there is no other\n"
KILLED = """
import os, sys
from memlens.cli import main
from memlens.store.files import cache
from memlens.store.files.output import Output
def die(*_):
    os.kill(os.getpid(), 9)
Output.put = die
cache._rename = die
main(sys.argv[1:])
"""
ITSELF = """
import os, sys
from pathlib import Path
from memlens import dump
folder, kept = Path(sys.argv[1]), os.fsencode(sys.argv[2])
place, link, late = folder / "kept", folder / "link", folder / "late"
def refused(error, path, force=False):
    before = content()
    try:
        dump.heap(path, collect=False, force=force)
    except error as refusal:
        assert content() == before
        return str(refusal)
    raise SystemExit(f"{path} was written")
def content():
    return {each.name: each.read_bytes() for each in folder.iterdir()}
assert "force=True" in refused(FileExistsError, place)
link.symlink_to(place)
refused(FileExistsError, link)
replace = os.replace
def fail(*_):
    raise PermissionError(13, "Permission denied")
os.replace = fail
refused(PermissionError, link, force=True)
os.replace = replace
assert content() == {"kept": kept, "link": kept}
dump.heap(link, collect=False, force=True)
# one that appears while the heap is written stays
written = dump._Writer.end
def appear(self, cost):
    late.write_bytes(kept)
    written(self, cost)
dump._Writer.end = appear
try:
    dump.heap(late, collect=False)
except FileExistsError:
    sys.exit(0)
sys.exit("the file that appeared was overwritten")
"""
"""What a program's own dump must not do; the arguments are a folder with the file ``kept``, and its content."""


class Writer(NamedTuple):
    """A command that writes: its words before and after the file that it reads, and the one that it writes."""

    source: Path | None
    words: Callable[[Path, Path], list[object]]
    replaces: str | None = None
    """A kind of snapshot that ``--force`` lets it overwrite."""


WRITERS = {
    "pprof": Writer(TRACE, lambda source, out: ["export", source, "--pprof", out], "pprof"),
    "speedscope": Writer(PROFILE, lambda source, out: ["export", source, "--speedscope", out]),
    "snapviewer": Writer(TRACE, lambda source, out: ["export", source, "--snapviewer", out], "snapviewer"),
    "report": Writer(TRACE, lambda source, out: ["report", source, "-o", out]),
    "markdown": Writer(PROFILE, lambda source, out: ["report", source, "--markdown", "-o", out]),
    "baseline": Writer(TRACE, lambda source, out: ["baseline", source, "-o", out]),
    "picture": Writer(PROFILE, lambda source, out: ["picture", source, "-o", out]),
    "contents": Writer(
        HEAP, lambda source, out: ["object", source, "--by-number", an_array(source), "--contents", out]
    ),
    "redact": Writer(HEAP, lambda source, out: ["redact", source, out], "hprof"),
    "dump": Writer(None, lambda _source, out: ["dump", 1, out], "hprof"),
    "record": Writer(None, lambda _source, out: ["record", 1, out, "--for", "0"], "hprof"),
}
EVERY = pytest.mark.parametrize("name", WRITERS)
READING = pytest.mark.parametrize("name", [name for name, writer in WRITERS.items() if writer.source])


def an_array(source: Path) -> str:
    query = "SELECT object FROM objects WHERE type = 'byte[]' ORDER BY shallow_bytes DESC LIMIT 1"
    (row,) = json.loads(memlens("sql", source, query, "--json").stdout)
    return str(row["object"])


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that can be dumped and recorded at once."""

    def recorded(file: Path, *_: object) -> None:
        file.write_bytes(b"JAVA PROFILE 1.0.2\0" + bytes(1000))

    monkeypatch.setattr(take, "named", lambda _name: Process(1, None, ("app",), 0))
    monkeypatch.setattr(take, "_recorder", lambda _found: recorded)
    monkeypatch.setattr(take, "_written", lambda _found, file, *_: recorded(file))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for what is written, with one of the user's files in it."""
    made = tmp_path / "out"
    made.mkdir()
    (made / "kept").write_bytes(KEPT)
    return made


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    out = tmp_path / "archive"
    memlens("ingest", PROFILE, "--out", out)
    return out


def command(name: str, folder: Path, out: Path) -> tuple[list[object], Path]:
    """The command of a writer over a copy of its file, and that copy; for dumps a file that isn't read."""
    writer = WRITERS[name]
    source = folder / (writer.source or TRACE).name
    if not source.exists():
        source.write_bytes((writer.source or TRACE).read_bytes())
    return writer.words(source, out), source


def content(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@READING
def test_what_is_read_is_never_written_over(name: str, folder: Path) -> None:
    _, source = command(name, folder, folder / "x")
    (folder / "below").mkdir()
    (folder / "hard").hardlink_to(source)
    (folder / "soft").symlink_to(source)
    (folder / "folder").symlink_to(folder)
    before = content(folder)
    places = [source, folder / "hard", folder / "soft", folder / "below" / ".." / source.name]
    for out in (*places, folder / "folder" / source.name):
        said = memlens(*WRITERS[name].words(source, out), "--force", status=1).stderr
        assert "can't be written over itself" in said
        # nor when the link is what is read
        memlens(*WRITERS[name].words(out, source), "--force", status=1)
    assert content(folder) == before


@EVERY
def test_no_snapshot_and_no_archive_is_overwritten(name: str, folder: Path, archive: Path) -> None:
    words, _ = command(name, folder, folder / "x")
    other = folder / "other"
    # by what is in it, whatever its name, and packed as well
    other.write_bytes((PROFILE if WRITERS[name].replaces == "hprof" else HEAP).read_bytes())
    link = folder / "link"
    link.symlink_to(archive)
    before, archived = content(folder), content(archive)
    for out in (archive, archive / "manifest.json", archive / "new", link, link / "new"):
        for force in ([], ["--force"]):
            assert (
                "archive of Memlens"
                in memlens(*WRITERS[name].words(_of(words), out), *force, status=1).stderr
            )
    for force in ([], ["--force"]):
        said = memlens(*WRITERS[name].words(_of(words), other), *force, status=1).stderr
        assert "other is not overwritten: it is a snapshot (" in said
    assert content(archive) == archived
    assert content(folder) == before


def _of(words: list[object]) -> Path:
    """The file that a command reads."""
    return Path(str(words[1]))


@EVERY
def test_files_are_overwritten_by_force_alone(name: str, folder: Path) -> None:
    words, source = command(name, folder, folder / "kept")
    before = content(folder)
    said = memlens(*words, status=1).stderr
    assert said == "memlens: kept exists. Choose another file, or add --force.\n"
    assert content(folder) == before
    memlens(*words, "--force")
    written = content(folder)
    assert written.keys() == before.keys()
    assert written["kept"] != KEPT
    assert written[source.name] == before[source.name]
    # what was written is overwritten again, and a link stays one
    (folder / "link").symlink_to(folder / "kept")
    memlens(*WRITERS[name].words(source, folder / "link"), "--force")
    assert (folder / "link").is_symlink()
    assert snapshot_format(folder / "kept") == WRITERS[name].replaces or WRITERS[name].replaces is None


PROBLEMS: dict[str, BaseException] = {
    "Permission denied": PermissionError(13, "Permission denied"),
    "Interrupted": KeyboardInterrupt(),
    "no room for": OSError(28, "No space left on device"),
}
"""What may end a writing, by what is said of it."""


@needs_posix
@pytest.mark.slow
@EVERY
def test_the_old_file_stays_whole_when_writing_fails(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, _ = command(name, folder, folder / "kept")
    # what is computed ahead is in the cache then
    memlens(*WRITERS[name].words(_of(words), folder / "first"))
    before = content(folder)

    def is_whole() -> None:
        assert content(folder) == before
        assert {each.name for each in folder.iterdir()} == {*before}, "nothing is left beside it"

    with _no_byte_to_a_disk():
        memlens(*words, "--force", status=1)
    is_whole()
    for said, problem in PROBLEMS.items():

        def fail(*_: object, problem: BaseException = problem) -> None:
            raise problem

        monkeypatch.setattr(Output, "put", fail)
        assert said in memlens(*words, "--force", status=1).stderr
        is_whole()


@contextlib.contextmanager
def _no_byte_to_a_disk() -> Iterator[None]:
    import resource  # which Windows lacks

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@needs_posix
@pytest.mark.slow
@pytest.mark.parametrize("name", ["snapviewer", "redact"])
def test_the_old_file_stays_whole_when_the_process_is_killed(name: str, folder: Path) -> None:
    words, _ = command(name, folder, folder / "kept")
    before = content(folder)
    ended = subprocess.run([sys.executable, "-c", KILLED, *map(str, words), "--force"], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert {name: content(folder)[name] for name in before} == before
    # what it left is removed by the next
    memlens(*words, "--force")
    assert content(folder).keys() == before.keys()


def test_an_archive_is_replaced_only_by_one_of_the_same_file(folder: Path, archive: Path) -> None:
    copy = folder / "copy.pb.gz"
    copy.write_bytes(PROFILE.read_bytes())
    before = content(archive)
    # of the same file it is only made again
    memlens("ingest", PROFILE, "--out", archive)
    said = memlens("ingest", copy, "--out", archive, status=1).stderr
    assert "is an archive of another file, or of another version of this one" in said
    assert "--force" in said
    inside = archive / "trace.pickle"
    inside.write_bytes(TRACE.read_bytes())
    for source, words in (
        (inside, "is read from it"),
        (copy, "isn't part of the archive: trace.pickle"),
        (PROFILE, "isn't part of"),
    ):
        assert words in memlens("ingest", source, "--out", archive, "--force", status=1).stderr
    link = folder / "link"
    link.symlink_to(archive)
    assert "is read from it" in memlens("ingest", inside, "--out", link, "--force", status=1).stderr
    assert (
        "archive of Memlens" in memlens("ingest", copy, "--out", archive / "new", "--force", status=1).stderr
    )
    for file in (inside, copy, folder / "kept"):
        assert "is not an archive" in memlens("ingest", PROFILE, "--out", file, "--force", status=1).stderr
    assert "is not an archive" in memlens("ingest", PROFILE, "--out", folder, "--force", status=1).stderr
    inside.unlink()
    assert {name for name, data in content(archive).items() if before.get(name) != data} == set()
    memlens("ingest", copy, "--out", archive, "--force")
    assert json.loads((archive / "manifest.json").read_bytes())["source"]["path"] == str(copy)


def test_an_archive_stays_when_another_cannot_take_its_place(
    folder: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = folder / "copy.pb.gz"
    copy.write_bytes(PROFILE.read_bytes())
    before = content(archive.parent)
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.startswith("archive.partial-"):
            raise PermissionError(13, "Permission denied", str(target))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    assert "Permission denied" in memlens("ingest", copy, "--out", archive, "--force", status=1).stderr
    assert content(archive.parent) == before


def test_a_mapping_is_never_lost(folder: Path) -> None:
    words, source = command("redact", folder, folder / "shared.hprof")
    built = folder / "shared.mapping.txt"
    built.write_bytes(b"com.example.App -> a.a:\n")
    before = content(folder)
    for force in ([], ["--force"]):
        assert (
            "shared.mapping.txt exists"
            in memlens(*words, "--rename", "--mapping", folder, *force, status=1).stderr
        )
    assert content(folder) == before
    built.unlink()
    memlens(*words, "--rename", "--mapping", built)
    ours = built.read_bytes()
    # of the copy that is written without names once more it is what reads that copy
    again = [
        "redact",
        folder / "shared.hprof",
        folder / "mapping.hprof",
        "--rename",
        "--mapping",
        folder,
        "--force",
    ]
    memlens(*again)
    assert built.read_bytes() == ours
    assert source.read_bytes() == HEAP.read_bytes()


def test_a_command_that_writes_several_files_writes_none_over_another(folder: Path) -> None:
    words, _ = command("redact", folder, folder / "shared.hprof")
    (folder / "link").symlink_to(folder / "shared.hprof")
    (folder / "secrets.txt").write_bytes(KEPT)
    before, mapping = content(folder), folder / "mapping.txt"
    for each in (["--mapping", folder / "shared.hprof"], ["--mapping", folder / "link"],
                 ["--mapping", mapping, "--report", mapping],
                 ["--mapping", mapping, "--report", folder / "." / "shared.hprof"]):  # fmt: skip
        said = memlens(*words, "--rename", *each, "--force", status=1).stderr
        assert "is named twice" in said
        assert content(folder) == before
    # before the work, not after it
    memlens(*words, "--report", folder / "secrets.txt", status=1)
    assert content(folder) == before
    memlens(*words)
    verify = [
        *words,
        "--verify",
        "--forbid",
        folder / "secrets.txt",
        "--report",
        folder / "secrets.txt",
        "--force",
    ]
    assert "is the file that is read" in memlens(*verify, status=1).stderr
    assert (folder / "secrets.txt").read_bytes() == KEPT


def test_a_dump_of_a_program_itself(folder: Path) -> None:
    # a small program, as the heap of the tests has millions of objects
    subprocess.run([sys.executable, "-c", ITSELF, folder, KEPT], check=True, timeout=60)
    assert content(folder) == {
        "kept": (folder / "kept").read_bytes(),
        "link": (folder / "kept").read_bytes(),
        "late": KEPT,
    }
    assert (folder / "link").is_symlink()
    assert snapshot_format(folder / "kept") == "python_heap"


def test_only_what_was_left_is_removed(folder: Path) -> None:
    # the same name, but not the checksum: another's file, which may even be what is read
    source = folder / "shared.hprof.partial-999999999"
    source.write_bytes(HEAP.read_bytes())
    left = partial_file(folder / "shared.hprof", 999_999_999)
    for other in (f"shared.hprof.partial-{os.getpid()}", "shared.hprof.partial-99999999999999999999", "new"):
        (folder / other).write_bytes(KEPT)
    before = content(folder)
    left.write_bytes(HEAP.read_bytes())
    memlens("redact", left, folder / "shared.hprof")
    assert left.read_bytes() == HEAP.read_bytes()
    memlens("redact", source, folder / "shared.hprof", "--force")
    assert content(folder) == before | {"shared.hprof": (folder / "shared.hprof").read_bytes()}
    mine = partial_file(folder / "next", os.getpid())
    mine.write_bytes(HEAP.read_bytes())
    assert "is the file that is read" in memlens("redact", mine, folder / "next", status=1).stderr
    assert mine.read_bytes() == HEAP.read_bytes()


def test_the_file_that_is_stdin_is_not_written_over(folder: Path) -> None:
    stdin = os.dup(0)
    with (folder / "kept").open("rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        with pytest.raises(RefusedError, match="is the file that is read"):
            Output(folder / "kept", (Path("copy"),), force=True).write(b"new")
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)
    assert (folder / "kept").read_bytes() == KEPT


def write_late(place: Path) -> None:
    """Write a file while somebody else makes one of that name."""
    with Output(place).writing() as file:
        file.write(b"new")
        place.write_bytes(KEPT)


def test_a_file_that_appears_meanwhile_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for can_link in (True, False):
        late = folder / f"late-{can_link}"
        if not can_link:

            def fail(*_: object) -> None:
                raise OSError(1, "Operation not permitted")

            monkeypatch.setattr(os, "link", fail)
        with pytest.raises(RefusedError, match="exists"):
            write_late(late)
        assert late.read_bytes() == KEPT
        Output(folder / f"new-{can_link}").write(b"new")
        assert (folder / f"new-{can_link}").read_bytes() == b"new"
    assert not list(folder.glob("*.partial-*"))


def test_threads_that_write_one_file_write_it_in_turn(folder: Path) -> None:
    texts = [bytes([number]) * 100_000 for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(Output(folder / "shared", force=True).write, texts))
    assert (folder / "shared").read_bytes() in texts
    assert not list(folder.glob("*.partial-*"))


def test_what_may_not_be_replaced_otherwise(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = folder / "kept"
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(BadRequestError, match="write-protected"):
        Output(kept, force=True).check()
    monkeypatch.undo()
    kept.chmod(0o640)
    Output(kept, force=True).write(b"new")
    assert kept.stat().st_mode & 0o777 == 0o640, "who could read it still can"
    Output(kept, force=True, private=True).write(b"new")
    assert kept.stat().st_mode & 0o777 == 0o600
    # what a process that still runs is writing stays
    running, ended = partial_file(kept, os.getppid()), partial_file(kept, 999_999_999)
    for each in (running, ended):
        each.write_bytes(b"")
    Output(kept, force=True).write(b"new")
    assert (running.exists(), ended.exists()) == (True, False)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'[{"line": 3}]', None),
        (b'{"$schema": "https://www.speedscope.app/file-format-schema.json"}', None),
        (b"<!doctype html>\n<html><body>a report</body></html>", None),
        (b"", None),
        (b'{"segments": [], "device_traces": []}', "torch"),
        (b"heap profile: 1: 10 [1: 10] @ heapprofile\n", "heap_text"),
    ],
)
def test_what_is_a_snapshot(data: bytes, kind: str | None, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    assert snapshot_format(tmp_path / "file") == kind


@needs_posix
def test_summaries_of_a_fleet_overwrite_nothing(folder: Path, archive: Path) -> None:
    own = folder / "snapshots.parquet"
    own.write_bytes(KEPT)
    before, archived = content(folder), content(archive)
    with pytest.raises(RefusedError, match=r"snapshots\.parquet would be overwritten"):
        Database(folder, str(folder))
    with pytest.raises(RefusedError, match="archive of Memlens"):
        Database(archive, str(folder))
    assert content(folder) == before
    assert content(archive) == archived
    own.unlink()
    with contextlib.closing(Database(folder, str(folder))) as database:
        database.commit()
        summaries = (folder / "memlens-fleet.db").read_bytes()
    assert summaries
    # they may come from anybody
    (folder / "memlens-fleet.db").write_bytes(summaries)
    own.write_bytes(KEPT)
    with pytest.raises(RefusedError, match=r"snapshots\.parquet would be overwritten"):
        Database(folder, str(folder))
    own.unlink()
    if sys.platform != "win32":
        os.mkfifo(own)
        with pytest.raises(RefusedError, match=r"snapshots\.parquet would be overwritten"):
            Database(folder, str(folder))
        own.unlink()
    with contextlib.closing(Database(folder, str(folder))) as database:
        pytest.importorskip("pyarrow")
        for _ in range(2):
            assert own in write_parquet(database)
    (folder / "memlens-fleet.db").unlink(missing_ok=True)
    # they are Memlens's own, whose database somebody has removed
    with contextlib.closing(Database(folder, str(folder))):
        pass
    assert (folder / "kept").read_bytes() == KEPT


# Code that writes: where it may be, and why that loses nothing.
INTERNAL = {
    "store/files/output.py": "the one function",
    "dump.py": "alone in other programs; its own test is above",
    "record.py": "alone in other programs, under names of their process; test_run.py tests it",
    "remote_dump.py": "a temporary folder",
    "cli/__init__.py": "the null device",
    "api/archives.py": "a damaged archive of the cache",
    "cli/query_rows.py": "a damaged archive of the cache",
    "cli/stdin_and_urls.py": "a temporary folder, and archives of what was there",
    "cli/failures.py": "the null device",
    "cli/internal/reader.py": "the null device",
    "cli/commands/fleet/summary.py": "a temporary folder",
    "cli/pages.py": "the build",
    "cli/commands/new_pack.py": "a new folder",
    "cli/commands/redact.py": "its own partial file, removed after a signal",
    "store/files/edition.py": "an archive",
    "packs/v8/dumping/heap_profiler.py": "the private folder of a dump",
    "packs/jvm/dumping.py": "the request to a Java process",
    "dumping/linux.py": "a folder that is opened",
    "dumping/place.py": "the private folder of a dump",
    "packs/pytorch/export.py": "a temporary folder",
    "fleet/database.py": "summaries, which a test above checks",
    "fleet/engine.py": "a temporary folder",
    "fleet/place.py": "archives by the checksum of their file",
    "fleet/work.py": "a temporary folder",
    "packs/pytorch/snapviewer.py": "a temporary folder",
    "packs/v8/redaction.py": "a temporary file without a name",
    "packs/dotnet/dumping.py": "the private folder of a dump",
    "regular_files.py": "a file that is only read",
    "server/contract.py": "the build",
    "server/manifest.py": "the build",
    "server/handlers/fleet.py": "a copy in the cache",
    "server/process.py": "stdout",
    "launching/running.py": "an empty file that the program left",
    "packs/python/memray_meter.py": "into what the one function has opened",
    "remote_files.py": "a temporary folder",
    "server/sessions/children.py": "what a killed child has left",
    "server/sessions/registry.py": "a damaged archive of the cache",
    "store/artefacts.py": "an archive",
    "store/bookmarks.py": "the cache",
    "store/files/cache.py": "archives",
    "store/files/column_files.py": "an archive",
    "store/files/disk.py": "permissions",
    "store/files/searched.py": "an archive",
    "store/files/processes.py": "what killed processes have left",
    "store/manifest.py": "an archive",
    "store/tables/packed_pages.py": "an archive",
    "store/tables/database_file.py": "an archive",
    "views/findings/ahead.py": "an archive",
    "views/trace/picture/viewport.py": "an archive",
}
WRITE = {
    "write_bytes", "write_text", "unlink", "rmtree", "move", "copyfile", "copyfileobj", "copy", "copy2", "copytree",
    "link", "symlink_to", "hardlink_to", "mkstemp", "truncate", "tofile", "savez",
}  # fmt: skip
OF_MODULES = {"os": {"rename", "replace", "remove", "link", "open"}, "shutil": WRITE, "np": {"save"}}


def writes(call: ast.Call) -> bool:
    """Whether a call may write, replace or remove a file."""
    if isinstance(call.func, ast.Name):
        return call.func.id == "open" and _opens_to_write(call.args[1:2], call)
    if not isinstance(call.func, ast.Attribute):
        return False
    name, of = call.func.attr, call.func.value
    if isinstance(of, ast.Name) and of.id in OF_MODULES:
        return name in OF_MODULES[of.id]
    if name in ("open", "ZipFile"):
        return _opens_to_write(call.args[:2], call)
    if name in ("replace", "rename"):
        # of paths, unlike those of texts, structs and names
        return len(call.args) == 1 and not call.keywords and _is_path(of)
    return name in WRITE - {"copy", "link", "truncate"}


def _is_path(of: ast.expr) -> bool:
    name = of.id if isinstance(of, ast.Name) else of.attr if isinstance(of, ast.Attribute) else ""
    return isinstance(of, ast.Subscript) or name in (
        "partial",
        "made",
        "file",
        "archive",
        "old",
        "path",
        "copy",
        "target",
    )


def _opens_to_write(modes: list[ast.expr], call: ast.Call) -> bool:
    modes = [*modes, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return any(
        isinstance(each, ast.Constant) and isinstance(each.value, str) and set(each.value) & set("wax+")
        and set(each.value) <= set("rwaxbt+")
        for each in modes
    )  # fmt: skip


def test_nothing_is_written_around_the_one_function() -> None:
    top = ROOT / "pyserver" / "memlens"
    found = set()
    names = re.compile(
        rf"\b({'|'.join({'open', 'ZipFile', *WRITE, *set[str]().union(*OF_MODULES.values())})})\("
    )
    for path in sorted(top.rglob("*.py")):
        text = path.read_text("utf-8")
        if "tests" in path.relative_to(top).parts or not names.search(text):
            continue
        calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
        if any(map(writes, calls)):
            found.add(path.relative_to(top).as_posix())
    assert found - INTERNAL.keys() == set(), "write what people keep by memlens.store.files.output"
    assert {"store/files/output.py", "dump.py", "store/manifest.py", "dumping/place.py"} <= found


@pytest.mark.parametrize(
    "text",
    ["open(x, 'w')", "x.open('wb')", "x.open(mode='a')", "x.write_text(y)", "os.replace(x, y)", "partial.replace(y)",
     "shutil.move(x, y)", "zipfile.ZipFile(x, 'w')"],
)  # fmt: skip
def test_what_counts_as_writing(text: str) -> None:
    assert writes(next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)))
