"""Long questions to a snapshot, in a thread of their own."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types
from tests.python.heap_files import small_heap

from memlens.errors import CancelledError
from memlens.kernels.base.work import Work
from memlens.server.reporting import reported
from memlens.server.sessions.aside import Aside
from memlens.server.wire import reporting
from memlens.store.snapshot import Snapshot
from memlens.views.heap.retained.by_objects import retained_by
from memlens.views.heap.retained.by_type import retained_by_type
from memlens.views.heap.retained.cuts import cut
from memlens.views.heap.retained.left_out import OneObject

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


def test_how_far_a_question_is_goes_to_who_asked(heap_archive: Path) -> None:
    """As percentages that grow, in LSP's notifications, and only where the request has a token."""
    notified: list[tuple[object, ...]] = []
    seen = threading.Event()

    def notify(method: str, params: types.ProgressParams) -> None:
        assert params.value is not None
        percentage = getattr(params.value, "percentage", None)
        notified.append((method, params.token, params.value.kind, percentage))
        seen.set()

    def question(snapshot: Snapshot) -> int:
        # a small part of it is known at once, the answer comes when that was reported
        snapshot.work.within(0, 0.43)
        retained_by(snapshot, [0])
        assert seen.wait(LIMIT_S)
        return 7

    async def ask() -> None:
        aside = Aside(lambda: Snapshot.open(heap_archive))
        with reporting("token", "title", notify):
            assert await aside.ask(question) == 7
        assert [each[:3] for each in notified] == [
            (types.PROGRESS, "token", "begin"),
            (types.PROGRESS, "token", "report"),
            (types.PROGRESS, "token", "end"),
        ]
        percentage = notified[1][3]
        assert isinstance(percentage, int)
        assert 0 < percentage <= 43
        with reporting(None, "title", notify):
            await aside.ask(question)
        assert len(notified) == 3
        await aside.close()

    asyncio.run(ask())


def test_what_is_answered_at_once_is_not_reported() -> None:
    notified: list[object] = []
    with reporting(1, "title", lambda *each: notified.append(each)):
        assert reported.get() is not None
    assert reported.get() is None
    assert notified == []


def test_nothing_is_worked_out_that_is_no_longer_wanted(heap_archive: Path) -> None:
    snapshot = Snapshot.open(heap_archive)
    questions: tuple[Callable[[Snapshot], object], ...] = (
        lambda opened: retained_by(opened, [0]),
        lambda opened: retained_by_type(opened, 0),
        lambda opened: cut(opened, 3, 7),
        lambda opened: cut(opened, 3, 7, (OneObject(4),)),
    )
    try:
        snapshot.work.stop()
        for question in questions:
            with pytest.raises(CancelledError):
                snapshot.ask(question)
        assert not snapshot.verified
        # what was stopped isn't taken for an answer
        snapshot.work = Work()
        for question in questions:
            snapshot.ask(question)
    finally:
        snapshot.close()
