"""How Node.js is started so that it leaves heap snapshots and a report.

Sources: ``doc/api/cli.md`` of Node.js, which lists what NODE_OPTIONS takes and how it quotes.
"""

from collections.abc import Mapping
from pathlib import Path

_SNAPSHOTS = 2


def variables(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """NODE_OPTIONS with its own options first: what the program's user chose holds."""
    quoted = '"' + str(folder).replace("\\", "\\\\").replace('"', '\\"') + '"'
    own = (
        f"--heapsnapshot-near-heap-limit={_SNAPSHOTS} --heapsnapshot-signal=SIGUSR2 --report-on-fatalerror "
        # the report doesn't follow the other files
        f"--diagnostic-dir={quoted} --report-directory={quoted}"
    )
    return {"NODE_OPTIONS": f"{own} {environment.get('NODE_OPTIONS', '')}".strip()}
