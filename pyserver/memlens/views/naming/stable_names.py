"""Names without what is true of one process alone: addresses, and numbers that count what that process made.

``Foo$$Lambda$12+0x00007f93d8002800``, ``$Proxy17`` and ``Plug (PluginLoader @ 0x6878521d0)`` are such
names; others are ``TypeID(0x7ffa12345678)``. A stable name has ``*`` in
the place of these, so that as a filter it finds all that have it, and a class loader without its address.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from memlens.packs import registry

_LOCAL = re.compile("|".join(dict.fromkeys((*registry.unstable_names(), r"0x[0-9a-fA-F]{6,16}\b"))))
"""What stays is in groups. Any hexadecimal number of six digits or more counts as an address."""

_LOADER = re.compile(r" @ 0x[0-9a-fA-F]+(?=\)|$)")
"""Only where several loaders of a dump have a class of that name: another dump may have one of them."""
_ADDRESS = re.compile(r"(?<! @ )0x[0-9a-fA-F]{6,16}\b")
"""Of what stays where it is, unlike class loaders."""


def stable_name(name: str) -> str:
    """A name with ``*`` for each part that another process would name otherwise."""
    if "0x" not in name and "$" not in name and "Accessor" not in name:
        return name
    return _LOCAL.sub(
        lambda found: f"{''.join(part or '' for part in found.groups())}*", _LOADER.sub("", name)
    )


def common_names(sides: Sequence[Collection[str]]) -> Mapping[str, str]:
    """What names of several dumps of a program are called in all of them, where that isn't the name itself.

    Names of one stable name are distinguished where each dump has all those of any dump that has fewer: then they
    mean the same everywhere, as in dumps of one process. Else all of them have the stable name, and so have all that
    several dumps have where addresses say that these are of several processes: numbers may be the same by chance.
    """
    groups: defaultdict[str, list[set[str]]] = defaultdict(lambda: [set() for _ in sides])
    for number, side in enumerate(sides):
        for name in side:
            groups[stable_name(name)][number].add(name)
    several = any(
        not _nested(group) for group in groups.values() if any(map(_ADDRESS.search, set().union(*group)))
    )
    found: dict[str, str] = {}
    for stable, group in groups.items():
        names = set().union(*group)
        if not _nested(group) or (several and sum(map(bool, group)) > 1 and names != {stable}):
            found |= dict.fromkeys(names, stable)
    return found


def _nested(sets: Sequence[set[str]]) -> bool:
    return all(few <= many for few, many in pairwise(sorted(sets, key=len)))
