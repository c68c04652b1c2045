"""Where types, and fields of them, are declared in source, in languages with classes and braces.

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
_FIELD = r"(?<![.\w])(?<![=?])(?<![=?] )(?P<field>{})(?=[ \t]*[=;,:)])"
_TOKEN = re.compile(f"{_SKIPPED}|{_PACKAGE}|{_TYPE}|{_OTHERS}|(?P<sign>[{{}};()])", re.MULTILINE)


class TypeName(NamedTuple):
    """A type's name, split: ``com.acme.Cache$Entry`` is ``com.acme`` and ``("Cache", "Entry")``.

    With ``field`` it is the name of a field that the type declares.
    """

    package: str
    names: tuple[str, ...]
    field: str = ""

    @property
    def symbol(self) -> str:
        """The full name of the outermost type, with dots."""
        return f"{self.package}.{self.names[0]}" if self.package else self.names[0]

    @property
    def outer(self) -> "TypeName":
        """The enclosing type; the type itself if there is none."""
        return TypeName(self.package, self.names[:-1] or self.names)


class Declaration(NamedTuple):
    """A declaration of a type, or of a field; lines count from 1."""

    type: TypeName
    line: int


def suffixes_of(kind: str) -> tuple[str, ...]:
    """Endings of source files that can declare the types of a dump of ``kind``; none if no source can."""
    known = registry.declarations_of(kind)
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
    known = registry.declarations_of(kind)
    return "" if known is None else known.language


def type_name(kind: str, name: str) -> TypeName | None:
    """Split the name of a type, or of a field of one, in a file of ``kind``; None if no source can declare it.

    For types that compilers make (anonymous and local classes, lambdas, closures, companion objects) the result is the
    named type around them.
    """
    while name.endswith("[]"):
        name = name[:-2]
    known = registry.declarations_of(kind)
    return None if known is None else known.type_name.load()(name)


def file_names(kind: str, name: TypeName) -> list[str]:
    """The usual names of a file that declares a type: its outermost class, also without the suffix of a file's own
    class.
    """
    outermost = name.names[0]
    known = registry.declarations_of(kind)
    stems = dict.fromkeys((outermost, outermost.removesuffix("" if known is None else known.whole_file)))
    return [f"{stem}{suffix}" for stem in stems for suffix in suffixes_of(kind)]


def text_of(path: str) -> str:
    """A local file as far as it is searched for declarations; empty if it can't be read."""
    try:
        with opened(Path(path)) as file:
            return file.read(TEXT_LIMIT).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def declarations(text: str, field: str = "") -> list[Declaration]:
    """All types that a text declares, and fields of one name, in order. A type's members end with its closing brace."""
    reading = _Reading(field)
    line, counted = 1, 0
    pattern = f"{_TOKEN.pattern}|{_FIELD.format(re.escape(field))}" if field else _TOKEN.pattern
    for token in re.compile(pattern, re.MULTILINE).finditer(text[:TEXT_LIMIT]):
        line += text.count("\n", counted, token.start())
        counted = token.start()
        reading.take(token, line)
    return reading.found


class _Scope(NamedTuple):
    """A type that is around a place, and how many braces are around its members, of whose bodies there are more."""

    type: tuple[str, ...] = ()
    braces: int = 0


class _Reading:
    """What was declared up to a token."""

    def __init__(self, field: str) -> None:
        self.found: list[Declaration] = []
        self._field = field
        self._package = ""
        self._packages: list[tuple[int, str]] = []
        self._inside = _Scope()
        self._around: list[_Scope] = []
        self._pending: tuple[str, ...] | None = None
        """The type whose members may begin."""
        self._depth_round = 0

    def take(self, token: re.Match[str], line: int) -> None:
        """Read the next token."""
        if token["package"] is not None:
            before = self._package
            self._package = _package_in(before, token)
            if token["ends"] == "{":
                self._packages.append((len(self._around), before))
                self._around.append(self._inside)
        elif token["name"] is not None:
            # inside round brackets "record" is the name of a parameter, not a declaration
            if not self._depth_round and len(self._inside.type) < _MOST_DEPTH:
                self._pending = (*self._inside.type, token["name"])
                self.found.append(Declaration(TypeName(self._package, self._pending), line))
        elif token["member"] is not None:
            self._pending = self._pending if self._depth_round else None
        elif token["sign"] is not None:
            self._take_sign(token["sign"])
        elif token.lastgroup == "field":
            self._take_field(line)

    def _take_field(self, line: int) -> None:
        if self._depth_round:
            # components of a record, and properties that a constructor declares
            owner = self._pending
        else:
            owner = self._inside.type if len(self._around) == self._inside.braces else None
        if owner:
            self.found.append(Declaration(TypeName(self._package, owner, self._field), line))

    def _take_sign(self, sign: str) -> None:
        match sign:
            case "{":
                self._around.append(self._inside)
                if self._pending:
                    self._inside = _Scope(self._pending, len(self._around))
                self._pending = None
            case "}":
                self._inside = self._around.pop() if self._around else _Scope()
                self._pending = None
                if self._packages and self._packages[-1][0] == len(self._around):
                    self._package = self._packages.pop()[1]
            case ";":
                self._pending = None
            case _:
                self._depth_round = max(0, self._depth_round + (1 if sign == "(" else -1))


def _package_in(outer: str, token: re.Match[str]) -> str:
    if not outer or token["ends"] == ";":
        return token["package"]
    return f"{outer}.{token['package']}" if len(outer) < _LONGEST_PACKAGE else outer


def line_of(text: str, name: TypeName) -> int:
    """The line that declares a type or a field, or the innermost type around it that the text declares.

    0 if it declares none. Of a type that stands for a whole file the line is the first.
    """
    lines = {each.type: each.line for each in reversed(declarations(text, name.field))}
    if name in lines:
        return lines[name]
    name = TypeName(name.package, name.names)
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
