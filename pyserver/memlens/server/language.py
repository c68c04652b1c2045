"""The user's language: what the server sends as finished text is translated here.

Errors, hovers, code lenses and other text sent to the editor. Answers for the page carry
:class:`memlens.texts.Text`, which the page fills in itself.
"""

from collections.abc import Mapping

from memlens.texts import Text

# of the process, as it serves one client
_texts: Mapping[str, str] = {}


def learn(texts: Mapping[str, str]) -> None:
    """Set the translations by their English templates; none for English."""
    global _texts  # noqa: PLW0603
    _texts = texts


def spoken(text: Text) -> str:
    """A text in the user's language."""
    if not text.template or not _texts:
        return text.text
    values = _Values({name: spoken(value) for name, value in text.values.items()})
    return _texts.get(text.template, text.template).format_map(values)


class _Values(dict[str, str]):
    """Keeps a placeholder for which there is no value, as the page does."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"
