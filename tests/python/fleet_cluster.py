"""What tests of fleets run beside themselves: a cluster of two worker processes, and an S3 server, both on the loopback
interface on ports that the system chooses, and both ended with the test."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.python.conftest import ROOT

PACKAGES = ROOT / ".cache" / "fleet"
"""Where scripts/lib/fleet.mjs installs what tests/python/fleet.lock pins."""

HAS_PACKAGES = (PACKAGES / "distributed").is_dir()
SECRET = "a-secret-that-is-nowhere-else"

_CLUSTER = """
import sys, time
import dask, distributed

if __name__ == "__main__":
    dask.config.set({"distributed.deploy.lost-worker-timeout": "300 s"})
    # what these do ten times and twice a second, nobody looks at
    dask.config.set({"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "10 s"})
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0", local_directory=sys.argv[1], silence_logs=50,
    )
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def environment(**more: str) -> dict[str, str]:
    """The environment of a process with the optional packages."""
    paths = [str(PACKAGES), str(ROOT / "pyserver"), os.environ.get("PYTHONPATH", "")]
    changed = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**changed, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **more}


def start_fleet(*arguments: object, **more: Any) -> subprocess.Popen[str]:
    """Start ``memlens fleet`` as a process of its own, in a group of its own."""
    command = [sys.executable, "-m", "memlens", "fleet", *map(str, arguments)]
    env = environment(**more.pop("env", {}))
    return subprocess.Popen(
        command,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **more,
    )


def fleet(
    *arguments: object,
    status: int = 0,
    env: dict[str, str] | None = None,
    on_line: Callable[[dict[str, Any]], None] = lambda _line: None,
) -> list[dict[str, Any]]:
    """Read a place and return its lines of progress; ``on_line`` gets each as it is printed."""  # fmt: skip
    with start_fleet(*arguments, "--progress", "json", env=env or {}) as process:
        lines = []
        try:
            for text in process.stdout or ():
                lines.append(json.loads(text))
                on_line(lines[-1])
            _, errors = process.communicate()
        except BaseException:
            # the end of this block waits for it
            process.kill()
            raise
    assert process.returncode == status, errors
    return lines


class Cluster:
    """A scheduler and two workers, which are started again when they die."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        script = folder / "cluster.py"
        script.write_text(_CLUSTER)
        self._process = subprocess.Popen(
            [sys.executable, str(script), str(folder)],
            env=environment(**env), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdout
        self.address = self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate()


class Store:
    """moto's S3 server with a bucket."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.env = {
            "AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": "us-east-1",
            "FSSPEC_S3_ENDPOINT_URL": self.url,
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from moto.server import main; main()", "-H", "127.0.0.1", "-p", str(port)],
            env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while True:
            try:
                self._put("/snapshots", b"")
                break
            except (urllib.error.URLError, OSError):
                assert time.monotonic() < deadline, "moto's server doesn't start"
                time.sleep(0.05)

    def put(self, key: str, data: bytes) -> None:
        self._put(f"/snapshots/{key}", data)

    def keys(self, prefix: str) -> list[str]:
        """The names of the bucket's objects."""
        with urllib.request.urlopen(
            f"{self.url}/snapshots?list-type=2&prefix={prefix}", timeout=30
        ) as answer:
            return re.findall(r"<Key>(.*?)</Key>", answer.read().decode())

    def _put(self, path: str, data: bytes) -> None:
        headers = {
            "Authorization": "AWS4-HMAC-SHA256 Credential=tester/20260101/us-east-1/s3/aws4_request",
            "Content-Type": "application/octet-stream",
        }
        request = urllib.request.Request(self.url + path, data, headers, method="PUT")
        urllib.request.urlopen(request, timeout=30).close()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


@contextmanager
def cluster_and_store(folder: Path) -> Iterator[tuple[Cluster, Store]]:
    """The cluster and the store, whose credentials are in the workers' environment."""
    store = Store()
    try:
        cluster = Cluster(folder, store.env)
        try:
            yield cluster, store
        finally:
            cluster.close()
    finally:
        store.close()
