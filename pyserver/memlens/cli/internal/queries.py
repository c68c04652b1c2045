"""Answer a server's SQL queries on an archive, in a process that the server can kill.

It reads :mod:`memlens.views.sql.messages` from stdin and writes them to stdout, one question at a time. It ends with
stdin.
"""

import argparse
import os
import queue
import sys
import threading
from pathlib import Path
from typing import BinaryIO, assert_never

import numpy as np

from memlens import limits
from memlens.cli.ask import libraries_of
from memlens.cli.failures import problem_of
from memlens.cli.options import add_archive
from memlens.cli.output import say_traceback
from memlens.model.own_libraries import Libraries
from memlens.store.manifest import CONTRADICTIONS, ContradictionError
from memlens.store.relabel import open_with
from memlens.views.sql.messages import (
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
    encoded,
    read_asked,
)
from memlens.views.sql.query import SqlSession


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_archive(command)


def run(options: argparse.Namespace) -> int:
    if options.parent and sys.platform == "linux":
        limits.end_with(options.parent)
    if options.background:
        limits.lower_priority()
    limits.share_one_heap()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # whatever else is printed can't garble them
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    inbox = _Inbox(sys.stdin.buffer)
    sessions = _Sessions(options.archive, libraries_of(options), inbox)
    while True:
        question = inbox.next()
        try:
            answer = sessions.answer(question)
        except CONTRADICTIONS as error:
            # whether the archive or Memlens is to blame, the server knows
            say_traceback(error)
            answer = Failed(ContradictionError(error).problem())
        except Exception as error:  # noqa: BLE001 - every error is an answer
            problem = problem_of(error)
            if problem.code == "internal":
                say_traceback(error)
            answer = Failed(problem)
        answers.write(encoded(answer))
        answers.flush()


class _Inbox:
    """Reads questions in a thread of its own, so that a query that runs can be stopped."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._questions: queue.SimpleQueue[Question] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: tuple[threading.Event, SqlSession] | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Question:
        return self._questions.get()

    def begin(self, session: SqlSession) -> threading.Event:
        """The event that stops what the session does next."""
        stop = threading.Event()
        with self._lock:
            self._running = stop, session
        return stop

    def end(self) -> None:
        with self._lock:
            self._running = None

    def _read(self) -> None:
        while (asked := read_asked(self._stream)) is not None:
            if isinstance(asked, Stop):
                with self._lock:
                    if self._running is not None:
                        stop, session = self._running
                        stop.set()
                        session.interrupt()
            else:
                self._questions.put(asked)
        # the server is gone, and the query may not notice an interrupt
        os._exit(0)


class _Sessions:
    """One session with the tables, and one that only knows their names."""

    def __init__(self, archive: Path, libraries: Libraries, inbox: _Inbox) -> None:
        self._archive = archive
        self._libraries = libraries
        self._inbox = inbox
        self._names: SqlSession | None = None
        self._session: SqlSession | None = None

    def answer(self, question: Question) -> Answer:
        match question:
            case AskNeeds(query, sort):
                if self._names is None:
                    self._names = SqlSession(open_with(self._archive, self._libraries), names_only=True)
                return Needs(self._names.needs(query, sort))
            case AskPage(parts, query, offset, limit, sort):
                session = self._with(parts)
                stop = self._inbox.begin(session)
                try:
                    return Page(session.ask(query, offset, limit, sort, stop))
                finally:
                    self._inbox.end()
            case AskObjects(parts, query):
                session = self._with(parts)
                stop = self._inbox.begin(session)
                try:
                    mask = session.objects(query, stop)
                finally:
                    self._inbox.end()
                return Objects(len(mask), np.packbits(mask, bitorder="little").tobytes())
            case _:
                assert_never(question)

    def _with(self, parts: tuple[str, ...]) -> SqlSession:
        """The session, opened again if these tables are newer."""
        if self._session is not None and not set(parts) <= set(self._session.parts):
            self._session.close()
            self._session = None
        if self._session is None:
            self._session = SqlSession(open_with(self._archive, self._libraries))
        return self._session
