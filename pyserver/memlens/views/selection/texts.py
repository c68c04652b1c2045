"""Patterns of filters and searches: a part of a text, or with ``*`` all of it, whatever the case."""


class Pattern:
    """What a text is held to.

    ``forward`` is found anywhere in it, ``mo*.py`` has to be all of it, ``=forward`` exactly it. Case is ignored
    but after ``=``. No regular expression: a pattern of many stars takes time in proportion to the text.
    """

    def __init__(self, text: str, *, path: bool = False) -> None:
        self._path = path
        self._exact = text.startswith("=") and len(text) > 1
        if path:
            text = text.replace("\\", "/")
        self._text = text[1:] if self._exact else text.casefold()
        self._parts = self._text.split("*") if "*" in text and not self._exact else None

    def matches(self, text: str) -> bool:
        """Whether a text fits. A path fits a pattern with ``*`` also from after one of its slashes on."""
        if self._path:
            text = text.replace("\\", "/")
        if self._exact:
            return text == self._text
        text = text.casefold()
        if self._parts is None:
            return self._text in text
        if self._fits(text, self._parts):
            return True
        return self._path and self._fits(f"/{text}", ["", f"/{self._parts[0]}", *self._parts[1:]])

    @staticmethod
    def _fits(text: str, parts: list[str]) -> bool:
        first, last = parts[0], parts[-1]
        if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
            return False
        at, end = len(first), len(text) - len(last)
        for part in parts[1:-1]:
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True
