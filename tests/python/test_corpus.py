"""Every member of the fuzzer's corpus, and the damage that a copy or a disk does to a file."""

import pickle
import random
import resource
import sys
import time
from pathlib import Path

import pytest
from tests.fuzz.targets import TARGETS
from tests.fuzz.targets import file as read
from tests.python.test_torch_reader import small

from memlens.server.handlers.views import QUESTIONS
from memlens.server.protocol import VIEW_REQUESTS

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
MEMBERS = sorted(path for path in CORPUS.rglob("*") if path.is_file())

MOST_S = 2.0
"""For one damaged file, on a machine that does nothing else; CI's may do much else, so ten times that."""


@pytest.mark.parametrize("member", MEMBERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_member_of_the_corpus_is_answered_or_refused(member: Path) -> None:
    assert TARGETS[member.parent.name](member.read_bytes())


def test_the_corpus_holds_files_that_open_and_files_that_do_not() -> None:
    words = {member.name: read(member.read_bytes()) for member in MEMBERS if member.parent.name == "file"}
    opened = {name for name, word in words.items() if word == "opened"}
    assert {"everything.pickle", "everything.json", "everything.html", "everything.pickle.zst"} <= opened
    assert words["evil.pickle"] == "UnsafePickleError"
    assert words["cut.pickle"] == "DamagedSnapshotError"


def test_every_question_has_its_parameters_in_the_contract() -> None:
    assert not set(QUESTIONS) - set(VIEW_REQUESTS)
    # what needs another snapshot or another thread is answered, and tested, elsewhere
    elsewhere = set(VIEW_REQUESTS) - set(QUESTIONS)
    assert all(method.startswith(("memlens/sql", "memlens/compare")) for method in elsewhere), elsewhere


@pytest.mark.slow
def test_a_file_cut_off_anywhere_is_refused_in_time_and_in_little_memory() -> None:
    data = pickle.dumps(small(), 4)
    places = sorted({*range(0, len(data), max(1, len(data) // 200))})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if sys.platform != "win32" else 0
    for place in places:
        started = time.perf_counter()
        word = read(data[:place])
        assert word != "opened", f"cut off at {place}, and nothing was said of it"
        assert time.perf_counter() - started < 10 * MOST_S
    if sys.platform == "linux":
        grown_bytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        assert grown_bytes < 1.5 * len(data) + 100e6, grown_bytes


@pytest.mark.slow
def test_a_byte_flipped_anywhere_is_survived() -> None:
    data = bytearray(pickle.dumps(small(), 4))
    chance = random.Random(5)
    words: dict[str, int] = {}
    for _ in range(150):
        place, bit = chance.randrange(len(data)), 1 << chance.randrange(8)
        data[place] ^= bit
        word = read(bytes(data))
        words[word] = words.get(word, 0) + 1
        data[place] ^= bit
    assert words.get("opened", 0) > 10, words
    assert sum(words.values()) - words.get("opened", 0) > 10, words
