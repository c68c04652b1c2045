"""What a failed test says of its memory: sizes, and the lines of the file that is kept, as the editor shows them."""

import tempfile
from contextlib import closing
from pathlib import Path

from memlens.errors import MemlensError
from memlens.ingest import ingest
from memlens.model.own_libraries import Libraries
from memlens.store.files.cache import Cache
from memlens.store.relabel import open_with
from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes, plain
from memlens.views.check.answers import Limit, LimitLine, LimitName
from memlens.views.check.lines import lines_of

_MOST_LINES = 5
_LEAST_SHARE = 0.01
"""Of the largest line, below which others say nothing."""


def shown(size: int) -> str:
    """A size, with its exact number."""
    return format_bytes(size) if abs(size) < 1024 else f"{format_bytes(size)} ({size:,} bytes)"


def lines_of_file(file: Path, limit: LimitName) -> list[str]:
    """The lines that hold the most; what can't be read says so."""
    try:
        with tempfile.TemporaryDirectory(prefix="memlens-test-") as folder:
            archive = ingest(file, Cache(Path(folder)), lambda *_: None, ahead=False, findings=False)
            with closing(open_with(archive, Libraries(()))) as snapshot:
                rows = snapshot.ask(lambda asked: _rows(asked, limit))
    except MemlensError as error:
        return [f"its lines can't be read: {error}"]
    return [plain(f"{row.shown}  {row.place}") for row in rows]


def _rows(snapshot: Snapshot, limit: LimitName) -> list[LimitLine]:
    rows = lines_of(snapshot, Limit(limit), None, _MOST_LINES).rows
    return [row for row in rows if row.amount >= _LEAST_SHARE * rows[0].amount]
