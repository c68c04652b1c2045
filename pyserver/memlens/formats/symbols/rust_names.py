"""Demangling of Rust function names.

Sources: the v0 mangling of https://doc.rust-lang.org/rustc/symbol-mangling/v0.html (RFC 2603), and the legacy scheme,
which uses that of C++ with ``$`` escapes. Hashes that distinguish equal names are omitted.
"""

import re
from collections.abc import Callable

MOST_CHARACTERS = 16_384
_MOST_DEPTH = 200

_BASIC_TYPES = {
    "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8", "i": "isize", "j": "usize",
    "l": "i32", "m": "u32", "n": "i128", "o": "u128", "p": "_", "s": "i16", "t": "u16", "u": "()", "v": "...",
    "x": "i64", "y": "u64", "z": "!",
}  # fmt: skip
_BASE_62 = {c: n for n, c in enumerate("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")}
_SIGNED, _UNSIGNED = "aslxni", "htmyoj"

_LEGACY = re.compile(r"^_?_ZN(?P<body>[0-9A-Za-z_$.]+)17h[0-9a-f]{16}E(?P<suffix>\..*)?$", re.ASCII)
_HASHED = re.compile(r"^(?P<path>.+)::h[0-9a-f]{16}$", re.ASCII)
_ESCAPE = re.compile(r"\$(?P<name>[A-Z]{1,2}|u[0-9a-f]{1,6})\$|(?P<colons>\.\.)")
_ESCAPED = {
    "SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ",",
}  # fmt: skip
_LLVM_SUFFIX = re.compile(r"\.llvm\.[0-9A-Fa-f@]+$")


class _NotRustError(Exception):
    """The name doesn't follow the grammar."""


def demangled(name: str) -> str:
    """Return the demangled name of a Rust function; other names are returned unchanged."""
    if name.startswith("_R"):
        stem, dot, suffix = _LLVM_SUFFIX.sub("", name).partition(".")
        if len(stem) > MOST_CHARACTERS or not stem.isascii():
            return name
        try:
            return _V0(stem[2:]).symbol() + dot + suffix
        except _NotRustError:
            return name
    if name.startswith(("_ZN", "__ZN")):
        legacy = _LEGACY.match(_LLVM_SUFFIX.sub("", name))
        parts = None if legacy is None else _legacy_parts(legacy["body"])
        if legacy is not None and parts is not None:
            return "::".join(map(_legacy_part, parts)) + (legacy["suffix"] or "")
    # a legacy name that a C++ demangler has processed
    hashed = _HASHED.match(name)
    return "::".join(map(_legacy_part, hashed["path"].split("::"))) if hashed is not None else name


def _legacy_parts(body: str) -> list[str] | None:
    """Split a path of names with their lengths before them; None if it is invalid."""
    parts, at = [], 0
    while at < len(body):
        digits = re.compile(r"[1-9]\d{0,5}", re.ASCII).match(body, at)
        if digits is None or digits.end() + int(digits[0]) > len(body):
            return None
        at = digits.end() + int(digits[0])
        parts.append(body[digits.end() : at])
    return parts


def _legacy_part(part: str) -> str:
    def unescaped(escape: re.Match[str]) -> str:
        if escape["colons"]:
            return "::"
        name = escape["name"]
        if name[0] == "u":
            code = int(name[1:], 16)
            return chr(code) if 32 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else escape[0]
        return _ESCAPED.get(name, escape[0])

    return _ESCAPE.sub(unescaped, part.removeprefix("_") if part.startswith("_$") else part)


class _V0:
    """A parser of one v0 name. Back references are expanded, so the output and the depth are limited."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._bound = 0
        self._written = 0

    def symbol(self) -> str:
        """Return the whole name without the instantiating crate and a linker's suffix."""
        if self._peek().isdigit():
            raise _NotRustError  # a future encoding
        path = self._path(in_value=True)
        if self._peek() and self._peek() in "CMXYNIB":
            self._path(in_value=False)
        if self._at < len(self._text) and self._peek() != "$":
            raise _NotRustError
        return path

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        letter = self._peek()
        if not letter:
            raise _NotRustError
        self._at += 1
        return letter

    def _takes(self, letter: str) -> bool:
        if self._peek() != letter:
            return False
        self._at += 1
        return True

    def _out(self, text: str) -> str:
        self._written += len(text)
        if self._written > MOST_CHARACTERS:
            raise _NotRustError
        return text

    def _base_62(self) -> int:
        """Parse a number: ``_`` is 0, ``0_`` is 1 and so on."""
        if self._takes("_"):
            return 0
        number = 0
        while True:
            letter = self._next()
            if letter == "_":
                return number + 1
            if letter not in _BASE_62 or number > 1 << 60:
                raise _NotRustError
            number = number * 62 + _BASE_62[letter]

    def _optional_62(self, letter: str) -> int:
        return self._base_62() + 1 if self._takes(letter) else 0

    def _back_reference(self, read: Callable[[], str]) -> str:
        here = self._at - 1
        target = self._base_62()
        if target >= here:
            raise _NotRustError
        after, self._at = self._at, target
        text = read()
        self._at = after
        return text

    def _plain_identifier(self) -> str:
        encoded = self._takes("u")
        digits = ""
        while self._peek().isdigit():
            digits += self._next()
            if digits == "0" or len(digits) > 6:
                break
        if not digits:
            raise _NotRustError
        self._takes("_")
        text = self._text[self._at : self._at + int(digits)]
        if len(text) != int(digits):
            raise _NotRustError
        self._at += len(text)
        if encoded:
            plain, line, code = text.rpartition("_")
            try:
                text = (plain + ("-" if line and plain else "") + code).encode().decode("punycode")
            except (UnicodeError, ValueError) as error:
                raise _NotRustError from error
        return self._out(text)

    def _identifier(self) -> tuple[int, str]:
        return self._optional_62("s"), self._plain_identifier()

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise _NotRustError

    def _path(self, *, in_value: bool) -> str:
        self._deeper()
        path = self._path_of(self._next(), in_value=in_value)
        self._depth -= 1
        return path

    def _path_of(self, letter: str, *, in_value: bool) -> str:
        if letter == "C":
            return self._identifier()[1]
        if letter == "N":
            space = self._next()
            if not space.isalpha():
                raise _NotRustError
            path = self._path(in_value=in_value)
            number, name = self._identifier()
            if space.isupper():
                kind = {"C": "closure", "S": "shim"}.get(space, space)
                return path + self._out(f"::{{{kind}{':' + name if name else ''}#{number}}}")
            return path + (self._out(f"::{name}") if name else "")
        if letter in "MX":
            self._optional_62("s")
            self._path(in_value=False)
        if letter in "MXY":
            of = self._type()
            if letter == "M":
                return self._out(f"<{of}>")
            return self._out(f"<{of} as {self._path(in_value=False)}>")
        if letter == "I":
            path = self._path(in_value=in_value)
            arguments = []
            while not self._takes("E"):
                arguments.append(self._generic_argument())
            return path + self._out(f"{'::' if in_value else ''}<{', '.join(arguments)}>")
        if letter == "B":
            return self._back_reference(lambda: self._path(in_value=in_value))
        raise _NotRustError

    def _generic_argument(self) -> str:
        if self._takes("L"):
            return self._lifetime(self._base_62())
        return self._const() if self._takes("K") else self._type()

    def _lifetime(self, index: int) -> str:
        if index == 0:
            return self._out("'_")
        depth = self._bound - index
        if depth < 0:
            raise _NotRustError
        return self._out(f"'{chr(ord('a') + depth)}" if depth < 26 else f"'_{depth}")

    def _type(self) -> str:
        self._deeper()
        text = self._type_of(self._next())
        self._depth -= 1
        return text

    def _type_of(self, letter: str) -> str:
        basic = _BASIC_TYPES.get(letter)
        if basic is not None:
            return self._out(basic)
        if letter in "RQPO":
            return self._pointer(letter) + self._type()
        if letter == "A":
            of = self._type()
            return self._out(f"[{of}; {self._const()}]")
        if letter == "S":
            return self._out(f"[{self._type()}]")
        if letter == "T":
            types = []
            while not self._takes("E"):
                types.append(self._type())
            return self._out(f"({', '.join(types)}{',' if len(types) == 1 else ''})")
        if letter == "F":
            return self._bound_by(self._function)
        if letter == "D":
            bounds = self._bound_by(self._traits)
            if not self._takes("L"):
                raise _NotRustError
            index = self._base_62()
            return self._out("dyn ") + bounds + (f" + {self._lifetime(index)}" if index else "")
        if letter == "B":
            return self._back_reference(self._type)
        self._at -= 1
        return self._path(in_value=False)

    def _pointer(self, letter: str) -> str:
        if letter in "PO":
            return self._out("*const " if letter == "P" else "*mut ")
        lifetime = ""
        if self._takes("L"):
            index = self._base_62()
            lifetime = f"{self._lifetime(index)} " if index else ""
        return self._out("&" + lifetime + ("mut " if letter == "Q" else ""))

    def _bound_by(self, read: Callable[[], str]) -> str:
        """Parse what may have bound lifetimes: ``for<'a> fn(&'a str)``."""
        count = self._optional_62("G")
        if count > 64:
            raise _NotRustError
        self._bound += count
        names = ", ".join(self._lifetime(index) for index in range(count, 0, -1))
        text = read()
        self._bound -= count
        return self._out(f"for<{names}> ") + text if count else text

    def _function(self) -> str:
        unsafe = "unsafe " if self._takes("U") else ""
        abi = ""
        if self._takes("K"):
            abi = "C" if self._takes("C") else self._plain_identifier().replace("_", "-")
            abi = f'extern "{abi}" '
        types = []
        while not self._takes("E"):
            types.append(self._type())
        result = "" if self._takes("u") else f" -> {self._type()}"
        return self._out(f"{unsafe}{abi}fn({', '.join(types)}){result}")

    def _traits(self) -> str:
        traits = []
        while not self._takes("E"):
            trait = self._path(in_value=False)
            bindings = []
            while self._takes("p"):
                name = self._plain_identifier()
                bindings.append(f"{name} = {self._type()}")
            if bindings:
                inner = trait.removesuffix(">") + ", " if trait.endswith(">") else trait + "<"
                trait = self._out(f"{inner}{', '.join(bindings)}>")
            traits.append(trait)
        return " + ".join(traits)

    def _const(self) -> str:
        self._deeper()
        text = self._const_of(self._next())
        self._depth -= 1
        return text

    def _const_of(self, letter: str) -> str:
        if letter == "B":
            return self._back_reference(self._const)
        if letter == "p":
            return self._out("_")
        if letter not in _SIGNED + _UNSIGNED + "bc":
            raise _NotRustError
        negative = letter in _SIGNED and self._takes("n")
        digits = ""
        while not self._takes("_"):
            digits += self._next()
        if not re.fullmatch(r"[0-9a-f]{0,32}", digits):
            raise _NotRustError
        number = int(digits or "0", 16)
        if letter == "b":
            return self._out({0: "false", 1: "true"}.get(number, str(number)))
        if letter == "c":
            if number >= 0x110000 or 0xD800 <= number < 0xE000:
                raise _NotRustError
            return self._out(repr(chr(number)))
        return self._out(f"{'-' if negative else ''}{number}")
