"""Recordings with every given name in each of their fields."""

from collections.abc import Sequence

from tests.python.hostile_names import Planted, fit

from memlens.packs.jvm.tests.flight_files import leaking


def jfr(names: Sequence[str]) -> Planted:
    """Classes, methods, threads, fields, descriptions and roots."""
    names = fit(names, surrogates=True)
    recording = leaking(names=tuple(names))
    for number, name in enumerate(names):
        stack = recording.stack(("", name, 7), (f"app/{name}", name, 7), (name, "run", number + 1))
        recording.event(
            "jdk.ObjectAllocationSample",
            startTime=number,
            eventThread=recording.thread(name),
            stackTrace=stack,
            objectClass=recording.class_(f"[L{name};"),
            weight=512,
        )
        held = recording.held(name, (name, name, name), (name, "java/lang/Class", f"Class Name: {name}"))
        recording.event(
            "jdk.OldObjectSample",
            startTime=10**10,
            stackTrace=stack,
            eventThread=recording.thread(name),
            object=held,
            root=recording.root(name, name),
        )
    return Planted(recording.build(), names)


PLANTED = {"jfr": jfr}
