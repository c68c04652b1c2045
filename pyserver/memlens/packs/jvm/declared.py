"""Names of classes in dumps, as source declares them."""

import re

from memlens.sources.declarations import TypeName

_NUMBERED = re.compile(r"\d+")


def type_name(name: str) -> TypeName | None:
    """Split a name. What compilers make is called by the named class around it."""
    package, _, own = name.split("/", 1)[0].rpartition(".")
    parts: list[str] = []
    for part in own.split("$"):
        # $1 is anonymous, $1Local local, $$Lambda a lambda; Scala's objects end in $
        plain = _NUMBERED.sub("", part, count=1) if part[:1].isdigit() else part
        if not plain or plain == "Lambda":
            break
        parts.append(plain)
    if not parts or not package:
        return None
    return TypeName(package, tuple(parts))
