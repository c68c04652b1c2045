"""How filters are written, and how a term is described: for the page about filters, and for what views offer.

The terms are declared in :mod:`memlens.views.selection.filters`, and those of objects in
:mod:`memlens.views.heap.filters.terms`.
"""

from typing import NamedTuple

from memlens.model.info import Model


class Entry(NamedTuple):
    """How a term begins, what it finds, examples, and a note on them; ``models`` are the kinds of file that have it.

    ``begins`` is a field with its comparison, as ``file:``; a whole term, as ``is:live``; or empty for words.
    """

    begins: str
    finds: str
    examples: tuple[str, ...] = ()
    note: str = ""
    models: tuple[Model, ...] = ("timeline",)

    @property
    def field(self) -> str:
        """The name of its field; empty for words and for what stands before a term."""
        return self.begins.rstrip(":<>").partition(":")[0].lstrip("-")


EXCLUDES = "before a term: excludes what matches it"


RULES = (
    ("model.py forward", "Blanks separate terms, and all of them must match."),
    ("stream:0,1", 'Commas between values mean "or".'),
    ("-file:test.py", "A minus excludes what matches the term after it."),
    ("file:mod", "A text matches any part, ignoring case."),
    ("file:layers/*.py", "With a `*` a pattern must match all of a name, or the end of a path."),
    ('function:"=forward"', "After `=` a text must be equal, capitals included."),
    (
        'file:"my model.py"',
        'Quotes hold texts with blanks, commas or colons; in them `\\` stands before `"` and `\\`.',
    ),
    ("size>=1.5MiB", "Sizes and times are compared with `<`, `<=`, `>`, `>=` or `=`."),
    (
        "string:/user-\\d+/i",
        "Names and texts of a heap dump may also be regular expressions; `i` ignores case.",
    ),
)
"""How terms are written: an example, and what it shows."""
UNITS = (
    ("sizes", "B (or none), KiB, MiB, GiB, TiB, in short K, M, G, T; KB, MB, GB, TB are powers of ten"),
    ("times", "ns, us, ms, s, min, h; ev counts events"),
)
"""Units, by what they are of."""
