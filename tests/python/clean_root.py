"""A file system with nothing in it but what Memlens needs: for what a newcomer's machine says.

Linux alone has it, and not everywhere: some systems let only their administrator make one.
"""

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.python.conftest import ROOT

PACKAGE = os.environ.get("MEMLENS_UNPACKED")
"""The folder of an unpacked package's server, where a package is tried and not the sources."""
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_ENTER = """
set -e
root=$1 folder=$2
shift 2
mkdir -p "$root"
mount -t tmpfs none "$root"
mkdir -p "$root/proc" "$root/tmp" "$root/dev"
while [ "$1" != -- ]; do
    if [ -L "$1" ]; then
        cp -P "$1" "$root$1"
    else
        mkdir -p "$root$1"
        mount --rbind "$1" "$root$1"
        mount -o remount,bind,ro "$root$1"
    fi
    shift
done
shift
mount --rbind /proc "$root/proc"
for device in null urandom; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir -p "$root$folder"
mount --bind "$folder" "$root$folder"
exec unshare --root="$root" --wd="$folder" -- "$@"
"""


def installed() -> tuple[list[str], dict[str, str]]:
    """Return the command that runs Memlens as installed, and what its environment needs."""
    if PACKAGE is None:
        return [str(Path(sys.executable).with_name("memlens"))], {}
    # as the extension starts its server: a Python without packages of its own
    paths = os.pathsep.join([PACKAGE, str(Path(PACKAGE) / "libraries")])
    python = Path(sys.base_prefix) / "bin" / f"python{sysconfig.get_python_version()}"
    return [str(python), "-S", "-m", "memlens"], {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}


def entered(command: Sequence[str], folder: Path, *more: Path) -> list[str]:
    """Return a command that runs another one in a root of its own, without a network.

    Of the machine it has the system's libraries, Python and Memlens, all of them read-only, and ``folder``, in which
    the command runs and the root is mounted. There is no home, no compiler and no other program.

    Args:
        command: what is run.
        folder: what may be written to.
        more: further folders that may be read.
    """
    own = [PACKAGE] if PACKAGE is not None else [sys.prefix, str(ROOT / "pyserver")]
    seen = [path for path in (*_SYSTEM, sys.base_prefix, *own, *map(str, more)) if os.path.lexists(path)]
    names = ["--mount", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    return [
        "unshare",
        *names,
        "/bin/sh",
        "-c",
        _ENTER,
        "sh",
        str(folder / "root"),
        str(folder),
        *seen,
        "--",
        *command,
    ]


@functools.cache
def is_possible() -> bool:
    """Whether this system lets this user have a root of its own."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = entered([sys.executable, "-c", ""], Path(folder))
        return not subprocess.run(command, capture_output=True, check=False).returncode
