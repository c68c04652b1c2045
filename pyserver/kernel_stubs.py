"""Writes what type checkers know of each kernel, its ``.pyi``, from the declarations in its ``.pyx``.

An argument has the type that Cython gives it, or that of its annotation: ``const uint8_t[::1] data: Buffer`` takes more
than NumPy's arrays. A method without an annotation of what it returns returns None.
"""

import builtins
import re
from collections.abc import Iterator
from pathlib import Path

_ARRAYS = {
    f"{u}int{bits}_t": f"{letter}{bits}" for u, letter in (("u", "U"), ("", "I")) for bits in (8, 16, 32, 64)
}
_ARRAYS |= {"double": "F64", "unsigned char": "U8", "char": "U8"}
_NUMBERS = re.compile(r"(unsigned |signed )?(char|int|long|long long|size_t|Py_ssize_t|u?int\d+_t)$")
_PLAIN = {"bint": "bool", "double": "float"}
_NOT_DECLARED = re.compile(r"cdef (?!class|public|readonly)|c?import |from .* c?import ")
_CLASS = re.compile(r"(?:cdef )?class (\w+)(\(\w+\))?:")
_HOMES = {
    "memlens.arrays": {*_ARRAYS.values(), "Mask"},
    "collections.abc": {"Callable", "Collection", "Iterable", "Iterator", "Mapping", "Sequence"},
    "typing": {"Any", "Literal"},
    "typing_extensions": {"Buffer"},
}


def write_stubs(package: Path) -> None:
    """Write the ``.pyi`` of every kernel in a package, unless it is current."""
    for source in package.rglob("*.pyx"):
        header, target = source.with_suffix(".pxd"), source.with_suffix(".pyi")
        text = stub(source.read_text("utf-8"), header.read_text("utf-8") if header.exists() else "")
        if not target.exists() or target.read_text("utf-8") != text:
            target.write_text(text, "utf-8", newline="\n")


def stub(source: str, header: str = "") -> str:
    """Return the text of a kernel's ``.pyi``. Classes may have their base and attributes in the header."""
    body: list[str] = []
    for line in _logical_lines(source):
        body += [line[: len(line) - len(line.lstrip())] + text for text in _declared(line.strip())]
        if is_class := _CLASS.match(line):
            named = re.search(
                rf"^cdef class {is_class[1]}(\(\w+\))?:.*\n((?: {{4}}.*\n|\n)+)", header, re.MULTILINE
            )
            base, members = named.groups() if named else (None, "")
            body[-1] = f"class {is_class[1]}{is_class[2] or base or ''}:"
            for member in members.splitlines():
                body += [f"    {text}" for text in _declared(member.partition("  #")[0].strip())]
    text = "\n".join(body) + "\n"
    # a class that has both takes what __init__ does
    text = re.sub(r"    def __cinit__\(.*\n((?:    .*\n)*    def __init__\()", r"\1", text)
    text = re.sub(r"(    def __init__\(.*\n(?:    .*\n)*)    def __cinit__\(.*\n", r"\1", text)
    text = text.replace("def __cinit__(", "def __init__(")
    text = re.sub(r"^(class .*:)$(?!\n    )", r"\1 ...", text, flags=re.MULTILINE)
    return _imports(source + header, text) + text


def _logical_lines(source: str) -> Iterator[str]:
    """Yield the declarations of a module and of its classes, each in a line, without texts and comments."""
    in_class = False
    lines = iter(re.sub(r'^ *"""[\s\S]*?"""', "", source, flags=re.MULTILINE).splitlines())
    for line in lines:
        if re.match(r"\w", line):
            in_class = _CLASS.match(line) is not None
        if not re.match(r"(    )?[\w@]" if in_class else r"[\w@]", line) or _NOT_DECLARED.match(line.strip()):
            continue
        text = re.sub(r"\s*#.*", "", line)
        while text.endswith("\\") or sum(map(text.count, "([{")) > sum(map(text.count, ")]}")):
            text = text.rstrip("\\") + re.sub(r"\s*#.*", "", next(lines)).strip() + " "
        yield text.rstrip()


def _declared(line: str) -> list[str]:
    """Return the lines of the stub for a line of the source."""
    if is_class := _CLASS.match(line):
        return [f"class {is_class[1]}"]
    if is_function := re.match(r"def (\w+)\((.*)\)(?: -> (.+))?:$", line):
        return _function(*is_function.groups())
    if is_attribute := re.match(r"cdef (?:public|readonly) (.+)", line):
        kind, names = _split(is_attribute[1])
        return [f"{name.strip()}: {kind}" for name in names.split(",")]
    if is_constant := re.match(r"([A-Z][A-Z0-9_]*(?:, [A-Z][A-Z0-9_]*)*) = ([^{])", line):
        kind = {"b": "bytes", "(": "tuple[str, ...]"}.get(is_constant[2], "int")
        return [f"{name}: {kind}" for name in is_constant[1].split(", ")]
    return [line] if line == "@property" else []


def _function(name: str, arguments: str, returned: str | None) -> list[str]:
    if re.match("_(?!_)|__dealloc__", name):
        return []
    taken = ", ".join(_argument(text) for text in _at_commas(arguments))
    return [f"def {name}({taken}) -> {returned or 'None'}: ..."]


def _at_commas(text: str) -> list[str]:
    """Split arguments at the commas that no bracket has."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _argument(text: str) -> str:
    if text == "*":
        return text
    text, _, default = text.partition("=") if re.search(r"[^=]=[^=]", text) else (text, "", "")
    text, _, annotation = (part.strip() for part in text.partition(" : " if " : " in text else ": "))
    may_be_none = " or None" in text
    kind, name = _split(re.sub(r" (not|or) None$", "", text))
    if name == "self":
        return name
    if re.match(r"\*+\w", name):
        return f"{name}: object"
    kind = annotation or kind + (" | None" if may_be_none else "")
    return f"{name}: {kind}{' = ...' if default else ''}"


def _split(declared: str) -> tuple[str, str]:
    """Return the type for a checker, and the names after it."""
    declared = declared.removeprefix("const ")
    if is_array := re.match(r"([\w ]+)\[[:, 1]*\] (.+)", declared):
        return _ARRAYS.get(is_array[1], "npt.NDArray[Any]"), is_array[2]
    first, _, names = declared.partition(" ")
    while names and _NUMBERS.match(f"{first} {names.split(' ')[0]}"):
        more, _, names = names.partition(" ")
        first = f"{first} {more}"
    if not names:
        return "Any", first
    return "int" if _NUMBERS.match(first) else _PLAIN.get(first, first), names


def _imports(source: str, text: str) -> str:
    """Return the imports of a stub's names, from where the kernel has those that aren't known."""
    used = set(re.findall(r"\b[A-Z]\w+", text)) - set(
        re.findall(r"^(?:class )?(\w+)\b(?::| =|\()", text, re.MULTILINE)
    )
    homes = {name: home for home, names in _HOMES.items() for name in names}
    for home, names in re.findall(r"^from ([\w.]+) c?import (\([^)]*\)|.+)", source, re.MULTILINE):
        homes |= dict.fromkeys(re.findall(r"\w+", names), home)
    found: dict[str, list[str]] = {}
    for name in sorted(used & homes.keys() - set(dir(builtins))):
        found.setdefault(homes[name], []).append(name)
    lines = [f"from {home} import {', '.join(names)}\n" for home, names in sorted(found.items())]
    if "npt." in text:
        lines.append("import numpy.typing as npt\n")
    return "".join(lines)
