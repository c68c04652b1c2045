"""Requests about a fleet's summaries: the heat map of its ranks, and the file of a rank."""

import asyncio
import hashlib
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError, CancelledError
from memlens.fleet.database import reading
from memlens.fleet.place import url_of
from memlens.fleet.questions.heat_map import HeatMap, heat_map
from memlens.local_paths import below, is_local
from memlens.remote_files import fetch, place_of
from memlens.server.handlers.workspace import refresh_lenses
from memlens.server.protocol.base import Done
from memlens.server.protocol.fleet import (
    FleetFetchParams,
    FleetFetchResult,
    FleetFileParams,
    FleetFileResult,
    FleetHeatParams,
    FleetsShownParams,
)
from memlens.server.protocol.snapshots import ProgressParams
from memlens.server.sources import Sources
from memlens.server.wire import answer
from memlens.store.files.disk import make_folder
from memlens.texts import phrase
from memlens.units import plain_name


def register(server: LanguageServer, sources: Sources) -> None:
    """Register the requests of a fleet's editor, and that which sets the fleets it shows."""

    async def shown(params: FleetsShownParams) -> Done:
        sources.show_fleets(params.paths)
        return Done()

    async def heat(params: FleetHeatParams) -> HeatMap:
        return await asyncio.to_thread(_heat, params)

    async def file(params: FleetFileParams) -> FleetFileResult:
        return await asyncio.to_thread(_file, Path(params.path), params.snapshot)

    async def fetched(params: FleetFetchParams) -> FleetFetchResult:
        loop, cancelled = asyncio.get_running_loop(), threading.Event()

        def notify(fraction: float) -> None:
            progress = ProgressParams(params.view, "fetching", fraction)
            server.protocol.notify("memlens/progress", msgspec.to_builtins(progress))

        def report(fraction: float) -> None:
            if cancelled.is_set():
                raise CancelledError(phrase("Fetching was cancelled"))
            loop.call_soon_threadsafe(notify, fraction)

        try:
            return await asyncio.to_thread(_fetched, params, report)
        finally:
            cancelled.set()

    def files_bound() -> None:
        refresh_lenses(server)

    sources.indexes.listeners.append(files_bound)
    answer(server, "memlens/fleetsShown", shown)
    answer(server, "memlens/fleetHeat", heat)
    answer(server, "memlens/fleetFile", file)
    answer(server, "memlens/fleetFetch", fetched)


def _heat(params: FleetHeatParams) -> HeatMap:
    with reading(Path(params.path)) as connection:
        return heat_map(connection, params.align, params.columns)


def _file(path: Path, snapshot: int) -> FleetFileResult:
    found, _ = _file_and_identity(path, snapshot)
    return found


def _file_and_identity(path: Path, snapshot: int) -> tuple[FleetFileResult, str]:
    with reading(path) as connection:
        row = connection.execute(
            "SELECT name, size_bytes, identity, (SELECT place FROM fleet) FROM snapshots WHERE snapshot = ?",
            (snapshot,),
        ).fetchone()
    if row is None:
        raise BadRequestError(
            phrase("The fleet has no snapshot with the number {snapshot}", snapshot=snapshot)
        )
    name, size_bytes, identity, named = row
    place = place_of(named)
    location = url_of(place, name)
    # whoever sent the database may have written any place into it
    beside = path.absolute().parent.parent
    found = place.is_local and is_local(Path(location), [beside]) and Path(location).is_file()
    return FleetFileResult(location, name, not place.is_local, size_bytes, found), identity


def _fetched(params: FleetFetchParams, report: Callable[[float], None]) -> FleetFetchResult:
    """A copy of a store's file. An earlier copy is used again if the summaries are of the same content."""
    file, identity = _file_and_identity(Path(params.path), params.snapshot)
    if not file.remote:
        return FleetFetchResult(file.location, known=True)
    content = hashlib.blake2b(f"{file.location}\n{identity}".encode(), digest_size=16).hexdigest()
    folder = Path(params.folder) / content
    copy = below(folder, [file.name.rpartition("/")[2]])
    if copy is None:
        raise BadRequestError(phrase("{name} can't be the name of a file here", name=plain_name(file.name)))
    if copy.is_file():
        return FleetFetchResult(str(copy), known=True)
    make_folder(folder)
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=folder))
    try:
        whole = max(file.size_bytes, 1)
        fetch(file.location, partial, lambda read: report(min(read / whole, 1.0)))[0].replace(copy)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return FleetFetchResult(str(copy), known=False)
