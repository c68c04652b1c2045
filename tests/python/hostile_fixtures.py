"""Fixtures of the tests with hostile names, a pytest plugin: a file of each format, and a fleet of them."""

from contextlib import closing
from pathlib import Path

import pytest
from tests.python.fleet_summaries import row_of
from tests.python.hostile_heaps import PLANTED
from tests.python.hostile_names import NAMES, Place

from memlens.fleet.database import Database
from memlens.fleet.summary import summary_of
from memlens.ingest import ingest
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrix")


@pytest.fixture(scope="module")
def places(folder: Path) -> dict[str, Place]:
    """Every format's files, read."""
    made = {}
    for form, plant in PLANTED.items():
        path, other = folder / f"{form}.snapshot", folder / f"{form}.other"
        planted = plant(NAMES)
        path.write_bytes(planted.data)
        other.write_bytes(plant(NAMES[::-1]).data)
        for each in (path, other):
            ingest(each, Cache(folder / "cache"), lambda *_: None)
        made[form] = Place(path, tuple(planted.names), other)
    return made


@pytest.fixture(scope="module")
def fleet(places: dict[str, Place], folder: Path) -> Path:
    """The summaries of all files, whose own names are hostile as well."""
    with closing(Database(folder / "job.fleet", f"/job/{NAMES[0]}")) as database:
        for number, (form, place) in enumerate(places.items()):
            archive = ingest(place.path, Cache(folder / "cache"), lambda *_: None)
            with closing(Snapshot.open(archive)) as snapshot:
                summary = summary_of(snapshot)
            database.put(
                row_of(number, f"{place.names[5 * number % len(place.names)]}/{form}", summary), summary
            )
        for number, name in enumerate(next(iter(places.values())).names, len(places)):
            text = name.encode("utf-8", "replace").decode()
            database.put(row_of(number, text, None, text), None)
    return folder / "job.fleet"
