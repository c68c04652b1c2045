"""Imported to learn whether this Python can run the server: it has the packages, and kernels that are built for it.

Importing the server itself would say the same, but takes as long as starting it does.
"""

from importlib.util import find_spec

PACKAGES = ("apsw", "cachetools", "lsprotocol", "msgspec", "numpy", "platformdirs", "pygls", "zstandard")

for _name in (*PACKAGES, "memlens.kernels.tree.flame"):
    if find_spec(_name) is None:
        raise ModuleNotFoundError(f"No module named {_name!r}", name=_name)
