"""What is declared has its partners, and these have nothing else: docs/dev/declarations.md lists what turns red."""

import re
import subprocess
import sys
from pathlib import Path

from tests.python.conftest import ROOT

from memlens.server import handlers, protocol
from memlens.server.app import create_server
from memlens.server.wire import REQUESTS


def sources(*folders: str) -> str:
    """The TypeScript of some folders."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.ts*"))]
    return "\n".join(path.read_text("utf-8") for path in paths)


def test_every_module_of_questions_is_imported_when_the_server_starts() -> None:
    folder = Path(handlers.__path__[0])
    program = "import sys, memlens.server.app; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    prefix = f"{handlers.__name__}."
    assert {name.removeprefix(prefix) for name in loaded if name.startswith(prefix)} == {
        path.stem for path in folder.glob("*.py") if path.stem != "__init__"
    }


def test_every_message_is_used_and_declared() -> None:
    create_server()
    declared = {*REQUESTS, *protocol.CLIENT_REQUESTS, *protocol.NOTIFICATIONS}
    assert set(re.findall(r"'(memlens/\w+)'", sources("extension/src", "webview/src"))) == declared
