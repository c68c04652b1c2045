"""``query:`` in the filter over a heap dump: the objects that the rows of a query name.

The query runs as any other does that a person writes. A server asks it beside the questions that need it, see
:mod:`memlens.store.objects.queried`.
"""

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.interrupting import ended_by_signals
from memlens.store.kept import kept
from memlens.store.objects.queried import UnaskedError
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.selection.terms import Term

if TYPE_CHECKING:
    from memlens.views.sql.pages import SqlError


def objects_of(snapshot: Snapshot, term: Term) -> Mask:
    """A mask of the objects that the rows of one of a term's queries name.

    Raises :class:`BadRequestError`, and :class:`UnaskedError` for a query that isn't run here.
    """
    mask = np.zeros(len(snapshot.objects.type), np.bool_)
    for query in term.values:
        mask |= _objects_of(snapshot, query)
    return mask


def wrong_query(error: "SqlError") -> BadRequestError:
    """The problem with a query, as an error of the filter that contains it."""
    problem = error.message
    if error.offset is not None:
        problem = phrase("{problem} (at character {place})", problem=problem, place=error.offset + 1)
    return BadRequestError(phrase("The filter's query: {problem}", problem=problem), advice=error.advice)


def _objects_of(snapshot: Snapshot, query: str) -> Mask:
    if snapshot.queried is None:
        return _asked(snapshot, query)
    found = snapshot.queried.find(query)
    if found is None:
        raise UnaskedError(snapshot.queried, query)
    return found


@kept
def _asked(snapshot: Snapshot, query: str) -> Mask:
    """Make the tables that the query reads, and run it."""
    # few filters have a query, and all that it may call takes a while to import
    from memlens.store.tables.fill import fill
    from memlens.views.sql.pages import SqlError
    from memlens.views.sql.query import SqlSession

    try:
        with closing(SqlSession(snapshot.again(), names_only=True)) as session, ended_by_signals():
            parts = session.needs(query)
        fill(snapshot, lambda _stage, _fraction: None, parts)
        with closing(SqlSession(snapshot.again())) as session, ended_by_signals():
            return session.objects(query)
    except SqlError as error:
        raise wrong_query(error) from error
