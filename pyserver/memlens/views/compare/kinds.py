"""Which snapshots can be compared with each other, and by which of their values."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import assert_never

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo, ProfileInfo, ProfileValue, SnapshotInfo, TimelineInfo
from memlens.packs import registry
from memlens.store.models import heap_dump_of
from memlens.texts import Text, in_a_row, phrase
from memlens.views.selection.profile_sets import value_named


def _runtime_of(kind: str) -> str:
    return registry.objects_of(kind).runtime or kind


def check_comparable(*infos: SnapshotInfo) -> None:
    """Raise :class:`BadRequestError` if not all of these are of one kind, with the kinds of two that differ."""
    for one in infos[1:]:
        first = infos[0]
        if _kind(one) == _kind(first):
            continue
        raise BadRequestError(
            phrase(
                "{first} is {kind} and {other} is {other_kind}, so they can't be compared",
                first=_name(first),
                kind=_said(first),
                other=_name(one),
                other_kind=_said(one),
            ),
            advice=phrase("Compare {first} with {kind}.", first=_name(first), kind=_another(first)),
        )


def common_values(profiles: Sequence[ProfileInfo], name: str | None) -> list[int]:
    """The numbers of a value in each profile, by its name as :func:`value_named` finds it.

    Without a name it is the first profile's default one, and in each of the others the value of that name, else the
    one with the same unit and meaning. Raises :class:`BadRequestError` where a profile has none.
    """
    if name is not None:
        return _of_one_unit(profiles, [value_named(each, name) for each in profiles])
    wanted = profiles[0].values[profiles[0].default_value]
    return [_like(wanted, profiles[0], each) for each in profiles]


def _like(wanted: ProfileValue, first: ProfileInfo, profile: ProfileInfo) -> int:
    alike = [number for number, value in enumerate(profile.values) if value.unit == wanted.unit]
    for number in alike:
        if profile.values[number].name == wanted.name:
            return number
    for number in alike:
        if profile.values[number].meaning == wanted.meaning != "other":
            return number
    raise BadRequestError(
        phrase(
            "{first} has {value}, which {other} doesn't have",
            first=_name(first),
            value=wanted.name,
            other=_name(profile),
        ),
        advice=phrase(
            "Name a value of both: {other} has {known}.",
            other=_name(profile),
            known=in_a_row([f"{value.name} ({value.unit})" for value in profile.values], ", "),
        ),
    )


def _of_one_unit(profiles: Sequence[ProfileInfo], numbers: list[int]) -> list[int]:
    first = profiles[0].values[numbers[0]]
    for profile, number in zip(profiles, numbers, strict=True):
        value = profile.values[number]
        if value.unit != first.unit:
            raise BadRequestError(
                phrase(
                    "{value} of {first} is in {unit} and {other_value} of {other} is in {other_unit}",
                    value=first.name,
                    first=_name(profiles[0]),
                    unit=first.unit,
                    other_value=value.name,
                    other=_name(profile),
                    other_unit=value.unit,
                ),
                advice=phrase("Name a value that both have in one unit."),
            )
    return numbers


def _kind(info: SnapshotInfo) -> tuple[str, str]:
    return info.model, "" if heap_dump_of(info) is None else _runtime_of(info.kind)


def _name(info: SnapshotInfo) -> str:
    return PurePath(info.path).name


def _said(info: SnapshotInfo) -> Text:
    match info:
        case TimelineInfo():
            return phrase("a trace of allocations")
        case ProfileInfo():
            return phrase("a profile")
        case GraphInfo():
            return phrase("a heap dump of {runtime}", runtime=_runtime_of(info.kind))
        case _:
            assert_never(info)


def _another(info: SnapshotInfo) -> Text:
    match info:
        case TimelineInfo():
            return phrase("another trace of allocations")
        case ProfileInfo():
            return phrase("another profile")
        case GraphInfo():
            return phrase("another heap dump of {runtime}", runtime=_runtime_of(info.kind))
        case _:
            assert_never(info)
