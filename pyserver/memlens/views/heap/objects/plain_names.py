"""Names of objects given by the program's code, as opposed to contents of strings and numbers.

For clients that must not see contents, these match nothing in filters and are NULL in queries.
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
"""The prefix of queries by clients that must not see contents."""


def plain_term(term: Term) -> Term:
    """Return a term that doesn't match contents; the term itself if it never does.

    Raises :class:`BadRequestError` for a term about contents only.
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
    """Clear the objects whose name is their contents in the mask ``chosen``, and return it."""
    objects, types = snapshot.objects, snapshot.types
    known = registry.types_named_in_code()
    plain = np.array([name in known for name in type_names(snapshot)], np.bool_)
    rows = np.flatnonzero(chosen)
    kinds = objects.type[rows]
    chosen[rows] = plain[kinds] | (objects.name[rows] == types.name[kinds])
    return chosen
