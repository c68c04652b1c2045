"""Snapshots of Python's tracemalloc: pickles by ``tracemalloc.Snapshot.dump``, read as plain data.

Source of the format: ``Lib/tracemalloc.py`` and ``Python/tracemalloc.c`` of CPython, see
:mod:`memlens.packs.python.kernels.tracemalloc_pickle`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.pickles import is_pickle, scan
from memlens.formats.stacks import cut_stacks, distinct_frames
from memlens.model.distinct import distinct
from memlens.model.frames import MOST_PATH, Frames, SourceFrame, profiled_frame, shortened_text
from memlens.model.info import FileWarning, ValueType
from memlens.model.profile import LABEL_DTYPE, MOST_VALUE, Column, Profile
from memlens.packs.python.kernels import tracemalloc_pickle as kernel
from memlens.progress import Report
from memlens.texts import Text, phrase, plural

KIND = "tracemalloc"

VALUES = [
    ValueType("size", "bytes", "live", phrase("Live memory")),
    ValueType("count", "count", "live", phrase("Live blocks")),
]
_DOMAIN = 1
_MOST_FRAMES = 65_535
"""The most frames of a stack that tracemalloc keeps, and that it counts."""
_MOST_NAME = 200
"""Characters of a file's name within the name of a line."""


def sniff(head: bytes) -> bool:
    """Whether the first bytes are a pickle whose first name is in tracemalloc."""
    return is_pickle(head) and b"tracemalloc" in head[:48]


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a snapshot into a Profile: see :class:`memlens.formats.Reader`."""
    scanner = scan(kernel.Scanner(source.data), source, kernel.FIELD_NAMES, report)
    if not scanner.is_snapshot:
        raise NotASnapshotError(
            phrase("The pickle refers to tracemalloc but isn't one of its snapshots"),
            advice=phrase("Write it with tracemalloc.take_snapshot().dump(path)."),
        )
    traces = np.asarray(scanner.take("traces"))[np.asarray(scanner.take("trace_list"))]
    if float(traces["size"].sum(dtype=np.float64)) > MOST_VALUE:
        raise DamagedSnapshotError(phrase("The sum of the sizes is too large"))
    frames = _frames(scanner)
    depths = np.diff(frames.starts).astype(np.int64)[traces["stack"]]
    cut = traces["total"] > depths
    has_totals = bool((traces["total"] != 0).any())
    samples, counts = _grouped(traces, cut)
    frames, stacks = cut_stacks(frames, samples["stack"], samples["cut"])
    settings = {} if scanner.limit < 0 else {"traceback_limit": scanner.limit}
    return Profile(
        KIND, frames, VALUES, 0, stacks, [samples["size"] * counts, counts], _domains(samples["domain"]),
        {_DOMAIN: "domain"}, samples["size"], settings=settings,
        warnings=_warnings(depths, traces["total"][cut], None if has_totals else scanner.limit),
    )  # fmt: skip


def _frames(scanner: kernel.Scanner) -> Frames:
    rows = np.asarray(scanner.take("frames"))
    # shortened before lines are made of them, of which there may be very many
    files = {
        row: shortened_text(scanner.string_at(row), MOST_PATH) for row in distinct(rows["file"]).tolist()
    }
    frames, numbers = distinct_frames(
        _frame(files[file], line)
        for file, line in zip(rows["file"].tolist(), rows["line"].tolist(), strict=True)
    )
    starts = np.asarray(scanner.take("stack_starts"))
    return Frames(frames, starts, numbers[np.asarray(scanner.take("stack_frames"))])


def _frame(file: str, line: int) -> SourceFrame:
    """Return a frame named by its file and line, as tracemalloc records no functions."""
    name = shortened_text(file.replace("\\", "/").rpartition("/")[2], _MOST_NAME)
    return profiled_frame(file, line, f"{name}:{line}" if line else name)


def _grouped(traces: Column, cut: Mask) -> tuple[Column, I64]:
    """Return the distinct (stack, cut, domain, size) of traces, and the number of traces of each."""
    keys: list[npt.NDArray[Any]] = [traces["size"], traces["domain"], cut, traces["stack"]]
    order = np.lexsort(keys)
    rows = np.empty(len(traces), [("stack", "<u4"), ("cut", "?"), ("domain", "<u4"), ("size", "<i8")])
    for name, column in zip(("size", "domain", "cut", "stack"), keys, strict=True):
        rows[name] = column[order]
    first = np.ones(len(rows), bool)
    first[1:] = rows[1:] != rows[:-1]
    places = np.flatnonzero(first)
    return rows[places], np.diff(np.append(places, len(rows))).astype(np.int64)


def _domains(domains: U32) -> Column:
    """Return a label for every sample, if the file has any domain other than Python's."""
    if not domains.any():
        return np.empty(0, LABEL_DTYPE)
    labels = np.zeros(len(domains), LABEL_DTYPE)
    labels["sample"], labels["key"], labels["number"] = np.arange(len(domains)), _DOMAIN, domains
    return labels


def _warnings(depths: I64, cut_totals: I64, limit: int | None) -> list[FileWarning]:
    """Return warnings about empty snapshots and cut stacks.

    ``cut_totals`` are the original depths of the stacks that are cut. ``limit`` is the number of frames that were kept
    if the file doesn't record which stacks are cut, else None.
    """
    total = len(depths)
    if not total:
        return [
            FileWarning(
                "no-traces",
                phrase("The snapshot has no traces: nothing was allocated while tracemalloc ran."),
            )
        ]
    if len(cut_totals):
        kept, deepest = int(depths.max()), int(cut_totals.max())
        said = phrase(
            "The stacks of {n} of {all} blocks are cut: tracemalloc kept {frames} of each, and the deepest has "
            "{deepest}. {advice}",
            n=len(cut_totals),
            all=total,
            frames=phrase("one frame") if kept == 1 else phrase("{n} frames", n=str(kept)),
            deepest=str(deepest),
            advice=_advice(kept, deepest),
        )
        return [FileWarning("stacks-cut", said)]
    if limit is not None and 0 < limit <= int(depths.max()):
        full = int(np.count_nonzero(depths >= limit))
        said = phrase(
            plural(
                full,
                "{n} of {all} has as many frames as tracemalloc kept ({limit}) and may have had more; Python before "
                "3.9 doesn't record it. {advice}",
                "{n} of {all} have as many frames as tracemalloc kept ({limit}) and may have had more; Python before "
                "3.9 doesn't record it. {advice}",
            ),
            n=full,
            all=phrase(plural(total, "{n} block", "{n} blocks"), n=total),
            limit=str(limit),
            advice=_advice(limit, _MOST_FRAMES),
        )
        return [FileWarning("stacks-cut", said)]
    return []


def _advice(kept: int, deepest: int) -> Text:
    """Return advice on how to record more frames: all frames of the deepest stack, or twice as many as now."""
    frames = min(2 * max(kept, 1), deepest, _MOST_FRAMES)
    return phrase(
        "tracemalloc.start({n}), or python -X tracemalloc={n}, keeps all of them."
        if frames == deepest
        else "tracemalloc.start({n}), or python -X tracemalloc={n}, keeps twice as many.",
        n=str(frames),
    )
