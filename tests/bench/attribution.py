"""Checks on all real files how often the line that is attributed to the user is the user's, by a table made by hand.

    python tests/bench/attribution.py [--lines] [FILE …]

For each recording, what is live at the peak (of a profile its default value) is summed up by the frame that represents
each stack; the ten lines with the most bytes among the frames that count as the user's code are looked up in
``judged.tsv``. For the table, people checked every line that was ever among the ten and the recording's provenance, and
decided whether the person who ran the program could have written it. Lines that are not in the table are reported, and
the exit status is 1. The opposite is counted as well: bytes attributed to other lines although a line of the user's is
in their stack.
"""

import argparse
import fnmatch
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple, assert_never

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


from memlens.errors import MemlensError  # noqa: E402
from memlens.ingest import ingest  # noqa: E402
from memlens.model.frames import USER  # noqa: E402
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo  # noqa: E402
from memlens.store.files.cache import Cache  # noqa: E402
from memlens.store.snapshot import Snapshot  # noqa: E402
from memlens.store.stacks.frames import FrameRow  # noqa: E402
from memlens.units import format_bytes  # noqa: E402

DATA = Path(os.environ.get("MEMLENS_TEST_DATA", ROOT.parent / "shared" / "data"))
TABLE = Path(__file__).with_name("judged.tsv")
TOP = 10
_OTHERS = (".md", ".txt", ".json", ".expected")

Line = tuple[str, int]


class Judgement(NamedTuple):
    """A row of the table: shell patterns for a recording's path, a frame's file and its function."""

    recording: str
    file: str
    function: str
    user: bool

    def fits(self, file: str, function: str) -> bool:
        """Whether the row applies to a frame of its recordings."""
        return fnmatch.fnmatchcase(file, self.file) and fnmatch.fnmatchcase(function, self.function)


class Measured(NamedTuple):
    """Bytes of one recording."""

    whole: int
    named: int
    """By lines that count as the user's."""
    top: list[tuple[Line, int, bool | None]]
    """The largest lines, and whether they are the user's; None for one that wasn't judged."""
    missed: int
    """Bytes attributed to other lines although the stack has one of the user's."""


def judgements(table: Path = TABLE) -> list[Judgement]:
    """The table; the first matching row decides."""
    found = []
    for text in table.read_text("utf-8").splitlines():
        if text and not text.startswith("#"):
            recording, file, function, verdict = text.split("\t")
            found.append(Judgement(recording, file, function, {"user": True, "library": False}[verdict]))
    return found


class Verdicts:
    """Which frames of one recording are the user's."""

    def __init__(self, table: list[Judgement], recording: str) -> None:
        self._table = [each for each in table if fnmatch.fnmatchcase(recording, each.recording)]
        # recordings have many more lines than functions
        self._known: dict[tuple[str, str], bool | None] = {}

    def of(self, row: FrameRow) -> bool | None:
        """Whether a frame is the user's; None if no row matches, or if it has no line."""
        file, line, function, _ = row
        if line <= 0:
            return None
        key = file.replace("\\", "/"), function
        if key not in self._known:
            self._known[key] = next((each.user for each in self._table if each.fits(*key)), None)
        return self._known[key]


def recordings() -> list[Path]:
    """All real files that may be recordings."""
    files = [*DATA.glob("torch/*"), *DATA.glob("profiles/**/*")]
    return sorted(
        file
        for file in files
        if file.is_file()
        and "make" not in file.parts
        and (file.suffix not in _OTHERS or file.name.startswith("dhat.out"))
    )


def by_stack(snapshot: Snapshot) -> np.ndarray:
    """Bytes live at the default device's peak, or a profile's default value, by stack."""
    found = np.zeros(len(snapshot.stacks.node), np.int64)
    match snapshot.info:
        case TimelineInfo():
            device = snapshot.device(snapshot.info.default_device)
            live = (device.start <= device.info.peak_moment) & (device.end > device.info.peak_moment)
            np.add.at(found, device.stack[live], device.size[live])
        case ProfileInfo():
            values = snapshot.samples.value[snapshot.info.default_value]
            np.add.at(found, snapshot.samples.stack, values)
        case GraphInfo():
            raise ValueError(f"{snapshot.info.kind} has no table of lines judged by hand")
        case _:
            assert_never(snapshot.info)
    return found


def measure(snapshot: Snapshot, recording: str, table: list[Judgement]) -> Measured:
    """The results for one recording."""
    rows = dict(enumerate(snapshot.frames.each()))
    verdicts = Verdicts(table, recording)
    amounts, labels = by_stack(snapshot), snapshot.stacks.label
    lines: Counter[Line] = Counter()
    frame_of: dict[Line, FrameRow] = {}
    named = missed = 0
    for stack in np.flatnonzero(amounts > 0).tolist():
        amount, label = int(amounts[stack]), int(labels[stack])
        row = rows.get(label)
        if row is not None and row[3] == USER:
            named += amount
            lines[row[0], row[1]] += amount
            frame_of.setdefault((row[0], row[1]), row)
        elif any(verdicts.of(rows[frame]) for frame in snapshot.stack_frame_ids(stack)):
            missed += amount
    top = [(line, amount, verdicts.of(frame_of[line])) for line, amount in lines.most_common(TOP)]
    return Measured(int(amounts[amounts > 0].sum()), named, top, missed)


def main() -> int:
    """Print one row per recording."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--lines", action="store_true", help="print the ten lines of each recording as well")
    options = parser.parse_args()
    table = judgements()
    unjudged = 0
    print(f"{'live':>10} {'named':>10} {'top ten':>10} {'theirs':>7} {'missed':>7}  recording")
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder), 1 << 40)
        for file in options.files or recordings():
            recording = str(file.relative_to(DATA)) if file.is_relative_to(DATA) else str(file)
            try:
                snapshot = Snapshot.open(ingest(file, cache, lambda *_: None))
            except MemlensError:
                continue  # a recording that Memlens doesn't read, or that needs a tool that isn't installed
            found = measure(snapshot, recording, table)
            snapshot.close()
            shown = sum(amount for _, amount, _ in found.top)
            theirs = sum(amount for _, amount, verdict in found.top if verdict)
            share = f"{theirs / shown:.1%}" if shown else "-"
            missed = f"{found.missed / found.whole:.1%}" if found.whole else "-"
            figures = (format_bytes(found.whole), format_bytes(found.named), format_bytes(shown))
            print(f"{'{:>10} {:>10} {:>10}'.format(*figures)} {share:>7} {missed:>7}  {recording}")
            for (name, line), amount, verdict in found.top:
                unjudged += verdict is None
                word = {True: "user", False: "library", None: "NOT JUDGED"}[verdict]
                if options.lines or verdict is None:
                    print(f"{'':22}{format_bytes(amount):>10} {word:>10}  {name}:{line}")
    return 1 if unjudged else 0


if __name__ == "__main__":
    sys.exit(main())
