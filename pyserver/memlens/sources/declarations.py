"""Where the types of heap dumps are declared in source, in languages with classes and braces.

Text is scanned for declarations and braces and not parsed, which is enough to find a line and fast for thousands of
files.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memlens.packs import registry
from memlens.packs.api import Declarations
from memlens.regular_files import opened

TEXT_LIMIT = 4 << 20
"""Characters; longer files are skipped."""
_MOST_DEPTH = 32
"""The nesting limit of types and packages; deeper ones count as parts of the outer one."""
_LONGEST_PACKAGE = 1_000

# a backslash outside of a text hides a quote, and a comment may have no end: each character is looked at once
_SKIPPED = (
    r'\\[\s\S]|"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*+"|\'(?:[^\'\\\n]|\\.)++\'|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)'
)
_PACKAGE = r"^[ \t]*(?:package|namespace)[ \t]+(?P<package>[\w.]+)[ \t]*(?P<ends>[;{]?)"
_TYPE = r"(?<![.\w])(?:class|interface|enum|record|object|trait|struct)[ \t]+(?:class[ \t]+|struct[ \t]+)?(?P<name>\w+)"
_OTHERS = r"(?<![.\w])(?P<member>fun|def|val|var|delegate)\b"
_TOKEN = re.compile(f"{_SKIPPED}|{_PACKAGE}|{_TYPE}|{_OTHERS}|(?P<sign>[{{}};()])", re.MULTILINE)


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
    """Endings of source files that can declare the types of a dump of ``kind``; none if no source can."""
    known = registry.objects_of(kind).declarations
    return () if known is None else known.suffixes


def all_suffixes() -> tuple[str, ...]:
    """Endings of source files that declare types of dumps of any kind."""
    return tuple(dict.fromkeys(suffix for each in _all() for suffix in each.suffixes))


def _all() -> Iterator[Declarations]:
    for _, objects in registry.all_objects():
        if objects.declarations is not None:
            yield objects.declarations


def language_of(kind: str) -> str:
    """The editor's language of the types of a dump of ``kind``; empty if no source can declare them."""
    known = registry.objects_of(kind).declarations
    return "" if known is None else known.language


def type_name(kind: str, name: str) -> TypeName | None:
    """Split the name of a type of a dump of ``kind``; None if no source can declare it.

    For types that compilers make (anonymous and local classes, lambdas, closures, companion objects) the result is the
    named type around them.
    """
    while name.endswith("[]"):
        name = name[:-2]
    known = registry.objects_of(kind).declarations
    return None if known is None else known.type_name.load()(name)


def file_names(kind: str, name: TypeName) -> list[str]:
    """The usual names of a file that declares a type: its outermost class, also without the suffix of a file's own
    class.
    """
    outermost = name.names[0]
    known = registry.objects_of(kind).declarations
    stems = dict.fromkeys((outermost, outermost.removesuffix("" if known is None else known.whole_file)))
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
            package = _package_in(package, token)
            if token["ends"] == "{":
                packages.append((len(around), before))
                around.append(inside)
        elif token["name"] is not None:
            # inside round brackets "record" is the name of a parameter, not a declaration
            if not depth_round and len(inside) < _MOST_DEPTH:
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


def _package_in(outer: str, token: re.Match[str]) -> str:
    if not outer or token["ends"] == ";":
        return token["package"]
    return f"{outer}.{token['package']}" if len(outer) < _LONGEST_PACKAGE else outer


def line_of(text: str, name: TypeName) -> int:
    """The line that declares a type, or the innermost type around it that the text declares; 0 if it declares none.

    Of a type that stands for a whole file the line is the first.
    """
    lines = {each.type: each.line for each in reversed(declarations(text))}
    while True:
        if name in lines:
            return lines[name]
        if name.outer == name:
            break
        name = name.outer
    endings = tuple(each.whole_file for each in _all() if each.whole_file)
    return 1 if name.names[0].endswith(endings) and is_of_package(text, name.package) else 0


def is_of_package(text: str, package: str) -> bool:
    """Whether a file declares that it belongs to a package."""
    return re.search(rf"^[ \t]*package[ \t]+{re.escape(package)}(?![\w.])", text, re.MULTILINE) is not None
