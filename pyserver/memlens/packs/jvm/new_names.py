"""Other names for a program's own classes, members and source files, and the ``mapping.txt`` that leads back.

Classes of the runtime keep their names, and so does every text that also names a member of one of them: it says nothing
of the program then. Packages stay one below the other, and nested classes within their own.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator

RUNTIME = ("java.", "javax.", "jdk.", "sun.", "com.sun.", "android.", "dalvik.", "libcore.", "kotlin.")
"""Prefixes of class names that are kept, because findings recognise them."""

_PRIMITIVES = {
    "B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "V": "void",
    "Z": "boolean",
}  # fmt: skip
_ENDINGS = ("java", "kt", "scala", "groovy", "clj")
_OF_THE_LANGUAGE = ("<init>", "<clinit>", "main")
_CLASS = re.compile(
    r"(?P<before>\[+L?)?(?P<name>.*?)(?P<made>(?:\$\$Lambda(?:\$[0-9]+)?)?(?:[+/.]0x[0-9a-fA-F]+)?)"
    r"(?P<after>;|(?:\[\])*)",
    re.DOTALL,
)
"""An array's brackets, in the form of files of either kind, and the ending of a class that the runtime made."""
_WORD = re.compile(r"([0-9]*)(.*)", re.DOTALL)
_TYPE = r"\[*(?:L[^;]+;|[BCDFIJSVZ])"
_CLASS_LINE = re.compile(r"[^\s:#][^\s:]* -> \S+:")
_MEMBER_LINE = re.compile(r"    \S+ [^\s(:#]+(?:\([^)\s]*\))? -> \S+")
_SIGNATURE = re.compile(rf"\(((?:{_TYPE})*)\)({_TYPE})")


def is_runtimes(name: str) -> bool:
    """Whether a class keeps its name, or an array the name of its elements."""
    before, own, _, _ = _parts(name)
    is_primitive = own in _PRIMITIVES if before and before[-1] != "L" else own in _PRIMITIVES.values()
    return is_primitive or _dotted(own).startswith(RUNTIME)


class NewNames:
    """Replacements for texts that name something of the program's own.

    ``kept`` are those that stay, and ``hidden`` replaces the addresses in names of classes.
    """

    def __init__(self, kept: Collection[str], hidden: Callable[[str], str] = str) -> None:
        self._hidden = hidden
        self._kept = {"", *kept, *_OF_THE_LANGUAGE}
        self._new: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._files: dict[str, str] = {}
        self._members: dict[str, dict[str, None]] = {}
        self._threads: dict[str, str] = {}

    def class_name(self, name: str) -> str:
        """The new name of a class or an array of it, in the form that the file has."""
        if name in self._kept or is_runtimes(name):
            return self._hidden(name)
        if name in self._new:
            return self._new[name]
        before, own, made, after = _parts(name)
        *packages, simple = re.split(r"[./]", own)
        path, words = "", []
        for package in packages:
            path += f"{package}."
            words.append(self._word(path, "p"))
        new, path = ("/" if "/" in own else ".").join([*words, ""]), path[:-1]
        for place, nested in enumerate(simple.split("$")):
            number, word = re.fullmatch(_WORD, nested).groups()  # pyrefly: ignore[missing-attribute]
            path += f"${nested}"
            new += ("$" if place else "") + number + (self._word(path, "C") if word else "")
        self._new[name] = self._hidden(f"{before}{new}{made}{after}")
        if not before and not after:
            self._members.setdefault(name, {})
        return self._new[name]

    def signature(self, text: str) -> str | None:
        """A method's signature with the new names of classes; None if it isn't one."""
        if _SIGNATURE.fullmatch(text) is None:
            return None
        return re.sub(r"L([^;]+);", lambda found: f"L{self.class_name(found[1])};", text)

    def field(self, class_name: str, name: str, type_name: str) -> str:
        """The new name of a field of a class."""
        new = self._member(name, "f")
        self._add(class_name, f"{type_name} {name}", name, new)
        return new

    def method(self, class_name: str, name: str, signature: str) -> str:
        """The new name of a method of a class."""
        new = self._member(name, "m")
        found = _SIGNATURE.fullmatch(signature)
        arguments, result = ("", "V") if found is None else found.groups()
        self._add(class_name, f"{next(_types(result))} {name}({','.join(_types(arguments))})", name, new)
        return new

    def file(self, class_name: str, name: str) -> str:
        """The new name of a class's source file, which is the class's own if the file was named after it."""
        if name in self._kept:
            return name
        self._files.setdefault(class_name, name)
        if name not in self._new:
            stem, _, ending = name.partition(".")
            outermost = _parts(class_name)[1].split("$")[0]
            new = self.class_name(outermost) if _simple(outermost) == stem else self._next("S")
            self._new[name] = _simple(new) + (f".{ending}" if ending in _ENDINGS else "")
        return self._new[name]

    def thread(self, name: str, room: int) -> str:
        """The new name of a thread, of ``room`` characters."""
        if name not in self._threads:
            number = self._next("thread-")
            short = number.replace("thread-", "t")
            self._threads[name] = (
                number if len(number) <= room else short if len(short) <= room else "t" * room
            )
        return self._threads[name].ljust(room)

    def mapping(self) -> Iterator[str]:
        """The lines of a ``mapping.txt`` as of ProGuard and R8. What that format has no place for becomes comments."""
        for name, members in sorted(self._members.items()):
            head = f"{_dotted(name)} -> {_dotted(self._new[name])}:"
            if _CLASS_LINE.fullmatch(head) is None:
                # then its members can't be said either
                yield f"# {_quoted(head)}"
                continue
            yield head
            if name in self._files:
                yield f'# {{"id":"sourceFile","fileName":{_quoted(self._files[name])}}}'
            yield from members
        for name, new in self._threads.items():
            yield f"# {_quoted({'id': 'thread', 'name': name, 'renamed': new})}"

    def _member(self, name: str, letter: str) -> str:
        if name in self._kept:
            return name
        if name not in self._new:
            self._new[name] = self._next(letter)
        return self._new[name]

    def _add(self, class_name: str, said: str, name: str, new: str) -> None:
        members = self._members.get(class_name)
        if members is not None and new != name:
            line = f"    {said} -> {new}"
            members[line if _MEMBER_LINE.fullmatch(line) else f"# {_quoted(line)}"] = None

    def _word(self, path: str, letter: str) -> str:
        if path not in self._words:
            self._words[path] = self._next(letter)
        return self._words[path]

    def _next(self, letter: str) -> str:
        """A name that nothing has which stays."""
        while True:
            self._counts[letter] = self._counts.get(letter, 0) + 1
            name = f"{letter}{self._counts[letter]}"
            if name not in self._kept:
                return name


def _parts(name: str) -> tuple[str, str, str, str]:
    found = _CLASS.fullmatch(name)
    if found is None:
        raise AssertionError(name)
    return found["before"] or "", found["name"], found["made"], found["after"]


def _dotted(name: str) -> str:
    return name.replace("/", ".")


def _simple(name: str) -> str:
    """A class's name without its package."""
    return re.split(r"[./]", name)[-1]


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _types(described: str) -> Iterator[str]:
    """The types of a part of a signature, as the language writes them."""
    for found in re.finditer(r"(\[*)(?:L([^;]+);|(.))", described):
        own = _PRIMITIVES[found[3]] if found[3] else _dotted(found[2])
        yield own + "[]" * len(found[1])
