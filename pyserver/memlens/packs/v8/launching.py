"""How Node.js is started so that it leaves heap snapshots, a report, and a sampled profile if it is ended before.

Sources: ``doc/api/cli.md`` of Node.js, which lists what NODE_OPTIONS takes and how it quotes.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from memlens.record import Settings, container_of_process

_SNAPSHOTS = 2
_PRELOAD = Path(__file__).with_name("preload.cjs")
_SETTINGS = "MEMLENS_RECORD_NODE"
"""The environment variable with the settings of the preloaded module, as JSON."""


def variables(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """NODE_OPTIONS with its own options first: what the program's user chose holds."""
    folder, container = _quoted(settings.folder), container_of_process()
    own = [
        f"--heapsnapshot-signal=SIGUSR2 --report-on-fatalerror --diagnostic-dir={folder}",
        # the report doesn't follow the other files
        f"--report-directory={folder}",
        f"--require {_quoted(str(_PRELOAD))}",
    ]
    # in a container the preloaded module decides, which knows the heap's limit: there may be no room for one
    if container is None:
        own.append(f"--heapsnapshot-near-heap-limit={_SNAPSHOTS}")
    limits = container and {
        "limit": container.limit_bytes, "statistics": container.statistics, "line": container.line,
    }  # fmt: skip
    preloaded = {"folder": settings.folder, "at": settings.at_bytes, "container": limits}
    return {
        _SETTINGS: json.dumps(preloaded),
        "NODE_OPTIONS": f"{' '.join(own)} {environment.get('NODE_OPTIONS', '')}".strip(),
    }


def _quoted(path: str) -> str:
    """A path in the quotes that keep its blanks."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
