"""Prints the templates of the Python package as JSON: every text that ``phrase`` and ``plural`` are called with.

A template that isn't a literal can't be translated, and one whose names aren't those of its values can't be filled:
both are printed to stderr, and the exit status is 1.
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

PACKAGE = Path(__file__).parents[2] / "pyserver" / "memlens"


def templates_of(source: str, file: str) -> tuple[list[str], list[str]]:
    """The templates in a file that contain words, and their problems as ``FILE:LINE: …``."""
    found: list[str] = []
    problems: list[str] = []
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "phrase":
            texts = [text for node in call.args[:1] for text in _texts(node)]
            literal = [text for text in texts if text is not None]
            found += [text for text in literal if any(char.isalpha() for char in _words(text))]
            problems += [f"{file}:{call.lineno}: {problem}" for problem in _problems(texts, literal, call)]
    return found, problems


def _texts(node: ast.expr) -> Iterator[str | None]:
    """The texts of a template: a literal, one of two, or the forms of ``plural``; None for anything else."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp():
            yield from _texts(node.body)
            yield from _texts(node.orelse)
        case ast.Call(func=ast.Name(id="plural"), args=[_, one, many]):
            yield from _texts(one)
            yield from _texts(many)
        case _:
            yield None


def _problems(texts: list[str | None], literal: list[str], call: ast.Call) -> Iterator[str]:
    if len(literal) < len(texts):
        yield "phrase needs a text, or a choice of texts, as its first argument"
    if any(spec or conversion for text in literal for _, _, spec, conversion in Formatter().parse(text)):
        yield "a name in braces has nothing beside it: values are formatted before"
    given = {keyword.arg for keyword in call.keywords}
    if None in given:
        return
    names = [set(_names(text)) for text in literal]
    if any(not each <= given for each in names):
        yield f"{', '.join(sorted(set().union(*names) - given))} of the template has no value"
    if unused := given - set().union(*names):
        yield f"{', '.join(sorted(map(str, unused)))} is not in the template"


def _names(template: str) -> Iterator[str]:
    return (name for _, name, _, _ in Formatter().parse(template) if name is not None)


def _words(template: str) -> str:
    return "".join(text for text, *_ in Formatter().parse(template))


def main() -> int:
    """Print the templates, or their problems."""
    templates: list[str] = []
    problems: list[str] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE.parents[1]).as_posix()
        found, wrong = templates_of(path.read_text("utf-8"), file)
        templates += found
        problems += wrong
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    print(json.dumps(sorted(set(templates))))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
