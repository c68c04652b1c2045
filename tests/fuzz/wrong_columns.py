"""``npm run fuzz -- --columns``: archives of heap dumps one column of which is overwritten, with right checksums.

    npm run fuzz -- --columns [FILE …]

Nothing that an archive has is evidence for what else it has: each question is answered or refused, within seconds.
"""

import contextlib
import os
import random
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from tests.fuzz.questions import ask_everything

from memlens.errors import MemlensError
from memlens.export.report import report
from memlens.ingest import ingest
from memlens.store.files.cache import Cache
from memlens.store.files.verify import file_checksum
from memlens.store.manifest import CONTRADICTIONS, read_manifest, write_manifest
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables.fill import fill
from memlens.views.compare.heaps import compare_heaps
from memlens.views.findings.ahead import findings, headline
from memlens.views.heap.paths.to_object import paths
from memlens.views.sql.query import TABLES, SqlSession

MOST_S = 20
"""Of processor time, for all questions to a small file; they take less than two."""
CORPUS = Path(__file__).parent / "corpus" / "file"
SEEDS = ("small.hprof", "scopes.heapsnapshot", "small.pyheap", "images.hprof")
_PREFIXES = ("object_", "reference_", "type_", "compact_", "field_", "thread_")
_TABLES = ("reached", "roots", "places", "arrays", "owned", "images", "unread", "moments")

Bytes = npt.NDArray[np.uint8]
Column = npt.NDArray[Any]
Filling = Callable[[Column], Bytes]


def _numbered(column: Column, value: int) -> Bytes:
    """The bytes of a column in which each number is this one."""
    if column.dtype.names:
        whole = np.zeros_like(column)
        for name in column.dtype.names:
            whole[name] = np.array(value).astype(column.dtype[name])
        return whole.view(np.uint8)
    return np.full_like(column, np.array(value).astype(column.dtype)).view(np.uint8)


FILLINGS: dict[str, Filling] = {
    "zeros": lambda column: np.zeros(column.nbytes, np.uint8),
    "ones": lambda column: _numbered(column, 1),
    "itself": lambda column: (
        np.arange(len(column)).astype(column.dtype).view(np.uint8)
        if not column.dtype.names
        else np.zeros(column.nbytes, np.uint8)
    ),
    "reversed": lambda column: np.ascontiguousarray(column[::-1]).view(np.uint8),
    "shuffled": lambda column: np.random.default_rng(1).permutation(column).view(np.uint8),
    "random": lambda column: np.random.default_rng(2).integers(0, 256, column.nbytes, np.uint8),
    "largest": lambda column: np.full(column.nbytes, 0xFF, np.uint8),
}


def graph_columns(archive: Path) -> list[str]:
    """The files of the columns about objects that aren't empty."""
    return [
        name
        for name, entry in read_manifest(archive).columns.items()
        if entry.bytes and (name.startswith(_PREFIXES) or name in _TABLES)
    ]


def overwrite(archive: Path, name: str, filling: Filling) -> None:
    """Overwrite a column, and make the checksums right."""
    manifest = read_manifest(archive)
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        column = np.array(snapshot._files.array(name))
    (archive / name).write_bytes(filling(column).tobytes())
    entry = msgspec.structs.replace(
        manifest.columns[name], bytes=column.nbytes, checksum=file_checksum(archive / name), packing=None
    )
    columns = {**manifest.columns, name: entry}
    write_manifest(archive, msgspec.structs.replace(manifest, columns=columns, checksum="0" * 16))
    # it is as whole as any
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        snapshot.verify()


_QUERIES = (
    *(f'SELECT * FROM "{table}"' for table in TABLES),
    "SELECT retained(object), reachable(object), holder_of(object, '/./') FROM objects",
    "SELECT count(*) FROM objects AS o, retained_by(o.object)",
    "SELECT count(*) FROM objects AS o, paths_to(o.object)",
    "SELECT count(*) FROM retained_by((SELECT object_set(object) FROM objects WHERE shallow_bytes > 40))",
)


def questions(archive: Path, before: Path) -> Iterator[Callable[[], object]]:
    """What is asked: the views' questions, findings, paths, a report, a comparison, and each table of SQL."""

    def asked(question: Callable[[Snapshot], object]) -> object:
        with contextlib.closing(Snapshot.open(archive)) as snapshot:
            return snapshot.ask(question)

    def compared() -> object:
        with contextlib.closing(Snapshot.open(before)) as earlier:
            return asked(lambda snapshot: compare_heaps(earlier, snapshot))

    def in_sql(query: str) -> object:
        with contextlib.closing(SqlSession(Snapshot.open(archive))) as session:
            return session.ask(query)

    yield partial(asked, lambda snapshot: (headline(snapshot, None), findings(snapshot, None, 100)))
    yield partial(
        asked,
        lambda snapshot: [
            paths(snapshot, number) for number in range(0, graph_of(snapshot.info).objects, 7)[:20]
        ],
    )
    yield partial(asked, report)
    yield compared
    for seed in range(2):
        chance = random.Random(seed)
        yield partial(asked, partial(ask_everything, chance=chance, damaged=True))
    yield partial(asked, lambda snapshot: fill(snapshot, lambda *_: None))
    for query in _QUERIES:
        yield partial(in_sql, query)


def outcome(archive: Path, before: Path) -> str:
    """What comes of all questions in a process of its own: a word each, or what is wrong with that."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.setitimer(signal.ITIMER_PROF, MOST_S)
        words: list[str] = []
        for question in questions(archive, before):
            try:
                question()
                words.append("answered")
            except (MemlensError, *CONTRADICTIONS):
                words.append("refused")
            except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
                words.append(f"FAILED: {traceback.format_exc(limit=-3)}")
        os.write(writing, " ".join(words).encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        answers = said.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "hangs" if number == signal.SIGPROF else f"dies of {signal.Signals(number).name}"
    return answers


def copied(archive: Path, folder: Path) -> Path:
    """A copy of an archive, without what it was asked before."""
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(archive, copy, ignore=shutil.ignore_patterns("*.db", "findings*", "headline*"))
    return copy


def is_wrong(said: str) -> bool:
    """Whether what is said of an archive is more than answers, refusals, and contradictions that callers know."""
    return said.startswith(("hangs", "dies")) or "FAILED" in said


def main(arguments: list[str]) -> int:
    """Overwrite each column of the archives of some files in each way; 1 if one has a fault, see :func:`is_wrong`."""
    files = [Path(argument) for argument in arguments] or [CORPUS / name for name in SEEDS]
    tried = wrong = 0
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            archive = ingest(file, Cache(Path(folder) / "cache"), lambda *_: None)
            for name in graph_columns(archive):
                for how, filling in FILLINGS.items():
                    copy = copied(archive, Path(folder))
                    overwrite(copy, name, filling)
                    said = outcome(copy, archive)
                    if is_wrong(said):
                        wrong += 1
                        print(
                            f"{file.name}: {name}, {how}: {said[said.find('FAILED') :][:1_500]}", flush=True
                        )
                    tried += 1
    print(f"{tried:,} archives with a wrong column: {wrong} faults")
    return bool(wrong)
