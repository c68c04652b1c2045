"""Where the types of heap dumps are declared in source, in languages with classes and braces.

Text is scanned for declarations and braces and not parsed, which is enough to find a line and fast for thousands of
files.
"""

import re
from pathlib import Path
from typing import NamedTuple

from memlens.packs import registry
from memlens.regular_files import opened

TEXT_LIMIT = 4 << 20
"""Characters; longer files are skipped."""

_JVM = (".java", ".kt", ".scala", ".groovy")
_JVM_KINDS = ("hprof", "perfetto")

_SKIPPED = r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*[\s\S]*?\*/'
_PACKAGE = r"^[ \t]*(?:package|namespace)[ \t]+(?P<package>[\w.]+)[ \t]*(?P<ends>[;{]?)"
_TYPE = r"(?<![.\w])(?:class|interface|enum|record|object|trait|struct)[ \t]+(?:class[ \t]+|struct[ \t]+)?(?P<name>\w+)"
_OTHERS = r"(?<![.\w])(?P<member>fun|def|val|var|delegate)\b"
_TOKEN = re.compile(f"{_SKIPPED}|{_PACKAGE}|{_TYPE}|{_OTHERS}|(?P<sign>[{{}};()])", re.MULTILINE)

_NUMBERED = re.compile(r"\d+")


class TypeName(NamedTuple):
    """A type's name, split: ``com.acme.Cache$Entry`` is ``com.acme`` and ``("Cache", "Entry")``."""

    package: str
    names: tuple[str, ...]

    @property
    def symbol(self) -> str:
        """The full name of the outermost type, with dots."""
        return f"{self.package}.{self.names[0]}" if self.package else self.names[0]

    @property
    def outer(self) -> "TypeName":
        """The enclosing type; the type itself if there is none."""
        return TypeName(self.package, self.names[:-1] or self.names)


class Declaration(NamedTuple):
    """A declaration of a type; lines count from 1."""

    type: TypeName
    line: int


def suffixes_of(kind: str) -> tuple[str, ...]:
    """Endings of source files that declare the types of a dump of ``kind``; none where no source can."""
    known = registry.objects_of(kind).declarations
    return _JVM if kind in _JVM_KINDS else known.suffixes if known is not None else ()


def all_suffixes() -> tuple[str, ...]:
    """Endings of source files that declare types of dumps of any kind."""
    known = (objects.declarations for _, objects in registry.all_objects())
    return (*_JVM, *(suffix for each in known if each is not None for suffix in each.suffixes))


def language_of(kind: str) -> str:
    """What an editor calls the language of the types of a dump of ``kind``; empty where no source can declare them."""
    known = registry.objects_of(kind).declarations
    return "jvm" if kind in _JVM_KINDS else known.language if known is not None else ""


def type_name(kind: str, name: str) -> TypeName | None:
    """Split the name of a type of a dump of ``kind``; None if no source can declare it.

    For types that compilers make (anonymous and local classes, lambdas, closures, companion objects) the result is the
    named type around them.
    """
    while name.endswith("[]"):
        name = name[:-2]
    if kind in _JVM_KINDS:
        return _jvm_name(name)
    known = registry.objects_of(kind).declarations
    return None if known is None else known.type_name.load()(name)


def _jvm_name(name: str) -> TypeName | None:
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


def file_names(kind: str, name: TypeName) -> list[str]:
    """The usual names of a file that declares a type, without ending: its outermost class, without Kotlin's "Kt"."""
    outermost = name.names[0]
    stems = [outermost]
    if kind in _JVM_KINDS and outermost.endswith("Kt"):
        stems.append(outermost.removesuffix("Kt"))
    return [f"{stem}{suffix}" for stem in stems for suffix in suffixes_of(kind)]


def text_of(path: str) -> str:
    """A local file as far as it is searched for declarations; empty if it can't be read."""
    try:
        with opened(Path(path)) as file:
            return file.read(TEXT_LIMIT).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def declarations(text: str) -> list[Declaration]:
    """All types that a text declares, in order. A type's members end with its closing brace."""
    found: list[Declaration] = []
    package, around, pending = "", list[tuple[str, ...]](), None
    inside: tuple[str, ...] = ()
    packages: list[tuple[int, str]] = []
    depth_round, line, counted = 0, 1, 0
    for token in _TOKEN.finditer(text[:TEXT_LIMIT]):
        line += text.count("\n", counted, token.start())
        counted = token.start()
        if token["package"] is not None:
            before = package
            package = (
                f"{package}.{token['package']}" if package and token["ends"] != ";" else token["package"]
            )
            if token["ends"] == "{":
                packages.append((len(around), before))
                around.append(inside)
        elif token["name"] is not None:
            # inside round brackets "record" is the name of a parameter, not a declaration
            if not depth_round:
                pending = (*inside, token["name"])
                found.append(Declaration(TypeName(package, pending), line))
        elif token["member"] is not None:
            pending = pending if depth_round else None
        elif token["sign"] == "{":
            around.append(inside)
            inside, pending = pending or inside, None
        elif token["sign"] == "}":
            inside = around.pop() if around else ()
            pending = None
            if packages and packages[-1][0] == len(around):
                package = packages.pop()[1]
        elif token["sign"] == ";":
            pending = None
        elif token["sign"] is not None:
            depth_round = max(0, depth_round + (1 if token["sign"] == "(" else -1))
    return found


def line_of(text: str, name: TypeName) -> int:
    """The line that declares a type, or the innermost type around it that the text declares; 0 if it declares none.

    Kotlin's ``CacheKt`` stands for a whole file, so its line is the first.
    """
    lines = {each.type: each.line for each in reversed(declarations(text))}
    while True:
        if name in lines:
            return lines[name]
        if name.outer == name:
            break
        name = name.outer
    return 1 if name.names[0].endswith("Kt") and is_of_package(text, name.package) else 0


def is_of_package(text: str, package: str) -> bool:
    """Whether a file of Java, Kotlin or Scala says that it is of a package."""
    return re.search(rf"^[ \t]*package[ \t]+{re.escape(package)}(?![\w.])", text, re.MULTILINE) is not None
