"""The engine: Dask's scheduler and its workers, those of this machine or those that the user named.

Without a name a cluster on this machine's cores is started for the run. It listens on the loopback interface and uses
TLS with its own certificate, so that no other user of the machine can give it work.
"""

import contextlib
import logging
import multiprocessing
import os
import shutil
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import msgspec

from memlens.errors import MemlensError, Problem
from memlens.fleet import work
from memlens.fleet.interrupts import Hold, unknown_to_children
from memlens.fleet.work import TOPIC, Event, Job, Outcome, read_file
from memlens.missing import needed
from memlens.project import bug_advice
from memlens.texts import phrase, plural

MOST_DEATHS = 3
"""How often a file whose worker died is given to another worker."""

_LONGEST_TEMPORARY = 70
"""Bytes of a temporary folder's path in which a socket may lie: a socket's path has at most 103 of them on macOS."""
_CONNECT_S = 30.0
_LOOK_S = 0.2
_RESULT_S = 2.0
"""How long the result of a file is waited for at first."""
_COUNT_S = 1.0
"""How often workers are counted; not more often, because the scheduler's answer names each of them."""
_REMOVE_S = 10.0
_REMOVE_AGAIN_S = 0.02
_SILENT = logging.CRITICAL + 1
_WITHOUT_WORKERS_S = 5.0
_MOST_ROUNDS = 2 * MOST_DEATHS
"""How often a file is submitted at most, even if no worker reported that it began."""

_OWN_CLUSTER = {
    # deaths are counted by us, and only those of workers that had begun to read the file
    "distributed.scheduler.allowed-failures": 0,
    # a worker may take long to restart on a busy machine
    "distributed.deploy.lost-worker-timeout": "120 s",
    # a worker gets a file only after its last one, so that files it hasn't begun don't fail with it
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.http.routes": ["distributed.http.health"],
    "distributed.worker.http.routes": ["distributed.http.health"],
    # a worker itself needs little memory; its child has a separate limit
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": "60 s",
    # not needed in processes that read nothing themselves
    "distributed.admin.tick.interval": "5 s",
    "distributed.admin.system-monitor.interval": "10 s",
    "distributed.worker.profile.enabled": False,
    # its dask_setup is called in each worker at its start
    "distributed.worker.preload": [work.__name__],
    "distributed.scheduler.work-stealing": False,
}


class SchedulerError(MemlensError):
    """The given scheduler can't be reached, or disconnected."""

    code = "scheduler"
    advice = phrase("Check its address and that it is running.")


class Finished(NamedTuple):
    """A file that a worker has finished, or that killed its workers."""

    job: Job
    outcome: Outcome | None
    problem: Problem | None


class Engine:
    """Gives jobs to workers, a few ahead. ``revive`` restarts workers if they are the engine's own."""

    def __init__(
        self, client: Any, on_event: Callable[[Event], None], revive: Callable[[], object] = lambda: None
    ) -> None:
        self._client = client
        self._revive = revive
        self._rounds: dict[int, int] = {}
        self._on_event = on_event
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._name = f"memlens-{uuid.uuid4().hex[:12]}"
        self._slots = 0
        self._counted_at = -_COUNT_S
        self.workers: dict[int, list[str]] = {}
        """The workers that began a file, by its number."""
        client.subscribe_topic(TOPIC, self._receive)

    def _receive(self, event: tuple[float, Any]) -> None:
        with contextlib.suppress(msgspec.ValidationError):
            self._events.put(msgspec.convert(event[1], Event))

    @property
    def slots(self) -> int:
        """How many files are read at once, as last counted. Raises :class:`SchedulerError`."""
        now = time.monotonic()
        if not self._slots or now - self._counted_at >= _COUNT_S:
            self._counted_at = now
            try:
                self._slots = len(self._client.nthreads())
            except OSError as error:  # as which Dask's closed connections count
                raise SchedulerError(phrase("The scheduler went away")) from error
        return self._slots

    def run(self, jobs: Iterator[Job]) -> Iterator[Finished | None]:
        """Give all jobs to workers and yield results as they arrive, and None whenever none arrived for a moment.

        Raises :class:`SchedulerError`.
        """
        running: dict[Any, Job] = {}
        alone_since: float | None = None
        while True:
            slots = self.slots
            while len(running) < 2 * max(slots, 1) and (job := next(jobs, None)) is not None:
                running[self._submitted(job)] = job
            if not running:
                break
            alone_since = self._check_workers(slots, alone_since)
            try:
                future = self._done.get(timeout=_LOOK_S)
            except Empty:
                self._say()
                if self._client.status != "running":
                    raise SchedulerError(phrase("The scheduler went away")) from None
                yield None
                continue
            self._say()
            job = running.pop(future)
            if self._is_worth_another(future, job):
                future.release()
                running[self._submitted(job)] = job
                continue
            yield self._finished(future, job)
        self._say()

    def _submitted(self, job: Job) -> Any:
        """Submit a job; returns when it is in the queue."""
        number = self._rounds[job.number] = self._rounds.get(job.number, 0) + 1
        # Dask prints a traceback when a future that is only half made is dropped
        with Hold():
            future = self._client.submit(
                read_file, msgspec.json.encode(job), key=f"{self._name}-{job.number}-{number}", pure=False
            )
            future.add_done_callback(self._done.put)
        return future

    def _is_worth_another(self, future: Any, job: Job) -> bool:
        """Whether to retry a file whose worker died: not all of them had begun it, or too few died to blame it."""
        if future.status != "error" or type(future.exception()).__name__ != "KilledWorker":
            return False
        begun = len(self.workers.get(job.number, ()))
        return begun <= MOST_DEATHS and self._rounds[job.number] < _MOST_ROUNDS

    def _check_workers(self, slots: int, alone_since: float | None) -> float | None:
        if slots:
            return None
        now = time.monotonic()
        if alone_since is not None and now - alone_since > _WITHOUT_WORKERS_S:
            self._events.put(Event(-1, "", "waiting for workers"))
            self._revive()
            return now
        return alone_since if alone_since is not None else now

    def _say(self) -> None:
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                return
            if event.stage == "started":
                self.workers.setdefault(event.number, []).append(event.reader)
            self._on_event(event)

    def _finished(self, future: Any, job: Job) -> Finished:
        try:
            outcome = msgspec.json.decode(self._result(future), type=Outcome)
        except CancelledError as error:
            raise SchedulerError(phrase("The scheduler went away")) from error
        except SchedulerError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a worker's Python raises
            return Finished(job, None, self._problem(job, error))
        finally:
            future.release()
        return Finished(job, outcome, None)

    def _result(self, future: Any) -> Any:
        """The result of a future that is done; a worker that is busy may take long to send it.

        Raises what the job has raised, and :class:`SchedulerError`.
        """
        patience_s = _RESULT_S
        while True:
            try:
                return future.result(timeout=patience_s)
            except TimeoutError as error:
                if future.status == "error":
                    raise
                self._say()
                # asked again, for it may have been lost; a large one may need longer
                patience_s *= 2
                if self._client.status != "running":
                    raise SchedulerError(phrase("The scheduler went away")) from error

    def _problem(self, job: Job, error: Exception) -> Problem:
        if type(error).__name__ == "KilledWorker":
            names = self.workers.get(job.number, [])
            who = ", ".join(names) or error.args[1].address
            count = max(len(names), 1)
            return Problem(
                "worker-died",
                phrase(
                    plural(
                        count,
                        "The worker that read {file} died: {who}",
                        "Every worker that read {file} died, {count} of them: {who}",
                    ),
                    file=job.file.name,
                    count=count,
                    who=who,
                ),
                phrase("Look into the workers' logs; the file may need more memory than they have."),
            )
        if isinstance(error, ModuleNotFoundError):
            return Problem(
                "missing-package",
                phrase("A worker has no {package}", package=str(error.name)),
                phrase("Install memlens[fleet] in the Python of every worker."),
            )
        return Problem(
            "internal",
            phrase("A worker failed ({what})", what=f"{type(error).__name__}: {error}"),
            bug_advice(),
        )


@contextlib.contextmanager
def engine(
    scheduler: str | None,
    workers: int | None,
    memory_limit_bytes: int,
    on_event: Callable[[Event], None],
) -> Iterator[Engine]:
    """The engine of the given scheduler, or of a new cluster on this machine.

    Raises :class:`SchedulerError` and :class:`memlens.missing.MissingPackageError`.
    """
    if scheduler is not None:
        with _named(scheduler) as client:
            yield Engine(client, on_event)
        return
    with Hold() as hold, _scratch() as folder, contextlib.ExitStack() as opened:
        method = _starting_method()
        if method == "forkserver":
            _start_forkserver()
        with needed("distributed"):
            import dask
            import distributed
        _silence()
        of_this_run = {"distributed.worker.multiprocessing-method": method, "temporary-directory": folder}
        opened.enter_context(dask.config.set({**_OWN_CLUSTER, **of_this_run}))
        count = workers or os.cpu_count() or 1
        cluster = opened.enter_context(
            distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                memory_limit=memory_limit_bytes or "auto",
                local_directory=folder,
                security=True,
                silence_logs=_SILENT,
            )
        )
        client = opened.enter_context(distributed.Client(cluster))
        with hold.let_through():
            yield Engine(client, on_event, lambda: cluster.scale(count))


def _starting_method() -> str:
    """How workers are started: forked, unless the socket for that would have too long a path."""
    is_short = len(os.fsencode(tempfile.gettempdir())) <= _LONGEST_TEMPORARY
    return "forkserver" if os.name == "posix" and is_short else "spawn"


def _start_forkserver() -> None:
    """Start the process from which workers are forked; it imports what they need in parallel with this one."""
    from multiprocessing import forkserver, resource_tracker

    # first, because it unblocks Ctrl+C, which its process ignores
    with unknown_to_children():
        resource_tracker.ensure_running()
    multiprocessing.set_forkserver_preload(["distributed", work.__name__])
    with unknown_to_children():
        forkserver.ensure_running()


def _silence() -> None:
    """Silence Dask: it logs tracebacks about connections, and errors that matter are reported as sentences."""
    for name in ("asyncio", *logging.root.manager.loggerDict):
        # some loggers have their own levels
        if name.partition(".")[0] in ("asyncio", "distributed", "tornado"):
            logging.getLogger(name).setLevel(_SILENT)
    # what Ctrl+C drops before its first step
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)


@contextlib.contextmanager
def _scratch() -> Iterator[str]:
    """A folder for workers, which is removed even if a worker that is being killed still writes to it."""
    folder = tempfile.mkdtemp(prefix="memlens-fleet-")
    try:
        yield folder
    finally:
        until = time.monotonic() + _REMOVE_S
        while os.path.lexists(folder) and time.monotonic() < until:
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(_REMOVE_AGAIN_S if os.path.lexists(folder) else 0)


@contextlib.contextmanager
def _named(scheduler: str) -> Iterator[Any]:
    if "@" in scheduler:
        raise SchedulerError(
            phrase("The scheduler's address has a user or a password in it, which Dask doesn't accept")
        )
    with needed("distributed"):
        import distributed
    _silence()
    with Hold() as hold:
        try:
            with hold.let_through():
                client = distributed.Client(scheduler, timeout=_CONNECT_S)
        except (OSError, ValueError) as error:
            raise SchedulerError(
                phrase(
                    "The scheduler {scheduler} can't be reached: {reason}",
                    scheduler=scheduler,
                    reason=str(error),
                )
            ) from error
        with client, hold.let_through():
            yield client
