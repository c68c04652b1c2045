"""The terms of filters: the one table of them, from which the page about filters and what views offer are written."""

from typing import NamedTuple

from memlens.model.info import Model
from memlens.packs import registry


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


_BOTH: tuple[Model, ...] = ("timeline", "profile")
_EXCLUDES = "before a term: excludes what matches it"

ALLOCATIONS = (
    Entry(
        "",
        "a file, a function or an operator of the stack has each of the words",
        ("forward model.py",),
        "",
        _BOTH,
    ),
    Entry(
        "file:", "a file on the stack", ("file:model.py", "file:model.py:88", "file:layers/*.py"), "", _BOTH
    ),
    Entry("function:", "a function on the stack", ("function:forward",), "", _BOTH),
    Entry("by:", "the line that is shown for it", ("by:model.py:88", "by:forward"), "", _BOTH),
    Entry(
        "innermost:", "the innermost line, no matter whose code it is", ("innermost:parser.go:88",), "", _BOTH
    ),
    Entry("freed-by:", "the line that freed it", ("freed-by:train.py:105", "freed-by:none")),
    Entry("module:", "the torch.nn module it was made in", ("module:Linear", "module:none")),
    Entry("operator:", "the operator that C++ frames name", ("operator:aten::mm", "operator:none")),
    Entry("label:", "a label of the sample", ("label:worker", "label:thread:worker"), "", ("profile",)),
    Entry(
        "machinery:", "the framework's own: workspaces, buffers, gradients, an optimizer's temporaries",
        ("machinery:workspace", "machinery:none"),
    ),
    Entry("size>", "requested bytes", ("size>1MiB", "size<=512"), "", _BOTH),
    Entry("size<", "requested bytes", ("size<64KiB",), "", _BOTH),
    Entry("life>", "how long it was held", ("life>10ms", "life>100ev"), "ev are events"),
    Entry("life<", "how long it was held, where that is known", ("life<1ms",)),
    Entry("category:", "what it holds", ("category:gradient", "category:none")),
    Entry("stream:", "the stream", ("stream:0",)),
    Entry("pool:", "the memory pool", ("pool:default", "pool:private", "pool:1.0")),
    Entry("address:", "what held an address", ("address:0x7f3a20000000",)),
    Entry("stack:", "stacks by their numbers", ("stack:12", "stack:20-25"), "", _BOTH),
    Entry("allocation:", "an allocation by its number", ("allocation:240",)),
    Entry("is:before", "allocated before recording"),
    Entry("is:live", "never freed"),
    Entry("is:freed", "freed while recording"),
    Entry("is:pending", "free requested, still held"),
    Entry("is:native", "only C++ frames", (), "", _BOTH),
    Entry("is:inferred", "its line is inferred, not recorded"),
    Entry("-", _EXCLUDES, ("-size>1MiB",), "", _BOTH),
)  # fmt: skip
"""About allocations of a trace and samples of a profile."""

_GRAPH: tuple[Model, ...] = ("graph",)
OBJECTS = tuple(
    entry._replace(models=_GRAPH)
    for entry in (
        Entry("", "its type or its own name has each of the words", ("Session cache",)),
        Entry("type:", "the type", ("type:HashMap", 'type:"=java.lang.String"')),
        Entry("extends:", "a class and all below it", ("extends:AbstractMap", 'extends:"=app.Shape"')),
        Entry("package:", "its package or namespace", ("package:com.example",)),
        Entry(
            "module:", "its assembly, module or class loader",
            ("module:WebappClassLoader", "module:boot", "module:none"),
        ),
        Entry("heap:", "the heap that it is in, of Android", ("heap:app", "heap:zygote")),
        Entry("kind:", "the kind of its type", ("kind:array", "kind:closure")),
        Entry("retained>", "what it retains", ("retained>1MiB",)),
        Entry("shallow>", "its own bytes", ("shallow>1KiB",)),
        Entry("native>", "memory outside of the heap that it owns", ("native>1MiB",)),
        Entry("native-retained>", "what it retains of that", ("native-retained>1MiB",)),
        Entry("distance<", "references from a root", ("distance<5",)),
        Entry("string:", "a string with this text", ('string:"user-1"', "string:/user-[0-9]+/")),
        Entry("name:", "its own name", ("name:onTick",)),
        Entry("field:", "it has such a field", ("field:session",)),
        Entry("held-by:", "what dominates it", ("held-by:Cache",)),
        Entry(
            "retained-by:", "what only these keep alive, with them",
            ("retained-by:Cache", 'retained-by:"is:detached"'),
        ),
        Entry("thread:", "a thread, or what its variables refer to", ("thread:main",)),
        Entry("function:", "what the variables of a function refer to", ("function:grow",)),
        Entry("allocated-by:", "a function or file of its allocation stack", ("allocated-by:cache.js:12",)),
        Entry("stack:", "allocated by stacks of those numbers", ("stack:12,20-25",)),
        Entry("finding:", "a finding is about it", ('finding:"Duplicate strings"',)),
        Entry(
            "query:", "the rows of a query name it", ("query:\"SELECT target FROM refs WHERE name = 'cart'\"",)
        ),
        Entry("since:", "allocated once a recording had run that many seconds", ("since:2.5",)),
        Entry("until:", "allocated before a recording had run that many seconds", ("until:4",)),
        Entry("id:", "its id or address in the file", ("id:5143",), "0x7f3a20000000 and @5143 alone mean the same"),
        Entry("is:root", "a root"),
        Entry("is:unreachable", "no root reaches it", (), "unreachable alone means the same"),
        Entry("is:softly-reachable", "reached by soft references only (Java)"),
        *(
            Entry(term.begins, term.finds, term.examples, term.note)
            for form in registry.formats().values()
            if form.objects is not None
            for term in form.objects.terms
        ),
        Entry("-", _EXCLUDES, ("-unreachable",)),
    )
)  # fmt: skip
"""About objects of a heap dump; ``is:`` also takes the other flags that a file has."""


def fields_of(entries: tuple[Entry, ...]) -> tuple[str, ...]:
    """The names of all fields, in their order."""
    return tuple(dict.fromkeys(entry.field for entry in entries if entry.field))


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
