"""Names of types in .gcdump files, as source declares them."""

import re

from memlens.nested import without_nested
from memlens.sources.declarations import TypeName

_GENERIC = re.compile(r"`\d+(?:\[.*\])?")


def type_name(name: str) -> TypeName | None:
    """Split a name; None for the dump's own nodes. Compiler-generated types take the name of the enclosing named
    type.
    """
    if name.startswith("["):
        return None
    plain = _GENERIC.sub("", without_nested(name, "<>"))
    package, _, own = plain.split("[", 1)[0].rpartition(".")
    parts: list[str] = []
    for part in own.split("+"):
        # the brackets of <>c and <Main>d__0 were removed above
        if not part.isidentifier() or part == "c" or part.startswith(("c__", "d__")):
            break
        parts.append(part)
    return TypeName(package, tuple(parts)) if parts else None
