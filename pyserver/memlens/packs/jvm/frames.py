"""The names and files of Java's stack frames.

A frame says a file's name alone, and its folders are those of the class's package. A file has the name of a class once,
and each of its methods is called with it.
"""

from memlens.model.frames import MOST_PATH
from memlens.units import shortened

_LEAST_CHARACTERS, _CHARACTERS_OF_BYTE = 1 << 20, 2
"""How many characters the classes' names have at most before all methods, together, by the file's bytes."""
_SHORT = 60
"""The end of a name that stays beyond that."""


class ClassNames:
    """Classes' names as methods are called with them: in full until they have more characters than the file bears."""

    def __init__(self, file_bytes: int) -> None:
        self._left = max(_LEAST_CHARACTERS, _CHARACTERS_OF_BYTE * file_bytes)
        self.cut = 0
        """How many methods are called with a part of the name."""

    def of_method(self, class_name: str) -> str:
        """A class's name for one more method."""
        self._left -= len(class_name)
        if self._left >= 0 or len(class_name) <= _SHORT:
            return class_name
        self.cut += 1
        return f"…{class_name[1 - _SHORT :]}"


def outermost(class_name: str) -> str:
    """The class whose file has a class's code: ``a/Foo`` for ``a/Foo$Bar`` and ``a/Foo$$Lambda$1``."""
    end = class_name.find("$", class_name.rfind("/") + 2)
    return class_name if end < 0 else class_name[:end]


def in_package(class_name: str, file: str) -> str:
    """A file in the folders of its class's package, which tell it from others of the same name."""
    package = class_name.rpartition("/")[0]
    if "/" in file:
        # JRuby writes paths, Java's compiler names alone
        package = ""
    return shortened(f"{package}/{file}" if package and file else file, MOST_PATH)
