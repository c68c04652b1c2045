"""``module:`` and ``heap:`` in filters: where types were loaded from, and where objects are."""

import numpy as np

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.model.distinct import distinct
from memlens.packs import registry
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects.rows import plain_type_names
from memlens.views.selection.terms import Term
from memlens.views.selection.texts import Pattern, pattern_of

NO_MODULE, BOOT = "none", "boot"
"""Values of ``module:`` for types without a module, and for those of the runtime's own, nameless loader."""


def of_modules(snapshot: Snapshot, term: Term) -> Mask:
    """A mask of the types in the modules that a term names. Raises :class:`BadRequestError` if the dump has none."""
    module = snapshot.types.module
    if module is None:
        raise BadRequestError(
            phrase("'{term}': the heap dump doesn't say which modules its types are of", term=str(term))
        )
    used = distinct(module)
    texts = snapshot.strings.texts(used)
    patterns = [pattern_of(value) for value in term.values if value not in (NO_MODULE, BOOT)]
    fits = np.array([bool(text) and any(p.matches(text) for p in patterns) for text in texts], np.bool_)
    of_type = np.searchsorted(used, module)
    found: Mask = fits[of_type]
    has_none = np.array([not text for text in texts], np.bool_)[of_type]
    if NO_MODULE in term.values:
        found |= has_none
    if BOOT in term.values and registry.objects_of(snapshot.info.kind).platform.has_boot_loader:
        # names in brackets are of classes that are missing in the file: their loader is unknown
        found |= has_none & np.array(
            [not name.startswith("(") for name in plain_type_names(snapshot)], np.bool_
        )
    return found


def heaps(snapshot: Snapshot, term: Term) -> Mask:
    """Return a mask of the heaps that a term names. Raises :class:`BadRequestError` for an unknown one."""
    names = snapshot.graph_names.spaces
    if not names or snapshot.objects.space is None:
        raise BadRequestError(
            phrase("'{term}': the heap dump doesn't say which heaps its objects are in", term=str(term))
        )
    patterns = [Pattern(value) for value in term.values]
    found = np.array([any(p.matches(name) for p in patterns) for name in names], np.bool_)
    if not found.any():
        raise BadRequestError(
            phrase("'{term}': expected one of {known}", term=str(term), known=", ".join(names))
        )
    return found


def in_heap(snapshot: Snapshot, term: Term) -> Mask:
    """A mask of the objects in the heaps that a term names."""
    fits, space = heaps(snapshot, term), snapshot.objects.space
    found: Mask = np.zeros(len(snapshot.objects.type), np.bool_) if space is None else fits[space]
    return found
