"""Writes ``text.db``: what an archive knows in words, fetched by number when somebody clicks or hovers."""

import contextlib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import apsw
import numpy as np
import numpy.typing as npt

from memlens.model.frames import Frames
from memlens.model.timeline import NEVER

LineRow = tuple[str, int, str, int]
"""File, line, and the function and kind of the first frame there."""


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[apsw.Connection]:
    """A new database with its tables, written when the block ends."""
    database = apsw.Connection(str(path))
    try:
        # the folder is renamed into place only when all of it is written, so the database needs no journal
        database.pragma("journal_mode", "off")
        database.pragma("synchronous", "off")
        with database:
            database.execute(files("memlens.store").joinpath("schema.sql").read_text("utf-8"))
            yield database
    finally:
        database.close()


def write_frames(database: apsw.Connection, strings: dict[int, str], frames: Frames) -> None:
    """Fill the tables that all models have."""
    database.executemany("INSERT INTO strings VALUES (?, ?)", strings.items())
    database.executemany(
        "INSERT INTO frames VALUES (?, ?, ?, ?, ?)",
        (
            (number, frame.file, frame.line, frame.function, frame.kind)
            for number, frame in enumerate(frames.frames)
        ),
    )


def lines_of_frames(frames: Frames) -> tuple[list[LineRow], npt.NDArray[np.uint32]]:
    """The distinct source lines, and for each frame the number of its line there, NEVER for none."""
    keys: dict[tuple[str, int], int] = {}
    rows: list[LineRow] = []
    lines = np.full(len(frames.frames), NEVER, np.uint32)
    for number, frame in enumerate(frames.frames):
        if not frame.file or frame.line <= 0:
            continue
        key = (frame.file, frame.line)
        if key not in keys:
            keys[key] = len(rows)
            rows.append((frame.file, frame.line, frame.function, frame.kind))
        lines[number] = keys[key]
    return rows, lines
