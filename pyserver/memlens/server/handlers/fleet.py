"""The summaries of a fleet: the heat map of its ranks, and where the file of one is."""

import asyncio
import hashlib
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError
from memlens.fleet.database import open_fleet
from memlens.fleet.place import fetch, place_of, url_of
from memlens.fleet.questions.heat_map import HeatMap, heat_map
from memlens.server.protocol.fleet import (
    FleetFetchParams,
    FleetFetchResult,
    FleetFileParams,
    FleetFileResult,
    FleetHeatParams,
)
from memlens.server.wire import answer
from memlens.store.disk import make_folder


def register(server: LanguageServer) -> None:
    """Answer what the editor of a fleet asks."""

    async def heat(params: FleetHeatParams) -> HeatMap:
        return await asyncio.to_thread(_heat, params)

    async def file(params: FleetFileParams) -> FleetFileResult:
        return await asyncio.to_thread(_file, Path(params.path), params.snapshot)

    async def fetched(params: FleetFetchParams) -> FleetFetchResult:
        return await asyncio.to_thread(_fetched, params)

    answer(server, "memlens/fleetHeat", heat)
    answer(server, "memlens/fleetFile", file)
    answer(server, "memlens/fleetFetch", fetched)


def _heat(params: FleetHeatParams) -> HeatMap:
    with closing(open_fleet(Path(params.path))) as connection:
        return heat_map(connection, params.align, params.columns)


def _file(path: Path, snapshot: int) -> FleetFileResult:
    found, _ = _file_and_identity(path, snapshot)
    return found


def _file_and_identity(path: Path, snapshot: int) -> tuple[FleetFileResult, str]:
    with closing(open_fleet(path)) as connection:
        row = connection.execute(
            "SELECT name, size_bytes, identity, (SELECT place FROM fleet) FROM snapshots WHERE snapshot = ?",
            (snapshot,),
        ).fetchone()
    if row is None:
        raise BadRequestError(f"The fleet has no snapshot with the number {snapshot}")
    name, size_bytes, identity, named = row
    place = place_of(named)
    location = url_of(place, name)
    found = place.is_local and Path(location).is_file()
    return FleetFileResult(location, name, not place.is_local, size_bytes, found), identity


def _fetched(params: FleetFetchParams) -> FleetFetchResult:
    """A copy of a store's file. What was fetched before is taken again, while the summaries are of that content."""
    file, identity = _file_and_identity(Path(params.path), params.snapshot)
    if not file.remote:
        return FleetFetchResult(file.location, known=True)
    content = hashlib.blake2b(f"{file.location}\n{identity}".encode(), digest_size=16).hexdigest()
    folder = Path(params.folder) / content
    copy = folder / file.name.rpartition("/")[2]
    if copy.is_file():
        return FleetFetchResult(str(copy), known=True)
    make_folder(folder)
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=folder))
    try:
        fetch(file.location, partial)[0].replace(copy)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return FleetFetchResult(str(copy), known=False)
