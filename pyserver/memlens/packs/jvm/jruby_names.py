"""What Ruby calls the code that a method of Java was compiled from by JRuby.

Source: ``JavaNameMangler`` of JRuby 9, which names a method ``RUBY$block$work$5``.
"""

import re

_COMPILED = re.compile(r"RUBY\$(\w+)(?:\$([^$]*)(?:\$.*)?)?")
_MANGLED = re.compile(r"\\(.)", re.DOTALL)
_CHARACTERS = {
    "|": "/", ",": ".", "?": ";", "%": "$", "^": "<", "_": ">", "{": "[", "}": "]", "!": ":", "-": "\\", "=": "",
}  # fmt: skip
"""What follows a backslash in the place of a character that the names of Java's methods can't have."""
_TOP = "<main>"


def jruby_name(method: str) -> str | None:
    """The Ruby code that a method of Java was compiled from, as ``block in work``; None if it isn't such a method."""
    found = _COMPILED.fullmatch(method)
    if found is None:
        return None
    name = _MANGLED.sub(lambda each: _CHARACTERS.get(each[1], each[0]), found[2] or "")
    return called(found[1].upper(), name)


def called(kind: str, name: str) -> str:
    """What Ruby's own stack traces call code of a kind."""
    match kind:
        case "BLOCK":
            return f"block in {name or _TOP}"
        case "CLASS" | "MODULE":
            return f"<{kind.lower()}:{name}>"
        case "METACLASS":
            return "singleton class"
        case _:
            return name or _TOP
