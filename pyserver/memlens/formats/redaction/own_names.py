"""Other names for what a program calls its own: functions, types, variables, properties and files.

Words of the runtime and of libraries stay, and so does a word of the program that is one of these, but not as a part of
a path: there only the runtime's words stay, and what follows the folder of a library. All others are replaced wherever
they stand, also within dotted names, so that equal parts stay equal.
"""

import re
from collections.abc import Callable, Collection

from memlens.model.libraries import library_of
from memlens.packs import registry

_WORD = re.compile(r"[\w\x80-\U0010ffff]+")
"""What isn't ASCII belongs to a word: combining accents, and signs that are no letters."""

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+|[0-9]{1,3}|[0-9]{1,2}(?:a|b|rc|dev|post)[0-9]{1,2}")
"""Words that say nothing: addresses, short numbers, and those of versions."""

_IN_PATHS = re.compile(r"(?<! )/|/(?! )|\\")
"""Not what stands between words, as in "system / Context"."""

_BEFORE_NUMBERS = ("@", ":")
"""Before ids and lines; other long numbers in a path are parts of its names."""

_FOLDERS = [re.escape(folder) for pack in registry.packs() for folder in pack.library_folders]
_FOLDER = re.compile(rf"(?<![^/\\])(?:{'|'.join(_FOLDERS)})[/\\]")
"""After these a path is a library's."""


class OwnNames:
    """Replaces them: the same word by the same one.

    ``kept`` are the words of the runtime and ``of_libraries`` those of libraries, if any stay; ``is_kept`` says it of
    others, and ``taken`` are words that replace none, since they are something else.
    """

    def __init__(
        self,
        kept: Collection[str],
        of_libraries: Collection[str] = (),
        *,
        is_kept: Callable[[str], object] = lambda _: False,
        taken: Collection[str] = (),
    ) -> None:
        self._kept, self._of_libraries, self._is_kept, self._taken = kept, of_libraries, is_kept, taken
        self._new: dict[str, str] = {}
        self._number = 0

    def __call__(self, text: str, also: Collection[str] = ()) -> str:
        """A text with other words for the program's own, of which some may be the runtime's in this text."""
        if not _IN_PATHS.search(text):
            return self._replaced(text, also, is_in_path=False)
        stays = _of_library(text) if self._of_libraries else slice(0, 0)
        before, after = (
            self._replaced(each, also, is_in_path=True) for each in (text[: stays.start], text[stays.stop :])
        )
        return f"{before}{text[stays]}{after}"

    def mapping(self) -> list[str]:
        """Lines that lead back to the names: the old one and the new one."""
        return [f"{old} -> {new}" for old, new in self._new.items()]

    def _replaced(self, text: str, also: Collection[str], *, is_in_path: bool) -> str:
        def other(found: re.Match[str]) -> str:
            word = found[0]
            is_kept = word in also or (word.isdigit() and text[: found.start()].endswith(_BEFORE_NUMBERS))
            return word if is_kept else self._word(word, is_in_path=is_in_path)

        return _WORD.sub(other, text)

    def _word(self, word: str, *, is_in_path: bool) -> str:
        if word in self._kept or _ADDRESS.fullmatch(word) or self._is_kept(word):
            return word
        if not is_in_path and (word in self._of_libraries or word.isdigit()):
            return word
        if (known := self._new.get(word)) is not None:
            return known
        # classes begin with a capital
        kind = "C" if word[0].isupper() else "n"
        while True:
            self._number += 1
            new = f"{kind}{self._number}"
            if new not in self._kept and new not in self._of_libraries and new not in self._taken:
                return self._new.setdefault(word, new)


def _of_library(path: str) -> slice:
    """The part of a path that stays since it says where in a library something is."""
    # the path is after other words in "system / Script / file:///…"
    start = path.rfind(" / ") + 3 if " / " in path else 0
    end = min((at for at in map(path.find, "?#") if at >= 0), default=len(path))
    if not library_of(path[start:end].removeprefix("file://")):
        return slice(0, 0)
    folder = _FOLDER.search(path, start, end)
    return slice(start if folder is None else folder.start(), end)
