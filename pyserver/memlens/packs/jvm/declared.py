"""Names of classes in dumps, as source declares them."""

import re

from memlens.packs.jvm import DECLARATIONS
from memlens.sources.declarations import TypeName

_NUMBERED = re.compile(r"\d+")
_FIELD = "#"
"""Between the names of a class and a field, as in documentation."""

_PRIMITIVES = frozenset(("boolean", "byte", "char", "short", "int", "long", "float", "double"))


def name_of_frame(function: str, file: str) -> str:
    """``com.acme.Cache#entries`` for ``com.acme.Cache.entries`` in ``com/acme/Cache.java``; "" for other frames."""
    folder, slash, name = file.rpartition("/")
    package = f"{folder}{slash}".replace("/", ".")
    if not name.endswith(DECLARATIONS.suffixes) or not function.startswith(package):
        return ""
    own, _, field = function.removeprefix(package).partition(".")
    return f"{package}{own}{_FIELD * bool(field)}{field}"


def type_name(name: str) -> TypeName | None:
    """Split a name. What compilers make is called by the named class around it."""
    name, _, field = name.partition(_FIELD)
    package, _, own = name.split("/", 1)[0].rpartition(".")
    parts: list[str] = []
    for part in own.split("$"):
        # $1 is anonymous, $1Local local, $$Lambda a lambda; Scala's objects end in $
        plain = _NUMBERED.sub("", part, count=1) if part[:1].isdigit() else part
        if not plain or plain == "Lambda":
            break
        parts.append(plain)
    if not parts or (not package and own in _PRIMITIVES):
        return None
    return TypeName(package, tuple(parts), field if len(parts) == own.count("$") + 1 else "")
