"""``python -m memlens`` is the ``memlens`` command."""

import gc
import os
import sys

from memlens.environment import set_own


def leave_out_the_working_directory() -> None:
    """Import nothing from the folder that Memlens was started in, unless Memlens itself is there.

    It may be a stranger's project. ``python -m`` puts it first on the path, and so does an empty entry of PYTHONPATH.
    """
    only_absolute_paths()
    # of the Pythons that this one starts, such as those of multiprocessing
    set_own("PYTHONSAFEPATH", "1")
    # pathlib isn't imported yet
    try:
        here = os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed
        return
    if not os.path.abspath(__file__).startswith(os.path.join(here, "memlens", "")):  # noqa: PTH100, PTH118
        sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]  # noqa: PTH100


def only_absolute_paths() -> None:
    """Leave relative and empty entries out of PATH: by these the system, Python and libraries start what lies here."""
    entries = os.environ.get("PATH", "").split(os.pathsep)
    kept = os.pathsep.join(filter(os.path.isabs, entries))
    if kept:
        os.environ["PATH"] = kept
    else:
        # then the system has its own
        os.environ.pop("PATH", None)


def main() -> int:
    """Run the command and return its exit status. At any moment, Ctrl+C ends it with a message, not a traceback."""
    # before anything is imported that Python hasn't imported by itself
    leave_out_the_working_directory()
    import signal

    # no command multiplies matrices, and starting OpenBLAS's threads takes longer than some commands
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        set_own("OPENBLAS_NUM_THREADS", "1")
    # what imports create is permanent: memlens.cli turns collection on when it has imported the command
    gc.disable()
    try:
        from memlens.cli import main as command

        status = command()
    except KeyboardInterrupt:
        sys.stderr.write("memlens: Interrupted.\n")
        status = 1
    # only the end of this process is left
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return status


if __name__ == "__main__":
    sys.exit(main())
