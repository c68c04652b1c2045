"""A child process that answers the SQL queries of one archive, and that is killed if it doesn't stop.

SQLite notices an interrupt only between some steps of a query's program: one step may sort millions of rows, and a row
may be made of hundreds of functions, each of which looks for one text of a million characters in another.
"""

import asyncio
import contextlib
import logging
import os
from pathlib import Path
from typing import TypeVar

import numpy as np

from memlens.arrays import Mask
from memlens.child import IngestError, command, explain, oom_kills
from memlens.server.sessions.children import Work, kill, running, start, tail
from memlens.store.manifest import ArchiveError, ContradictionError, InconsistentError
from memlens.store.tables.schema import Part
from memlens.texts import phrase
from memlens.views.sql.messages import (
    LENGTH_BYTES,
    Answer,
    AskNeeds,
    AskObjects,
    AskPage,
    Failed,
    Needs,
    Objects,
    Page,
    Question,
    Stop,
    decode_answer,
    encoded,
)
from memlens.views.sql.pages import SqlAnswer, SqlError, SqlSort

logger = logging.getLogger(__name__)

T = TypeVar("T", Needs, Page, Objects)

GRACE_S = 0.5
"""How long a query may take to notice that it is to stop, before its process is killed."""


class QueryProcess:
    """Answers one question at a time. For the event loop's thread only."""

    def __init__(self, child: asyncio.subprocess.Process, work: Work) -> None:
        self._child = child
        self._work = work
        self._killed_before = oom_kills()
        self._errors = asyncio.ensure_future(tail(child.stderr))
        self._stopping: asyncio.Task[None] | None = None
        self._kept: tuple[str, int, SqlSort | None] | None = None
        self._closed = False
        running[child] = work

    @classmethod
    async def start(cls, archive: Path, options: list[str]) -> "QueryProcess":
        """Start one. Raises IngestError."""
        own = ("--background", "--parent", str(os.getpid()), *options)
        child = await start(command("queries", *own, str(archive)), listens=True)
        return cls(child, Work(phrase("query"), archive, lambda _pid: None))

    @property
    def has_more(self) -> bool:
        """Whether it keeps a query that has more rows."""
        return self._kept is not None

    @property
    def is_usable(self) -> bool:
        """Whether it can be asked again."""
        return not self._closed and self._child.returncode is None

    def continues(self, query: str, offset: int, sort: SqlSort | None) -> bool:
        """Whether :meth:`page` for these rows would continue where the last page ended."""
        return self._kept == (query, offset, sort)

    async def needs(self, query: str, sort: SqlSort | None) -> tuple[Part, ...]:
        """As :meth:`SqlSession.needs`. Cancelling this or a further question ends the query, or its process.

        All raise SqlError, ArchiveError, IngestError, and InconsistentError for an archive that contradicts itself.
        """
        return (await self._ask(AskNeeds(query, sort), Needs)).parts

    async def page(
        self, parts: tuple[Part, ...], query: str, offset: int, limit: int, sort: SqlSort | None
    ) -> SqlAnswer:
        """As :meth:`SqlSession.ask`; the query may read the tables of ``parts``."""
        self._kept = None
        answer = (await self._ask(AskPage(parts, query, offset, limit, sort), Page)).answer
        if answer.more:
            self._kept = (query, offset + len(answer.rows), sort)
        return answer

    async def objects(self, parts: tuple[Part, ...], query: str) -> Mask:
        """As :meth:`SqlSession.objects`."""
        self._kept = None
        found = await self._ask(AskObjects(parts, query), Objects)
        bits = np.frombuffer(found.bits, np.uint8)
        return np.unpackbits(bits, count=found.count, bitorder="little").view(np.bool_)

    def kill(self) -> None:
        """End it at once; a pending question fails."""
        self._closed = True
        kill(self._child)

    async def ended(self) -> None:
        """Wait until it has ended after :meth:`kill`."""
        if self._stopping is not None:
            await asyncio.wait([self._stopping])
        await self._child.wait()
        await self._errors
        running.pop(self._child, None)

    async def _ask(self, question: Question, kind: type[T]) -> T:
        answering = asyncio.ensure_future(self._answered(question))
        try:
            answer = await asyncio.shield(answering)
        except asyncio.CancelledError:
            # shielded: a second cancellation must not leave a query behind
            self._stopping = asyncio.ensure_future(self._stop(answering))
            await asyncio.shield(self._stopping)
            raise
        match answer:
            case Failed(problem) if problem.code == SqlError.code:
                raise SqlError(problem.message, offset=problem.offset, advice=problem.advice)
            case Failed(problem) if problem.code == ArchiveError.code:
                raise ArchiveError(problem.message)
            case Failed(problem) if problem.code == ContradictionError.code:
                raise InconsistentError(problem.message.text)
            case Failed(problem):
                raise IngestError(problem)
        if not isinstance(answer, kind):
            raise TypeError(f"{type(answer).__name__} is no answer to {type(question).__name__}")
        return answer

    async def _answered(self, question: Question) -> Answer:
        try:
            self._write(question)
            length = await _of(self._child.stdout).readexactly(LENGTH_BYTES)
            body = await _of(self._child.stdout).readexactly(int.from_bytes(length))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            if self._closed:
                raise SqlError(phrase("The query was cancelled")) from error
            self.kill()
            status = await self._child.wait()
            errors = await self._errors
            logger.warning("the query's process ended with %s: %s", status, errors)
            oom_killed = oom_kills() > self._killed_before
            raise IngestError(explain(self._work.name, status, errors, oom_killed=oom_killed)) from error
        answer: Answer = decode_answer(body)
        return answer

    async def _stop(self, answering: asyncio.Future[Answer]) -> None:
        """End the query, gently first: a process that stays needn't be started again for the next one."""
        with contextlib.suppress(ConnectionError):
            self._write(Stop())
        await asyncio.wait([answering], timeout=GRACE_S)
        if not answering.done():
            self.kill()
            await asyncio.wait([answering])
        # nothing waits for it any more
        answering.exception()

    def _write(self, message: Question | Stop) -> None:
        if self._child.stdin is None:
            raise ConnectionError
        self._child.stdin.write(encoded(message))


def _of(stream: asyncio.StreamReader | None) -> asyncio.StreamReader:
    if stream is None:
        raise ConnectionError
    return stream
