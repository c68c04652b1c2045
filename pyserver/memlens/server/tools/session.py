"""Calls of tools: arguments are checked, files opened for as long as they are needed, errors become sentences."""

import logging
import uuid
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from memlens.errors import BadRequestError, MemlensError, Problem
from memlens.project import bug_advice
from memlens.server.sessions.children import ProgressListener
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Registry
from memlens.server.tools.comparing import SeveralFiles
from memlens.server.tools.parameters import (
    CallsArguments,
    CompareArguments,
    SeriesArguments,
    WhatIfArguments,
    given,
)
from memlens.server.tools.permissions import Permissions
from memlens.server.tools.quoting import NOTE, spoken
from memlens.server.tools.reading import written
from memlens.server.tools.table import TOOLS
from memlens.server.tools.touching import local
from memlens.store.models import LackingError
from memlens.texts import Text, own_words, phrase
from memlens.views.heap.filters.filters import files_in, without_contents
from memlens.views.heap.objects.same_objects import file_named

logger = logging.getLogger(__name__)


class Answer(NamedTuple):
    """What a model gets: JSON, or a sentence that says what went wrong and what to do."""

    text: str
    is_error: bool


class Session:
    """The tools on a registry's snapshots. For the event loop's thread only.

    ``permissions`` say what may be read, all if None. ``most_kept`` files stay open after a call, the last ones that
    were asked about, for a server that has no views.
    """

    def __init__(
        self, registry: Registry, most_kept: int = 0, permissions: Permissions | None = None
    ) -> None:
        self._registry = registry
        self._permissions = permissions or Permissions()
        self._most_kept = most_kept
        self._kept: dict[str, tuple[str, str]] = {}
        """Names and views of the snapshots that stay open, by path; the last one asked about last."""
        self._several = SeveralFiles(registry)

    async def call(self, name: str, arguments: Any, on_progress: ProgressListener) -> Answer:
        """Answer a tool of :data:`TOOLS`. Cancelling this ends the work."""
        try:
            asked = checked(name, arguments)
            return Answer(written(await self._answered(name, asked, on_progress)), is_error=False)
        except LackingError as error:
            return _failed(error.to(own_words(name)).problem())
        except MemlensError as error:
            return _failed(error.problem())
        except Exception as error:
            logger.exception("%s failed", name)
            what = f"{type(error).__name__}: {error}"
            message = phrase("Internal error ({what})", what=what)
            return _failed(Problem("internal", message, bug_advice()))

    async def close(self) -> None:
        """Close the files that are kept open."""
        while self._kept:
            _, kept = self._kept.popitem()
            await self._registry.close(*kept)

    async def _answered(self, name: str, asked: Any, on_progress: ProgressListener) -> Any:
        async with AsyncExitStack() as stack:

            async def opened(path: str) -> OpenSnapshot:
                view = f"tool {uuid.uuid4().hex}"
                whole = self._permissions.whole(local(path))
                self._permissions.check_file(whole)
                found = await self._registry.open(whole, view, on_progress)
                stack.push_async_callback(self._put_back, found, view)
                # a link may have led elsewhere by the time that it was opened
                self._permissions.check_opened(whole, str(found.file))
                return found

            async def named_in_filters(own: OpenSnapshot, asked: Any) -> None:
                # its own file says what they are relative to
                texts = (
                    [getattr(asked, name, "") for name in ("filter", "of")]
                    if own.info.model == "graph"
                    else []
                )
                for text in texts:
                    for value in files_in(text):
                        await opened(str(file_named(value, own.file)))

            self._permissions.check(asked)
            if isinstance(asked, CompareArguments):
                before = await opened(asked.before)
                after = await opened(_named(given(asked.after), "after"))
                for each in (before, after):
                    await named_in_filters(each, asked)
                return await self._several.compare(before, after, _seen(asked, before))
            if isinstance(asked, SeriesArguments):
                every = [await opened(_named(path, "paths")) for path in asked.paths]
                for each in every:
                    await named_in_filters(each, asked)
                return await self._several.series(every, _seen(asked, every[0]))
            own = await opened(_named(given(asked.path), "path"))
            await named_in_filters(own, asked)
            if isinstance(asked, WhatIfArguments) and (beside := given(asked.beside)):
                return await TOOLS[name].answer(own, asked, await opened(beside))
            return await TOOLS[name].answer(own, _seen(asked, own))

    async def _put_back(self, opened: OpenSnapshot, view: str) -> None:
        """Close a file after a call, or keep it open in place of the one that wasn't asked about for longest."""
        former = self._kept.pop(opened.path, None)
        self._kept[opened.path] = (opened.name, view)
        closing = [] if former is None else [former]
        while len(self._kept) > self._most_kept:
            closing.append(self._kept.pop(next(iter(self._kept))))
        for each in closing:
            await self._registry.close(*each)


def _seen(asked: Any, opened: OpenSnapshot) -> Any:
    """The arguments for a file: unless contents are asked for, filters in which these match nothing."""
    if opened.info.model != "graph" or getattr(asked, "values", False):
        return asked
    texts = {name: getattr(asked, name, None) for name in ("filter", "of")}
    plain = {
        name: without_contents(text)
        for name, text in texts.items()
        if text and not (name == "of" and isinstance(asked, CallsArguments))
    }
    return structs.replace(asked, **plain)


def _named(path: str | None, argument: str) -> str:
    if not path:
        raise BadRequestError(
            phrase("The arguments name no file"), advice=phrase("Give its path as `{name}`.", name=argument)
        )
    return path


def checked(name: str, arguments: Any) -> Any:
    """The arguments as the tool's struct. Raises :class:`BadRequestError` for those that don't fit its schema."""
    if isinstance(arguments, dict):
        # models write null for what they leave out, and ids as numbers
        arguments = {key: value for key, value in arguments.items() if value is not None}
        # a moment that is only a number is refused with what it may be
        for key in ("id", "at", "to", "before_at", "after_at"):
            if isinstance(arguments.get(key), int | float):
                arguments[key] = str(arguments[key])
    try:
        # not strict, because models also write numbers and booleans as strings
        return msgspec.convert({} if arguments is None else arguments, TOOLS[name].arguments, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequestError(
            phrase("The arguments of {tool} are invalid: {reason}", tool=name, reason=own_words(str(error)))
        ) from error


def _failed(problem: Problem) -> Answer:
    # SQLite's own words are about the query alone
    is_sqlite_s = problem.code == "sql" and not problem.message.template
    message = problem.message if is_sqlite_s else Text(spoken(problem.message))
    said = structs.replace(problem, message=message, advice=Text(spoken(problem.advice)))
    return Answer(f"{said.sentence} ({NOTE})", is_error=True)
