"""The files of Java's stack frames: these say a file's name alone, and its folders are those of the class's package."""

from memlens.model.frames import MOST_PATH
from memlens.units import shortened


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
