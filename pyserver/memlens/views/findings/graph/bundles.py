"""Bundles of the OSGi framework Equinox that were uninstalled or updated, and whose former classes are still held."""

from collections.abc import Iterator

import numpy as np

from memlens.texts import in_a_row, phrase, plural
from memlens.units import plain_name, shortened
from memlens.views.findings.graph.case import GraphCase, chosen, figure, measured, object_part, retained_sql
from memlens.views.findings.graph.held import and_held, held_by
from memlens.views.findings.writing import Ranked, linked, made, percent
from memlens.views.graph.osgi import bundles, classes_of, has_equinox

_MOST_NAMED, _MOST_NAME, _MOST_LISTED = 3, 60, 1_000


def stale_bundles(case: GraphCase) -> Iterator[Ranked]:
    """Class loaders of bundles from before these were uninstalled or updated retain 1% of the reachable heap, 32 KiB.

    With the classes that they have loaded.
    """
    if not has_equinox(case.snapshot):
        return
    stale = [each for each in bundles(case.snapshot) if each.stale]
    loaders = [loader for each in stale for loader in each.stale]
    classes = classes_of(case.snapshot, loaders)
    members = np.unique(np.array([*loaders, *(each for own in classes.values() for each in own)], np.int64))
    members = case.reached(members)
    total = case.retained(members)
    if not len(members) or total < case.least:
        return
    condition = f"object IN ({', '.join(map(str, members.tolist()))})" if len(members) <= _MOST_LISTED else ""
    shown = figure(total, retained_sql(condition) if condition else "")
    link = chosen(f"object IN ({', '.join(map(str, loaders[:_MOST_LISTED]))})")
    # a class holds its loader, and a loader its classes: what holds them is on the way to the one nearest to a root
    nearest = int(members[np.argmin(case.snapshot.objects.distance[members])])
    names = [shortened(plain_name(f"{each.name} {each.version}".strip()), _MOST_NAME) for each in stale]
    named = in_a_row([*names[:_MOST_NAMED], *(["…"] if len(names) > _MOST_NAMED else [])], ", ")
    sentence = phrase(
        plural(
            len(stale),
            "{n} bundle was uninstalled or updated, and its former classes still retain {size} ({share} of the "
            "reachable heap): {bundles}. Nearest to a root is {object}{held}.",
            "{n} bundles were uninstalled or updated, and their former classes still retain {size} ({share} of the "
            "reachable heap): {bundles}. Nearest to a root is {object}{held}.",
        ),
        n=len(stale), size=measured(shown, link), share=percent(total, case.whole),
        bundles=linked(named, objects=link), object=object_part(case, nearest), held=and_held(held_by(case, nearest)),
    )  # fmt: skip
    yield Ranked(
        2 * total / case.whole,
        made("stale_bundles", phrase("Stale bundles"), sentence, shown, None, objects=link),
        members,
    )
