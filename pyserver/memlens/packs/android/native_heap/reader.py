"""Reads samples of native memory: what each stack of a process allocated and freed, by heapprofd.

Source: ``profile_packet.proto`` of Perfetto.
"""

from collections.abc import Mapping, Sequence

from memlens.formats.containers import Source
from memlens.formats.warnings import counted_warnings
from memlens.model.profile import Profile
from memlens.packs.android.deobfuscation import Deobfuscation
from memlens.packs.android.kernels import perfetto
from memlens.packs.android.native_heap.code import TraceSymbols, frames_of
from memlens.packs.android.native_heap.profile import lacking, profile_of
from memlens.packs.android.native_heap.tables import Trace
from memlens.packs.android.packets import Message, of_kind


def read(
    kind: str,
    messages: Sequence[Message],
    source: Source,
    processes: Mapping[int, str],
    renames: Deobfuscation,
    *,
    cut: bool,
) -> Profile:
    """Return the profile of a trace's messages.

    Raises :class:`NotASnapshotError` where it has no samples, :class:`DamagedSnapshotError` or MemoryError.
    """
    trace = Trace()
    trace.add_all(messages)
    joined = trace.joined()
    symbols = TraceSymbols(of_kind(messages, perfetto.SYMBOLS))
    code = frames_of(joined, source, symbols, renames)
    is_cut = cut or trace.missing > 0 or trace.unfinished > 0
    warnings = [
        *lacking(joined, trace.damaged, is_cut=is_cut),
        *counted_warnings(empty_samples=trace.empty_samples),
        *code.warnings,
    ]
    profile = profile_of(kind, joined, code.frames, processes, warnings)
    # what has no lines would be collapsed
    profile.is_mixed = False if code.has_own_java else None
    return profile
