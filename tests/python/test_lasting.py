"""A long-lived server holds no more after many rounds than after some; the benchmark runs more of them."""

import os
import sys
from pathlib import Path

import pytest
from tests.bench.lasting import Held, rounds, viewports
from tests.python.lsp_client import LspClient
from tests.python.server_harness import write_snapshot

pytest_plugins = ("tests.python.server_fixtures",)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at descriptors and memory in /proc")

NO_COLLECTOR = "import gc; gc.disable()"


@pytest.mark.slow
def test_rounds_of_opening_and_closing_release_everything(
    own_server: LspClient, tmp_path: Path, cache_folder: Path, sample: Path
) -> None:
    files = [write_snapshot(tmp_path / "a.pickle", 4_000), sample]
    held = rounds(own_server, files, cache_folder, 60)
    settled, last = held[29], held[-1]
    assert [each.maps for each in held] == [0] * 60
    assert last.descriptors == held[1].descriptors
    assert last.resident_bytes < settled.resident_bytes * 1.05, [each.resident_bytes >> 20 for each in held]


@pytest.mark.slow
def test_thousands_of_viewports_do_not_accumulate_resources(
    own_server: LspClient, cache_folder: Path, sample: Path
) -> None:
    held = viewports(own_server, sample, cache_folder, 3_000, 500)
    assert held[-1].resident_bytes < held[1].resident_bytes * 1.05, [
        each.resident_bytes >> 20 for each in held
    ]
    # one more for the file that is verified while the server is idle
    assert max(each.descriptors for each in held) - min(each.descriptors for each in held) <= 1


@pytest.mark.slow
def test_closing_releases_maps_and_descriptors_without_the_garbage_collector(
    workspace: Path, tmp_path: Path, cache_folder: Path, sample: Path
) -> None:
    folder = tmp_path / "no-collector"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(NO_COLLECTOR, encoding="utf-8")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    with LspClient({"PYTHONPATH": path}) as client:
        client.start(workspace, {"cache_directory": str(cache_folder)})
        opened = client.request("memlens/open", {"path": str(sample), "view": "v1"})
        opened_maps = Held.by(client.pid, cache_folder).maps
        client.request("memlens/stack", {"snapshot": opened["snapshot"], "allocation": 0})
        assert Held.by(client.pid, cache_folder).maps > opened_maps, "columns are mapped when they are used"
        client.request("memlens/close", {"snapshot": opened["snapshot"], "view": "v1"})
        held = rounds(client, [sample], cache_folder, 12)
    assert [each.maps for each in held] == [0] * 12
    assert {each.descriptors for each in held[1:]} == {held[1].descriptors}
