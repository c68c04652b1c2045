"""Where functions are in Python source: whether a snapshot's line can still be in the function that it names."""

import ast
import re
from typing import NamedTuple

TEXT_LIMIT = 2 << 20
"""Characters; longer source is not parsed."""
_MOST_BRACES = 10_000
"""In source that is parsed: before 3.12, Python takes time by the square of the expressions in an f-string."""

_OPENING = re.compile(r"(?P<indent>[ \t]*)(?:async[ \t]+def|def|class)[ \t]+(?P<name>\w+)")
# Short strings and comments, in which brackets don't count; a backslash outside of one hides a quote.
_TEXT = re.compile(r"""\\.|'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+"|#.*""")
_TRIPLE = re.compile(r"'''|\"\"\"")


class Scope(NamedTuple):
    """A function or a class. Lines count from 1: ``start`` is its first decorator's, ``line`` its name's."""

    path: tuple[str, ...]
    """Its qualified name."""
    start: int
    line: int
    end: int
    is_class: bool


class Functions:
    """The functions and classes of one text. ``whole`` says that the text was parsed to its end."""

    def __init__(self, scopes: list[Scope], *, whole: bool) -> None:
        self.whole = whole
        self.scopes = sorted(scopes, key=lambda scope: (scope.start, -scope.end))
        self._by_name: dict[str, list[Scope]] = {}
        for scope in self.scopes:
            self._by_name.setdefault(scope.path[-1], []).append(scope)

    @classmethod
    def of(cls, text: str) -> "Functions":
        """Parse Python source; if it isn't valid, functions are found by indentation."""
        if len(text) > TEXT_LIMIT:
            return cls([], whole=False)
        tree = syntax_of(text)
        return cls(_indented(text), whole=False) if tree is None else cls(_scopes(tree), whole=True)

    def elsewhere(self, function: str, line: int) -> list[int] | None:
        """The lines where ``function`` begins, if ``line`` isn't inside it; None if it may be.

        Empty if there is no function of that name. None for lambdas, comprehensions, modules and names that aren't
        Python's. ``function`` may be a qualified name such as ``Trainer.step``.
        """
        path = tuple(part for part in function.split(".") if part != "<locals>")
        if not path or not all(part.isidentifier() for part in path):
            return None
        named = self._by_name.get(path[-1], [])
        named = [scope for scope in named if scope.path[-len(path) :] == path] or named
        if any(scope.start <= line <= scope.end for scope in named):
            return None
        if not named and not self.whole:
            return None
        return [scope.line for scope in named]

    def definition(self, function: str, line: int) -> int:
        """The first line of the ``function`` around ``line``; else that of the only function of that name; else 0."""
        named = [scope for scope in self._by_name.get(function.rsplit(".", 1)[-1], []) if not scope.is_class]
        around = [scope for scope in named if scope.start <= line <= scope.end]
        if around:
            return around[-1].line
        return named[0].line if len(named) == 1 else 0


def syntax_of(text: str) -> ast.Module | None:
    """The syntax of Python source; None if it isn't valid, or would take too long to parse."""
    if len(text) > TEXT_LIMIT or text.count("{") > _MOST_BRACES:
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _scopes(tree: ast.Module) -> list[Scope]:
    found: list[Scope] = []
    waiting: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            around = (*around, node.name)
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            end = node.end_lineno or node.lineno
            found.append(Scope(around, start, node.lineno, end, isinstance(node, ast.ClassDef)))
        waiting += [(child, around) for child in ast.iter_child_nodes(node)]
    return found


def _indented(text: str) -> list[Scope]:
    """Find blocks by indentation: a block ends before the next line that is indented no deeper than its first.

    Empty lines, comments and the insides of brackets and long strings are skipped. A line that opens a block closes
    brackets that are still open, as they may be while code is being typed.
    """
    found: list[Scope] = []
    open_scopes: list[tuple[int, Scope]] = []
    lines = text.split("\n")
    within: str | None = None
    depth = 0
    last = 0
    decorated = 0
    for number, line in enumerate(lines, 1):
        inside, within = within, _string_after(line, within)
        stripped = line.lstrip()
        if not stripped:
            continue
        opening = _OPENING.match(line) if inside is None else None
        if inside is None and stripped[0] != "#" and (depth == 0 or opening is not None):
            indent = len(line) - len(stripped)
            while open_scopes and open_scopes[-1][0] >= indent:
                found.append(open_scopes.pop()[1]._replace(end=last))
            if opening is not None:
                around = open_scopes[-1][1].path if open_scopes else ()
                path = (*around, opening["name"])
                is_class = stripped.startswith("class")
                open_scopes.append((indent, Scope(path, decorated or number, number, number, is_class)))
                depth = decorated = 0
            elif stripped[0] == "@":
                decorated = decorated or number
            else:
                decorated = 0
        if inside is None and within is None:
            bare = _TEXT.sub("", line)
            depth = max(0, depth + sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}")))
        # comments belong to the block above them, since no frame is on one
        if not decorated:
            last = number
    return found + [scope._replace(end=len(lines)) for _, scope in open_scopes]


def _string_after(line: str, within: str | None) -> str | None:
    """The delimiter of the long string that is open after a line, given the one that is open before it."""
    for quotes in _TRIPLE.findall(line):
        if within is None:
            within = quotes
        elif within == quotes:
            within = None
    return within
