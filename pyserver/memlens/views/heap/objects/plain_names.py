"""Names of objects that the program's code gives, as opposed to what strings and numbers contain.

Whoever may not see contents has filters in which the latter match nothing, and queries in which they are NULL.
"""

from dataclasses import replace

import numpy as np

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.packs import registry
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects.rows import type_names
from memlens.views.selection.terms import Term

WITHOUT_CONTENTS = "/* without contents */ "
"""The beginning of a query for whoever may not see contents."""


def plain_term(term: Term) -> Term:
    """A term that matches no contents; the term itself if it never does.

    Raises :class:`BadRequestError` for a term about contents alone.
    """
    match term.field:
        case "string":
            raise BadRequestError(
                phrase("'{term}' looks into the texts of strings", term=str(term)),
                advice=phrase("Ask with `values: true`, or by type, size and reference."),
            )
        case "" | "name":
            return replace(term, field="plain-word" if not term.field else "plain-name")
        case "query":
            return replace(term, values=tuple(WITHOUT_CONTENTS + query for query in term.values))
        case _:
            return term


def plainly_named(snapshot: Snapshot, chosen: Mask) -> Mask:
    """Those of ``chosen`` objects whose name isn't what they contain; changes and returns it."""
    objects, types = snapshot.objects, snapshot.types
    known = registry.types_named_in_code()
    plain = np.array([name in known for name in type_names(snapshot)], np.bool_)
    rows = np.flatnonzero(chosen)
    kinds = objects.type[rows]
    chosen[rows] = plain[kinds] | (objects.name[rows] == types.name[kinds])
    return chosen
