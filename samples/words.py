"""A search engine of a few lines, with what it keeps in memory: an index, snippets, and a cache that grows."""

from collections import defaultdict

SYLLABLES = ("ba", "ko", "li", "mu", "ne", "ra", "si", "to", "vu", "xe")


class Index:
    """Finds the documents that hold a word."""

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.postings: dict[str, list[int]] = defaultdict(list)
        self.cache: dict[tuple[str, int], list[str]] = {}

    def add(self, text: str) -> None:
        """Take in a document."""
        number = len(self.documents)
        self.documents.append(text)
        for word in set(text.split()):
            self.postings[word].append(number)

    def search(self, word: str, page: int) -> list[str]:
        """The snippets of a page of results; kept for who asks again, and never given back."""
        key = (word, page)
        if key not in self.cache:
            found = self.postings.get(word, [])[page * 10 : page * 10 + 10]
            self.cache[key] = [snippet(self.documents[number], word) for number in found]
        return self.cache[key]


def snippet(text: str, word: str) -> str:
    """What stands around a word."""
    place = text.index(word)
    return text[max(place - 30, 0) : place + len(word) + 30]


def word(number: int) -> str:
    """The word of that number in a made-up language."""
    text = SYLLABLES[number % 10]
    return text if number < 10 else word(number // 10) + text


def documents(count: int) -> list[str]:
    """Documents that are always the same."""
    return [" ".join(word((n * 7919 + k * k * 31) % 3000) for k in range(60)) for n in range(count)]


def serve(count: int) -> Index:
    """Index some documents and answer questions about them."""
    index = Index()
    for text in documents(count):
        index.add(text)
    for number in range(0, 3000, 3):
        for page in range(2):
            index.search(word(number), page)
    return index
