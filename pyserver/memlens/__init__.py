"""Memlens: opens memory snapshots, and answers what filled the memory, when, and from which line of source.

``memlens.open(path)`` opens one in a program or a notebook; see docs/python.md. What that needs is imported when it is
first used, because the command and the server start with this module.
"""

# not from typing: nothing may be imported before __main__ has left out the folder that the command was started in
TYPE_CHECKING = False

if TYPE_CHECKING:
    from memlens.api.snapshots import Heap, Profile, Trace, series
    from memlens.api.snapshots import open_snapshot as open
    from memlens.api.table import Table
    from memlens.errors import MemlensError

__all__ = ["Heap", "MemlensError", "Profile", "Table", "Trace", "open", "series"]

_PLACES = {
    "Heap": ("memlens.api.snapshots", "Heap"),
    "MemlensError": ("memlens.errors", "MemlensError"),
    "Profile": ("memlens.api.snapshots", "Profile"),
    "Table": ("memlens.api.table", "Table"),
    "Trace": ("memlens.api.snapshots", "Trace"),
    "load_ipython_extension": ("memlens.api.magic", "load_ipython_extension"),
    "open": ("memlens.api.snapshots", "open_snapshot"),
    "series": ("memlens.api.snapshots", "series"),
}
"""Where the public names are: the module, and what they are called there."""


# type checkers know the names from above, and say which others don't exist
if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module, own_name = _PLACES[name]
        return getattr(import_module(module), own_name)
