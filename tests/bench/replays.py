"""How exactly PyTorch's allocator is replayed: a table of all real traces, by what they have and by their settings.

    npm run bench -- --replays

A trace is *exact* if the replay with its own settings comes to all its segments and all its addresses.
"""

import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from memlens.ingest import ingest  # noqa: E402
from memlens.model.info import TimelineInfo  # noqa: E402
from memlens.store.files.cache import Cache  # noqa: E402
from memlens.store.snapshot import Snapshot  # noqa: E402
from memlens.views.trace.what_if import Calibration, what_if  # noqa: E402

DATA = Path(os.environ.get("MEMLENS_TEST_DATA", ROOT.parent / "shared" / "data")) / "torch"
CLOSE = 0.01


class Kind(NamedTuple):
    """What a trace has."""

    expandable: bool
    begins: str


def kind_of(snapshot: Snapshot, device: int, out_of_memory: bool) -> Kind:
    """What a device's trace has."""
    begins = "in the middle" if np.any(snapshot.device(device).start == 0) else "with its first request"
    expandable = str(snapshot.manifest.settings.get("expandable_segments")).lower() == "true"
    return Kind(expandable, f"{begins}{', ran out of memory' if out_of_memory else ''}")


def main() -> None:
    """Print the table, and the traces that aren't exact."""
    found: dict[Kind, list[Calibration]] = defaultdict(list)
    others: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(DATA.rglob("*.pickle")):
            snapshot = Snapshot.open(ingest(path, Cache(Path(scratch) / path.name), lambda *_: None))
            info = snapshot.info
            for device in info.devices if isinstance(info, TimelineInfo) else ():
                if not device.events or device.device < 0 or path.name.startswith("cpu_profile"):
                    continue
                answer = what_if(snapshot, device.device)
                calibration = answer.calibration
                if calibration.recorded_peak_reserved_bytes == 0 or not calibration.addresses:
                    others.append(f"{path.name}: {calibration.reason}")
                    continue
                failed = answer.rows[0].out_of_memory is not None
                found[kind_of(snapshot, device.device, failed)].append(calibration)
                if not calibration.exact:
                    others.append(f"{path.name}: {calibration.reason or 'addresses differ'}")
            snapshot.close()
    print("| expandable segments | the trace begins | traces | exact | addresses | equal | peak within 1% |")
    print("|---|---|---|---|---|---|---|")
    for kind, each in sorted(found.items()):
        close = sum(
            abs(one.peak_reserved_bytes - one.recorded_peak_reserved_bytes)
            <= CLOSE * one.recorded_peak_reserved_bytes
            for one in each
        )
        print(
            f"| {'on' if kind.expandable else 'off'} | {kind.begins} | {len(each)} | {sum(one.exact for one in each)} "
            f"| {sum(one.addresses for one in each):,} | {sum(one.addresses_equal for one in each):,} | {close} |"
        )
    for line in others:
        print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
