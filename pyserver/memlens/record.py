"""Records the memory of the running Python program, and leaves a file whatever ends it: :func:`start`.

A file is written when an allocation fails, at an error that nobody catches, at SIGTERM, at SIGUSR2, when a limit is
passed, after every so many steps, and at the end. ``memlens run PROGRAM`` has a program do this without a change of its
source. What is recorded is decided by the ``recorder.py`` of a pack: the GPU's memory where a framework that has
its history is imported, else what Python's own allocator holds.

The program may run on another Python than Memlens, 3.8 or later, which has no packages of Memlens: this module and all
recorders need the standard library alone. An error in them is printed, and the program goes on.
"""

# The program is another's: whatever goes wrong here must not end it.
# ruff: noqa: BLE001, T201

from __future__ import annotations

import _thread
import atexit
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType, ModuleType, TracebackType

VARIABLE = "MEMLENS_RECORD"
"""The environment variable with the settings, as JSON: the fields of :class:`Settings`."""
_DESCENDANT = "MEMLENS_RECORD_DESCENDANT"
"""Set for programs that the recorded one starts."""
KEEP = 3
"""How many files of each reason stay unless another number is given."""
_WATCH_SECONDS = 0.1
_PARTS_OF_LIMIT = (0.6, 0.85)
"""A file is written when what is used, and what writing takes, reach these parts of a container's limit."""
_MOST_OF_LIMIT = 0.97
"""Above this part nothing is written, since that would end the program."""
_PAUSE_SECONDS = 1.0
"""How long the main thread is waited for to write a file itself."""
_NO_LIMIT_BYTES = 1 << 60
_BALLAST_BYTES = 16 << 20


class Settings:
    """What to record, and when to write."""

    def __init__(
        self,
        folder: str = ".",
        by: str = "",
        at_bytes: int | None = None,
        every: int | None = None,
        keep: int = KEEP,
    ) -> None:
        """``folder`` is for the files; ``by`` names the recorder, the first that fits if empty.

        A file is written once ``at_bytes`` are used, and after ``every`` so many steps; the last ``keep`` files of
        each reason stay.
        """
        self.folder = folder
        self.by = by
        self.at_bytes = at_bytes
        self.every = every
        self.keep = keep


class Recorder(Protocol):
    """What ``recorder.py`` of a pack defines: a class of this name."""

    name: str
    ending: str
    """Of the names of its files."""
    limits_process: bool
    """Whether it is the process's memory that its limit is about, which a container may limit, too."""

    def __init__(self, recording: Recording) -> None: ...

    def prepare(self) -> bool:
        """Begin, or wait for what begins it; False if there is nothing here that it could record."""

    def write(self, path: str) -> None:
        """Write a file."""

    def used_bytes(self) -> int:
        """What counts towards the limit, now."""

    def writing_bytes(self) -> int:
        """About how much memory :meth:`write` takes now."""


def say(line: str) -> None:
    """Print a line for whoever started the program."""
    with contextlib.suppress(Exception):
        print(f"memlens: {line}", file=sys.stderr, flush=True)


def resident_bytes() -> int:
    """The memory of this process that is in use; the most there was where only that is known."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")


def when_imported(name: str, then: Callable[[ModuleType], None]) -> None:
    """Call a function with a module after it was imported; now, if it was."""
    if name in sys.modules:
        then(sys.modules[name])
        return
    sys.meta_path.insert(0, _Waiting(name, then))


class _Waiting(importlib.abc.MetaPathFinder):
    """Finds a module as others do, and has its loader call a function afterwards."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's own spec with another loader."""
        if fullname != self._name:
            return None
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    _call_after(spec.loader, self._then)
                return spec
        return None


def _call_after(loader: Any, then: Callable[[ModuleType], None]) -> None:
    run = loader.exec_module

    def run_and_call(module: ModuleType) -> None:
        run(module)
        try:
            then(module)
        except Exception as error:
            say(f"nothing is recorded of {module.__name__}: {type(error).__name__}: {error}")

    loader.exec_module = run_and_call


class Recording:
    """The recording of this process."""

    def __init__(self, settings: Settings, kinds: Sequence[type[Recorder]]) -> None:
        self.settings = settings
        self._kinds = list(kinds)
        self._recorder: Recorder | None = None
        self._written: dict[str, list[str]] = {}
        self._numbers: dict[str, int] = {}
        self._lock = threading.RLock()
        self._has_ended = False
        self._ballast: bytearray | None = None
        self._limits_passed = 0
        self._due: deque[str] = deque()
        """Reasons for which the main thread is to write."""

    # ---- what recorders use ----

    when_imported = staticmethod(when_imported)
    resident_bytes = staticmethod(resident_bytes)
    own_file = __file__
    """That of this module, whose own allocations are left out."""

    def begin_next(self) -> bool:
        """Have the next recorder begin that can, or wait; False if there is none."""
        while self._kinds:
            if self._kinds.pop(0)(self).prepare():
                return True
        return False

    def begin(self, recorder: Recorder) -> None:
        """Record from now on; the first recorder that begins is the one."""
        if self._recorder is not None:
            return
        self._recorder = recorder
        # a file can be written though nothing can be allocated: this is given back first
        self._ballast = bytearray(_BALLAST_BYTES)
        atexit.register(self._end)
        self._chain_hooks()
        self._handle_signals()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)
        self._watch()

    def write(self, reason: str) -> None:
        """Write a file that is named for the reason and the process; the oldest of the reason goes."""
        recorder = self._recorder
        if recorder is None:
            return
        with self._lock:
            self._ballast = None
            number = self._numbers[reason] = self._numbers.get(reason, 0) + 1
            path = self._path(reason, number, recorder.ending)
            # of an earlier process with the same id
            while os.path.lexists(path):
                number = self._numbers[reason] = number + 1
                path = self._path(reason, number, recorder.ending)
            partial = f"{path}.partial"
            try:
                os.makedirs(self.settings.folder, exist_ok=True)  # noqa: PTH103
                recorder.write(partial)
                os.replace(partial, path)  # noqa: PTH105
            except Exception as error:
                say(f"{path} can't be written: {type(error).__name__}: {error}")
                _remove(partial)
                return
            written = self._written.setdefault(reason, [])
            written.append(path)
            while len(written) > max(self.settings.keep, 1):
                _remove(written.pop(0))
            if reason != "step":
                say(f"wrote {path}")

    def _path(self, reason: str, number: int, ending: str) -> str:
        name = f"{reason}-{who()}-{number}" if number > 1 else f"{reason}-{who()}"
        return os.path.join(self.settings.folder, name + ending)  # noqa: PTH118

    # ---- what ends a program ----

    def _end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self.write("end")

    def _chain_hooks(self) -> None:
        before, before_in_threads = sys.excepthook, threading.excepthook

        def failed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            # what the frames of the traceback hold is still there
            self._failed(kind)
            before(kind, error, trace)

        def failed_in_thread(found: threading.ExceptHookArgs) -> None:
            self._failed(found.exc_type)
            before_in_threads(found)

        sys.excepthook, threading.excepthook = failed, failed_in_thread

    def _failed(self, kind: type[BaseException]) -> None:
        if issubclass(kind, Exception):
            is_memory = issubclass(kind, MemoryError) or "OutOfMemory" in kind.__name__
            self.write("memory-error" if is_memory else "error")
            if threading.current_thread() is threading.main_thread():
                self._has_ended = True

    def _handle_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        asked = getattr(signal, "SIGUSR2", None)
        if asked is not None and signal.getsignal(asked) is signal.SIG_DFL:
            signal.signal(asked, self._asked)
        before = signal.getsignal(signal.SIGTERM)
        if before is signal.SIG_IGN or before is None:
            return

        def terminated(number: int, frame: FrameType | None) -> None:
            self.write("terminated")
            if callable(before):
                before(number, frame)
                return
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        self._own_handler, self._before = terminated, before
        signal.signal(signal.SIGTERM, terminated)

    def _asked(self, *_: object) -> None:
        with self._lock:
            try:
                reason = self._due.pop()
            except IndexError:
                reason = "asked"
            self.write(reason)

    def _write_in_main_thread(self, reason: str) -> None:
        """Write where the program can't go on meanwhile, and use up more memory; if that doesn't begin soon, here."""
        asked = getattr(signal, "SIGUSR2", None)
        if asked is not None and signal.getsignal(asked) == self._asked and sys.version_info >= (3, 10):
            self._due.append(reason)
            _thread.interrupt_main(asked)
            end = time.monotonic() + _PAUSE_SECONDS
            while self._due and time.monotonic() < end:
                time.sleep(_WATCH_SECONDS / 10)
            try:
                self._due.pop()
            except IndexError:
                # it has begun, and the lock is free when it is done
                with self._lock:
                    return
        self.write(reason)

    def _forked(self) -> None:
        """A child has no thread but one, and is often ended by SIGTERM when its work is done."""
        self._lock = threading.RLock()
        self._written, self._numbers = {}, {}
        self._has_ended = False
        if signal.getsignal(signal.SIGTERM) is getattr(self, "_own_handler", self):
            signal.signal(signal.SIGTERM, self._before)
        if self._recorder is not None and not self._recorder.limits_process:
            # a child that was forked can't use the GPU
            self._recorder = None
        self._watch()

    # ---- limits ----

    def _watch(self) -> None:
        recorder = self._recorder
        if recorder is None:
            return
        limits, used_bytes, most = [self.settings.at_bytes or 0], recorder.used_bytes, sys.maxsize
        if self.settings.at_bytes is None:
            container = container_of_process() if recorder.limits_process else None
            if container is None:
                return
            limits = [int(container.limit_bytes * part) for part in _PARTS_OF_LIMIT]
            most = int(container.limit_bytes * _MOST_OF_LIMIT)

            def used_bytes() -> int:
                return container.used_bytes() + recorder.writing_bytes()

        threading.Thread(
            target=self._watch_until, args=(limits, used_bytes, most), name="memlens", daemon=True
        ).start()

    def _watch_until(self, limits: list[int], used_bytes: Callable[[], int], most: int) -> None:
        while not self._has_ended and self._limits_passed < len(limits):
            try:
                used = used_bytes()
                passed = sum(used >= limit for limit in limits)
                if passed > self._limits_passed:
                    self._limits_passed = passed
                    if used < most:
                        self._write_in_main_thread("limit")
            except Exception as error:
                say(f"the limit isn't watched any more: {type(error).__name__}: {error}")
                return
            time.sleep(_WATCH_SECONDS)


def who() -> str:
    """What tells this process from others of its run: its rank, if it has one, and its id."""
    rank = os.environ.get("RANK", "")
    return f"rank{rank}-{os.getpid()}" if rank.isdecimal() else str(os.getpid())


class Container:
    """The control group of this process that has the lowest limit."""

    def __init__(self, limit_bytes: int, statistics: str, line: str) -> None:
        """``line`` is the name in the file ``statistics`` of what counts and can't be given back."""
        self.limit_bytes = limit_bytes
        self.statistics = statistics
        self.line = line

    def used_bytes(self) -> int:
        """What all processes of the group use, without the cache of files."""
        for line in Path(self.statistics).read_text("ascii").splitlines():
            name, _, count = line.partition(" ")
            if name == self.line:
                return int(count)
        return resident_bytes()


def container_of_process() -> Container | None:
    """The container of this process, None if it has no limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return None
    found: list[Container] = []
    for line in lines:
        _, controllers, place = [*line.split(":", 2), "", ""][:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        root, name, counted = (
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "total_rss")
            if controllers
            else ("/sys/fs/cgroup", "memory.max", "anon")
        )
        # a container sees its own group as the root
        for folder in (root + place.rstrip("/"), root):
            with contextlib.suppress(OSError, ValueError):
                limit = int(Path(folder, name).read_text("ascii"))
                if 0 < limit < _NO_LIMIT_BYTES:
                    found.append(Container(limit, str(Path(folder, "memory.stat")), counted))
    return min(found, key=lambda each: each.limit_bytes, default=None)


def recorders() -> list[type[Recorder]]:
    """The recorders of Memlens's packs, by their names.

    They are loaded from their files: their packages need what the program's Python may not have.
    """
    found: list[type[Recorder]] = []
    for path in sorted(Path(__file__).parent.glob("packs/*/recorder.py")):
        spec = importlib.util.spec_from_file_location(f"memlens_recorder_{path.parent.name}", path)
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            found.append(module.Recorder)
    # what records everything comes last
    return sorted(found, key=lambda kind: kind.limits_process)


def start(settings: Settings | None = None) -> Recording | None:
    """Begin to record; the settings are those of the environment if none are given. None if nothing can be recorded."""
    try:
        if settings is None:
            said = json.loads(os.environ.get(VARIABLE, "{}"))
            settings = Settings(**said)
        is_descendant = bool(os.environ.get(_DESCENDANT))
        os.environ[_DESCENDANT] = "1"
        # of programs that the recorded one starts only a GPU's memory is of interest
        kinds = [
            kind
            for kind in recorders()
            if settings.by in ("", kind.name) and not (is_descendant and kind.limits_process)
        ]
        recording = Recording(settings, kinds)
        if recording.begin_next():
            return recording
        if not is_descendant:
            say(f"nothing is recorded: there is no {settings.by or 'recorder'} here")
    except Exception as error:
        say(f"nothing is recorded: {type(error).__name__}: {error}")
    return None


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)  # noqa: PTH107
