"""Writes a Profile into an archive folder: columns of samples, the tree of their stacks, and changes over time."""

from pathlib import Path

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.kernels.tree import calltree
from memlens.kernels.tree.lines import LineFolder
from memlens.model.charging import charged, passed_over, ranks
from memlens.model.distinct import distinct
from memlens.model.expansion import deep_stacks
from memlens.model.frames import LIBRARY, Frames, are_mixed
from memlens.model.info import FileWarning, ProfileInfo, ProfileValue, plausible_time
from memlens.model.own_root import OwnFrames
from memlens.model.profile import Profile, ProfileTimes, StackTree, companions
from memlens.model.timeline import NEVER
from memlens.progress import Report
from memlens.store.files.column_files import ColumnFiles
from memlens.store.manifest import FORMAT_VERSION, Manifest, SourceFile, write_manifest
from memlens.store.samples.columns import LineValues, Samples, Times
from memlens.store.stacks.frames import write_frames
from memlens.store.stacks.lines import LineColumns, lines_of_frames
from memlens.store.stacks.strings import StringWriter
from memlens.store.stacks.tree import Stacks, Tree


def write_profile(profile: Profile, source: SourceFile, folder: Path, report: Report) -> None:
    """Write ``profile`` into the existing empty ``folder``."""
    report("writing", 0.0)
    columns, strings = ColumnFiles(folder), StringWriter()
    info, _ = write_samples(columns, profile, source, strings)
    strings.write(columns)
    manifest = Manifest(
        FORMAT_VERSION, source, info, [0], [], [], [], profile.settings, columns.entries
    )  # fmt: skip
    write_manifest(folder, manifest)


def write_samples(
    columns: ColumnFiles, profile: Profile, source: SourceFile, strings: StringWriter
) -> tuple[ProfileInfo, U32]:
    """Write samples, frames, stacks and lines; return the summary, and the archive's stack of each sample."""
    tree, nodes = profile.stack_tree()
    stack_nodes, inverse = np.unique(nodes, return_inverse=True)
    stacks = inverse.astype(np.uint32)
    doubtful = _whose(profile, tree, stack_nodes, stacks)
    _write_samples(columns, profile, stacks, strings)
    write_frames(columns, profile.frames, strings, doubtful)
    columns.write(Tree, {"parent": tree.parents, "frame": tree.frames})
    columns.write(Stacks, {"node": stack_nodes, "label": _labels(tree, profile.frames, stack_nodes)})
    if profile.times is not None:
        _write_times(columns, profile.times)
    _write_lines(columns, profile, tree, nodes)
    deep = deep_stacks(tree.parents, stack_nodes)
    return _info(profile, source, len(stack_nodes), deep), stacks


def _write_samples(columns: ColumnFiles, profile: Profile, stacks: U32, strings: StringWriter) -> None:
    labels = profile.labels[np.argsort(profile.labels["sample"], kind="stable")]
    number_of = strings.renumbered(profile.strings)
    for field in ("key", "text", "unit"):
        labels[field] = number_of(labels[field])
    columns.write(Samples, {"stack": stacks, "labels": labels})
    columns.write(Samples, {f"value.{number}": values for number, values in enumerate(profile.values)})
    if profile.sizes is not None:
        columns.write(Samples, {"size": profile.sizes})


def _write_times(columns: ColumnFiles, times: ProfileTimes) -> None:
    columns.write(Times, {"edges": times.time_us, "peaks": times.peaks})
    columns.write(Times, {f"series.{name}": series for name, series in times.series.items()})
    columns.write(Times, {"change_offsets": times.change_offsets, "changes": times.changes})


def _info(profile: Profile, source: SourceFile, stacks: int, deep: list[FileWarning]) -> ProfileInfo:
    times = profile.times
    counts = companions(profile.value_types)
    return ProfileInfo(
        kind=profile.kind,
        path=source.path,
        file_bytes=source.size,
        warnings=[*profile.warnings, *deep],
        values=[
            ProfileValue(
                kind.name, kind.unit, kind.meaning, kind.title, int(values.sum()), count,
                bool((values < 0).any()),
            )
            for kind, values, count in zip(profile.value_types, profile.values, counts, strict=True)
        ],
        default_value=profile.default_value,
        samples=len(profile.stacks),
        stacks=stacks,
        mixed_stacks=are_mixed(profile.frames.frames) if profile.is_mixed is None else profile.is_mixed,
        has_sizes=profile.sizes is not None,
        labels=[profile.strings[key] for key in distinct(profile.labels["key"]).tolist()],
        bins=0 if times is None else len(times.time_us) - 1,
        end=0.0 if times is None else float(times.time_us[-1]),
        time_unit="microseconds" if times is None else times.unit,
        series=[] if times is None else list(times.series),
        has_flow=times is not None and times.has_flow,
        has_short_lived=times is None or times.has_short_lived,
        has_frees=times is None or times.has_frees,
        written_ms=plausible_time(profile.settings.get("written_ms")),
    )  # fmt: skip


def _whose(profile: Profile, tree: StackTree, nodes: U32, stacks: U32) -> Mask:
    """Give frames of libraries that were compiled from their sources that kind; return which others are doubtful."""
    frames = profile.frames
    values = np.abs(profile.values[profile.default_value].astype(np.float64))
    amounts = np.bincount(stacks, values, len(nodes)).astype(np.float64)
    rows = ((frame.file, frame.function, frame.kind) for frame in frames.frames)
    own = OwnFrames(tree, nodes, amounts, rows)
    found = own.compiled_libraries()
    for number in np.flatnonzero(found).tolist():
        frames.frames[number] = frames.frames[number]._replace(kind=LIBRARY)
    frames.kinds[found] = LIBRARY
    return own.doubtful() & ~found


def _labels(tree: StackTree, frames: Frames, nodes: U32) -> U32:
    """The frame to show first of each stack, which is charged as the user's own code; NEVER for none."""
    # a heap dump has frames that are in no stack: the places where its functions are defined
    used = np.zeros(len(frames.frames), np.bool_)
    used[tree.frames[1:]] = True
    own = [frames.frames[number] for number in np.flatnonzero(used).tolist()]
    passed = np.zeros(len(used), np.uint8)
    passed[used] = passed_over(((frame.file, frame.function, frame.kind) for frame in own), "profile")
    return charged(tree.parents, tree.frames, nodes, ranks(frames.kinds, passed, "mine", "profile"))


def _write_lines(columns: ColumnFiles, profile: Profile, tree: StackTree, nodes: U32) -> None:
    """Write the sums of lines, of those that have any."""
    first_frames, lines = np.empty(0, np.uint32), np.empty(0, np.uint32)
    if len(nodes):
        # without stacks no line has anything
        first_frames, lines = lines_of_frames(profile.frames)
    inclusive, own = _by_line(profile, tree, nodes, lines, len(first_frames))
    known = (inclusive != 0).any(axis=0) | (own != 0).any(axis=0)
    columns.write(LineColumns, {"frame": first_frames[known]})
    for name, sums in (("value", inclusive), ("own", own)):
        columns.write(
            LineValues, {f"{name}.{number}": of_value[known] for number, of_value in enumerate(sums)}
        )


def _by_line(profile: Profile, tree: StackTree, nodes: U32, lines: U32, count: int) -> tuple[I64, I64]:
    """``int64[values, lines]`` twice: the sums of lines inclusive of calls, and by themselves."""
    inclusive = np.zeros((len(profile.values), count), np.int64)
    own = np.zeros_like(inclusive)
    if not count:
        return inclusive, own
    of_node = np.full(len(tree.parents), NEVER, np.uint32)
    of_node[1:] = lines[tree.frames[1:]]
    folder = LineFolder(tree.parents, of_node, count)
    # one array for all values, because the system clears each page of new memory
    sums = np.empty((1, len(tree.parents)), np.int64)
    for number, values in enumerate(profile.values):
        sums.fill(0)
        calltree.add_by(nodes, np.ascontiguousarray(values[np.newaxis]), sums)
        folder.fold(sums[0], inclusive[number], own[number])
    return inclusive, own
