"""Long questions to a snapshot, in a thread of their own."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.python.heap_files import small_heap

from memlens.errors import CancelledError
from memlens.server.sessions.aside import Aside
from memlens.store.snapshot import Snapshot
from memlens.views.graph.retained import retained_by

LIMIT_S = 30.0


@pytest.fixture
def heap_archive(opened: Callable[[Path], Snapshot], tmp_path: Path) -> Path:
    path = tmp_path / "small.heapsnapshot"
    path.write_bytes(small_heap().data())
    return opened(path).archive


def _until_stopped(began: threading.Event, ended: list[bool]) -> Callable[[Snapshot], None]:
    """A question that ends only when it is stopped."""

    def question(snapshot: Snapshot) -> None:
        began.set()
        pause = threading.Event()
        for _ in range(int(LIMIT_S / 0.01)):
            if snapshot.work.is_stopped:
                break
            pause.wait(0.01)
        ended.append(snapshot.work.is_stopped)

    return question


def test_a_cancelled_question_is_stopped_and_the_next_is_answered(heap_archive: Path) -> None:
    async def ask() -> None:
        aside, began, ended = Aside(lambda: Snapshot.open(heap_archive)), threading.Event(), list[bool]()
        asked = asyncio.create_task(aside.ask(_until_stopped(began, ended)))
        assert await asyncio.to_thread(began.wait, LIMIT_S)
        asked.cancel()
        answer = await aside.ask(lambda snapshot: retained_by(snapshot, [0]))
        assert answer.chosen == 1
        assert ended == [True]
        assert asked.cancelled()
        await aside.close()

    asyncio.run(ask())


def test_closing_stops_questions(heap_archive: Path) -> None:
    async def ask() -> None:
        aside, began, ended = Aside(lambda: Snapshot.open(heap_archive)), threading.Event(), list[bool]()
        first = asyncio.create_task(aside.ask(_until_stopped(began, ended)))
        second = asyncio.create_task(aside.ask(lambda snapshot: retained_by(snapshot, [0])))
        assert await asyncio.to_thread(began.wait, LIMIT_S)
        await aside.close()
        await first
        assert ended == [True]
        with pytest.raises(CancelledError):
            await second

    asyncio.run(ask())


def test_what_objects_retain_is_not_worked_out_when_it_is_no_longer_wanted(heap_archive: Path) -> None:
    snapshot = Snapshot.open(heap_archive)
    try:
        snapshot.work.stop()
        with pytest.raises(CancelledError):
            snapshot.ask(lambda opened: retained_by(opened, [0]))
        assert not snapshot.verified
    finally:
        snapshot.close()
