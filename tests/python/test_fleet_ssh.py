"""Places over SSH: the server runs in the test's process, and `memlens fleet` reads from it with a worker."""

import sys
from pathlib import Path

import pytest
from tests.python.fleet_cluster import HAS_PACKAGES, PACKAGES, fleet, start_fleet
from tests.python.server_harness import write_snapshot

pytestmark = pytest.mark.skipif(
    not (PACKAGES / "paramiko").is_dir() or not HAS_PACKAGES, reason="no .cache/fleet: see test_fleet.py"
)


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(PACKAGES)])


@pytest.mark.slow
def test_a_folder_of_a_host(tmp_path: Path) -> None:
    """Files are read from it and archives written to it, only if the host's key is known."""
    from tests.python.ssh_server import ssh_server

    served, home = tmp_path / "served", tmp_path / "home"
    job = served / "job"
    job.mkdir(parents=True)
    for rank in range(2):
        write_snapshot(job / f"rank{rank}.pickle", 400 + 4 * rank)
    (job / "rank2.pickle").write_bytes((job / "rank1.pickle").read_bytes()[:9_000])
    with ssh_server(served, home) as port:
        host = f"ssh://tester@127.0.0.1:{port}"
        command = (
            f"{host}/job",
            "--out",
            tmp_path / "out",
            "--workers",
            "1",
            "--archives",
            f"{host}/kept/archives",
        )
        lines = fleet(*command, env={"HOME": str(home)})
        statuses = {line["name"]: line["status"] for line in lines if line["type"] == "file"}
        assert statuses == {"rank0.pickle": "ok", "rank1.pickle": "ok", "rank2.pickle": "damaged"}
        archives = list((served / "kept" / "archives").iterdir())
        assert len(archives) == 2
        assert all((archive / "manifest.json").is_file() for archive in archives)
        (home / ".ssh" / "known_hosts").write_text("")
        process = start_fleet(f"{host}/job", "--out", tmp_path / "other", env={"HOME": str(home)})
        assert process.communicate(timeout=60)[1].startswith(
            f"memlens: The key of [127.0.0.1]:{port} is not among the known hosts. Connect once"
        )
        assert process.returncode == 1
