"""Every member of the fuzzer's corpus, and files damaged as by a copy or a disk."""

import os
import pickle
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import zstandard
from tests.fuzz import properties
from tests.fuzz.damage import Known, damage, is_checked, read_all
from tests.fuzz.seeds import CORPUS
from tests.fuzz.seeds import seeds as make_seeds
from tests.fuzz.targets import TARGETS
from tests.fuzz.targets import file as read
from tests.python.graph_reading import load, outcome
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.packs.pytorch.tests.test_torch_reader import small
from memlens.server.app import create_server
from memlens.server.handlers.views import QUESTIONS
from memlens.server.wire import REQUESTS

MEMBERS = sorted(path for path in CORPUS.rglob("*") if path.is_file())
WORDS = {
    **dict.fromkeys(
        ("everything.pickle", "everything.json", "everything.html", "everything.pickle.zst"), "opened"
    ),
    "evil.pickle": "UnsafePickleError",
    "cut.pickle": "DamagedSnapshotError",
}
"""What comes of some files."""


@pytest.mark.slow
@pytest.mark.parametrize("member", MEMBERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_member_of_the_corpus_is_answered_or_refused(member: Path) -> None:
    word = TARGETS[member.parent.name](member.read_bytes())
    assert word
    if member.parent.name == "file":
        assert word == WORDS.get(member.name, word)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_members_with_permuted_parts_are_answered_or_refused(target: str) -> None:
    properties.check(target, tries(40))


def test_seeds_are_current() -> None:
    stale = [
        name
        for name, data in make_seeds().items()
        if not (CORPUS / name).is_file()
        # compressed ones depend on the version of the compression library
        or (not name.endswith((".gz", ".zst")) and (CORPUS / name).read_bytes() != data)
    ]
    assert not stale, "write them again: python -m tests.fuzz.seeds"


def test_the_corpus_holds_files_that_open_and_files_that_do_not() -> None:
    assert WORDS.keys() <= {member.name for member in MEMBERS if member.parent.name == "file"}


def test_every_question_has_its_parameters_in_the_contract() -> None:
    create_server()
    of_view = {method for method, request in REQUESTS.items() if request.of_view}
    assert not set(QUESTIONS) - of_view
    # requests that need another snapshot, a source file or another thread are tested elsewhere
    tested_elsewhere = (
        "memlens/sql", "memlens/compare", "memlens/heapSeries", "memlens/heapAt",
        "memlens/findingsState", "memlens/seriesSql",
    )  # fmt: skip
    assert all(method.startswith(tested_elsewhere) for method in of_view - set(QUESTIONS))


def damaged(name: str) -> bytes:
    """A whole file of a kind, to be damaged."""
    plain = pickle.dumps(small(), 4)
    if name == "checked.pickle.zst":
        return zstandard.ZstdCompressor(write_checksum=True).compress(plain)
    return (CORPUS / "file" / name).read_bytes()


OPENING = [path.name for path in MEMBERS if path.parent.name == "file" and path.suffix != ""]
REFUSED = ("cut.pickle", "evil.pickle", "header.memray.bin")
"""Files that are refused whole."""


REPEATED = (
    "everything.pickle.gz", "misaligned.json", "protocol2.pickle", "protocol5.pickle", "ranks.pickle",
    "segments.pickle", "profile.pb.gz", "images.hprof", "native.hprof", "both.pftrace", "example.pftrace",
    "sessions.jfr.zst", "everything.pickle.zst", "scopes.heapsnapshot",
)  # fmt: skip
"""Others are of the same format."""


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="files are read in forked children there")


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] if name in REPEATED else [])
        for name in [*OPENING, "checked.pickle.zst"]
        if name not in REFUSED
    ],
)
def test_a_file_that_is_truncated_or_has_a_flipped_bit_is_reported_or_answers(name: str) -> None:
    data = damaged(name)
    assert read(data) == "opened"
    # enough to reach each part of a file; `npm run fuzz -- --damage` tries thousands
    cuts, flips = map(tries, (80, 80) if name == "everything.pickle" else (20, 30))
    tally = damage(name, data, cuts, flips)
    assert not tally.faults, tally.faults
    assert tally.flips.total() == flips
    # a truncated file always lacks something
    assert tally.cuts.total() == min(cuts, len(data))
    assert not tally.cuts["same"] + tally.cuts["opened"] or name.endswith(".html"), tally.cuts
    if is_checked(data):
        assert not tally.flips["opened"] + tally.flips["warned"], tally.flips


DUMPS = [
    f"small.{kind}" for kind in ("heapsnapshot", "hprof", "gcdump", "pftrace", "ruby.json", "pyheap", "heap")
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *(name for name in DUMPS if name != "small.heapsnapshot"),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("native.hprof", "images.hprof")),
    ],
)
def test_a_heap_dump_truncated_or_with_a_flipped_bit(name: str, tmp_path: Path) -> None:
    """By its reader alone: a graph whose numbers are all within bounds, or a sentence."""
    data = (CORPUS / "file" / name).read_bytes()
    path, chance = tmp_path / name, random.Random(15)
    path.write_bytes(data)
    known = {warning.code for warning in load(path).warnings}
    # none of these is the end of a record, after which a dump of Ruby looks whole
    for place in {round(number * len(data) / 100) for number in range(0, 100, round(100 / tries(100)))}:
        path.write_bytes(data[:place])
        try:
            graph = load(path)
        except MemlensError:
            continue
        # the last bytes of a .gcdump say where its parts begin, which nothing needs
        if name != "small.gcdump" or place < len(data) - 14:
            assert {warning.code for warning in graph.warnings} - known, (
                f"a cut is not reported at byte {place}"
            )
        assert len(graph.objects) > 0
    opened = 0
    for _ in range(tries(600)):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        opened += outcome(path, bytes(changed)) == ""
    assert 0 < opened < tries(600)


def test_two_heap_dumps_spliced(tmp_path: Path) -> None:
    """The beginning of one and the end of another, of the same and of different formats."""
    path, chance = tmp_path / "spliced", random.Random(16)
    whole = [(CORPUS / "file" / name).read_bytes() for name in DUMPS]
    refused = 0
    for first in whole:
        for second in whole:
            for _ in range(4):
                data = first[: chance.randrange(64, len(first))] + second[chance.randrange(len(second)) :]
                refused += outcome(path, data) != ""
            # one after the other
            refused += outcome(path, first + second) != ""
    assert 50 < refused < 180


@pytest.mark.slow
@LINUX
def test_a_crash_or_a_hang_is_a_failure_of_that_file_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes, *_: object) -> str:
        if data == b"dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        if data == b"killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if data == b"hangs":
            time.sleep(60)
        return data.decode()

    monkeypatch.setattr("tests.fuzz.damage._word", broken)
    monkeypatch.setattr("tests.fuzz.damage.HANGS_S", 1.0)
    files = [b"first", b"dies", b"between", b"hangs", b"killed", b"dies", b"last"]
    made = [partial(bytes, data) for data in files]
    outcomes = read_all(made, Known(b"", frozenset()), 10)
    words = [outcome if isinstance(outcome, str) else outcome.word for outcome in outcomes]
    died = "its process ended with -11"
    assert words == [
        "first",
        died,
        "between",
        "it did not end within 1 s",
        "its process ended with -9",
        died,
        "last",
    ]
