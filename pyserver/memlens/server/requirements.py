"""Imported to check whether this Python can run the server; fails with a sentence if it can't.

Importing the server itself would check the same, but takes as long as starting it. This file uses no syntax that an old
Python lacks.
"""

import sys

OLDEST = (3, 11)
NEWEST_WITH_LIBRARIES = (3, 14)
"""The versions for which an installed extension has the libraries' binaries (scripts/package/targets.py)."""

PACKAGES = (
    "apsw",
    "cachetools",
    "demangle",
    "elftools",
    "lsprotocol",
    "msgspec",
    "numpy",
    "platformdirs",
    "pygls",
    "regex",
    "shtab",
    "websockets",
    "zstandard",
)

_version = ".".join(str(part) for part in sys.version_info[:3])
# its whole path, for a page that names it (extension/src/python/interpreter.ts)
_at = " at " + sys.executable if sys.executable else ""
if sys.version_info < OLDEST:
    sys.exit("is Python " + _version + _at + "; Memlens needs 3.11 or later")
from pathlib import Path  # noqa: E402 - Python 2 ends before it reaches this

if (Path(__file__).resolve().parents[2] / "libraries").is_dir():
    if sys.version_info[:2] > NEWEST_WITH_LIBRARIES:
        sys.exit("is Python " + _version + _at + "; this version of Memlens is for 3.11 to 3.14")
    if sys.implementation.name != "cpython":
        sys.exit("is " + sys.implementation.name + "; Memlens needs CPython")
    import sysconfig

    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit("is a free-threaded Python, which Memlens's libraries aren't for; it needs the usual one")

from importlib import import_module  # noqa: E402 - old Pythons end before they reach it
from importlib.util import find_spec  # noqa: E402

for _name in PACKAGES:
    if find_spec(_name) is None:
        raise ModuleNotFoundError("No module named " + repr(_name), name=_name)
# Load the binaries, because they may be for another processor or system.
for _name in ("memlens.kernels.tree.lines", "msgspec._core"):
    import_module(_name)
