"""Summarise many snapshots with many workers, and ask about all of them.

``memlens fleet PLACE`` is short for ``memlens fleet run PLACE``. See [fleets](fleet.md).
"""

DEFAULT = "run"
METAVAR = "PLACE|COMMAND"
