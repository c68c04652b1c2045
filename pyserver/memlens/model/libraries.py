"""Whose code a frame is: where interpreters, compilers and package managers keep library code.

The rules are data, a table for each language or ecosystem: ``library_rules/WORLD.toml`` and the packs'
``libraries/WORLD.toml``, those of other packages after Memlens's own. A row has a ``name``, the ``library`` that it
names (the pattern's group replaces ``{package}``), a pattern under one of these keys, frames that it ``fits`` (whose
library is ``as``, if the pattern has a group) and ``near`` misses that are the user's own:

* ``path``: the file's path, with forward slashes and without ``..``. Paths as compilers write them may be relative.
  ``hints`` are lower-case texts of which every matching path contains one; searching for them is faster.
* ``cut_path``: a path whose beginning was cut off by a profiler.
* ``file_name``: the file's name, if the file has no folder (some recorders write names only); with
  ``inside``, only in functions that match it, because a program may have an ``import.c`` itself.
* ``function``: the function's name without its parameters and template arguments, if the file has no folder; Rust's
  names, which begin with the crate, also if the path is relative (crates are compiled in their own folders).
* ``symbol``: the function's name as recorded, in any file of a compiled language.
* ``module``: the program or shared library that contains the code.

``{{name}}`` in a pattern stands for any of the ``words`` of that name in the same table. A frame belongs to the
library of the first rule that it matches, and is the user's own if it matches none: the tables of languages come
first, then those of generated code, of projects (code of others within one) and of the system.

Ambiguous names count as the user's. A folder takes precedence over a name, a file of the workspace over a rule for
names (:func:`is_by_name_only`), and ``memlens.libraries`` over everything. ``tests/python/test_libraries.py`` runs all
examples.
"""

import functools
import posixpath
import re
import sys
import tomllib
from collections.abc import Sequence
from importlib import resources
from typing import Literal, NamedTuple, get_args

import msgspec
from msgspec import Struct

from memlens.nested import without_nested
from memlens.packs import registry
from memlens.result_cache import remembered

Where = Literal["path", "cut_path", "file_name", "function", "symbol", "module"]

_LAST = ("generated", "projects", "system")
"""Tables that come after those of the languages."""


class Example(Struct, frozen=True, forbid_unknown_fields=True):
    """An example of a frame whose library isn't decided by its file alone."""

    file: str
    function: str = ""
    module: str = ""
    cut: bool = False


class Rule(Struct, frozen=True, dict=True, forbid_unknown_fields=True, rename={"of_examples": "as"}):
    """A row of a table. Patterns are compiled on first use, since a file needs few of them."""

    name: str
    library: str
    fits: tuple[str | Example, ...]
    near: tuple[str | Example, ...]
    path: str = ""
    cut_path: str = ""
    file_name: str = ""
    function: str = ""
    symbol: str = ""
    module: str = ""
    inside: str = ""
    hints: tuple[str, ...] = ()
    of_examples: str = ""

    @functools.cached_property
    def where(self) -> Where:
        """What the rule looks at."""
        found: list[Where] = [where for where in get_args(Where) if getattr(self, where)]
        if len(found) != 1 or (found == ["path"]) != bool(self.hints):
            raise ValueError(f"The rule {self.name!r} has not one pattern, or a path without hints")
        return found[0]

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of the path, name, function or module."""
        flags = re.IGNORECASE if self.where in ("path", "file_name") else re.NOFLAG
        return re.compile(getattr(self, self.where), flags)

    @functools.cached_property
    def inside_pattern(self) -> re.Pattern[str] | None:
        """The pattern that the function must match as well; None if there is none."""
        return re.compile(self.inside) if self.inside else None


class _Table(Struct, forbid_unknown_fields=True):
    rule: list[dict[str, object]]
    words: dict[str, tuple[str, ...]] = {}


_WORDS = re.compile(r"\{\{(\w+)\}\}")
_KNOWN_WORDS = {"standard_modules": tuple(sorted(set(sys.stdlib_module_names) - {"test", "this"}))}


def parsed(text: str) -> list[Rule]:
    """Return the rules of one table.

    Raises:
        msgspec.ValidationError: A row isn't as described above.
    """
    table = msgspec.convert(tomllib.loads(text), _Table)
    words = {name: "|".join(each) for name, each in (_KNOWN_WORDS | table.words).items()}

    def filled(value: object) -> object:
        return _WORDS.sub(lambda name: words[name[1]], value) if isinstance(value, str) else value

    return [msgspec.convert({key: filled(value) for key, value in row.items()}, Rule) for row in table.rule]


@functools.cache
def rules() -> Sequence[Rule]:
    """Return the rules of all tables, in the order in which they are tried."""
    folder = resources.files("memlens.model").joinpath("library_rules")
    files = [file for file in folder.iterdir() if file.name.endswith(".toml")]
    tables = {file.name.removesuffix(".toml"): file.read_text("utf-8") for file in files}
    tables |= dict(registry.library_tables())
    languages = sorted(name for name in tables if name not in _LAST)
    return [
        *(rule for name in languages for rule in parsed(tables[name])),
        *(rule for table in registry.library_tables_of_others(_checked) for rule in table),
        *(rule for name in _LAST for rule in parsed(tables[name])),
    ]


def _checked(text: str) -> list[Rule]:
    """Return the rules of a table whose patterns nothing else has tried. Raises ValueError and re.error."""
    found = parsed(text)
    for rule in found:
        # they are compiled here
        _ = rule.where, rule.pattern, rule.inside_pattern
    return found


@functools.cache
def _of(where: Where) -> Sequence[Rule]:
    return [rule for rule in rules() if rule.where == where]


# files of these languages are always recorded with their folder, and their functions may have any name
_NOT_COMPILED = (
    ".py",
    ".pyw",
    ".pyi",
    ".ipynb",
    *registry.suffixes(),
)


class Match(NamedTuple):
    """The rule that a frame matches, and the library that it belongs to."""

    rule: Rule
    library: str


def library_of(file: str, function: str = "", module: str = "", *, cut: bool = False) -> str:
    """Return the library or package of a frame with a file, empty for the user's own; see :class:`Rule`.

    ``cut`` means that the path's beginning was cut off.
    """
    match = _by_path(file) or match_of(file, function, module, cut=cut)
    return "" if match is None else match.library


def match_of(file: str, function: str = "", module: str = "", *, cut: bool = False) -> Match | None:
    """Return the first rule that a frame matches; None for the user's own."""
    match = _by_path(file)
    if match is None and cut:
        match = _first("cut_path", file.replace("\\", "/"))
    if match is None and is_bare(file):
        match = _by_name(file, function)
    elif match is None and file.endswith(".rs") and _is_relative(file):
        crates = qualified(function, rust=True)
        match = _first("function", crates) if crates.startswith(_CRATES) else None
    if match is None and not file.endswith(_NOT_COMPILED):
        match = _by_symbol(function)
    if match is None and module:
        match = _by_module(module)
    return match


def misjudged(rule: Rule) -> list[str]:
    """Return a rule's examples that another rule names, and its near misses that aren't the user's."""
    found = []
    for number, each in enumerate((*rule.fits, *rule.near)):
        frame = Example(each) if isinstance(each, str) else each
        match = match_of(frame.file, frame.function, frame.module, cut=frame.cut)
        fits = match is not None and (match.rule.name, match.library) == (
            rule.name,
            rule.of_examples or rule.library,
        )
        if fits != (number < len(rule.fits)) or (match is not None and not fits):
            found.append(frame.file)
    return found


def is_by_name_only(file: str, function: str) -> bool:
    """Return whether only the name of its file makes a frame a library's, not a folder or the function's prefix.

    The user's program may have a file of that name.
    """
    match = match_of(file, function)
    if match is None or match.rule.where != "file_name":
        return False
    name = qualified(function)
    return _first("function", name) is None and not any(
        each.match(name) for each in registry.runtime_functions()
    )


@remembered(1 << 15)
def _by_path(file: str) -> Match | None:
    """Return the first path rule that a file matches. Cached, because few files have many frames."""
    path = canonical(file.replace("\\", "/"))
    lower = path.lower()
    for rule in _of("path"):
        for hint in rule.hints:
            if hint in lower:
                matched = rule.pattern.search(path)
                if matched is not None:
                    return _match(rule, matched)
                break
    return None


@remembered(1 << 15)
def is_bare(file: str) -> bool:
    """Return whether a file of a compiled language is recorded without its folder."""
    return not ("/" in file or "\\" in file or file.startswith("<") or file.endswith(_NOT_COMPILED))


def _by_name(file: str, function: str) -> Match | None:
    name = None
    for rule, match in _named(file):
        if rule.inside_pattern is None:
            return match
        name = qualified(function) if name is None else name
        if rule.inside_pattern.search(name):
            return match
    return _first("function", qualified(function, rust=file.endswith(".rs")))


@remembered(1 << 14)
def _named(file: str) -> list[tuple[Rule, Match]]:
    """Return the name rules that a file's name matches."""
    matched = ((rule, rule.pattern.search(file)) for rule in _of("file_name"))
    return [(rule, _match(rule, match)) for rule, match in matched if match is not None]


@remembered(1 << 12)
def _by_symbol(function: str) -> Match | None:
    return _first("symbol", function)


def _is_relative(file: str) -> bool:
    return not file.startswith(("/", "\\")) and file[1:2] != ":"


@remembered(1 << 12)
def _by_module(module: str) -> Match | None:
    return _first("module", module.replace("\\", "/"))


def _first(where: Where, text: str) -> Match | None:
    for rule in _of(where):
        matched = rule.pattern.search(text)
        if matched is not None:
            return _match(rule, matched)
    return None


def _match(rule: Rule, matched: re.Match[str]) -> Match:
    package = matched.groupdict().get("package") or ""
    return Match(rule, rule.library.format(package=_package(package)) if package else rule.library)


_VERSION = re.compile(r"-\d.*$")
_ESCAPED = re.compile(r"!([a-z])")


def _package(text: str) -> str:
    """Return a package's name without its version. Module caches write capitals as ``!c``."""
    text = _ESCAPED.sub(lambda letter: letter[1].upper(), text)
    return _VERSION.sub("", text.removesuffix(".egg").removesuffix(".py")) or text


def canonical(path: str) -> str:
    """Return a path without ``.`` and ``..``. Leading ``..`` are dropped, as the folder they refer to is unknown."""
    if path.startswith(".") or "/../" in path or "/./" in path:
        path = posixpath.normpath(path)
        while path.startswith("../"):
            path = path[3:]
    return path


_CRATES = "rust:"
_RUST_SIDE = re.compile(r"(?:&(?:'\w+ )?|mut |dyn |\*const |\*mut |\[|\()*(?P<crate>[a-z_]\w*)::")


@remembered(1 << 12)
def qualified(function: str, *, rust: bool = False) -> str:
    """Return a function's name with its namespaces, which the rules for functions match.

    C++ names lose the result's type, the arguments and the template arguments. Rust names become ``rust:`` and the
    crates of the function: those of both the type and the trait in ``<type as trait>::function``, as either may
    define it.
    """
    if rust:
        return _crates(function)
    if "(" not in function and "<" not in function and " " not in function:
        return function
    if function.startswith(("operator ", "(below")):
        return function
    text = function.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}")
    return without_nested(text, "<>").partition("(")[0].strip().rpartition(" ")[2]


def _crates(function: str) -> str:
    if not function.startswith("<"):
        crate = _RUST_SIDE.match(function)
        return f"{_CRATES}{crate['crate']}" if crate else function
    depth, end = 0, len(function)
    for at, letter in enumerate(function):
        depth += (letter == "<") - (letter == ">" and function[at - 1] != "-")
        if depth == 0:
            end = at
            break
    own, _, trait = function[1:end].partition(" as ")
    sides = [side["crate"] for text in (own, trait) if (side := _RUST_SIDE.match(text))]
    return f"{_CRATES}{','.join(sides)}" if sides else function
