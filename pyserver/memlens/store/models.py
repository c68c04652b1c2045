"""What questions need from a snapshot's model. Every refusal by a model that lacks it is made here."""

from typing import Literal, assert_never

from memlens.errors import BadRequestError
from memlens.model.info import DeviceInfo, GraphInfo, Model, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.texts import Text, phrase

_A_MODEL: dict[Model, Text] = {
    "timeline": phrase("A trace of events"),
    "profile": phrase("A profile"),
    "graph": phrase("This heap dump"),
}

Needed = Literal[
    "devices",
    "events",
    "areas over time",
    "individual allocations",
    "categories",
    "modules",
    "samples",
    "allocation stacks",
    "objects",
]
"""What only some models have."""

_NEEDED: dict[Needed, Text] = {
    "devices": phrase("devices"),
    "events": phrase("events"),
    "areas over time": phrase("areas over time"),
    "individual allocations": phrase("individual allocations"),
    "categories": phrase("categories"),
    "modules": phrase("modules"),
    "samples": phrase("samples"),
    "allocation stacks": phrase("allocation stacks"),
    "objects": phrase("objects"),
}


class LackingError(BadRequestError):
    """A model lacks what a question needs: "A profile has no devices, which are needed for the memory map"."""

    def __init__(self, model: Model, needed: Needed, question: Text | None = None) -> None:
        super().__init__(
            phrase(
                "{model} has no {needed}, which are needed for {question}",
                model=_A_MODEL[model],
                needed=_NEEDED[needed],
                question=question or phrase("this"),
            )
        )
        self._model: Model = model
        self._needed = needed
        self._question = question

    def to(self, question: Text) -> "LackingError":
        """The same refusal with the name of the question, unless it has one."""
        return LackingError(self._model, self._needed, self._question or question)


def timeline_of(info: SnapshotInfo, needed: Needed, question: Text | None = None) -> TimelineInfo:
    """A timeline's figures. Raises :class:`LackingError` about what is ``needed`` for any other model."""
    match info:
        case TimelineInfo():
            return info
        case ProfileInfo() | GraphInfo():
            raise LackingError(info.model, needed, question)
        case _:
            assert_never(info)


def profile_of(info: SnapshotInfo, needed: Needed = "samples", question: Text | None = None) -> ProfileInfo:
    """A profile's figures, or those of the allocation stacks of a heap dump.

    Raises :class:`LackingError` about what is ``needed`` for any other model, and for a dump without such stacks.
    """
    match info:
        case ProfileInfo():
            return info
        case GraphInfo():
            if info.allocations is None:
                raise LackingError(info.model, "allocation stacks", question)
            return info.allocations
        case TimelineInfo():
            raise LackingError(info.model, needed, question)
        case _:
            assert_never(info)


def graph_of(info: SnapshotInfo, needed: Needed = "objects", question: Text | None = None) -> GraphInfo:
    """A heap dump's figures. Raises :class:`LackingError` about what is ``needed`` for any other model."""
    match info:
        case GraphInfo():
            return info
        case TimelineInfo() | ProfileInfo():
            raise LackingError(info.model, needed, question)
        case _:
            assert_never(info)


def heap_dump_of(info: SnapshotInfo) -> GraphInfo | None:
    """A heap dump's figures; None for other models."""
    match info:
        case GraphInfo():
            return info
        case TimelineInfo() | ProfileInfo():
            return None
        case _:
            assert_never(info)


def has_stacks(info: SnapshotInfo) -> bool:
    """Whether it has stacks of allocations, and so figures of source lines; most heap dumps have none."""
    match info:
        case TimelineInfo() | ProfileInfo():
            return True
        case GraphInfo():
            return info.allocations is not None
        case _:
            assert_never(info)


def devices_of(info: SnapshotInfo) -> list[DeviceInfo]:
    """The devices of a timeline; other models have none."""
    match info:
        case TimelineInfo():
            return info.devices
        case ProfileInfo() | GraphInfo():
            return []
        case _:
            assert_never(info)


def categories_of(info: SnapshotInfo) -> list[str]:
    """The names of a timeline's categories; other models have none."""
    match info:
        case TimelineInfo():
            return info.categories
        case ProfileInfo() | GraphInfo():
            return []
        case _:
            assert_never(info)
