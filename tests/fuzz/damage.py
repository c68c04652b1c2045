"""What a copy or a disk does to a file: cut off anywhere, a bit turned over anywhere. Each is answered.

    npm run fuzz -- --damage [--cuts 200] [--flips 2000] [--out figures.json] [FILE …]

Files are damaged in memory and read in a child that is forked once for many of them; after each it says what came of
it, how long it took and how much memory it needed. A child that dies or hangs is a fault of that one file, and another
child continues after it.

What counts as a fault:

- the child died, by a bug or because an archive that was just made is called damaged, or took longer than ``MOST_S``;
- memory over 1.5 times what the undamaged file takes, and ``SPARE_BYTES``;
- a file cut off that opens as if nothing were missing;
- a bit turned over in a file with a checksum (gzip, zstd, zip) that opens with other content. Without a checksum nobody
  can distinguish a size of 1,024 from one of 1,025, and such a file has to open and answer, no more.
"""

import argparse
import contextlib
import faulthandler
import functools
import hashlib
import json
import os
import random
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec
from tests.fuzz.questions import ask_everything
from tests.fuzz.targets import quiet, scratch

from memlens.errors import MemlensError
from memlens.ingest import ingest
from memlens.model.info import GraphInfo
from memlens.store.files.cache import Cache
from memlens.store.manifest import ArchiveError
from memlens.store.snapshot import Snapshot

ROOT = Path(__file__).parents[2]
MOST_S = 2.0
"""Of processor time, for one damaged file of the size of a sample; a machine that does much else takes longer."""
HANGS_S = 60.0
SPARE_BYTES = 100e6


def is_checked(data: bytes) -> bool:
    """Whether the file carries a checksum of its content: gzip, zip, and zstd whose header says so (RFC 8878)."""
    return data.startswith((b"\x1f\x8b", b"PK\x03\x04")) or (
        data.startswith(b"\x28\xb5\x2f\xfd") and bool(data[4] & 4)
    )


@dataclass
class Tally:
    """What came of the damage to one file."""

    name: str
    size_bytes: int
    cuts: Counter[str] = field(default_factory=Counter)
    flips: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0
    most_bytes: int = 0
    """Resident memory over what the process had before, at most."""
    whole_bytes: int = 0
    """The same for the undamaged file."""
    whole_s: float = 0.0
    faults: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """How many damaged files were read."""
        return self.cuts.total() + self.flips.total()


class Known(NamedTuple):
    """What the undamaged file holds, and what it can't say."""

    content: bytes
    warnings: frozenset[tuple[str, int | None, str]]
    """Each by its code, its device and its English."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Known":
        """What there is in an open snapshot."""
        warnings = {(warning.code, warning.device, warning.message) for warning in snapshot.info.warnings}
        return cls(_content(snapshot), frozenset(warnings))


def _is_whole_message(data: bytes) -> bool:
    """Whether data ends with a field of protobuf, as a shorter file does: nothing says that there were more."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while at < len(data):
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
        at = len(data) + 1
        return 0

    while at < len(data):
        is_message = varint() & 7 == 2
        length = varint()
        at += length if is_message else 0
    return at == len(data)


class Outcome(msgspec.Struct):
    """One damaged file: the name of its error, or ``warned``, ``opened`` (other content, no new warning), ``same``."""

    word: str
    processor_s: float
    memory_bytes: int


def damage(name: str, data: bytes, cuts: int, flips: int, seed: int = 5, asked: int = 10) -> Tally:
    """Cut the file at ``cuts`` places and turn ``flips`` bits over, one at a time; every ``asked``-th is questioned."""
    tally = Tally(name, len(data))
    chance = random.Random(seed)
    with _opened(data) as snapshot:
        known = Known.of(snapshot)
    (whole,) = read_all([lambda: data], known, asked=1)
    if isinstance(whole, str) or whole.word != "same":
        raise ValueError(f"{name} does not open as it did before: {whole}")
    tally.whole_s, tally.whole_bytes = whole.processor_s, whole.memory_bytes
    checked = is_checked(data)
    places = sorted({round(i * len(data) / cuts) for i in range(cuts)}) if cuts else []
    turned = [(chance.randrange(len(data)), 1 << chance.randrange(8)) for _ in range(flips)]

    def cut(place: int) -> Callable[[], bytes]:
        return lambda: data[:place]

    def flip(place: int, bit: int) -> Callable[[], bytes]:
        def make() -> bytes:
            changed = bytearray(data)
            changed[place] ^= bit
            return bytes(changed)

        return make

    for place, outcome in zip(places, read_all([cut(p) for p in places], known, asked), strict=True):
        word = _judge(tally, f"cut off at byte {place:,}", outcome)
        tally.cuts[word] += 1
        if word == "opened" and not (name.endswith((".pb", ".pftrace")) and _is_whole_message(data[:place])):
            tally.faults.append(f"cut off at byte {place:,}, and nothing was reported")
    made = [flip(place, bit) for place, bit in turned]
    for (place, bit), outcome in zip(turned, read_all(made, known, asked), strict=True):
        word = _judge(tally, f"bit {bit:#04x} of byte {place:,} turned over", outcome)
        tally.flips[word] += 1
        if word == "opened" and checked:
            tally.faults.append(f"bit {bit:#04x} of byte {place:,} turned over, against the checksum")
    return tally


def _judge(tally: Tally, what: str, outcome: Outcome | str) -> str:
    if isinstance(outcome, str):
        tally.faults.append(f"{what}: {outcome}")
        return "fault"
    tally.longest_s = max(tally.longest_s, outcome.processor_s)
    tally.most_bytes = max(tally.most_bytes, outcome.memory_bytes)
    if outcome.processor_s > max(MOST_S, 4 * tally.whole_s):
        tally.faults.append(f"{what}: it took {outcome.processor_s:.1f} s")
    if outcome.memory_bytes > 1.5 * tally.whole_bytes + SPARE_BYTES:
        tally.faults.append(f"{what}: it took {outcome.memory_bytes / 1e6:.0f} MB")
    return outcome.word


def read_all(made: Sequence[Callable[[], bytes]], known: Known, asked: int) -> Iterator[Outcome | str]:
    """What came of each, in order; a sentence for one that ended its process. Every ``asked``-th is questioned."""
    at = 0
    while at < len(made):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            faulthandler.disable()  # how it ended is reported by who waits for it
            status = 1
            try:
                os.close(reading)
                _child(made[at:], known, asked, at, writing)
                status = 0
            except BaseException:
                os.write(2, traceback.format_exc().encode())  # the sentence says only that the process ended
                raise
            finally:
                os._exit(status)
        os.close(writing)
        reported = False
        try:
            for outcome in _answers(reading):
                yield outcome
                at += 1
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            yield f"it did not end within {HANGS_S:.0f} s"
            at += 1
            reported = True
        finally:
            os.close(reading)
            _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == 0 or reported:
            continue
        yield f"its process ended with {code}"
        at += 1


def _answers(reading: int) -> Iterator[Outcome]:
    kept = b""
    while True:
        ready, _, _ = select.select([reading], [], [], HANGS_S)
        if not ready:
            raise TimeoutError
        piece = os.read(reading, 65_536)
        if not piece:
            return
        *lines, kept = (kept + piece).split(b"\n")
        for line in lines:
            yield msgspec.json.decode(line, type=Outcome)


def _child(made: Sequence[Callable[[], bytes]], known: Known, asked: int, first: int, writing: int) -> None:
    for number, make in enumerate(made, first):
        data = make()
        before_bytes, started = _resident(), time.process_time()
        Path("/proc/self/clear_refs").write_text("5", "ascii")
        word = _word(data, known, number if number % asked == 0 else None)
        outcome = Outcome(word, time.process_time() - started, _most_resident() - before_bytes)
        os.write(writing, msgspec.json.encode(outcome) + b"\n")


def _word(data: bytes, known: Known, seed: int | None) -> str:
    try:
        with _opened(data) as snapshot:
            if seed is not None:
                ask_everything(snapshot, random.Random(seed))
            now = Known.of(snapshot)
            if now.content == known.content:
                return "same"
            return "warned" if now.warnings - known.warnings else "opened"
    except ArchiveError:
        raise  # nothing has damaged the archive, so the writer is wrong, or the reader
    except (MemlensError, MemoryError) as error:
        return type(error).__name__


@contextlib.contextmanager
def _opened(data: bytes) -> Iterator[Snapshot]:
    """A file of that content, read and open. Raises MemlensError."""
    with scratch() as folder:
        path = folder / "damaged"
        path.write_bytes(data)
        snapshot = Snapshot.open(ingest(path, Cache(folder / "cache"), quiet))
        try:
            yield snapshot
        finally:
            snapshot.close()


def _content(snapshot: Snapshot) -> bytes:
    """All that was read of a file, in short: equal for equal content."""
    digest = hashlib.blake2b()
    for name, column in sorted(snapshot.manifest.columns.items()):
        # an empty column has no file
        digest.update(
            name.encode() + b"\0" + ((snapshot.archive / name).read_bytes() if column.bytes else b"")
        )
    info = msgspec.structs.replace(snapshot.info, path="", file_bytes=0)
    if isinstance(info, GraphInfo) and info.allocations is not None:
        unplaced = msgspec.structs.replace(info.allocations, path="", file_bytes=0)
        info = msgspec.structs.replace(info, allocations=unplaced)
    digest.update(msgspec.json.encode(info))
    return digest.digest()


def _resident() -> int:
    import resource  # which Windows lacks

    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


def _most_resident() -> int:
    """Since it was last reset, by writing 5 to clear_refs (proc(5))."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def real_files() -> list[Path]:
    """The project's samples and seeds, and the real files beside the project, where they are."""
    seeds = Path(__file__).parent / "corpus" / "file"
    beside = Path(os.environ.get("MEMLENS_TEST_DATA", ROOT.parent / "shared" / "data"))
    found = [*ROOT.glob("samples/*.pickle"), *seeds.iterdir()]
    for folder in ("torch", "profiles"):
        found += [
            path for path in (beside / folder).rglob("*") if path.is_file() and "make" not in path.parts
        ]
    return sorted(path for path in found if path.stat().st_size)


def main(arguments: list[str]) -> int:
    """Damage files and print a table; 0 when there was no fault."""
    parser = argparse.ArgumentParser(
        prog="npm run fuzz -- --damage", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--flips", type=int, default=2_000)
    parser.add_argument("--out", type=Path, help="write every figure there as JSON")
    options = parser.parse_args(arguments)
    if not sys.platform.startswith("linux"):
        print("damage is measured on Linux alone", file=sys.stderr)
        return 1
    tallies = []
    # each copy takes 20 ms and more, so a file with the usual number of them takes most of a minute
    with ProcessPoolExecutor() as pool:
        one = functools.partial(_damaged, cuts=options.cuts, flips=options.flips)
        for tally in pool.map(one, options.files or real_files()):
            if tally is None:
                continue
            tallies.append(tally)
            print(row(tally), flush=True)
            for fault in tally.faults[:10]:
                print("    ", fault, flush=True)
    faults = sum(len(tally.faults) for tally in tallies)
    tried = sum(tally.tried for tally in tallies)
    print(f"{tried:,} damaged files of {len(tallies)} whole ones: {faults} faults")
    if options.out:
        options.out.write_text(json.dumps([vars(tally) for tally in tallies], indent=1))
    return bool(faults)


def _damaged(path: Path, *, cuts: int, flips: int) -> Tally | None:
    """What came of damage to a file; None for one that is no snapshot before it."""
    try:
        return damage(path.name, path.read_bytes(), cuts, flips)
    except MemlensError:
        return None


def row(tally: Tally) -> str:
    """A line of the table."""

    def counts(words: Counter[str]) -> str:
        known = {word: words[word] for word in ("warned", "opened", "same", "fault") if words[word]}
        reported = {"refused": words.total() - sum(known.values()), **known}
        return ", ".join(f"{count:,} {word}" for word, count in reported.items() if count)

    return (
        f"{tally.name} ({tally.size_bytes:,} bytes): cut off: {counts(tally.cuts)}; bits turned: {counts(tally.flips)};"
        f" at most {tally.longest_s:.2f} s and {tally.most_bytes / 1e6:.0f} MB"
        f" (whole: {tally.whole_s:.2f} s, {tally.whole_bytes / 1e6:.0f} MB); faults: {len(tally.faults)}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
