"""Cached results stay within their budget, and are measured as the interpreter measures them."""

import asyncio
import contextlib
import functools
import gc
import mmap
import random
import threading
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from tests.fuzz.questions import ask_everything, make
from tests.python.conftest import ROOT

from memlens import limits, result_cache
from memlens.errors import MemlensError
from memlens.result_cache import Budget, ResultCache, Uncounted, remembered, size_of
from memlens.server.handlers.views import QUESTIONS
from memlens.sources.finder import Finder
from memlens.store.bookmarks import bookmarks_file
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot


class Plain:
    def __init__(self) -> None:
        self.column = np.zeros(30_000)
        self.words = [f"word {number}" for number in range(500)]


@dataclass(slots=True)
class Slotted:
    column: Any
    more: dict[str, Any]


class Tuple(NamedTuple):
    column: Any
    text: str


class Record(msgspec.Struct, frozen=True):
    names: list[str]
    column: Any


def closure() -> Callable[[], Any]:
    column = np.ones(50_000)
    return lambda: column


def sliced() -> Any:
    whole = np.zeros(100_000, np.uint32)
    return [whole[:10], whole[5:].reshape(-1, 5), whole]


MADE: dict[str, Callable[[], Any]] = {
    "an array": lambda: np.zeros(100_000, np.int64),
    "slices of one array": sliced,
    "structured rows": lambda: np.zeros(5_000, [("a", "<u2"), ("b", "<f8")]),
    "a long dict": lambda: {
        number: (f"/file/{number}.py", number, "f" * (number % 50)) for number in range(40_000)
    },
    "a short dict of columns": lambda: {name: np.zeros(9_000) for name in "abcdef"},
    "a long list of texts": lambda: [str(number) * 20 for number in range(30_000)],
    "a set": lambda: {str(number) for number in range(10_000)},
    "an object": Plain,
    "slots": lambda: Slotted(np.zeros(7_000), {"x": bytes(10_000)}),
    "a named tuple": lambda: Tuple(np.zeros(7_000), "x" * 9_000),
    "a struct": lambda: Record([f"name {number}" for number in range(900)], np.zeros(3_000)),
    "what a function closes over": closure,
    "a partial": lambda: functools.partial(print, np.zeros(40_000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_a_size_is_what_the_interpreter_frees(name: str) -> None:
    tracemalloc.start()
    try:
        value = MADE[name]()
        size_bytes = size_of(value).bytes
        before = tracemalloc.get_traced_memory()[0]
        del value
        gc.collect()
        freed_bytes = before - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert freed_bytes > 30_000
    assert 0.85 * freed_bytes < size_bytes < 1.15 * freed_bytes + 2_000


def test_mapped_files_code_and_uncounted_objects_do_not_count(tmp_path: Path) -> None:
    class Owner(Uncounted):
        def __init__(self) -> None:
            self.column = np.zeros(100_000)

        def method(self) -> None:
            pass

    (tmp_path / "column").write_bytes(bytes(800_000))
    with (tmp_path / "column").open("rb") as file:
        column = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.int64)
    for value in (
        column,
        column[7:].reshape(-1, 1),
        {"of": Owner()},
        Owner,
        np,
        lambda: Owner,
        [Owner().method],
    ):
        assert size_of(value).bytes < 2_000


def test_an_array_in_two_values_counts_once() -> None:
    budget = Budget(10_000_000)
    one, two = ResultCache(budget), ResultCache(budget)
    column = np.zeros(100_000)
    one.put("a", (column, 1))
    two.put("b", [column[:50]])
    two.put("c", {"c": column})
    assert 800_000 < budget.size_bytes < 802_000
    one.clear()
    two.drop(lambda key: key == "c")
    assert 800_000 < budget.size_bytes < 802_000
    two.clear()
    assert budget.size_bytes == 0


def test_a_result_shared_by_others_counts_once_while_they_exist() -> None:
    budget = Budget(10_000_000)
    some = ResultCache(budget)
    words = {number: f"word {number}" for number in range(40)}
    alone = size_of(words).bytes
    some.put("words", words)
    for number in range(5):
        some.put(number, (words, number))
    assert alone < budget.size_bytes < alone + 5 * 100
    some.drop(lambda key: key == "words")
    assert alone < budget.size_bytes < alone + 5 * 100
    some.drop(lambda key: key != 3)
    assert alone < budget.size_bytes < alone + 100


def test_a_growing_result_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(1_000_000)
    some = ResultCache(budget)
    grown: list[Any] = []
    some.put("old", np.zeros(10_000))
    some.put("growing", grown)
    assert budget.size_bytes < 100_000
    some.find("growing").append(np.zeros(120_000))
    some.put("another", 1)
    # not for each new result, because measuring takes time
    assert budget.size_bytes < 100_000
    monkeypatch.setattr(result_cache, "_AGAIN_S", 0)
    some.find("growing")
    some.put("another", 2)
    assert budget.size_bytes < 1_000_000
    assert some.find("old") is None
    assert some.find("growing") is grown
    # a result that exceeds the whole budget stays until the next one is added
    some.find("growing").append(np.zeros(120_000))
    some.measure()
    assert some.find("growing") is grown
    assert len(some) == 1
    some.put("another", 1)
    assert some.find("growing") is None


def test_the_least_recently_used_results_are_dropped_beyond_the_budget() -> None:
    """Against a list of all uses in order."""
    chance = random.Random(4)
    budget = Budget(100_000)
    members = [ResultCache(budget) for _ in range(4)]
    held: dict[tuple[int, int], int] = {}
    used, used_member = dict[tuple[int, int], int](), dict[int, int]()
    overhead = size_of(np.zeros(0, np.uint8)).bytes
    for now in range(3_000):
        member, key = chance.randrange(4), chance.randrange(12)
        place = (member, key)
        size = chance.choice((0, 500, 5_000, 20_000, 60_000, 150_000))
        used_member[member] = now
        value = members[member].find(key)
        assert (value is not None) == (place in held)
        if value is None:
            members[member].put(key, np.zeros(size, np.uint8))
            held[place] = size + overhead
        used[place] = now
        while sum(held.values()) > budget.most_bytes and len(held) > 1:
            first = min({each for each, _ in held}, key=lambda each: used_member[each])
            del held[min((each for each in held if each[0] == first), key=lambda each: used[each])]
        assert budget.size_bytes == sum(held.values())
        assert budget.size_bytes <= budget.most_bytes or len(held) == 1
        assert [len(each) for each in members] == [
            sum(one == number for one, _ in held) for number in range(4)
        ]


def test_threads_share_a_budget() -> None:
    budget = Budget(300_000)

    def work(number: int) -> None:
        chance = random.Random(number)
        some = ResultCache(budget)
        for _ in range(400):
            key = chance.randrange(20)
            column = some.get(key, lambda key=key: np.full(chance.randrange(9_000), key))
            assert bool((column == key).all())
            if number == 0 and chance.random() < 0.02:
                some.clear()
        members.append(some)

    members: list[ResultCache] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(members) == 4
    assert 0 < budget.size_bytes <= budget.most_bytes


def answers(snapshot: Snapshot, seed: int, *, check: Callable[[], None] = lambda: None) -> list[bytes]:
    chance, found = random.Random(seed), []
    for _ in range(3):
        for question in QUESTIONS.values():
            params = make(question.params, snapshot.info, chance)
            if params is None:
                continue
            with contextlib.suppress(MemlensError):
                found.append(
                    msgspec.json.encode(snapshot.ask(functools.partial(asked, question.ask, params)))
                )
            snapshot.ask(Snapshot.work_in_background)
            check()
    return found


def asked(ask: Callable[[Snapshot, Any], Any], params: Any, snapshot: Snapshot) -> Any:
    return ask(snapshot, params)


@pytest.mark.parametrize("name", ["train.pickle", "words.pb.gz"])
def test_a_snapshot_gives_the_same_answers_with_hardly_any_cache(
    name: str, opened: Callable[[Path], Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = opened(ROOT / "samples" / name)
    ask_everything(snapshot, random.Random(1))
    snapshot.work_in_background()
    # some questions write bookmarks: both begin without any
    bookmarks_file(snapshot).unlink(missing_ok=True)
    with contextlib.closing(Snapshot.open(snapshot.archive)) as rich:
        expected = answers(rich, 7)
    bookmarks_file(snapshot).unlink(missing_ok=True)
    snapshot.close()
    assert len(expected) > 8
    most = 200_000
    monkeypatch.setattr(result_cache, "SHARED", Budget(most))

    def check() -> None:
        assert result_cache.SHARED.size_bytes <= most or len(poor._kept) == 1

    with contextlib.closing(Snapshot.open(snapshot.archive)) as poor:
        assert answers(poor, 7, check=check) == expected


@pytest.mark.slow
def test_a_snapshot_s_cache_is_measured_exactly(opened: Callable[[Path], Snapshot], sample: Path) -> None:
    snapshot = opened(sample)
    ask_everything(snapshot, random.Random(1))
    snapshot.close()
    with contextlib.closing(Snapshot.open(snapshot.archive)) as measured:
        tracemalloc.start()
        try:
            ask_everything(measured, random.Random(2), 4)
            measured.background.clear()
            measured._kept.measure()
            measured._devices.clear()
            measured._holders.clear()
            gc.collect()
            size_bytes = result_cache.SHARED.size_bytes
            before = tracemalloc.get_traced_memory()[0]
            measured._kept.clear()
            gc.collect()
            freed_bytes = before - tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    assert freed_bytes > 1_000_000
    # what kernels allocate for arrays is not traced
    assert 0.9 * freed_bytes < size_bytes < 1.3 * freed_bytes


def test_a_kept_function_is_called_once_for_the_same_arguments_however_they_are_passed(
    opened: Callable[[Path], Snapshot], sample: Path
) -> None:
    snapshot, calls = opened(sample), list[tuple[int, str]]()

    @kept
    def asked(snapshot: Snapshot, device: int, text: str = "") -> tuple[int, str]:
        calls.append((device, text))
        return calls[-1]

    for _ in range(2):
        assert asked(snapshot, 0) == asked(snapshot, 0, "") == asked(snapshot, text="", device=0) == (0, "")
        assert asked(snapshot, 1) == (1, "")
    assert calls == [(0, ""), (1, "")]
    assert asked.is_known(snapshot, 0)
    snapshot.forget(0)
    assert (asked.is_known(snapshot, 0), asked.is_known(snapshot, 1)) == (False, True)


def test_a_function_caches_only_short_texts() -> None:
    asked_for: list[str] = []

    @remembered(2)
    def length(text: str, *, twice: bool = False) -> int:
        asked_for.append(text)
        return len(text) * (1 + twice)

    long = "x" * 20_000
    assert [length("a"), length("a"), length("a", twice=True), length(long), length(long)] == [
        1,
        1,
        2,
        20_000,
        20_000,
    ]
    assert asked_for == ["a", "a", long, long]
    length("b")
    length("c")
    length("a")
    assert asked_for[4:] == ["b", "c", "a"]


@pytest.mark.slow
def test_found_files_take_a_limited_amount_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    async def paths(names: list[str], _ending: str) -> list[str]:
        return [f"/{'x' * 4_000}{number}/{name}" for name in names for number in range(10)]

    async def search() -> int:
        finder = Finder()
        finder.ask_client = paths
        tracemalloc.start()
        try:
            for start in range(0, 2_000, 500):
                names = [f"file{number}.py" for number in range(start, start + 500)]
                found = await finder.find(names)
                assert {name: len(each) for name, each in found.items()} == dict.fromkeys(names, 10)
            del found
            before = tracemalloc.get_traced_memory()[0]
            finder.forget()
            return before - tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    assert 0.8 * limits.FOUND_FILES_BYTES < asyncio.run(search()) < 1.05 * limits.FOUND_FILES_BYTES
