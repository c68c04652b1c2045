"""Ruby names of Java methods compiled by JRuby.

Source: ``JavaNameMangler`` of JRuby 9, which names a method ``RUBY$block$work$5``.
"""

import re

_COMPILED = re.compile(r"RUBY\$(\w+)(?:\$([^$]*)(?:\$.*)?)?")
_MANGLED = re.compile(r"\\(.)", re.DOTALL)
_CHARACTERS = {
    "|": "/", ",": ".", "?": ";", "%": "$", "^": "<", "_": ">", "{": "[", "}": "]", "!": ":", "-": "\\", "=": "",
}  # fmt: skip
"""Escapes after a backslash for characters that Java method names can't have."""
_TOP = "<main>"


def jruby_name(method: str) -> str | None:
    """Return the Ruby name of a compiled Java method, such as ``block in work``; None for other methods."""
    found = _COMPILED.fullmatch(method)
    if found is None:
        return None
    name = _MANGLED.sub(lambda each: _CHARACTERS.get(each[1], each[0]), found[2] or "")
    return called(found[1].upper(), name)


def called(kind: str, name: str) -> str:
    """Return the name of code of a kind, as in Ruby's own stack traces."""
    match kind:
        case "BLOCK":
            return f"block in {name or _TOP}"
        case "CLASS" | "MODULE":
            return f"<{kind.lower()}:{name}>"
        case "METACLASS":
            return "singleton class"
        case _:
            return name or _TOP
