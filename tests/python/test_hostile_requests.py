"""Every hostile name in every field of every format, through every request of the contract and every tool."""

import contextlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.fuzz.questions import make
from tests.python.command_line import memlens
from tests.python.conftest import archive_of
from tests.python.hostile_names import Place
from tests.python.lsp_client import LspClient, RpcError
from tests.python.tries import tries

from memlens.formats import HEAP_DUMPS
from memlens.model.info import SnapshotInfo
from memlens.server.app import create_server
from memlens.server.protocol.explain import ExplainParams
from memlens.server.protocol.exports import RedactParams, SaveParams
from memlens.server.protocol.tools import ToolTouchesParams
from memlens.server.tools.table import TOOLS
from memlens.server.wire import REQUESTS
from memlens.store.files.cache import Cache
from memlens.views.selection.terms import in_quotes

pytest_plugins = ("tests.python.hostile_fixtures",)

REQUESTS_ELSEWHERE = {
    "memlens/dump": "of a process", "memlens/record": "of a process", "memlens/stopRecording": "of a process",
    "memlens/processes": "of processes", "memlens/open": "begins each file", "memlens/close": "ends each file",
}  # fmt: skip
LACKING = {
    "memlens/archivedText", "memlens/cell", "memlens/compareSizes", "memlens/heapImage", "memlens/heapThumbnails",
    "memlens/heapMoments",
}  # fmt: skip
"""Requests that are refused here, with a sentence, for want of class archives, notebooks, images, recordings
and runs of two sizes."""
OF_EACH_MODEL = ("torch", "pprof", "hprof")
OF_PROCESSES = {"memlens/redact", "memlens/sql", "memlens/compareSql", "memlens/seriesSql", "memlens_sql"}
"""What starts processes is asked of one format of each model: in them the commands do the work, of which
``test_hostile_matrix.py`` tries those of every format."""
create_server()
FLEET_PARAMS = {request.params for method, request in REQUESTS.items() if method.startswith("memlens/fleet")}


@pytest.mark.slow
def test_every_request_and_tool_is_answered(places: dict[str, Place], fleet: Path, folder: Path) -> None:
    requests = [method for method in REQUESTS if method not in REQUESTS_ELSEWHERE]
    chance = random.Random(37)
    with LspClient() as server:
        server.start(folder, {"cache_directory": str(folder / "cache")})
        asking = Asking(server, chance, fleet)
        for form, place in places.items():
            for path in (place.path, place.other):
                # the server would start a process for each table
                archive = archive_of(path, Cache(folder / "cache"))
                memlens("tables", archive, "--cache-dir", folder / "cache")
            with asking.opened(form, place):
                # one after the other: queries at the same time have a process each, of which one is enough here
                left_out = set() if form in OF_EACH_MODEL else OF_PROCESSES
                for method in (method for method in requests if method not in left_out):
                    often = 1 if method in OF_PROCESSES else tries(2)
                    for likely in (*[True] * often, False):
                        asking.send(method, likely=likely)
                for name, arguments in calls(form, place, chance):
                    if name not in left_out:
                        asking.call(name, arguments)
        # what chance didn't draw so that it can be answered
        for form in OF_EACH_MODEL:
            with asking.opened(form, places[form]):
                for method in set(requests) - asking.answered - LACKING:
                    for _ in range(30):
                        if asking.send(method, likely=True):
                            break
    assert not asking.faults, "\n".join(asking.faults)
    _, found, trace = server.stderr.decode().partition("Traceback")
    assert not found, trace
    assert asking.tools == set(TOOLS)
    refused = {method: asking.why.get(method) for method in requests if method not in asking.answered}
    assert set(refused) <= LACKING, refused


class Asking:
    """Requests about the snapshots that are open, and what came of them."""

    def __init__(self, server: LspClient, chance: random.Random, fleet: Path) -> None:
        self.server, self.chance, self.fleet = server, chance, fleet
        self.faults: list[str] = []
        self.answered: set[str] = set()
        self.tools: set[str] = set()
        self.why: dict[str, tuple[str, str]] = {}

    @contextlib.contextmanager
    def opened(self, form: str, place: Place) -> Iterator[None]:
        """Have the two files of a place open."""
        self.form, self.place = form, place
        both = [
            self.server.request("memlens/open", {"path": str(path), "view": f"{form}{number}"})
            for number, path in enumerate((place.path, place.other))
        ]
        self.both, self.info = both, msgspec.convert(both[0]["info"], SnapshotInfo)
        yield
        for number, one in enumerate(both):
            self.server.request("memlens/close", {"snapshot": one["snapshot"], "view": f"{form}{number}"})

    def send(self, method: str, *, likely: bool) -> bool:
        """Send a request with parameters by chance, and return whether it was answered."""
        kind = REQUESTS[method].params
        one, other = self.both
        drawn = asked(kind, self.place, one, other, self.info, self.chance, self.fleet, likely=likely)
        return self._answer(method, drawn) is not None

    def call(self, name: str, arguments: dict[str, Any]) -> None:
        """Call a tool of models."""
        answer = self._answer("memlens/tool", {"name": name, "arguments": json.dumps(arguments)})
        if answer and not answer["is_error"]:
            self.tools.add(name)

    def _answer(self, method: str, params: dict[str, Any]) -> Any:
        try:
            answer = self.server.request(method, params)
        except RpcError as error:
            code = error.data["code"] if error.data else error.code
            if code == "internal" or (not error.data and params):
                self.faults.append(f"{self.form}: {method} {json.dumps(params)[:600]}: {error.message[:300]}")
            self.why[method] = (str(params)[:300], error.message[:160])
            return None
        self.answered.add(method)
        if method == "memlens/tool" and "nternal error" in answer["text"]:
            self.faults.append(f"{self.form}: {json.dumps(params)[:600]}: {answer['text'][:300]}")
        return answer if answer is not None else {}


def asked(
    kind: type[msgspec.Struct],
    place: Place,
    opened: Any,
    other: Any,
    info: Any,
    chance: random.Random,
    fleet: Path,
    *,
    likely: bool,
) -> dict[str, Any]:
    """Parameters of a request: names for texts, the opened snapshots, files that are here; if ``likely``, such as are
    often answered.
    """
    made = next(filter(None, (make(kind, info, chance, texts=place.names) for _ in range(40))), None)
    if made is None:
        return {}
    params: dict[str, Any] = msgspec.to_builtins(made)
    written = str(place.path.with_suffix(".written"))
    if kind is SaveParams:
        return params | {"source": str(place.path), "path": str(place.path.with_suffix(".svg"))}
    if kind is ToolTouchesParams:
        arguments = {"before": chance.choice(place.names), "after": chance.choice(place.names)}
        folders = [str(place.path.parent)]
        return params | {
            "name": "memlens_compare",
            "arguments": json.dumps(arguments),
            "folders": folders,
        }
    if kind is ExplainParams and likely:
        return params | {
            "text": f"Out of memory: Killed process 7 ({chance.choice(place.names)[:9]}) total-vm:8kB, anon-rss:8kB"
        }
    if kind in FLEET_PARAMS:
        return params | {"path": str(fleet / "memlens-fleet.db"), "folder": written}
    devices = info.devices if info.model == "timeline" else ()
    both = [opened["snapshot"], other["snapshot"]]
    if kind is RedactParams and params["mapping"]:
        # a name would be a file in the folder that the tests are run in
        params["mapping"] = str(place.path.with_suffix(".mapping"))
    known = {
        "snapshot": both[0], "other": both[1], "dumps": both, "path": str(place.path), "source": str(place.path),
        "out": written, "folder": written, "query": "SELECT function, frame FROM frames", "key": ["function"],
        "device": devices[0].device if devices else 0, "other_device": devices[0].device if devices else 0,
        "event": 2 * len(place.names) + 1, "offset": 0, "x0": 0.0, "x1": 1.0, "y0": 0.0, "y1": 1e9, "narrow": "",
        "filter": "", "bookmark": 1, "allocation": 0, "first_depth": 0, "size": 4, "capacity_bytes": 1 << 40,
        "without": [], "halve": [], "free_at_once": [], "recompute": [],
    }  # fmt: skip
    return fitted(params, known) if likely else params | {"snapshot": both[0]}


def fitted(value: Any, known: dict[str, Any]) -> Any:
    """A value in which fields that would seldom be right by chance are."""
    match value:
        case {"of": dict(of), "by": list(), "path": list()}:
            every = dict.fromkeys(("from_moment", "to_moment", "value"))
            return value | {"of": fitted(of | every, known), "by": ["function"], "path": [], "narrow": ""}
        case dict():
            return {
                key: known[key]
                if key in known and isinstance(each, type(known[key]))
                else fitted(each, known)
                for key, each in value.items()
            }
        case list():
            return [fitted(each, known) for each in value]
    return value


def calls(form: str, place: Place, chance: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool, with a name wherever it takes a text."""
    path, other = str(place.path), str(place.other)
    field = "type" if form in HEAP_DUMPS else "function"
    for name in chance.sample(place.names, tries(2)):
        term = f"{field}:{in_quotes('=' + name[:500])}"
        yield "memlens_summary", {"path": path, "of": term} if form in HEAP_DUMPS else {"path": path}
        yield (
            "memlens_top",
            {"path": path, "filter": term, "by": "type" if form in HEAP_DUMPS else "function"},
        )
        yield "memlens_summary", {"path": name}
        yield "memlens_calls", {"path": path, "of": "callers", "function": name[:1000]}
        yield "memlens_stack", {"path": path, "stack": 0}
        yield "memlens_steps", {"path": path, "filter": "" if form == "torch" else term}
        yield "memlens_what_if", {"path": path, "settings": [name[:400]]}
        yield "memlens_what_if", {"path": path, "without": [] if form == "torch" else [term]}
        yield "memlens_object", {"path": path, "number": 3, "values": True}
        yield "memlens_paths", {"path": path, "filter": term}
        yield "memlens_compare", {"before": path, "after": other, "search": name[:1000]}
        yield "memlens_series", {"paths": [path, other], "search": name[:1000]}
        literal = name[:1000].replace("'", "''").replace("\0", "")
        yield "memlens_sql", {"path": path, "query": f"SELECT '{literal}', count(*) FROM frames"}
