"""The summaries of a fleet that the editor shows."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from memlens.fleet.database import database_in, reading
from memlens.fleet.questions.ranks import FileOverRanks, WholeFleet, file_over_ranks, files, whole
from memlens.result_cache import ResultCache

T = TypeVar("T")


class OpenFleet:
    """The summaries in one database. It may grow: what was read is valid for the version that was read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = f"fleet:{path}"
        """A name that no open snapshot has."""
        self._kept = ResultCache()

    @property
    def title(self) -> str:
        """The folder's name."""
        path = Path(self.path)
        return path.parent.name if path.suffix else path.name

    async def source_files(self) -> list[str]:
        """The files that its ranks name, those that hold the most first. Raises MemlensError."""
        return await self._ask("files", files)

    async def whole(self) -> WholeFleet:
        """The totals that its lines are compared with. Raises MemlensError."""
        return await self._ask("whole", whole)

    async def file(self, names: tuple[str, ...]) -> FileOverRanks:
        """The lines of the file that has these names in its ranks. Raises MemlensError."""
        return await self._ask(names, lambda fleet: file_over_ranks(fleet, names))

    async def _ask(self, key: str | tuple[str, ...], question: Callable[[apsw.Connection], T]) -> T:
        version = await asyncio.to_thread(self._version)
        self._kept.drop(lambda known: known[0] != version)
        answer: T | None = self._kept.find((version, key))
        if answer is None:
            answer = await asyncio.to_thread(self._answered, question)
            self._kept.put((version, key), answer)
        return answer

    def _answered(self, question: Callable[[apsw.Connection], T]) -> T:
        with reading(Path(self.path)) as connection:
            return question(connection)

    def _version(self) -> tuple[int, int]:
        try:
            status = database_in(Path(self.path)).stat()
        except OSError:
            return (0, 0)
        return (status.st_mtime_ns, status.st_size)
